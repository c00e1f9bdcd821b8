"""Subagents: who may be opened and with what limits, the pool that runs them, how they report, and how
they resume after a restart. Start with `opener.py`. Turns are run by `core/turn`, worktrees are made by
`core/agent/worktrees.py`; must not import queries or session.
"""
