"""The command line: main.py and a file per command, imported when it is asked for."""
