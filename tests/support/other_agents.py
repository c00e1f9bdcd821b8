"""The settings of five other agents as people have them, all fields, written for these tests. `TOKEN` and
its like stand where people have secrets: none of them may turn up in a file of cockpit's."""

from pathlib import Path

TOKEN = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
KEY = "sk-proj-Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Jh1Gf0"
BEARER = "Qm9uam91ciBsZSBtb25kZSAyMDI2"
SECRETS = (TOKEN, KEY, BEARER)

CLAUDE = {
    ".claude/settings.json": """{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "model": "opus",
  "permissions": {
    "allow": ["Bash(npm run lint)", "Bash(npm run test *)", "Read(~/.zshrc)"],
    "ask": ["Bash(git push *)"],
    "deny": ["WebFetch", "Bash(curl *)", "Read(./.env)", "Read(./secrets/**)"],
    "additionalDirectories": ["../docs/"],
    "defaultMode": "acceptEdits",
    "disableBypassPermissionsMode": "disable"
  },
  "env": {"ANTHROPIC_BASE_URL": "https://proxy.example.com", "FOO": "bar"},
  "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]},
  "statusLine": {"type": "command", "command": "~/.claude/statusline.sh"},
  "includeCoAuthoredBy": false,
  "cleanupPeriodDays": 20
}
""",
    ".claude.json": """{
  "numStartups": 12,
  "mcpServers": {
    "github": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-github"],
      "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "@TOKEN@", "LOG_LEVEL": "debug"}
    },
    "docs": {
      "type": "http",
      "url": "https://docs.example.com/mcp",
      "headers": {"Authorization": "Bearer @BEARER@"}
    },
    "events": {"type": "sse", "url": "https://events.example.com/sse?api_key=@KEY@", "timeout": 60000}
  },
  "projects": {
    "ROOT": {
      "allowedTools": ["Bash(make *)"],
      "mcpServers": {"local": {"command": "uvx", "args": ["some-server", "--token", "@TOKEN@"]}},
      "hasTrustDialogAccepted": true
    }
  }
}
""",
}

CODEX = {
    ".codex/config.toml": f"""\
model = "qwen3-coder"
model_provider = "mine"
model_context_window = 131072
model_max_output_tokens = 8192
model_reasoning_effort = "high"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
notify = ["python3", "/opt/notify.py"]
file_opener = "vscode"

[model_providers.mine]
name = "My own"
base_url = "https://models.example.com/v1"
env_key = "MY_MODELS_KEY"
wire_api = "chat"
http_headers = {{ "X-Team" = "blue", "X-Api-Key" = "{KEY}" }}
env_http_headers = {{ "X-Feature" = "FEATURE_FLAGS" }}
request_max_retries = 4

[model_providers.azure]
name = "Azure"
base_url = "https://x.openai.azure.com/openai"
env_key = "AZURE_OPENAI_API_KEY"
query_params = {{ api-version = "2025-04-01-preview" }}
wire_api = "responses"

[mcp_servers.docs]
command = "docs-server"
args = ["--port", "4000", "--api-key={KEY}"]
env = {{ "API_KEY" = "{KEY}", "MODE" = "fast" }}
env_vars = ["HTTPS_PROXY"]
cwd = "/srv/docs"
startup_timeout_sec = 20
tool_timeout_sec = 45.5
disabled_tools = ["delete_page"]

[mcp_servers.remote]
url = "https://mcp.example.com/mcp"
bearer_token_env_var = "REMOTE_TOKEN"
http_headers = {{ "X-Org" = "acme" }}
env_http_headers = {{ "X-User" = "REMOTE_USER" }}
enabled = false
enabled_tools = ["search"]

[profiles.fast]
model = "o4-mini"

[shell_environment_policy]
inherit = "core"

[projects."/home/me/work"]
trust_level = "trusted"

[tui]
notifications = true
""",
    ".codex/agents/writer.toml": 'name = "writer"\ndescription = "d"\ndeveloper_instructions = "write"\n',
    ".codex/rules/default.rules": 'prefix_rule(pattern=["git", "status"], decision="allow")\n',
}

