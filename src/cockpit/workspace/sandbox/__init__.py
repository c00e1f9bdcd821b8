"""Holding a process in: what really stands between a program and the rest of the machine.

`holding.py` is where a launch becomes what is started. Decides nothing of what may run.
"""
