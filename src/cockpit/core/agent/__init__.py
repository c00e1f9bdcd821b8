"""One agent and what it works with: `Services` (shared and frozen), `SessionState` (what changes and
survives a resume), `Agent` (its own conversation, tools and budget), the context plugin functions get,
guards, plan mode, worktrees and model requests. Start with `agent.py`. Must not import calls, turn,
subagents, queries or session.
"""
