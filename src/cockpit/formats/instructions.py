"""Instruction files for agents: AGENTS.md, CLAUDE.md, rules for some files, and the files they import.

The user's own files come first, then the project's from the top of the repository down to the root. Files in
folders below the root, and rules with `paths:`, are loaded when such a file is touched. Nothing is read from
a folder that is not trusted. An import stays within the project (for a user's file: the home folder), goes
at most five levels deep and is included once; what is not included is reported with its line.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from cockpit import paths
from cockpit.formats import frontmatter
from cockpit.formats.globs import matches_any, parse_patterns
from cockpit.formats.search_folders import find_repository_top, list_folders_upward
from cockpit.plugin.origin import FileProblem, Layer, Origin
from cockpit.protocol.messages import Json
from cockpit.settings import file_io

IMPORT_PATTERN = re.compile(r"(?<![\w`])@((?:~/|\.{1,2}/|/)?[\w./~-]*[\w/-](?:\.\w+)?)")
FENCE = re.compile(r"^\s*(```|~~~)")
COMMENT = re.compile(r"<!--.*?-->", re.S)
# Looks like a path even if the file does not exist: not `@someone`, not `@scope/package`.
FILE_LIKE = re.compile(r"^(?:~/|\.{1,2}/|/)|\.(?:md|mdx|mdc|txt|rst|toml|json|ya?ml)$", re.I)
MAX_FILE_BYTES = 1_000_000
MAX_FILE_CHARACTERS = 24_000
MAX_CHARACTERS = 48_000
MAX_IMPORT_DEPTH = 5
# Replaces a line break in a removed comment, so that lines can still be counted.
REMOVED_LINE = "\x01"
# Why a model may not read the file at a real path, or "": imports obey the same rules as tools.
RefusePath: TypeAlias = Callable[[Path], str]


@dataclass
class ReadProgress:
    """What was read so far: `left` is how many more characters may be read, `seen` the files read."""

    refuses: RefusePath
    left: int = MAX_CHARACTERS
    seen: set[Path] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class ResolvedText:
    """A file's text as a model reads it, and what was left out."""

    text: str
    imports: tuple[str, ...] = ()
    faults: tuple[FileProblem, ...] = ()


def resolve_imports(reading: ReadProgress, path: Path, text: str, bound: Path, line: int = 1) -> ResolvedText:
    """`text`, which starts at `line` of the file `path`, with imports included and comments removed; counted
    in `reading`."""
    walk = _ImportResolver(reading, bound.resolve())
    result = walk.imported(text, path, line, 1).replace(REMOVED_LINE, "").strip()
    if len(result) > MAX_FILE_CHARACTERS:
        note = f"(cut after {MAX_FILE_CHARACTERS:,} characters; read the file for the rest)"
        result = f"{result[:MAX_FILE_CHARACTERS]}\n{note}"
        remedy = "shorten it: move what concerns only some files into .claude/rules with `paths:`"
        walk.faults.append(FileProblem(str(path), 0, f"cut after {MAX_FILE_CHARACTERS:,} characters", remedy))
    if len(result) > reading.left:
        reason = f"together, instruction files exceed {MAX_CHARACTERS:,} characters: the rest is ignored"
        walk.faults.append(FileProblem(str(path), 0, reason, "shorten or remove some of them"))
    result = result[: max(0, reading.left)]
    reading.left -= len(result)
    return ResolvedText(result, tuple(walk.imports), tuple(walk.faults))


