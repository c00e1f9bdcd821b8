"""What plugins registered for a root: the catalog, an agent's toolbox, and the observers and residents
that run beside the turns. Start with `catalog.py`. Knows no agent and no transcript.
"""