OPENCODE = {
    ".config/opencode/opencode.jsonc": """{
  "$schema": "https://opencode.ai/config.json",
  // the model of every day
  "model": "groq/openai/gpt-oss-120b",
  "small_model": "house/tiny",
  "provider": {
    "house": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "The house",
      "options": {
        "baseURL": "https://llm.example.com/v1",
        "apiKey": "{env:HOUSE_KEY}",
        "headers": {"X-Id": "7"}
      },
      "models": {
        "big": {
          "name": "Big",
          "limit": {"context": 200000, "output": 32000},
          "cost": {"input": 1.5, "output": 6, "cache_read": 0.3},
          "attachment": true,
          "reasoning": true
        },
        "tiny": {"name": "Tiny"}
      }
    },
    "anthropic": {"npm": "@ai-sdk/anthropic", "options": {"apiKey": "@KEY@"}},
    "deepseek": {"options": {"apiKey": "@KEY@"}}
  },
  "mcp": {
    "tickets": {
      "type": "local",
      "command": ["bun", "x", "tickets-mcp"],
      "environment": {"TICKETS_TOKEN": "@TOKEN@", "REGION": "eu"},
      "enabled": true,
      "timeout": 5000,
      "cwd": "tools"
    },
    "context7": {
      "type": "remote",
      "url": "https://mcp.context7.com/mcp",
      "headers": {"CONTEXT7_API_KEY": "{env:CONTEXT7_API_KEY}"},
      "oauth": {"clientId": "{env:CLIENT}", "scope": "tools:read"},
      "enabled": false
    },
    "inherited": {"enabled": true},
  },
  "permission": {
    "bash": {"*": "ask", "git *": "allow", "git push *": "deny", "rm *": "deny"},
    "edit": {"*": "deny", "docs/*.mdx": "allow"},
    "read": {"$HOME/secrets/*": "deny"},
    "webfetch": "ask",
    "tickets_delete": "deny",
    "external_directory": {"~/projects/**": "allow"},
    "doom_loop": "ask",
    "task": {"reviewer-*": "maybe"}
  },
  "tools": {"context7*": false, "websearch": true},
  "agent": {
    "reviewer": {
      "description": "Reviews code",
      "mode": "subagent",
      "model": "groq/openai/gpt-oss-120b",
      "prompt": "You are a reviewer.",
      "temperature": 0.1,
      "maxSteps": 12,
      "tools": {"write": false, "bash": false},
      "permission": {"edit": "deny"}
    },
    "filed": {"description": "From a file", "prompt": "{file:./prompts/filed.txt}"},
    "gone": {"description": "No file", "prompt": "{file:./prompts/gone.txt}"},
    "build": {"model": "house/big"},
    "off": {"disable": true, "prompt": "x"}
  },
  "command": {"test": {"template": "Run $ARGUMENTS", "description": "Tests"}},
  "instructions": ["CONTRIBUTING.md", "docs/*.md"],
  "plugin": ["opencode-helicone"],
  "theme": "opencode",
  "share": "manual"
}
""",
    ".config/opencode/prompts/filed.txt": "You come from a file.",
}

CRUSH = {
    ".config/crush/crush.json": """{
  "$schema": "https://charm.land/crush.json",
  "models": {
    "large": {"model": "deepseek-chat", "provider": "deepseek-own", "max_tokens": 8000, "think": true},
    "small": {"model": "llama3", "provider": "ollama"}
  },
  "providers": {
    "deepseek-own": {
      "type": "openai-compat",
      "name": "Deepseek",
      "base_url": "https://api.deepseek.example/v1",
      "api_key": "$DEEPSEEK_API_KEY",
      "extra_headers": {"X-From": "crush"},
      "extra_body": {"n": 1},
      "models": [
        {
          "id": "deepseek-chat",
          "name": "Deepseek V3",
          "cost_per_1m_in": 0.27,
          "cost_per_1m_out": 1.1,
          "cost_per_1m_in_cached": 0.07,
          "cost_per_1m_out_cached": 1.1,
          "context_window": 64000,
          "default_max_tokens": 5000,
          "can_reason": false,
          "supports_attachments": false
        }
      ]
    },
    "claude": {"type": "anthropic", "api_key": "@KEY@"},
    "unused": {"type": "openai", "base_url": "https://x.example/v1", "api_key": "@TOKEN@", "disable": true}
  },
  "mcp": {
    "filesystem": {
      "type": "stdio",
      "command": "node",
      "args": ["/srv/mcp-server.js"],
      "timeout": 120,
      "disabled": false,
      "disabled_tools": ["write_file"],
      "env": {"NODE_ENV": "production"}
    },
    "github": {
      "type": "http",
      "url": "https://api.githubcopilot.com/mcp/",
      "timeout": 30,
      "headers": {"Authorization": "Bearer $GH_PAT"},
      "oauth_client_id": "abc"
    },
    "stream": {"type": "sse", "url": "https://example.com/sse", "headers": {"API-Key": "$(echo $API_KEY)"}},
    "computed": {"type": "http", "url": "https://c.example/mcp", "headers": {"X-Token": "$(pass show token)"}}
  },
  "lsp": {"go": {"command": "gopls"}},
  "permissions": {"allowed_tools": ["view", "ls", "edit", "mcp_filesystem_read-file", "bash:git status"]},
  "hooks": {"PreToolUse": [{"command": "true"}]},
  "options": {"disabled_tools": ["fetch"], "tui": {"compact_mode": true}, "context_paths": ["X.md"]},
  "env": {"A": "b"}
}
""",
}