def read_instruction_file(path: Path) -> str | None:
    """The text of a file, or None if it does not exist. Raises OSError if it cannot be read."""
    try:
        return file_io.read_text(path, MAX_FILE_BYTES, "utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None


@dataclass
class _ImportResolver:
    """Resolves the imports of one file, recursively."""

    reading: ReadProgress
    bound: Path
    imports: list[str] = field(default_factory=list)
    faults: list[FileProblem] = field(default_factory=list)

    def imported(self, text: str, file: Path, line: int, depth: int) -> str:
        """`text` with each `@path` outside of code replaced by that file."""
        text = COMMENT.sub(lambda match: REMOVED_LINE * match[0].count("\n"), text)
        lines: list[str] = []
        in_code = False
        for line_text in text.split("\n"):
            in_code ^= bool(FENCE.match(line_text))
            plain = in_code or "@" not in line_text
            lines.append(line_text if plain else self._line(line_text, file, line, depth))
            line += 1 + line_text.count(REMOVED_LINE)
        return "\n".join(lines)

    def _line(self, text: str, file: Path, line: int, depth: int) -> str:
        def content(match: re.Match[str]) -> str:
            inner = self._content(match[1], file, line, depth)
            return match[0] if inner is None else inner

        # Code spans keep their @.
        parts = re.split(r"(`[^`]*`)", text)
        return "".join(part if part.startswith("`") else IMPORT_PATTERN.sub(content, part) for part in parts)

    def _content(self, named: str, file: Path, line: int, depth: int) -> str | None:
        """The text of an import, or None if it stays as written."""
        path = Path(named).expanduser() if named.startswith("~") else file.parent / named
        real = path.resolve()
        if real in self.reading.seen:
            return None
        if not real.is_relative_to(self.bound):
            if FILE_LIKE.search(named):
                remedy = "copy it into the project, or import it in your own CLAUDE.md or AGENTS.md"
                self._fault(file, line, f"`@{named}` is outside {self.bound} and is not read", remedy)
            return None
        if depth > MAX_IMPORT_DEPTH:
            reason = f"`@{named}` is imported more than {MAX_IMPORT_DEPTH} deep"
            self._fault(file, line, reason, "import it at a higher level")
            return None
        if reason := self.reading.refuses(real):
            self._fault(file, line, f"`@{named}` is not read: {reason}", "remove the import")
            return None
        try:
            text = read_instruction_file(real)
        except OSError as error:
            text = None if real.is_dir() else ""
            if text is not None:
                self._fault(file, line, f"`@{named}` cannot be read: {error.strerror}", "name a text file")
        if not text:
            if text is None and FILE_LIKE.search(named) and not real.exists():
                remedy = "fix the path, or put it in backticks if no import is meant"
                self._fault(file, line, f"`@{named}` does not exist", remedy)
            return None
        self.reading.seen.add(real)
        self.imports.append(str(real))
        return self.imported(text.strip(), real, 1, depth + 1)

    def _fault(self, file: Path, line: int, reason: str, remedy: str) -> None:
        self.faults.append(FileProblem(str(file), line, reason, remedy))


PROJECT_NAMES = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md")
LOCAL_NAME = "CLAUDE.local.md"
USER_FILES = (
    ".config/AGENTS.md",
    ".agents/AGENTS.md",
    ".codex/AGENTS.md",
    ".config/opencode/AGENTS.md",
    ".pi/agent/AGENTS.md",
    ".vibe/AGENTS.md",
    ".claude/CLAUDE.md",
)
RULE_FOLDERS = (".claude/rules", ".cockpit/rules")
MOST_RULES = 100
# Folders that are skipped when all instructions of a project are listed.
SKIPPED_FOLDERS = frozenset(
    {"node_modules", "target", "dist", "build", "vendor", "__pycache__", "site-packages"}
)
MOST_FOLDERS = 5_000


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """An instruction file. `text` is what a model reads; `paths` are the patterns of files it is for (none:
    all), relative to `base`. A file that could not be read has no text and says why in its origin."""

    name: str
    path: Path
    text: str
    origin: Origin
    paths: tuple[str, ...] = ()
    base: str = ""

    def concerns(self, path: str) -> bool:
        """Whether it applies to the file at the real `path`."""
        below = os.path.relpath(path, self.base).replace(os.sep, "/") if self.base else path
        return not below.startswith("../") and matches_any(self.paths, below)


def load_always(root: Path, trusted: bool, home: Path, refuses: RefusePath) -> tuple[InstructionFile, ...]:
    """The instructions that every request contains."""
    loader = _InstructionLoader(root, home, ReadProgress(refuses))
    return tuple(item for item in _load_initial(loader, trusted) if not item.paths)


def load_conditional(
    root: Path, trusted: bool, home: Path, refuses: RefusePath
) -> tuple[InstructionFile, ...]:
    """The rules that apply once a file matching their `paths:` is touched."""
    loader = _InstructionLoader(root, home, ReadProgress(refuses))
    return tuple(item for item in _load_initial(loader, trusted) if item.paths)


def load_nested(root: Path, folder: Path, home: Path, refuses: RefusePath) -> tuple[InstructionFile, ...]:
    """The instructions of a folder below the root, including its rules. The root must be trusted."""
    return tuple(_load_folder(_InstructionLoader(root, home, ReadProgress(refuses)), folder))


def list_instructions(root: Path, trusted: bool, home: Path, refuses: RefusePath) -> list[tuple[str, Origin]]:
    """All of them with what was understood and refused, for `cockpit instructions list`."""
    loader = _InstructionLoader(root, home, ReadProgress(refuses))
    rows = list(_load_initial(loader, trusted))
    for folder in _list_folders(root) if trusted else ():
        loader.reading.left = MAX_CHARACTERS
        when = f"a file below {folder.relative_to(root).as_posix()}/ is touched"
        for item in _load_folder(loader, folder):
            origin = replace(item.origin, fields={**item.origin.fields, "when": when})
            rows.append(replace(item, origin=origin))
    return [(row.name, row.origin) for row in rows]


@dataclass
class _InstructionLoader:
    """The folders of a root, and what was read from them so far."""

    root: Path
    home: Path
    reading: ReadProgress

    def name(self, path: Path) -> str:
        if path == find_own_file() or path.is_relative_to(paths.config()):
            return f"config/{path.relative_to(paths.config()).as_posix()}"
        if path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        if path.is_relative_to(find_repository_top(self.root, self.home)):
            return os.path.relpath(path, self.root).replace(os.sep, "/")
        return f"~/{path.relative_to(self.home).as_posix()}" if path.is_relative_to(self.home) else str(path)


def find_own_file() -> Path:
    return paths.config() / "AGENTS.md"


def _load_initial(loader: _InstructionLoader, trusted: bool) -> Iterator[InstructionFile]:
    home = loader.home
    yield from _load_first(loader, [find_own_file(), *(home / name for name in USER_FILES)], "user", home)
    for folder in (home / ".claude/rules", paths.config() / "rules"):
        yield from _load_rules(loader, folder, "user", home, loader.root)
    if not trusted:
        return
    for folder in reversed(list_folders_upward(loader.root, home)):
        yield from _load_folder(loader, folder)


def _load_folder(loader: _InstructionLoader, folder: Path) -> Iterator[InstructionFile]:
    """The files of one folder of the project."""
    top = find_repository_top(loader.root, loader.home)
    yield from _load_first(loader, [folder / name for name in PROJECT_NAMES], "project", top)
    yield from _load_file(loader, folder / LOCAL_NAME, "project", top)
    for name in RULE_FOLDERS:
        yield from _load_rules(loader, folder / name, "project", top, folder)


def _load_first(
    loader: _InstructionLoader, candidates: list[Path], layer: Layer, bound: Path
) -> Iterator[InstructionFile]:
    """The first file that exists: CLAUDE.md and AGENTS.md mostly say the same."""
    for at, path in enumerate(candidates):
        for file in _load_file(loader, path, layer, bound):
            hidden = tuple(str(candidate) for candidate in candidates[at + 1 :] if candidate.is_file())
            yield replace(file, origin=replace(file.origin, shadows=hidden))
            return


def _load_rules(
    loader: _InstructionLoader, folder: Path, layer: Layer, bound: Path, base: Path
) -> Iterator[InstructionFile]:
    try:
        files = sorted(entry for entry in folder.rglob("*.md") if entry.name.lower() != "readme.md")
    except OSError:
        return
    for path in files[:MOST_RULES]:
        yield from _load_file(loader, path, layer, bound, base)
    if ignored := files[MOST_RULES:]:
        reason = f"only {MOST_RULES} rules of a folder are read: {len(ignored)} are ignored"
        fault = FileProblem(str(folder), 0, reason, "merge some of them")
        origin = Origin(str(ignored[0]), layer, refused=(fault,))
        yield InstructionFile(loader.name(ignored[0]), ignored[0], "", origin)


def _load_file(
    loader: _InstructionLoader, path: Path, layer: Layer, bound: Path, base: Path | None = None
) -> Iterator[InstructionFile]:
    """The file at `path`, if it exists. `base` is given for rules: their patterns are relative to it."""
    real = path.resolve()
    if real in loader.reading.seen or loader.reading.left <= 0:
        return
    # The user's own files may be links to anywhere, as with dotfile managers.
    if layer == "project" and not real.is_relative_to(bound.resolve()):
        remedy = "replace the link by the file"
        yield _refuse_file(loader, path, layer, f"it is a link that leads out of {bound}", remedy)
        return
    if reason := loader.reading.refuses(real):
        yield _refuse_file(loader, path, layer, f"it is not read: {reason}", "use a file that tools may read")
        return
    try:
        text = read_instruction_file(real)
    except OSError as error:
        yield _refuse_file(loader, path, layer, f"it cannot be read: {error.strerror}", "make it a text file")
        return
    if text is None or not text.strip():
        return
    loader.reading.seen.add(real)
    yield _build_file(loader, path, text, layer, bound, base)


def _build_file(
    loader: _InstructionLoader, path: Path, text: str, layer: Layer, bound: Path, base: Path | None
) -> InstructionFile:
    globs: tuple[str, ...] = ()
    faults: list[FileProblem] = []
    line = 1
    if base is not None:
        document = frontmatter.parse_frontmatter(text, str(path))
        text, line = document.body, document.body_line
        globs = parse_patterns(document.fields.get("paths"))
        faults += document.faults
        if "globs" in document.fields and not globs:
            remedy = "write `paths:`; until then the rule applies to all files"
            faults.append(document.fault("globs", "`globs:` is another agent's field", remedy))
    # Conditional rules are not in every request, so they have a limit of their own.
    reading = loader.reading
    if globs:
        reading = replace(reading, left=MAX_CHARACTERS, seen=set(reading.seen))
    resolved = resolve_imports(reading, path.resolve(), text, bound, line)
    fields: dict[str, Json] = {"characters": len(resolved.text)}
    if globs:
        fields["paths"] = list(globs)
    if resolved.imports:
        fields["imports"] = list(resolved.imports)
    origin = Origin(str(path), layer, fields, refused=(*faults, *resolved.faults))
    folder = os.path.realpath(base) if base else ""
    return InstructionFile(loader.name(path), path, resolved.text, origin, globs, folder)


def _refuse_file(
    loader: _InstructionLoader, path: Path, layer: Layer, reason: str, remedy: str
) -> InstructionFile:
    origin = Origin(str(path), layer, refused=(FileProblem(str(path), 0, reason, remedy),))
    return InstructionFile(loader.name(path), path, "", origin)


def _list_folders(root: Path) -> Iterable[Path]:
    """The folders below the root that may contain instructions, at most 5,000."""
    left = MOST_FOLDERS
    for here, names, _ in os.walk(root):
        names[:] = sorted(name for name in names if name[0] != "." and name not in SKIPPED_FOLDERS)
        left -= len(names)
        if left < 0:
            return
        yield from (Path(here, entry) for entry in names)
