"""What may leave the machine. START HERE: report.py walks a report; fields.py says what each of its fields may hold.

* fields.py      one table: how each field leaves; what is not declared does not leave
* keys.py        the names of what holds a secret
* secrets.py     text -> places of passwords, tokens, keys
* identities.py  text -> places of users, hosts, addresses, serial numbers, cloud ids
* words.py       what is an ordinary word and no name
* report.py      the report with stand-ins, the same throughout
"""
