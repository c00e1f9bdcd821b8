"""`python -m cockpit`."""

from cockpit.cli.main import script

script()
