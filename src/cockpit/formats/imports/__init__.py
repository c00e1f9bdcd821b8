"""Reads the settings of other agents to find what cockpit could take over.

Start reading in `plan`. There is one reader module per agent; each adds what it finds to a `collector`. No
secret is copied.
"""
