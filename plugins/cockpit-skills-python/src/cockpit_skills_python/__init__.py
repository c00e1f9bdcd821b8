"""Skills for Python's typing, profiling and packaging. An example of `register_skills`.

Each skill is a file `skills/NAME/SKILL.md`, the format that every agent reads. Models always see its name and
description; the text is read when a model (or `/NAME`) uses the skill.
"""

from functools import partial
from pathlib import Path

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Register, Scope, Skill

FOLDER = Path(__file__).parent / "skills"


def parse_skill(path: Path) -> tuple[dict[str, str], str]:
    """The front matter of a `SKILL.md` by field, and the text below it."""
    _, head, text = path.read_text(encoding="utf-8").split("---\n", 2)
    lines = (line.partition(":") for line in head.splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}, text.strip()


def read_body(path: Path) -> str:
    return parse_skill(path)[1]


@hookimpl
def register_skills(register: Register, scope: Scope) -> None:
    for path in sorted(FOLDER.glob("*/SKILL.md")):
        head, _ = parse_skill(path)
        register(Skill(head["name"], head["description"], partial(read_body, path), path=str(path)))
