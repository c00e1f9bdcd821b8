"""OAuth login to MCP servers (docs/use/mcp-login.md). Knows nothing of sessions.

Start at `login`: `login` and `logout` are the user's actions, `auth_for` authorizes a connection's requests.
The SDK is imported when one of them is called.
"""

from cockpit.mcp.oauth.config import LoginFailed as LoginFailed
from cockpit.mcp.oauth.config import OAuthLoginNeeded as OAuthLoginNeeded
from cockpit.mcp.oauth.login import LoginResult as LoginResult
from cockpit.mcp.oauth.login import auth_for as auth_for
from cockpit.mcp.oauth.login import is_logged_in as is_logged_in
from cockpit.mcp.oauth.login import login as login
from cockpit.mcp.oauth.login import logout as logout
from cockpit.mcp.oauth.login import silence_auth_log as silence_auth_log
from cockpit.mcp.oauth.login_prompt import LoginPrompt as LoginPrompt
from cockpit.mcp.oauth.login_prompt import TerminalLoginPrompt as TerminalLoginPrompt
