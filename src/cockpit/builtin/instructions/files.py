"""The instruction files people keep for agents: AGENTS.md and CLAUDE.md, with their imports.

The user's own file comes first, then the project's from the repository's top down to the root, the
nearest last. A folder that is not trusted gives none. An import stays in the project (or, in a user's
file, in the home folder), goes five deep at most and is taken once.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from cockpit.settings import plain

NAMES = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md")
LOCAL = "CLAUDE.local.md"
USER = (".config/AGENTS.md", ".agents/AGENTS.md", ".claude/CLAUDE.md")
RULES = ".claude/rules"
IMPORT = re.compile(r"(?<![\w`])@((?:~/|\.{1,2}/|/)?[\w./~-]*[\w/-](?:\.\w+)?)")
FENCE = re.compile(r"^\s*(```|~~~)")
COMMENT = re.compile(r"<!--.*?-->", re.S)
ONE = 24_000
ALL = 48_000
DEEPEST = 5


@dataclass
class Reading:
    """What was read so far: `left` is how many characters more are taken in."""

    left: int = ALL
    seen: set[Path] = field(default_factory=set)
    parts: list[str] = field(default_factory=list)


def instruction_files(root: Path, trusted: bool, home: Path) -> str:
    """All of them as one text with a heading each; "" where there are none."""
    reading = Reading()
    _first(reading, home, [cockpit_file(), *(home / name for name in USER)], home)
    if trusted:
        top = _top(root, home)
        for folder in (*reversed([one for one in root.parents if one.is_relative_to(top)]), root):
            _first(reading, root, [folder / name for name in NAMES], top)
            _take(reading, folder / LOCAL, root, top)
            for rule in _rules(folder):
                _take(reading, rule, root, top)
    if reading.left <= 0:
        reading.parts.append(f"(instruction files over {ALL:,} characters together were left out)")
    return "\n\n".join(reading.parts)


def cockpit_file() -> Path:
    from cockpit import paths

    return paths.config() / "AGENTS.md"


def _top(root: Path, home: Path) -> Path:
    """The repository's top, but never the home folder or above: what lies there is not the project's."""
    for folder in (root, *root.parents):
        if folder == home or folder == Path(folder.anchor):
            return root
        if (folder / ".git").exists():
            return folder
    return root


def _first(reading: Reading, shown_from: Path, candidates: list[Path], bound: Path) -> None:
    """CLAUDE.md is read only where no AGENTS.md is: they mostly say the same."""
    for path in candidates:
        if _take(reading, path, shown_from, bound):
            return


def _rules(folder: Path) -> list[Path]:
    """Rules for all files; those with `paths:` wait until such a file is touched."""
    try:
        found = sorted((folder / RULES).rglob("*.md"))[:50]
    except OSError:
        return []
    return [path for path in found if not re.match(r"---\n.*?^paths\s*:", _read(path)[:2_000], re.M | re.S)]


def _take(reading: Reading, path: Path, shown_from: Path, bound: Path) -> bool:
    real = path.resolve()
    if real in reading.seen or reading.left <= 0 or not _is_within(real, bound, path):
        return False
    text = _read(real)
    if not text.strip():
        return False
    reading.seen.add(real)
    text = _imported(COMMENT.sub("", text), real.parent, bound, reading, 1).strip()
    if len(text) > ONE:
        text = f"{text[:ONE]}\n(cut after {ONE:,} characters; read the file for the rest)"
    text = text[: reading.left]
    reading.left -= len(text)
    reading.parts.append(f"# Instructions from {_shown(path, shown_from)}\n\n{text}")
    return True


def _is_within(real: Path, bound: Path, path: Path) -> bool:
    # The user's own files may be links to anywhere: dotfiles are kept so.
    return real.is_relative_to(bound.resolve()) or bound == Path.home() or path == cockpit_file()


def _read(path: Path) -> str:
    try:
        return plain.read_text(path, 1_000_000, "utf-8-sig")
    except OSError:
        return ""


def _imported(text: str, folder: Path, bound: Path, reading: Reading, depth: int) -> str:
    """`text` with each `@path` outside of code replaced by that file."""
    lines: list[str] = []
    in_code = False
    for line in text.split("\n"):
        in_code ^= bool(FENCE.match(line))
        lines.append(line if in_code or "@" not in line else _line(line, folder, bound, reading, depth))
    return "\n".join(lines)


def _line(line: str, folder: Path, bound: Path, reading: Reading, depth: int) -> str:
    def content(found: re.Match[str]) -> str:
        named = found[1]
        path = Path(named).expanduser() if named.startswith("~") else folder / named
        real = path.resolve()
        if depth > DEEPEST or real in reading.seen or not real.is_relative_to(bound.resolve()):
            return found[0]
        text = _read(real)
        if not text:
            return found[0]
        reading.seen.add(real)
        return _imported(COMMENT.sub("", text).strip(), real.parent, bound, reading, depth + 1)

    # Code spans keep their @.
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else IMPORT.sub(content, part) for part in parts)


def _shown(path: Path, shown_from: Path) -> str:
    try:
        return path.relative_to(shown_from).as_posix()
    except ValueError:
        return str(path)
