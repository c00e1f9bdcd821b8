"""The tree-sitter index: one process per root that parses and answers, and a client of it for us.

The cockpit's own process holds neither trees nor tables, so that no question about code can hold up
its loop. `index` is the client; everything else here runs in the process of `host`, or in `worker`.
"""
