"""Folders with skills, and a model that plays a script and writes down what it was sent."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.decks import distribution

SPY = """
import json
import os

from cockpit.builtin.models.scripted_model import ScriptPlayer
from cockpit.plugin import hookimpl
from cockpit.plugin.models import Model, ModelFacts
from cockpit.protocol import wire


@hookimpl
def register_models(register, scope):
    player = ScriptPlayer(os.environ["COCKPIT_SCRIPT"], scope.root, set())

    async def stream(request):
        row = {
            "model": request.model,
            "system": request.system,
            "reminder": request.reminder,
            "messages": [wire.encode(one) for one in request.messages],
            "tools": [one.name for one in request.tools],
        }
        with open(os.environ["SPY_FILE"], "a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\\n")
        async for delta in player.stream(request):
            yield delta

    async def models():
        return ("script", "other")

    register(Model("spy", stream, models=models, facts=lambda model: ModelFacts(128_000), default="script"))
"""


@dataclass(frozen=True)
class House:
    """A project in a repository, and a home folder, both empty."""

    root: Path
    home: Path

    def skill(self, name: str, body: str = "Do it.", base: str = "", **fields: str) -> Path:
        """A `SKILL.md` in `base` (`.cockpit` of the project); `_` in a field's name is `-`."""
        fields = {"description": f"What {name} does."} | fields
        head = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in fields.items())
        folder = (Path(base) if base else self.root / ".cockpit") / "skills" / name
        return self.file(folder / "SKILL.md", f"---\n{head}---\n\n{body}\n")

    def file(self, path: Path | str, text: str) -> Path:
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def requests(self) -> list[dict[str, Any]]:
        """What the model `spy:script` was sent."""
        lines = Path(os.environ["SPY_FILE"]).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


def spy(plugins: Path) -> None:
    """The model `spy:script` as a plugin; `COCKPIT_SCRIPT` and `SPY_FILE` name its files."""
    distribution(plugins, "spy", SPY)
