"""`cockpit mcp`: list, add, remove, check, approve and log in to MCP servers.

Start reading in `main`, which declares the subcommands. `server_files` edits the files that name servers;
`servers` starts servers and reports on them. Parsing and printing only.
"""
