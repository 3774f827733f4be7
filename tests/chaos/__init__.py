"""What becomes of the verdict when the commands that are asked fail, hang, flood, lie or speak another language.

played.py puts recorded answers in the place of processes, faults.py spoils them, laws.py says what must hold all the
same; scripts/prove_chaos.py makes thousands of runs by seed, the suite some dozens.
"""
