"""MCP client: starts, supervises and pins other people's servers, over the official SDK.

Start at `servers.McpServers` (the servers of one root), then `supervisor` and `connection`. Decides
nothing of what is allowed. Only `client`, the transports, `protocol_compat` and `sdk_conversion` import
the SDK, when the first server starts.
"""
