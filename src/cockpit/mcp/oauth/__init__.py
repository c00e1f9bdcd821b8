"""Logging in to other people's MCP servers (docs/mcp-login.md). Knows nothing of sessions.

`login` and `logout` are what a person does, `auth_for` what a connection sends its requests through.
Imports the SDK only when one of them is called.
"""

from cockpit.mcp.oauth.login import LoggedIn as LoggedIn
from cockpit.mcp.oauth.login import auth_for as auth_for
from cockpit.mcp.oauth.login import is_logged_in as is_logged_in
from cockpit.mcp.oauth.login import login as login
from cockpit.mcp.oauth.login import logout as logout
from cockpit.mcp.oauth.login import quiet as quiet
from cockpit.mcp.oauth.person import Person as Person
from cockpit.mcp.oauth.person import SessionPerson as SessionPerson
from cockpit.mcp.oauth.terminal import TerminalPerson as TerminalPerson
from cockpit.mcp.oauth.wanted import LoginFailed as LoginFailed
from cockpit.mcp.oauth.wanted import LoginNeeded as LoginNeeded
