"""Worktrees of a repository for agents: made, listed, merged back and taken away, with git that runs nothing
of the repository's. Decides nothing of what may be done; a person's own tree is changed by `applying` alone.
"""
