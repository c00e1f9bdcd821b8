"""MCP server: offers cockpit's tools, resources and prompts to other programs (docs/use/mcp-serve.md).

Start at `transports`, then `server`. It holds a `Deck`; each call of a client becomes a `CallTool`,
judged, approved, audited and redacted like any other. The SDK is imported when the server starts.
"""
