"""Lists the project's commands for the model, so that it runs `make test` instead of guessing. An example of
`register_context`.

A source returns text at each session, turn or step. Its place is `prefix` for text that stays the same
(providers cache it), `suffix` or `reminder` for text that changes.
"""

import asyncio
import json
import re
import tomllib
from pathlib import Path

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.values import ContextSource, Register, Scope

TARGET = re.compile(r"^([A-Za-z][\w.-]*)\s*:(?![=:])", re.MULTILINE)
MAX_COMMANDS = 20
MAX_BYTES = 200_000


def read_text(path: Path) -> str:
    """The text of a small file, or an empty string if it is missing or too large."""
    try:
        return path.read_text("utf-8", "replace") if path.stat().st_size <= MAX_BYTES else ""
    except OSError:
        return ""


def make_commands(root: Path) -> list[str]:
    names = dict.fromkeys(TARGET.findall(read_text(root / "Makefile")))
    return [f"make {name}" for name in names]


def node_commands(root: Path) -> list[str]:
    try:
        scripts = json.loads(read_text(root / "package.json") or "{}").get("scripts", {})
    except (ValueError, AttributeError):
        return []
    runner = (
        "pnpm" if (root / "pnpm-lock.yaml").exists() else "yarn" if (root / "yarn.lock").exists() else "npm"
    )
    return [f"{runner} run {name}" for name in scripts] if isinstance(scripts, dict) else []


def python_commands(root: Path) -> list[str]:
    try:
        tools = tomllib.loads(read_text(root / "pyproject.toml")).get("tool", {})
    except tomllib.TOMLDecodeError:
        return []
    tasks = tools.get("taskipy", {}).get("tasks", {}) or tools.get("poe", {}).get("tasks", {})
    runner = "task" if "taskipy" in tools else "poe"
    return [f"{runner} {name}" for name in tasks]


def just_commands(root: Path) -> list[str]:
    text = read_text(root / "justfile") or read_text(root / "Justfile")
    return [f"just {name}" for name in dict.fromkeys(TARGET.findall(text))]


def find_commands(root: Path) -> list[str]:
    """The commands in a project's files, at most 20 per file."""
    finders = (make_commands, just_commands, node_commands, python_commands)
    return [command for find in finders for command in find(root)[:MAX_COMMANDS]]


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    if not scope.trusted:
        return  # No file is read before the user trusts the folder.

    async def collect(context: Context) -> str:
        commands = await asyncio.to_thread(find_commands, Path(context.workspace.root))
        if not commands:
            return ""
        return "This project has these commands; prefer them to your own:\n" + "\n".join(commands)

    register(ContextSource("project-commands", "prefix", "turn", collect, order=30))
