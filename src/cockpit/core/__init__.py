"""The agent core between the frontend API (`cockpit.protocol`) and the plugin API (`cockpit.plugin`).
Sub-packages from top to bottom: session, queries, subagents, turn, calls, agent, permission, plugins,
transcript; imports go down only. Knows no frontend, no provider's wire format and no built-in plugin.
"""
