"""The command line: `main` maps each command to a module, which is imported when the command is run.

Start reading in `main` (the table) and `command` (what all commands share). Joins all packages; parses and
prints only.
"""
