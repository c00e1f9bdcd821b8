"""Checkpoints: what each tool call changed in a root, stored outside of it, and how to rewind.

Start with `store` (the life of a checkpoint); `scanner` finds changes, `records` and `blob_store` keep them,
`restore` plans and makes a rewind. Must not import `processes` or `worktrees`.
"""
