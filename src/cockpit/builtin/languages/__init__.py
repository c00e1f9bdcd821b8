"""Built-in languages, a plugin each: their files, tree-sitter queries and language servers.

Start with `bash`, the shortest. `cockpit.plugin.languages` documents the captures of the queries. Imports
only `cockpit.plugin`.
"""
