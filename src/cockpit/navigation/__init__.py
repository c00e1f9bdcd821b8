"""Code intelligence for one root: language servers, a tree-sitter index and text search behind one navigator.

Start with `navigator` (creation and entry points) and `query_router` (which backend answers). `lsp/` talks to
language servers, `index/` is the tree-sitter index in its own process; neither imports the other or the
modules above them, except `backends`. Writes no source file.
"""
