"""Client of the language servers of one root: starting, talking to and stopping them within limits.

Start with `language_servers` (the interface used by the navigator) and `server_supervisor` (the life of one
server). `connection` and `server_process` import python-lsp-jsonrpc and are loaded only when a server starts.
Imports nothing of `index`. Writes no source file.
"""
