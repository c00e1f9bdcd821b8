"""Markdown files that begin with YAML between `---` lines, as agents' skills, roles and commands do.

Tolerant as the programs are that people wrote these files for: a byte order mark, CRLF, no frontmatter
at all, and `description: Use when: ...`, which is no YAML but is in half of all such files. Each key
knows its line.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from cockpit.plugin.origin import Fault
from cockpit.protocol.messages import Json

if TYPE_CHECKING:
    import yaml

FENCE = re.compile(r"^---[ \t]*$")
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
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not FENCE.match(lines[0]):
        return Document(file, body="\n".join(lines))
    end = next((at for at, line in enumerate(lines[1:], 1) if FENCE.match(line)), 0)
    if not end:
        fault = Fault(file, 1, "the frontmatter that begins here never ends", "close it with a line `---`")
        return Document(file, body="\n".join(lines), faults=(fault,))
    head, body = lines[1:end], "\n".join(lines[end + 1 :])
    fields, where, faults = _yaml("\n".join(head), file)
    if faults:
        loose, loose_lines, left = _loose(head, file)
        # What no reader understands is told as YAML tells it.
        fields, where, faults = loose, loose_lines, faults if left else ()
    return Document(file, fields, where, body, end + 2, faults)


def _yaml(text: str, file: str) -> tuple[Mapping[str, Json], Mapping[str, int], tuple[Fault, ...]]:
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = yaml.safe_load(text)
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


def _plain(value: object) -> Json:
    """YAML's dates and odd keys as JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _loose(head: list[str], file: str) -> tuple[dict[str, Json], dict[str, int], bool]:
    """`key: value` lines taken as they stand, lists of `- one` below a key; whether anything was left."""
    fields: dict[str, Json] = {}
    where: dict[str, int] = {}
    key, left = "", False
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
                left = True
        elif line.strip() and not line.lstrip().startswith("#"):
            left = True
    return fields, where, left


def _scalar(text: str) -> Json:
    import yaml

    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return text
    return text if isinstance(value, dict) else _plain(value)
