"""The ward: real broken environments, made of real interpreters and wheels, and what becomes of them.

bed.py declares what a bed is, beds/ holds them, place.py is the environment that one works on, store.py makes those out
of one cache, stay.py examines, fixes and undoes; scripts/ward.py runs them, and page.py writes docs/ward.md. The folder
gpu/ is the ward for machines with NVIDIA GPUs.
"""
