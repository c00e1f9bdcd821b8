"""Diagnostics of one server as rows, by file. Asks nothing: it is told. Called from the loop and from a
thread."""

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from cockpit.navigation.lsp.incoming import Published
from cockpit.navigation.lsp.positions import Encoding, column
from cockpit.navigation.lsp.shapes import Misshapen, inner, listing, number, record, text
from cockpit.navigation.lsp.texts import Text, Texts
from cockpit.navigation.lsp.uris import shown
from cockpit.protocol.code import ProblemRow, Severity

SEVERITIES: Mapping[int, Severity] = {1: "error", 2: "warning", 3: "info", 4: "hint"}
MOST = 2000


class ProblemStore:
    """The rows known now. `held` files keep theirs while an overlay is staged."""

    def __init__(self, root: str, texts: Texts) -> None:
        self.encoding: Encoding = "utf-16"
        self._root = root
        self._texts = texts
        self._lock = threading.Lock()
        self._rows: dict[str, tuple[ProblemRow, ...]] = {}
        self._raw: dict[str, object] = {}
        self._held: frozenset[str] = frozenset()

    def published(
        self, fresh: Mapping[str, Published], server: str, version_of: Callable[[str], int | None]
    ) -> bool:
        """Take what the server published; whether any row is another now. What belongs to another version
        than the document's is left out: the problems of this one are on their way."""
        changed = False
        for path, one in fresh.items():
            if one.version is not None and version_of(path) not in (None, one.version):
                continue
            body = self._texts.get(path)
            # Of a file that is not there: an overlay's, told after it was withdrawn, or one that is gone.
            raw = one.raw if body is not None else []
            try:
                rows = self.rows_of(path, raw, server, body)
            except Misshapen:
                continue
            changed |= self.keep(path, rows, raw)
        return changed

    def rows_of(self, path: str, raw: object, server: str, body: Text | None) -> tuple[ProblemRow, ...]:
        """Rows of a list of diagnostics for the file with text `body`. Raises `Misshapen`."""
        name = shown(self._root, path)
        return tuple(_row(name, one, server, body, self.encoding) for one in listing(raw)[:MOST])

    def keep(self, path: str, rows: tuple[ProblemRow, ...], raw: object) -> bool:
        """Know `rows` of the file at absolute `path`; whether that is news."""
        with self._lock:
            name = shown(self._root, path)
            if path in self._held:
                return False
            self._raw[name] = raw
            if rows == self._rows.get(name, ()):
                return False
            if rows:
                self._rows[name] = rows
            else:
                self._rows.pop(name, None)
            return True

    def hold(self, paths: Iterable[str]) -> None:
        """Keep what is known of `paths` (absolute): the server is being shown something else."""
        with self._lock:
            self._held = frozenset(paths)

    def forget(self, path: str) -> bool:
        """The file at absolute `path` is gone; whether anything was known of it."""
        with self._lock:
            name = shown(self._root, path)
            self._raw.pop(name, None)
            return self._rows.pop(name, None) is not None

    def all(self) -> Mapping[str, tuple[ProblemRow, ...]]:
        with self._lock:
            return dict(self._rows)

    def troubled(self) -> tuple[str, ...]:
        """The absolute paths of the files with problems."""
        with self._lock:
            return tuple(str(Path(self._root, name)) for name in self._rows)

    def raw_within(self, path: str, first: int, last: int) -> list[object]:
        """The server's own diagnostics of lines `first` to `last` of the file at absolute `path`."""
        with self._lock:
            raw = self._raw.get(shown(self._root, path))
        rows = raw if isinstance(raw, list) else []
        return [one for one in rows if _touches(inner(one, "range"), first, last)]


def _touches(span: object, first: int, last: int) -> bool:
    start, end = inner(span, "start", "line"), inner(span, "end", "line")
    return isinstance(start, int) and isinstance(end, int) and start < last and end >= first - 1


def _row(name: str, one: object, server: str, body: Text | None, encoding: Encoding) -> ProblemRow:
    found = record(one)
    start, end = inner(found, "range", "start"), inner(found, "range", "end")
    line, column_at = _at(start, body, encoding)
    end_line, end_column = _at(end, body, encoding)
    level = found.get("severity")
    severity = SEVERITIES.get(level, "warning") if isinstance(level, int) else "warning"
    code = found.get("code")
    named = str(code) if isinstance(code, str | int) else ""
    message = text(found.get("message", ""))
    return ProblemRow(name, line, column_at, end_line, end_column, severity, message, named, server)


def _at(position: object, body: Text | None, encoding: Encoding) -> tuple[int, int]:
    line, offset = number(inner(position, "line")) + 1, number(inner(position, "character"))
    if body is None:
        return line, offset + 1
    return line, column(body.line(line), offset, encoding)
