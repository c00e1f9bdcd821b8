"""`cockpit plugins`: list, install, upgrade, remove, switch, create and check plugins.

Start reading in `main`, the table of subcommands. The work is done by `cockpit.installing`; the modules
here parse, ask for consent and print. `probe` runs in a process of its own.
"""
