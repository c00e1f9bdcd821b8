"""Variables that a SessionStart hook writes into `CLAUDE_ENV_FILE`, for the programs of its session.

`export NAME=value` lines, quoted as in sh, with `$NAME` of the environment. Nothing in them is run.
"""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from cockpit.settings import plain
from cockpit.workspace.environment import STARTERS, search_path

LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
NAMED = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
LARGEST = 100_000
# Each leads a loader, a shell or git to a program that nobody was shown.
DOORS = re.compile(r"LD_.*|DYLD_.*|BASH_FUNC_.*|GIT_.*|COCKPIT_.*")


def exported(file: Path, environment: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables of the file, and a sentence for each line that is not taken over."""
    try:
        text = plain.read_text(file, LARGEST)
    except OSError as error:
        return {}, (f"the file of variables cannot be read: {error.strerror or error}",)
    found: dict[str, str] = {}
    faults: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        pair = _pair(line, {**environment, **found})
        if isinstance(pair, str):
            faults.append(pair)
        else:
            found[pair[0]] = pair[1]
    return found, tuple(faults)


def _pair(line: str, known: Mapping[str, str]) -> tuple[str, str] | str:
    matched = LINE.fullmatch(line)
    if matched is None or "`" in line or "$(" in line:
        return f"{line.strip()[:80]!r} is no `export NAME=value`"
    name, written = matched[1], matched[2].strip()
    if name in STARTERS or DOORS.fullmatch(name):
        return f"{name} is not taken over: it says what runs before a command"
    literal = written.startswith("'")
    try:
        words = shlex.split(written)
    except ValueError:
        return f"{line.strip()[:80]!r} has a quote that never ends"
    value = words[0] if words else ""
    if not literal:
        value = NAMED.sub(lambda one: known.get(one[1] or one[2], ""), value)
    return name, search_path(value) if name == "PATH" else value
