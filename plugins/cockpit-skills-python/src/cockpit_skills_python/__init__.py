"""Skills that travel as one package: Python's typing, profiling and packaging. Teaches `register_skills`.

Each lies in `skills/NAME/SKILL.md`, as every agent reads them. Name and description are always told; the
text is read when a model (or `/NAME`) asks for it.
"""

from functools import partial
from pathlib import Path

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Register, Scope, Skill

FOLDER = Path(__file__).parent / "skills"


def parts(path: Path) -> tuple[dict[str, str], str]:
    """The head of a `SKILL.md` by field, and the text below it."""
    _, head, text = path.read_text(encoding="utf-8").split("---\n", 2)
    lines = (line.partition(":") for line in head.splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}, text.strip()


def body(path: Path) -> str:
    return parts(path)[1]


@hookimpl
def register_skills(register: Register, scope: Scope) -> None:
    for path in sorted(FOLDER.glob("*/SKILL.md")):
        head, _ = parts(path)
        register(Skill(head["name"], head["description"], partial(body, path), path=str(path)))
