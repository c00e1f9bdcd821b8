"""Markdown files that begin with YAML between `---` lines, as agents' skills, roles and commands do.

Tolerant as the programs are that people wrote these files for: a byte order mark, CRLF, no frontmatter
at all, and `description: Use when: ...`, which is no YAML but is in half of all such files. Each key
knows its line.

The heads of many files: their frontmatter, and nothing behind it. Remembered by time and size, so that a
start with a hundred skills parses none of them again and a body is read when it is used.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cockpit import __version__, paths
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
    """One file: its fields (plain JSON values), the line of each, the text after them and its first line.

    `faults` say what of the frontmatter could not be read; what could is in `fields` all the same.
    """

    file: str
    fields: Mapping[str, Json] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    body: str = ""
    body_line: int = 1
    faults: tuple[FileProblem, ...] = ()

    def fault(self, key: str, reason: str, remedy: str) -> FileProblem:
        """A fault at the line of `key` (the file as a whole where it is not there)."""
        return FileProblem(self.file, self.lines.get(key, 0), reason, remedy)


def parse_frontmatter(text: str, file: str) -> FrontmatterDocument:
    """Read the text of `file`. Raises nothing: what cannot be read becomes a fault."""
    lines = _split_lines(text)
    end = _find_end(lines)
    if end < 0:
        return FrontmatterDocument(file, body="\n".join(lines))
    if not end:
        fault = FileProblem(
            file, 1, "the frontmatter that begins here never ends", "close it with a line `---`"
        )
        return FrontmatterDocument(file, body="\n".join(lines), faults=(fault,))
    head, body = lines[1:end], "\n".join(lines[end + 1 :])
    fields, where, faults = _parse_yaml("\n".join(head), file)
    if faults:
        mended = _parse_yaml("\n".join(_quote_value(line) for line in head), file)
        if not mended[2]:
            told = tuple(item for at, line in enumerate(head, 2) for item in _find_unclosed(line, at, file))
            return FrontmatterDocument(file, mended[0], mended[1], body, end + 2, told)
        loose, loose_lines, left = _parse_loosely(head)
        # What no reader understands is told as YAML tells it, at the line that nobody could take.
        told = tuple(replace(fault, line=left) for fault in faults) if left else ()
        fields, where, faults = loose, loose_lines, told
    return FrontmatterDocument(file, fields, where, body, end + 2, faults)


def strip_frontmatter(text: str) -> str:
    """What stands behind the frontmatter of `text`, which is not read."""
    lines = _split_lines(text)
    end = _find_end(lines)
    return "\n".join(lines[end + 1 :] if end > 0 else lines)


def _split_lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _find_end(lines: list[str]) -> int:
    """Where the frontmatter ends; 0 where it never does, -1 where there is none."""
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
        said = getattr(error, "problem", None) or str(error)
        return {}, {}, (FileProblem(file, line, f"this is no YAML: {said}", "mend it, or quote the value"),)
    if node is None:
        return {}, {}, ()
    if not isinstance(value, dict):
        return {}, {}, (FileProblem(file, 2, "the frontmatter is no table", "write `key: value` lines"),)
    pairs = cast("yaml.MappingNode", node).value
    where = {str(key.value): key.start_mark.line + 2 for key, _ in pairs}
    return {str(key): _to_json(entry) for key, entry in value.items()}, where, ()


def _load_yaml(text: str) -> "tuple[yaml.Node | None, object]":
    """YAML's nodes, and what they stand for. Raises `yaml.YAMLError`, ValueError, RecursionError."""
    import yaml

    # The C reader, where it was built, takes a tenth of the time.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    node = loader.get_single_node()
    if node is None:
        return None, None
    _count_values(node, {})
    return node, loader.construct_document(node)


def _count_values(node: "yaml.Node", known: dict[int, int]) -> int:
    """How many values `node` holds with its aliases written out. Raises ValueError for what is meant to
    fill the memory: ten lines can stand for a thousand million values, or for themselves."""
    import yaml

    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MAX_VALUES + 1
    total = 1
    for item in node.value if isinstance(node, yaml.CollectionNode) else ():
        total += sum(_count_values(part, known) for part in (item if isinstance(item, tuple) else (item,)))
    if total > MAX_VALUES:
        raise ValueError(f"its aliases stand for more than {MAX_VALUES:,} values")
    known[id(node)] = total
    return total