VIBE = {
    ".vibe/config.toml": f"""\
active_model = "coder"
default_agent = "accept-edits"
disabled_tools = ["web_search", "re:^danger"]
enabled_tools = []
skill_paths = ["~/skills"]
vim_keybindings = true

[[providers]]
name = "mistral"
api_base = "https://api.mistral.ai/v1"
api_key_env_var = "MISTRAL_API_KEY"
api_style = "openai"
backend = "mistral"

[[providers]]
name = "local-one"
api_base = "http://127.0.0.1:8080/v1"
api_key_env_var = ""
extra_headers = {{ "X-Token" = "{BEARER}", "X-Kind" = "local" }}

[[providers]]
name = "vertex"
api_base = "https://x.googleapis.com"
api_style = "vertex-anthropic"

[[models]]
name = "devstral-2"
provider = "local-one"
alias = "coder"
temperature = 0.2
input_price = 0.4
output_price = 2.0
cached_input_price = 0.04
thinking = "off"
supports_images = true

[[mcp_servers]]
name = "fetch"
transport = "stdio"
command = "uvx --quiet"
args = ["mcp-server-fetch"]
env = {{ "DEBUG" = "1" }}
startup_timeout_sec = 15
tool_timeout_sec = 20
disabled_tools = ["post"]

[[mcp_servers]]
name = "old"
transport = "http"
url = "http://localhost:8000"
headers = {{ "X-Kind" = "old" }}
api_key_env = "OLD_KEY"
api_key_header = "X-Api-Key"
api_key_format = "Key {{token}}"

[[mcp_servers]]
name = "new"
transport = "streamable-http"
url = "https://new.example/mcp"
disabled = true

[mcp_servers.auth]
type = "oauth"
scopes = ["read", "write"]
client_id = "vibe"

[tools.bash]
permission = "ask"
allowlist = ["git status", "ls"]
denylist = ["rm -rf"]

[tools.write_file]
permission = "never"

[tools.read_file]
permission = "always"

[tools.fetch_get]
permission = "always"
""",
    ".vibe/agents/security.toml": """\
display_name = "Security"
description = "Looks for holes"
agent_type = "subagent"
safety = "safe"
system_prompt_id = "security"
enabled_tools = ["read_file", "grep"]
disabled_tools = ["bash"]

[tools.write_file]
permission = "never"
""",
    ".vibe/agents/lost.toml": 'description = "d"\nsystem_prompt_id = "nowhere"\n',
    ".vibe/prompts/security.md": "You look for holes.\n",
}

FILES = CLAUDE | CODEX | OPENCODE | CRUSH | VIBE


def lay_out(home: Path, root: Path) -> None:
    """Put every file into `home`; Claude's knows the project at `root`."""
    for name, text in FILES.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for mark, value in (("ROOT", str(root)), ("@TOKEN@", TOKEN), ("@KEY@", KEY), ("@BEARER@", BEARER)):
            text = text.replace(mark, value)
        path.write_text(text, encoding="utf-8")
