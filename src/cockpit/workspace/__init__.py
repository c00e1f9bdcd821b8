"""Local files and processes of one root: paths, planned changes, patches, checkpoints, sandbox, worktrees.

Start with `local`. Decides nothing about permissions: it refuses only what no approval could make safe. Must
not import `safety`, `core` or any frontend.
"""
