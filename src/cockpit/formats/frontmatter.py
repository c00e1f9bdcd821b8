"""Markdown files that begin with YAML between `---` lines, as agents' skills, roles and commands do.

Tolerant as the programs are that people wrote these files for: a byte order mark, CRLF, no frontmatter
at all, and `description: Use when: ...`, which is no YAML but is in half of all such files. Each key
knows its line.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from cockpit.plugin.origin import Fault
from cockpit.protocol.messages import Json

if TYPE_CHECKING:
    import yaml

FENCE = re.compile(r"^---[ \t]*$")
MOST = 20_000
OPENING = {'"': '"', "'": "'", "[": "]", "{": "}"}
PAIR = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)$")


@dataclass(frozen=True, slots=True)
class Document:
    """One file: its fields (plain JSON values), the line of each, the text after them and its first line.

    `faults` say what of the frontmatter could not be read; what could is in `fields` all the same.
    """

    file: str
    fields: Mapping[str, Json] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    body: str = ""
    body_line: int = 1
    faults: tuple[Fault, ...] = ()

    def fault(self, key: str, reason: str, remedy: str) -> Fault:
        """A fault at the line of `key` (the file as a whole where it is not there)."""
        return Fault(self.file, self.lines.get(key, 0), reason, remedy)


def parse(text: str, file: str) -> Document:
    """Read the text of `file`. Raises nothing: what cannot be read becomes a fault."""
    lines = _lines(text)
    end = _end(lines)
    if end < 0:
        return Document(file, body="\n".join(lines))
    if not end:
        fault = Fault(file, 1, "the frontmatter that begins here never ends", "close it with a line `---`")
        return Document(file, body="\n".join(lines), faults=(fault,))
    head, body = lines[1:end], "\n".join(lines[end + 1 :])
    fields, where, faults = _yaml("\n".join(head), file)
    if faults:
        mended = _yaml("\n".join(_quoted(line) for line in head), file)
        if not mended[2]:
            told = tuple(one for at, line in enumerate(head, 2) for one in _unclosed(line, at, file))
            return Document(file, mended[0], mended[1], body, end + 2, told)
        loose, loose_lines, left = _loose(head)
        # What no reader understands is told as YAML tells it, at the line that nobody could take.
        told = tuple(replace(fault, line=left) for fault in faults) if left else ()
        fields, where, faults = loose, loose_lines, told
    return Document(file, fields, where, body, end + 2, faults)


def body_of(text: str) -> str:
    """What stands behind the frontmatter of `text`, which is not read."""
    lines = _lines(text)
    end = _end(lines)
    return "\n".join(lines[end + 1 :] if end > 0 else lines)


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _end(lines: list[str]) -> int:
    """Where the frontmatter ends; 0 where it never does, -1 where there is none."""
    if not FENCE.match(lines[0]):
        return -1
    return next((at for at, line in enumerate(lines[1:], 1) if FENCE.match(line)), 0)


def _yaml(text: str, file: str) -> tuple[Mapping[str, Json], Mapping[str, int], tuple[Fault, ...]]:
    import yaml

    try:
        node, value = _loaded(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else 2
        said = getattr(error, "problem", None) or str(error)
        return {}, {}, (Fault(file, line, f"this is no YAML: {said}", "mend it, or quote the value"),)
    if node is None:
        return {}, {}, ()
    if not isinstance(value, dict):
        return {}, {}, (Fault(file, 2, "the frontmatter is no table", "write `key: value` lines"),)
    pairs = cast("yaml.MappingNode", node).value
    where = {str(key.value): key.start_mark.line + 2 for key, _ in pairs}
    return {str(key): _plain(one) for key, one in value.items()}, where, ()


def _loaded(text: str) -> "tuple[yaml.Node | None, object]":
    """YAML's nodes, and what they stand for. Raises `yaml.YAMLError`, ValueError, RecursionError."""
    import yaml

    # The C reader, where it was built, takes a tenth of the time.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    node = loader.get_single_node()
    if node is None:
        return None, None
    _measure(node, {})
    return node, loader.construct_document(node)


def _measure(node: "yaml.Node", known: dict[int, int]) -> int:
    """How many values `node` holds with its aliases written out. Raises ValueError for what is meant to
    fill the memory: ten lines can stand for a thousand million values, or for themselves."""
    import yaml

    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MOST + 1
    total = 1
    for one in node.value if isinstance(node, yaml.CollectionNode) else ():
        total += sum(_measure(part, known) for part in (one if isinstance(one, tuple) else (one,)))
    if total > MOST:
        raise ValueError(f"its aliases stand for more than {MOST:,} values")
    known[id(node)] = total
    return total


def _plain(value: object) -> Json:
    """YAML's dates and odd keys as JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _quoted(line: str) -> str:
    """A line whose value is no YAML by itself, with that in quotes: `argument-hint: [issue] [stage]`."""
    import yaml

    found = PAIR.match(line)
    if found is None:
        return line
    try:
        _loaded(line)
    except (yaml.YAMLError, ValueError, RecursionError):
        return f"{found[1]}: {json.dumps(found[2].strip(), ensure_ascii=False)}"
    return line


def _unclosed(line: str, at: int, file: str) -> tuple[Fault, ...]:
    """What was begun in a line and never ends there: such a value was not meant as it stands."""
    found = PAIR.match(line)
    value = found[2].strip() if found is not None else ""
    first = value[:1]
    if found is None or _quoted(line) == line or first not in OPENING:
        return ()
    left = value.replace("\\\\", "").replace("\\" + first, "")
    last = OPENING[first]
    if (left.count(first) % 2 == 0) if first == last else left.count(first) <= left.count(last):
        return ()
    reason = f"the `{first}` of `{found[1]}` never ends; it is taken as it stands"
    return (Fault(file, at, reason, f"close it with `{last}`, or quote the value"),)


def _loose(head: list[str]) -> tuple[dict[str, Json], dict[str, int], int]:
    """`key: value` lines as they stand, lists of `- one` below a key; the first line left over, or 0."""
    fields: dict[str, Json] = {}
    where: dict[str, int] = {}
    key, left = "", 0
    for at, line in enumerate(head, 2):
        if found := PAIR.match(line):
            key, value = found[1], found[2].strip()
            fields[key], where[key] = _scalar(value), at
        elif key and line.strip().startswith("- "):
            before = fields[key]
            fields[key] = [*(before if isinstance(before, list) else ()), _scalar(line.strip()[2:].strip())]
        elif key and line[:1] in (" ", "\t") and line.strip():
            before = fields[key]
            if isinstance(before, str):
                fields[key] = f"{'' if before in ('|', '>') else before} {line.strip()}".strip()
            else:
                left = left or at
        elif line.strip() and not line.lstrip().startswith("#"):
            left = left or at
    return fields, where, left


def _scalar(text: str) -> Json:
    import yaml

    try:
        _, value = _loaded(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return text
    return text if isinstance(value, dict) else _plain(value)
