"""The instruction files of the person and of the project as one text, with a heading each."""

from pathlib import Path

from cockpit.formats.instruction_text import ALL, Refuses
from cockpit.formats.instructions import Told, always
from cockpit.workspace.resolver import Resolver


def instruction_files(root: Path, trusted: bool, home: Path) -> str:
    """All that every request tells; "" where there are none."""
    told = always(root, trusted, home, refusing(root))
    parts = [part(one) for one in told if one.text]
    if sum(len(one.text) for one in told) >= ALL:
        parts.append(f"(instruction files over {ALL:,} characters together were left out)")
    return "\n\n".join(parts)


def refusing(root: Path) -> Refuses:
    """Refuses what no tool may read: `@.env` in a project's file is no way around that."""
    resolver = Resolver(str(root))

    def reason(path: Path) -> str:
        judged = resolver.judge(str(path), "read")
        return judged.reason if judged.level == "deny" else ""

    return reason


def part(told: Told) -> str:
    return f"# Instructions from {told.name}\n\n{told.text}"
