"""A turn, from a prompt to its stop reason: mentions, steps, the context sent to the model, compaction.

Start with `turn.py`. Knows no frontend and no wire format; must not import subagents, queries or session.
"""
