"""The instruction files people keep for agents: AGENTS.md and CLAUDE.md, rules for some files, their imports.

The user's own come first, then the project's from the repository's top down to the root, the nearest last.
Those of folders below the root, and rules with `paths:`, wait until such a file is touched. Of a folder
that is not trusted nothing is read.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from cockpit import paths
from cockpit.formats import frontmatter
from cockpit.formats.globs import fits, patterns_of
from cockpit.formats.instruction_text import ALL, Reading, Refuses, read, take
from cockpit.formats.places import top_of, upward
from cockpit.plugin.origin import Fault, Layer, Origin
from cockpit.protocol.messages import Json

NAMES = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md")
LOCAL = "CLAUDE.local.md"
USER = (
    ".config/AGENTS.md",
    ".agents/AGENTS.md",
    ".codex/AGENTS.md",
    ".config/opencode/AGENTS.md",
    ".pi/agent/AGENTS.md",
    ".vibe/AGENTS.md",
    ".claude/CLAUDE.md",
)
RULES = (".claude/rules", ".cockpit/rules")
MOST_RULES = 100
# Where no instructions for a model are looked for when all of a project's are listed.
SKIPPED = frozenset({"node_modules", "target", "dist", "build", "vendor", "__pycache__", "site-packages"})
MOST_FOLDERS = 5_000


@dataclass(frozen=True, slots=True)
class Told:
    """One instruction file. `text` is what a model reads of it, `paths` the globs of the files it is for
    (none: all), relative to `base`. One that could not be read has no text and says why in its origin."""

    name: str
    path: Path
    text: str
    origin: Origin
    paths: tuple[str, ...] = ()
    base: str = ""

    def concerns(self, path: str) -> bool:
        """Whether it is for the file at the real `path`."""
        below = os.path.relpath(path, self.base).replace(os.sep, "/") if self.base else path
        return not below.startswith("../") and fits(self.paths, below)


def always(root: Path, trusted: bool, home: Path, refuses: Refuses) -> tuple[Told, ...]:
    """Those that every request tells."""
    return tuple(one for one in _start(_Shelf(root, home, Reading(refuses)), trusted) if not one.paths)


def waiting(root: Path, trusted: bool, home: Path, refuses: Refuses) -> tuple[Told, ...]:
    """The rules that wait until a file of their `paths:` is touched."""
    return tuple(one for one in _start(_Shelf(root, home, Reading(refuses)), trusted) if one.paths)


def nested(root: Path, folder: Path, home: Path, refuses: Refuses) -> tuple[Told, ...]:
    """Those of one folder below the root, its rules too. The root is trusted."""
    return tuple(_of_folder(_Shelf(root, home, Reading(refuses)), folder))


def found(root: Path, trusted: bool, home: Path, refuses: Refuses) -> list[tuple[str, Origin]]:
    """All of them with what was understood and refused, for `cockpit instructions list`."""
    shelf = _Shelf(root, home, Reading(refuses))
    rows = list(_start(shelf, trusted))
    for folder in _folders(root) if trusted else ():
        shelf.reading.left = ALL
        when = f"a file below {folder.relative_to(root).as_posix()}/ is touched"
        rows += [_waits(one, when) for one in _of_folder(shelf, folder)]
    return [(one.name, one.origin) for one in rows]


def _waits(told: Told, when: str) -> Told:
    return replace(told, origin=replace(told.origin, fields={**told.origin.fields, "when": when}))


@dataclass
class _Shelf:
    """Where the files of one root are taken from, and what was taken so far."""

    root: Path
    home: Path
    reading: Reading

    def name(self, path: Path) -> str:
        if path == cockpit_file() or path.is_relative_to(paths.config()):
            return f"config/{path.relative_to(paths.config()).as_posix()}"
        if path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        if path.is_relative_to(top_of(self.root, self.home)):
            return os.path.relpath(path, self.root).replace(os.sep, "/")
        return f"~/{path.relative_to(self.home).as_posix()}" if path.is_relative_to(self.home) else str(path)


def cockpit_file() -> Path:
    return paths.config() / "AGENTS.md"


def _start(shelf: _Shelf, trusted: bool) -> Iterator[Told]:
    home = shelf.home
    yield from _first(shelf, [cockpit_file(), *(home / name for name in USER)], "user", home)
    for folder in (home / ".claude/rules", paths.config() / "rules"):
        yield from _rules(shelf, folder, "user", home, shelf.root)
    if not trusted:
        return
    for folder in reversed(upward(shelf.root, home)):
        yield from _of_folder(shelf, folder)


def _of_folder(shelf: _Shelf, folder: Path) -> Iterator[Told]:
    """The files of one folder of the project."""
    top = top_of(shelf.root, shelf.home)
    yield from _first(shelf, [folder / name for name in NAMES], "project", top)
    yield from _one(shelf, folder / LOCAL, "project", top)
    for name in RULES:
        yield from _rules(shelf, folder / name, "project", top, folder)


def _first(shelf: _Shelf, candidates: list[Path], layer: Layer, bound: Path) -> Iterator[Told]:
    """CLAUDE.md is read only where no AGENTS.md is: they mostly say the same."""
    for at, path in enumerate(candidates):
        for told in _one(shelf, path, layer, bound):
            hidden = tuple(str(one) for one in candidates[at + 1 :] if one.is_file())
            yield replace(told, origin=replace(told.origin, shadows=hidden))
            return


def _rules(shelf: _Shelf, folder: Path, layer: Layer, bound: Path, base: Path) -> Iterator[Told]:
    """Every rule of a folder, those for all files and those for some."""
    try:
        files = sorted(one for one in folder.rglob("*.md") if one.name.lower() != "readme.md")
    except OSError:
        return
    for path in files[:MOST_RULES]:
        yield from _one(shelf, path, layer, bound, base)
    if left := files[MOST_RULES:]:
        reason = f"only {MOST_RULES} rules of a folder are read: {len(left)} are left out"
        fault = Fault(str(folder), 0, reason, "join some of them")
        yield Told(shelf.name(left[0]), left[0], "", Origin(str(left[0]), layer, refused=(fault,)))


def _one(shelf: _Shelf, path: Path, layer: Layer, bound: Path, base: Path | None = None) -> Iterator[Told]:
    """The file at `path`, where there is one; `base` for a rule: what its globs are relative to."""
    real = path.resolve()
    if real in shelf.reading.seen or shelf.reading.left <= 0:
        return
    # The user's own files may be links to anywhere: dotfiles are kept so.
    if layer == "project" and not real.is_relative_to(bound.resolve()):
        remedy = "put the file itself there"
        yield _refused(shelf, path, layer, f"it is a link that leads out of {bound}", remedy)
        return
    if reason := shelf.reading.refuses(real):
        yield _refused(shelf, path, layer, f"it is not read: {reason}", "put a file of its own there")
        return
    try:
        text = read(real)
    except OSError as error:
        yield _refused(shelf, path, layer, f"it cannot be read: {error.strerror}", "make it a text file")
        return
    if text is None or not text.strip():
        return
    shelf.reading.seen.add(real)
    yield _told(shelf, path, text, layer, bound, base)


def _told(shelf: _Shelf, path: Path, text: str, layer: Layer, bound: Path, base: Path | None) -> Told:
    globs: tuple[str, ...] = ()
    faults: list[Fault] = []
    line = 1
    if base is not None:
        document = frontmatter.parse(text, str(path))
        text, line = document.body, document.body_line
        globs = patterns_of(document.fields.get("paths"))
        faults += document.faults
        if "globs" in document.fields and not globs:
            remedy = "write `paths:`; until then the rule is told for all files"
            faults.append(document.fault("globs", "`globs:` is another agent's field", remedy))
    # What waits is not part of what every request tells, so it is counted by itself.
    reading = replace(shelf.reading, left=ALL, seen=set(shelf.reading.seen)) if globs else shelf.reading
    taken = take(reading, path.resolve(), text, bound, line)
    fields: dict[str, Json] = {"characters": len(taken.text)}
    if globs:
        fields["paths"] = list(globs)
    if taken.imports:
        fields["imports"] = list(taken.imports)
    origin = Origin(str(path), layer, fields, refused=(*faults, *taken.faults))
    return Told(shelf.name(path), path, taken.text, origin, globs, os.path.realpath(base) if base else "")


def _refused(shelf: _Shelf, path: Path, layer: Layer, reason: str, remedy: str) -> Told:
    origin = Origin(str(path), layer, refused=(Fault(str(path), 0, reason, remedy),))
    return Told(shelf.name(path), path, "", origin)


def _folders(root: Path) -> Iterable[Path]:
    """The folders below the root that may hold instructions, 5,000 at most."""
    left = MOST_FOLDERS
    for here, names, _ in os.walk(root):
        names[:] = sorted(one for one in names if one[0] != "." and one not in SKIPPED)
        left -= len(names)
        if left < 0:
            return
        yield from (Path(here, one) for one in names)
