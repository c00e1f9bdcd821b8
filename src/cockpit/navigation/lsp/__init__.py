"""Client of the language servers of one root: starting, talking to and stopping them within limits.

Start with `language_servers` (the interface used by the navigator) and `server_supervisor` (the life of one
server). Importing these takes 30 ms, so the navigator does it in a thread. Imports nothing of `index`. Writes
no source file.
"""
