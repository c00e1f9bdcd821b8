"""Git worktrees for agents: created, listed, merged back and removed. Git runs no program of the repository.

Start with `lifecycle`. Decides nothing about what may be done; only `branch_merge.apply_merge` changes the
user's own tree. Must not import `checkpoints`.
"""
