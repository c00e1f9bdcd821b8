"""Subagents: who may be opened, with what rights, how many at once, how they end, and how they go on after
a restart. Runs no turn itself (`core/turn`) and makes no worktree (`core/isolating`)."""