def _to_json(value: object) -> Json:
    """YAML's dates and odd keys as JSON."""
    if isinstance(value, Mapping):
        return {str(key): _to_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set):
        return [_to_json(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _quote_value(line: str) -> str:
    """A line whose value is no YAML by itself, with that in quotes: `argument-hint: [issue] [stage]`."""
    import yaml

    found = PAIR_PATTERN.match(line)
    if found is None:
        return line
    try:
        _load_yaml(line)
    except (yaml.YAMLError, ValueError, RecursionError):
        return f"{found[1]}: {json.dumps(found[2].strip(), ensure_ascii=False)}"
    return line


def _find_unclosed(line: str, at: int, file: str) -> tuple[FileProblem, ...]:
    """What was begun in a line and never ends there: such a value was not meant as it stands."""
    found = PAIR_PATTERN.match(line)
    value = found[2].strip() if found is not None else ""
    first = value[:1]
    if found is None or _quote_value(line) == line or first not in CLOSING_SIGNS:
        return ()
    left = value.replace("\\\\", "").replace("\\" + first, "")
    last = CLOSING_SIGNS[first]
    if (left.count(first) % 2 == 0) if first == last else left.count(first) <= left.count(last):
        return ()
    reason = f"the `{first}` of `{found[1]}` never ends; it is taken as it stands"
    return (FileProblem(file, at, reason, f"close it with `{last}`, or quote the value"),)


def _parse_loosely(head: list[str]) -> tuple[dict[str, Json], dict[str, int], int]:
    """`key: value` lines as they stand, lists of `- one` below a key; the first line left over, or 0."""
    fields: dict[str, Json] = {}
    where: dict[str, int] = {}
    key, left = "", 0
    for at, line in enumerate(head, 2):
        if found := PAIR_PATTERN.match(line):
            key, value = found[1], found[2].strip()
            fields[key], where[key] = _parse_scalar(value), at
        elif key and line.strip().startswith("- "):
            before = fields[key]
            fields[key] = [
                *(before if isinstance(before, list) else ()),
                _parse_scalar(line.strip()[2:].strip()),
            ]
        elif key and line[:1] in (" ", "\t") and line.strip():
            before = fields[key]
            if isinstance(before, str):
                fields[key] = f"{'' if before in ('|', '>') else before} {line.strip()}".strip()
            else:
                left = left or at
        elif line.strip() and not line.lstrip().startswith("#"):
            left = left or at
    return fields, where, left


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
    """What is known of the heads of files. `save()` keeps it for the next start."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file or paths.cache() / "heads.json"
        self._known: dict[str, Any] | None = None
        self._is_new = False

    def read(self, path: Path) -> FrontmatterDocument:
        """The frontmatter of `path`; its `body` is the first paragraph behind it, as far as that stands in
        the first 4 kB. Raises OSError."""
        facts = path.stat()
        stamp = [facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size]
        known = self._loaded().get(str(path))
        if known is not None and known["stamp"] == stamp:
            return _decode_entry(str(path), known)
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
        """Keep what was read, the newest 4,000. Where that cannot be written it is read anew next time."""
        if not self._is_new:
            return
        kept = dict(list(self._loaded().items())[-MAX_CACHE_ENTRIES:])
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            content = json.dumps({"version": __version__, "heads": kept}, ensure_ascii=False)
            write_atomically(self._file, content.encode("utf-8", "replace"), private=True)
        except (OSError, ValueError):
            return
        self._is_new = False

    def _loaded(self) -> dict[str, Any]:
        if self._known is None:
            try:
                found = json.loads(self._file.read_bytes())
            except (OSError, ValueError):
                found = {}
            fits = isinstance(found, dict) and found.get("version") == __version__
            self._known = cast("dict[str, Any]", found["heads"] if fits else {})
        return self._known


def _decode_entry(file: str, known: dict[str, Any]) -> FrontmatterDocument:
    faults = tuple(FileProblem(**item) for item in known["faults"])
    return FrontmatterDocument(
        file, known["fields"], known["lines"], known["body"], known["body_line"], faults
    )


def _read_head(path: Path) -> FrontmatterDocument:
    raw = file_io.read_start(path, FIRST_READ_BYTES)
    text = _decode_text(raw)
    if len(raw) == FIRST_READ_BYTES and not _has_end(text):
        raw = file_io.read_start(path, MAX_HEAD_BYTES)
        text = _decode_text(raw)
    document = parse_frontmatter(text, str(path))
    return replace(document, body=_find_first_paragraph(document.body))


def _decode_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _has_end(text: str) -> bool:
    """Whether the frontmatter, where there is one, is in `text` to its end."""
    lines = text.removeprefix("\ufeff").split("\n")
    return not FENCE.match(lines[0]) or any(FENCE.match(line) for line in lines[1:])


def _find_first_paragraph(body: str) -> str:
    """The first paragraph that is no heading, in one line."""
    for block in body.split("\n\n"):
        lines = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if lines:
            return " ".join(lines)[:1_000]
    return ""
