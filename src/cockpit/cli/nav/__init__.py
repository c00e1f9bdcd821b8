"""Code intelligence on the command line: `cockpit nav` and `cockpit lsp`.

Start reading in `main` (`cockpit nav`). `lookup` answers one request without printing anything;
`language_servers` is `cockpit lsp` and lists which servers a folder would start.
"""
