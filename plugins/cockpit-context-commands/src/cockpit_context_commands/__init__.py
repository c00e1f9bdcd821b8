"""The model is told which commands this project has, so that it runs `make test` and does not guess. Teaches
`register_context`.

A source is asked at each session, turn or step and answers with text. Its place is `prefix` for what stays
the same (it is cached by providers), `suffix` or `reminder` for what changes.
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
MOST = 20
LARGEST = 200_000


def text_of(path: Path) -> str:
    """A small file's text, empty for what is none."""
    try:
        return path.read_text("utf-8", "replace") if path.stat().st_size <= LARGEST else ""
    except OSError:
        return ""


def of_make(root: Path) -> list[str]:
    names = dict.fromkeys(TARGET.findall(text_of(root / "Makefile")))
    return [f"make {name}" for name in names]


def of_node(root: Path) -> list[str]:
    try:
        scripts = json.loads(text_of(root / "package.json") or "{}").get("scripts", {})
    except (ValueError, AttributeError):
        return []
    runner = (
        "pnpm" if (root / "pnpm-lock.yaml").exists() else "yarn" if (root / "yarn.lock").exists() else "npm"
    )
    return [f"{runner} run {name}" for name in scripts] if isinstance(scripts, dict) else []


def of_python(root: Path) -> list[str]:
    try:
        tools = tomllib.loads(text_of(root / "pyproject.toml")).get("tool", {})
    except tomllib.TOMLDecodeError:
        return []
    tasks = tools.get("taskipy", {}).get("tasks", {}) or tools.get("poe", {}).get("tasks", {})
    runner = "task" if "taskipy" in tools else "poe"
    return [f"{runner} {name}" for name in tasks]


def of_just(root: Path) -> list[str]:
    text = text_of(root / "justfile") or text_of(root / "Justfile")
    return [f"just {name}" for name in dict.fromkeys(TARGET.findall(text))]


def commands_of(root: Path) -> list[str]:
    """The commands that the files of a project name, each once, at most 20 of each file."""
    return [command for find in (of_make, of_just, of_node, of_python) for command in find(root)[:MOST]]


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    if not scope.trusted:
        return  # before a person trusts the folder, no file of it is read

    async def collect(context: Context) -> str:
        commands = await asyncio.to_thread(commands_of, Path(context.workspace.root))
        if not commands:
            return ""
        return "This project has these commands; prefer them to your own:\n" + "\n".join(commands)

    register(ContextSource("project-commands", "prefix", "turn", collect, order=30))
