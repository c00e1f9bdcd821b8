"""The tree-sitter index: one process per root that parses files and answers questions.

Start with `client` (what cockpit holds) and `host_process` (the process itself); `query_engine` answers
there. Cockpit's own process holds neither trees nor tables, so that no question can block its event loop.
Imports nothing of `lsp`.
"""
