"""Markdown files that begin with YAML between `---` lines: skills, roles and commands. Caches the parsed
heads.

Tolerates what such files often contain: a byte order mark, CRLF, no frontmatter at all, and values like `Use
when: ...` that are not valid YAML. Each key knows its line.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cockpit import __version__, paths
from cockpit.formats.config_files import ConfigFile, ValuePath
from cockpit.plugin.origin import FileProblem
from cockpit.protocol.messages import Json
from cockpit.settings import file_io
from cockpit.settings.file_io import write_atomically

if TYPE_CHECKING:
    import yaml


FENCE = re.compile(r"^---[ \t]*$")
MAX_VALUES = 20_000
CLOSING_SIGNS = {'"': '"', "'": "'", "[": "]", "{": "}"}
PAIR_PATTERN = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)$")


@dataclass(frozen=True, slots=True)
class FrontmatterDocument:
    """One file: its fields as JSON values, the line of each, the text after them and the line where that
    begins.

    `faults` say what could not be read of the frontmatter; whatever could be read is in `fields`. For a table
    of a TOML or JSON file, `config` and its `place` there are set, and lines are looked up when needed.
    """

    file: str
    fields: Mapping[str, Json] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    body: str = ""
    body_line: int = 1
    faults: tuple[FileProblem, ...] = ()
    config: ConfigFile | None = None
    place: ValuePath = ()

    def fault(self, key: str, reason: str, remedy: str) -> FileProblem:
        """A fault at the line of `key` (line 0, the whole file, if the key is missing)."""
        if self.config is not None:
            return self.config.fault((*self.place, key), reason, remedy)
        return FileProblem(self.file, self.lines.get(key, 0), reason, remedy)


def parse_frontmatter(text: str, file: str) -> FrontmatterDocument:
    """Parse the text of `file`. Raises nothing: what cannot be read becomes a fault."""
    lines = _split_lines(text)
    end = _find_end(lines)
    if end < 0:
        return FrontmatterDocument(file, body="\n".join(lines))
    if not end:
        reason = "the frontmatter that begins here is never closed"
        fault = FileProblem(file, 1, reason, "close it with a line `---`")
        return FrontmatterDocument(file, body="\n".join(lines), faults=(fault,))
    head, body = lines[1:end], "\n".join(lines[end + 1 :])
    fields, where, faults = _parse_yaml("\n".join(head), file)
    if faults:
        quoted, quoted_where, left = _parse_yaml("\n".join(map(_quote_value, head)), file)
        if not left:
            unclosed = (_find_unclosed(line, at, file) for at, line in enumerate(head, 2))
            return FrontmatterDocument(
                file, quoted, quoted_where, body, end + 2, tuple(filter(None, unclosed))
            )
        fields, where, unread = _parse_loosely(head)
        # Report YAML's own message, at the first line that could not be read loosely either.
        faults = tuple(replace(fault, line=unread) for fault in faults) if unread else ()
    return FrontmatterDocument(file, fields, where, body, end + 2, faults)


def strip_frontmatter(text: str) -> str:
    """The text after the frontmatter, which is not parsed."""
    lines = _split_lines(text)
    end = _find_end(lines)
    return "\n".join(lines[end + 1 :] if end > 0 else lines)


def _split_lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _find_end(lines: list[str]) -> int:
    """The line index where the frontmatter ends; 0 if it never does, -1 if there is none."""
    if not FENCE.match(lines[0]):
        return -1
    return next((at for at, line in enumerate(lines[1:], 1) if FENCE.match(line)), 0)


def _parse_yaml(
    text: str, file: str
) -> tuple[Mapping[str, Json], Mapping[str, int], tuple[FileProblem, ...]]:
    import yaml

    try:
        node, value = _load_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else 2
        message = getattr(error, "problem", None) or str(error)
        return {}, {}, (FileProblem(file, line, f"not valid YAML: {message}", "fix it, or quote the value"),)
    if node is None:
        return {}, {}, ()
    if not isinstance(value, dict):
        return {}, {}, (FileProblem(file, 2, "the frontmatter is not a table", "write `key: value` lines"),)
    pairs = cast("yaml.MappingNode", node).value
    where = {str(key.value): key.start_mark.line + 2 for key, _ in pairs}
    return {str(key): _to_json(entry) for key, entry in value.items()}, where, ()


def _load_yaml(text: str) -> "tuple[yaml.Node | None, object]":
    """The YAML nodes and their value. Raises `yaml.YAMLError`, ValueError, RecursionError."""
    import yaml

    # The C loader, if available, takes a tenth of the time.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    node = loader.get_single_node()
    if node is None:
        return None, None
    _count_values(node, {})
    return node, loader.construct_document(node)


def _count_values(node: "yaml.Node", known: dict[int, int]) -> int:
    """The number of values in `node` with aliases expanded. Raises ValueError for an "alias bomb": a few
    lines can stand for billions of values, or contain themselves."""
    import yaml

    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MAX_VALUES + 1
    total = 1
    for item in node.value if isinstance(node, yaml.CollectionNode) else ():
        total += sum(_count_values(part, known) for part in (item if isinstance(item, tuple) else (item,)))
    if total > MAX_VALUES:
        raise ValueError(f"its aliases expand to more than {MAX_VALUES:,} values")
    known[id(node)] = total
    return total


def _to_json(value: object) -> Json:
    """YAML values as JSON: dates and unusual keys become strings."""
    if isinstance(value, Mapping):
        return {str(key): _to_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set):
        return [_to_json(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _quote_value(line: str) -> str:
    """A line with its value quoted if it is not valid YAML as written: `argument-hint: [issue] [stage]`."""
    import yaml

    pair = PAIR_PATTERN.match(line)
    if pair is None:
        return line
    try:
        _load_yaml(line)
    except (yaml.YAMLError, ValueError, RecursionError):
        return f"{pair[1]}: {json.dumps(pair[2].strip(), ensure_ascii=False)}"
    return line


def _find_unclosed(line: str, at: int, file: str) -> FileProblem | None:
    """A fault for a quote or bracket that is opened in a line and never closed."""
    pair = PAIR_PATTERN.match(line)
    value = pair[2].strip() if pair is not None else ""
    first = value[:1]
    if pair is None or _quote_value(line) == line or first not in CLOSING_SIGNS:
        return None
    left = value.replace("\\\\", "").replace("\\" + first, "")
    last = CLOSING_SIGNS[first]
    if (left.count(first) % 2 == 0) if first == last else left.count(first) <= left.count(last):
        return None
    reason = f"the `{first}` of `{pair[1]}` is never closed; the value is used as written"
    return FileProblem(file, at, reason, f"close it with `{last}`, or quote the value")


def _parse_loosely(head: list[str]) -> tuple[dict[str, Json], dict[str, int], int]:
    """Read `key: value` lines literally, and lists of `- item` below a key; also the first line that fits
    neither, or 0."""
    fields: dict[str, Json] = {}
    where: dict[str, int] = {}
    key, unread = "", 0
    for at, line in enumerate(head, 2):
        if pair := PAIR_PATTERN.match(line):
            key, value = pair[1], pair[2].strip()
            fields[key], where[key] = _parse_scalar(value), at
        elif key and line.strip().startswith("- "):
            before = fields[key]
            items = before if isinstance(before, list) else []
            fields[key] = [*items, _parse_scalar(line.strip()[2:].strip())]
        elif key and line[:1] in (" ", "\t") and line.strip():
            before = fields[key]
            if isinstance(before, str):
                fields[key] = f"{'' if before in ('|', '>') else before} {line.strip()}".strip()
            else:
                unread = unread or at
        elif line.strip() and not line.lstrip().startswith("#"):
            unread = unread or at
    return fields, where, unread


def _parse_scalar(text: str) -> Json:
    import yaml

    try:
        _, value = _load_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return text
    return text if isinstance(value, dict) else _to_json(value)


FIRST_READ_BYTES = 4_096
MAX_HEAD_BYTES = 65_536
MAX_CACHE_ENTRIES = 4_000


class FrontmatterCache:
    """The heads of files, cached by time and size across starts. `save()` writes the cache.

    With it a start with a hundred skills parses none of them again, and a body is read only when it is used.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file or paths.cache() / "heads.json"
        self._known: dict[str, Any] | None = None
        self._is_new = False

    def read(self, path: Path) -> FrontmatterDocument:
        """The frontmatter of `path`; its `body` is only the first paragraph, as far as it is in the first 4
        kB. Raises OSError."""
        facts = path.stat()
        stamp = [facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size]
        known = self._loaded().get(str(path))
        if known is not None and known["stamp"] == stamp:
            faults = tuple(FileProblem(**fault) for fault in known["faults"])
            fields, lines = known["fields"], known["lines"]
            return FrontmatterDocument(str(path), fields, lines, known["body"], known["body_line"], faults)
        document = _read_head(path)
        self._is_new = True
        self._loaded()[str(path)] = {
            "stamp": stamp,
            "fields": dict(document.fields),
            "lines": dict(document.lines),
            "body": document.body,
            "body_line": document.body_line,
            "faults": [asdict(fault) for fault in document.faults],
        }
        return document

    def save(self) -> None:
        """Write the newest 4,000 entries. If that fails, the files are parsed again next time."""
        if not self._is_new:
            return
        newest = dict(list(self._loaded().items())[-MAX_CACHE_ENTRIES:])
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            content = json.dumps({"version": __version__, "heads": newest}, ensure_ascii=False)
            write_atomically(self._file, content.encode("utf-8", "replace"), private=True)
        except (OSError, ValueError):
            return
        self._is_new = False

    def _loaded(self) -> dict[str, Any]:
        if self._known is None:
            try:
                stored = json.loads(self._file.read_bytes())
            except (OSError, ValueError):
                stored = {}
            fits = isinstance(stored, dict) and stored.get("version") == __version__
            self._known = cast("dict[str, Any]", stored["heads"] if fits else {})
        return self._known


def _read_head(path: Path) -> FrontmatterDocument:
    raw = file_io.read_start(path, FIRST_READ_BYTES)
    if len(raw) == FIRST_READ_BYTES and _find_end(_split_lines(raw.decode("utf-8", "replace"))) == 0:
        raw = file_io.read_start(path, MAX_HEAD_BYTES)
    document = parse_frontmatter(raw.decode("utf-8", "replace"), str(path))
    return replace(document, body=_find_first_paragraph(document.body))


def _find_first_paragraph(body: str) -> str:
    """The first paragraph that is not a heading, as a single line."""
    for block in body.split("\n\n"):
        lines = [line.strip() for line in block.splitlines() if not line.startswith("#")]
        if paragraph := " ".join(filter(None, lines)):
            return paragraph[:1_000]
    return ""
