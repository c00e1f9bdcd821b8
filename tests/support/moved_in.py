"""The folder of somebody who comes from other agents: their files as those agents' documents show them, every
field used, and beside them one broken file of each kind."""

import json
from pathlib import Path

SKILL = """---
name: deploy-check
description: Checks a deployment before it goes out. Use when somebody says deploy, ship or release.
license: Apache-2.0
compatibility: needs git and curl
metadata:
  author: ops
  version: "2.1"
allowed-tools: Read, Grep, Bash(git *)
when_to_use: before every release
argument-hint: "[environment] [tag]"
arguments: [environment, tag]
disable-model-invocation: no
user-invocable: yes
disallowed-tools: WebFetch
model: sonnet
effort: high
paths: "deploy/**, *.tf"
shell: bash
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: ./check.sh}]
unknown-field: ignored
---
Check $environment at $tag ($0, $ARGUMENTS[1]) in ${CLAUDE_SKILL_DIR}.

State: !`git status --short`
"""
FORKED = """---
name: audit
description: Looks for trouble in a part of the tree.
context: fork
agent: Explore
background: false
---
Audit $ARGUMENTS.
"""
AGENT = """---
name: code-reviewer
description: Reviews code. Use proactively after changes: it finds what breaks.
tools: Read, Grep, Glob, Bash
disallowedTools: Write, Edit
model: inherit
permissionMode: plan
maxTurns: 12
skills: deploy-check
mcpServers: [tracker]
hooks:
  PreToolUse: []
memory: project
background: false
effort: medium
isolation: worktree
color: purple
initialPrompt: Review the last commit.
---
You review code. Say what breaks, with path:line.
"""
COMMAND = """---
description: Fix an issue by number
argument-hint: <number> [branch]
allowed-tools: Bash(gh issue view:*), Read, Edit
model: opus
---
Fix issue $0 on branch $1. All: $ARGUMENTS

!`git branch --show-current`
@README.md
"""
OPENCODE = """---
description: Run the tests with coverage
agent: build
model: anthropic/claude-sonnet-4
subtask: true
---
Run the tests of $1 and explain failures: $ARGUMENTS
"""
GEMINI = '''description = "Writes a commit message"
prompt = """
Write a message for {{args}}:

!{git diff --staged}
"""
'''
HOOK = {"type": "command", "command": "./hooks/check.py", "timeout": 20}
SETTINGS = {
    "permissions": {
        "allow": ["Bash(npm run *)"],
        "ask": ["Bash(git push *)"],
        "deny": ["Read(./secrets/**)"],
    },
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{**HOOK, "if": "Bash(git *)"}]},
            {
                "matcher": "Edit|Write",
                "hooks": [{"type": "http", "url": "http://127.0.0.1:9/h", "timeout": 5}],
            },
        ],
        "Stop": [{"hooks": [{"type": "prompt", "prompt": "Is it done? $ARGUMENTS"}]}],
        "PostToolUse": [{"matcher": "mcp__.*", "hooks": [{"type": "agent", "prompt": "Check $ARGUMENTS"}]}],
        "SessionStart": [{"matcher": "startup", "hooks": [{**HOOK, "async": True, "once": True}]}],
    },
}
MCP = {
    "mcpServers": {
        "tracker": {
            "type": "stdio",
            "command": "python3",
            "args": ["server.py", "${TRACKER_MODE:-read}"],
            "env": {"TRACKER_URL": "${TRACKER_URL:-http://127.0.0.1:9}"},
        },
        "docs": {"type": "http", "url": "https://docs.example/mcp", "headers": {"X-Team": "${TEAM:-none}"}},
        "old": {"type": "sse", "url": "https://old.example/sse"},
    }
}
FILES: dict[str, str] = {
    "AGENTS.md": "Be brief.\n",
    "web/AGENTS.md": "Use the design tokens.\n",
    ".claude/rules/tests.md": "---\npaths: tests/**\n---\nName tests after what they show.\n",
    ".claude/skills/deploy-check/SKILL.md": "\ufeff" + SKILL.replace("\n", "\r\n"),
    ".claude/skills/deploy-check/check.sh": "#!/bin/sh\nexit 0\n",
    ".agents/skills/audit/SKILL.md": FORKED,
    ".claude/skills/README.md": "These are our skills.\n",
    ".cockpit/skills/drafts/idea.md": "---\nname: idea\ndescription: not yet\n---\nLater.\n",
    ".claude/agents/code-reviewer.md": AGENT,
    ".claude/commands/gh/fix-issue.md": COMMAND,
    ".opencode/commands/coverage.md": OPENCODE,
    ".gemini/commands/git/commit.toml": GEMINI,
    ".claude/settings.json": json.dumps(SETTINGS, indent=2),
    ".mcp.json": json.dumps(MCP, indent=2),
    "README.md": "# A product\n",
}
BROKEN: dict[str, str] = {
    ".claude/skills/broken-skill/SKILL.md": "---\nname: broken-skill\ndescription:\n  - [1\n---\nText\n",
    ".claude/agents/widening.md": (
        "---\nname: widening\ndescription: Wants more\npermissionMode: bypassPermissions\n---\nDo it.\n"
    ),
    ".claude/agents/nameless.md": "---\ndescription: Has no name\n---\nDo it.\n",
    ".gemini/commands/broken.toml": 'description = "x"\nprompt = unquoted\n',
    ".codex/hooks.json": (
        '{\n "hooks": {\n  "PreToolUze": [\n   {"hooks": [{"type": "command", "command": "x"}]}]\n }\n}\n'
    ),
}
"""Each is refused, in whole or in part, with file, line and remedy; the line is in `LINES`."""
LINES = {
    ".claude/skills/broken-skill/SKILL.md": (3, 4, 5),
    ".claude/agents/widening.md": (4,),
    ".claude/agents/nameless.md": (0, 1, 2),
    ".gemini/commands/broken.toml": (2,),
    ".codex/hooks.json": (3,),
}


def moved_in(root: Path, *, broken: bool = False) -> Path:
    """Write them into `root`."""
    for name, text in {**FILES, **(BROKEN if broken else {})}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root
