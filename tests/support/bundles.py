"""A plugin of Claude Code as its documentation describes one: every kind of part, in its usual place."""

import json
from pathlib import Path

PARTS = {
    ".claude-plugin/plugin.json": json.dumps(
        {
            "name": "tidy",
            "version": "1.2.0",
            "description": "Keeps code tidy",
            "author": {"name": "A"},
            "homepage": "https://example.org",
            "license": "MIT",
            "keywords": ["lint"],
        }
    ),
    "skills/lint/SKILL.md": "---\nname: lint\ndescription: Lints\n---\nRun ${CLAUDE_PLUGIN_ROOT}/bin/lint.\n",
    "agents/checker.md": "---\nname: checker\ndescription: Checks\ntools: Read, Grep\n---\n"
    "Check. See ${CLAUDE_PLUGIN_ROOT}.\n",
    "commands/sweep.md": "---\ndescription: Sweep\nargument-hint: '[path]'\n---\nSweep $ARGUMENTS.\n",
    "commands/git/tag.md": "Tag it.\n",
    "hooks/hooks.json": json.dumps(
        {
            "description": "what runs",
            "hooks": {
                "PreToolUse": [
                    {
                        "matcher": "Read",
                        "hooks": [
                            {"type": "command", "command": 'sh "${CLAUDE_PLUGIN_ROOT}"/hooks/check.sh'}
                        ],
                    }
                ]
            },
        }
    ),
    "hooks/check.sh": 'echo "from $CLAUDE_PLUGIN_ROOT" >&2\nexit 2\n',
    ".mcp.json": json.dumps(
        {
            "mcpServers": {
                "db": {"command": "${CLAUDE_PLUGIN_ROOT}/bin/db", "args": ["--root", "${CLAUDE_PROJECT_DIR}"]}
            }
        }
    ),
    ".lsp.json": json.dumps(
        {"zig": {"command": "${CLAUDE_PLUGIN_ROOT}/bin/zls", "extensionToLanguage": {".zig": "zig"}}}
    ),
}


def write_bundle(folder: Path, **manifest: object) -> Path:
    """A whole bundle in `folder`; `manifest` are more fields of its manifest."""
    for name, text in PARTS.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if manifest:
        file = folder / ".claude-plugin" / "plugin.json"
        file.write_text(
            json.dumps(json.loads(file.read_text(encoding="utf-8")) | manifest, indent=1), encoding="utf-8"
        )
    return folder
