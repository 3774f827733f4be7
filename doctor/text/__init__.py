"""What any room may do with text: look for an expression in it, and find what must not stand in it unseen.

Below all rooms that read or write text; knows nothing of machines, facts or reports.
"""
