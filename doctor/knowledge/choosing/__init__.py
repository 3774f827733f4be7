"""The choice of a build by stages: machines.py makes facts a machine, ranking.py judges every build on it,
nearest.py says what would help where none serves. choose.py is the way in.
"""
