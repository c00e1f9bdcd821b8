"""The frontend for other programs: our tools over MCP (docs/mcp-serve.md). It holds a `Deck`; a client's call
is a `CallTool`, judged, approved, audited and redacted as any other. The SDK is imported when it starts."""
