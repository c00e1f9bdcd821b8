"""The instruction files of the person and of the project as one text, with a heading each."""

from pathlib import Path

from cockpit.formats.instruction_text import ALL
from cockpit.formats.instructions import Told, always


def instruction_files(root: Path, trusted: bool, home: Path) -> str:
    """All that every request tells; "" where there are none."""
    told = always(root, trusted, home)
    parts = [part(one) for one in told if one.text]
    if sum(len(one.text) for one in told) >= ALL:
        parts.append(f"(instruction files over {ALL:,} characters together were left out)")
    return "\n\n".join(parts)


def part(told: Told) -> str:
    return f"# Instructions from {told.name}\n\n{told.text}"
