"""Hooks for tests: written into files of a person and of a project, noting what they were told."""

import asyncio
import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.decks import script

from cockpit.core.session.options import RunOptions
from cockpit.protocol.messages import Mode

STEPS = 4_000


class House:
    """The folders of one test. `person` holds the person's own files, `root` the project."""

    def __init__(self, root: Path, person: Path) -> None:
        self.root = root
        self.person = person
        self.notes = root.parent / "notes"

    def own(self, **events: Any) -> None:
        """Hooks of the person's own: they run without a question."""
        write(self.person / ".claude" / "settings.json", events)

    def project(self, file: str = ".claude/settings.json", **events: Any) -> None:
        write(self.root / file, events)

    def play(self, *steps: Mapping[str, Any], **others: Any) -> None:
        script(self.root.parent, *steps, **others)

    def python(self, text: str) -> str:
        """A command line that runs `text` with `told`, what it read as JSON, and `note(word)`."""
        body = (
            "import json, sys, os, time\n"
            "told = json.load(sys.stdin)\n"
            f"def note(word):\n    open({str(self.notes)!r}, 'a').write(str(word) + '\\n')\n"
        )
        return f"{shlex.quote(sys.executable)} -c {shlex.quote(body + text)}"

    async def until(self, count: int) -> None:
        """Wait until that many lines are noted."""
        for _ in range(STEPS):
            if len(self.noted()) >= count:
                return
            await asyncio.sleep(0.005)
        raise AssertionError(f"{count} lines were awaited: {self.noted()}")

    def noted(self) -> list[str]:
        return self.notes.read_text(encoding="utf-8").splitlines() if self.notes.exists() else []


def command(line: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": line, **more}


def write(file: Path, events: Mapping[str, Any]) -> None:
    """`{"PreToolUse": ("Bash", hook, hook)}` or `{"Stop": hook}` as a settings file."""
    table: dict[str, list[dict[str, Any]]] = {}
    for event, given in events.items():
        matcher, *hooks = given if isinstance(given, tuple) else ("", given)
        table[event] = [{"matcher": matcher, "hooks": list(hooks)}]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"hooks": table}, indent=1), encoding="utf-8")


def options(mode: Mode = "ask", trust: bool = True, someone: bool = True) -> RunOptions:
    return RunOptions(model="scripted:script", trust=trust, mode=mode, someone=someone)
