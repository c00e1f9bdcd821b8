"""A session on disk and in memory: its file, the log every event passes, the conversation folded from
events, and the store of all sessions. Start with `log.py`. Imports nothing else of core.
"""
