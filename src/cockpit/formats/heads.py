"""The heads of many files: their frontmatter, and nothing behind it. Remembered by time and size, so that a
start with a hundred skills parses none of them again and a body is read when it is used.
"""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

from cockpit import __version__, paths
from cockpit.formats.frontmatter import FENCE, Document, parse
from cockpit.plugin.origin import Fault
from cockpit.settings import plain
from cockpit.settings.atomic import write_atomically

FIRST = 4_096
LARGEST = 65_536
KEPT = 4_000


class Heads:
    """What is known of the heads of files. `save()` keeps it for the next start."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file or paths.cache() / "heads.json"
        self._known: dict[str, Any] | None = None
        self._is_new = False

    def read(self, path: Path) -> Document:
        """The frontmatter of `path`; its `body` is the first paragraph behind it, as far as that stands in
        the first 4 kB. Raises OSError."""
        facts = path.stat()
        stamp = [facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size]
        known = self._loaded().get(str(path))
        if known is not None and known["stamp"] == stamp:
            return _document(str(path), known)
        document = _parsed(path)
        self._is_new = True
        self._loaded()[str(path)] = {
            "stamp": stamp,
            "fields": dict(document.fields),
            "lines": dict(document.lines),
            "body": document.body,
            "body_line": document.body_line,
            "faults": [asdict(one) for one in document.faults],
        }
        return document

    def save(self) -> None:
        """Keep what was read, the newest 4,000. Where that cannot be written it is read anew next time."""
        if not self._is_new:
            return
        kept = dict(list(self._loaded().items())[-KEPT:])
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


def _document(file: str, known: dict[str, Any]) -> Document:
    faults = tuple(Fault(**one) for one in known["faults"])
    return Document(file, known["fields"], known["lines"], known["body"], known["body_line"], faults)


def _parsed(path: Path) -> Document:
    raw = plain.read_start(path, FIRST)
    text = _text(raw)
    if len(raw) == FIRST and not _ends(text):
        raw = plain.read_start(path, LARGEST)
        text = _text(raw)
    document = parse(text, str(path))
    return replace(document, body=_paragraph(document.body))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _ends(text: str) -> bool:
    """Whether the frontmatter, where there is one, is in `text` to its end."""
    lines = text.removeprefix("\ufeff").split("\n")
    return not FENCE.match(lines[0]) or any(FENCE.match(line) for line in lines[1:])


def _paragraph(body: str) -> str:
    """The first paragraph that is no heading, in one line."""
    for block in body.split("\n\n"):
        lines = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith("#")]
        if lines:
            return " ".join(lines)[:1_000]
    return ""
