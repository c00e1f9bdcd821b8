"""Messages from a server: progress, problems, logs, registrations and requests. Tracks whether it has read
the whole project, and stores its problems as rows.

`ServerMessages` runs in the reader's thread and only records; `activity` wakes the loop. Everything is
bounded: a server that floods overwrites its own records.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cockpit.navigation.lsp.documents import DocumentText, DocumentTextCache
from cockpit.navigation.lsp.limits import LspLimits
from cockpit.navigation.lsp.protocol import (
    Encoding,
    JsonObject,
    MalformedMessage,
    as_count,
    as_list,
    as_object,
    as_text,
    display_path,
    get_nested,
    offset_to_column,
    uri_to_path,
)
from cockpit.protocol.code import ProblemRow, Severity
from cockpit.protocol.messages import Json
from cockpit.workspace.processes.server_process import ServerLog

MAX_PROBLEM_FILES = 5000
MAX_PROGRESS = 200
EDIT_REFUSED = {"applied": False, "failureReason": "edits are accepted only from a requested action"}
LOG_LEVELS = {1: "error", 2: "warning", 3: "info", 4: "log"}
SEVERITIES: Mapping[int, Severity] = {1: "error", 2: "warning", 3: "info", 4: "hint"}
MAX_PROBLEMS = 2000


@dataclass(frozen=True, slots=True)
class PublishedProblems:
    """Problems as the server sent them. `version` is that of the document, None if the server did not say;
    `at` is the time of arrival."""

    raw: object
    version: int | None
    at: float


class ServerMessages:
    """The recorded messages of one server process."""

    def __init__(
        self, settings: Mapping[str, Json], folder: JsonObject, log: ServerLog, activity: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._log = log
        self._on_activity = activity
        self._lock = threading.Lock()
        self._progress: dict[str, tuple[str, str]] = {}
        self._published: dict[str, PublishedProblems] = {}
        self._fresh: set[str] = set()
        self._captured: list[object] | None = None
        self.registered: dict[str, tuple[str, object]] = {}
        self.finished = 0
        self.active_at = time.monotonic()
        self.refreshed = 0

    def __getitem__(self, method: str) -> Callable[[object], object]:
        """The handler of `method`. Raises KeyError, upon which the endpoint answers that there is no such
        method."""
        return {
            "$/progress": self._on_progress,
            "window/logMessage": self._on_log,
            "window/showMessage": self._on_log,
            "window/showMessageRequest": self._on_log,
            "textDocument/publishDiagnostics": self._on_problems,
            "workspace/configuration": self._on_configuration,
            "workspace/workspaceFolders": lambda _: [self._folder],
            "workspace/applyEdit": self._on_edit,
            "workspace/diagnostic/refresh": self._on_refresh,
            "window/workDoneProgress/create": lambda _: None,
            "client/registerCapability": self._on_register,
            "client/unregisterCapability": self._on_unregister,
        }[method]

    @property
    def working(self) -> str:
        """The progress to show; empty when the server is idle."""
        with self._lock:
            shown = next(iter(self._progress.values()), ("", ""))
        return " ".join(filter(None, shown))

    def capture(self) -> list[object]:
        """Record the edits that the server requests from now on, until `release`."""
        self._captured = []
        return self._captured

    def release(self) -> None:
        self._captured = None

    def take(self) -> dict[str, PublishedProblems]:
        """The problems that arrived since the last call, by absolute path."""
        with self._lock:
            fresh = {path: self._published[path] for path in self._fresh if path in self._published}
            self._fresh.clear()
        return fresh

    def published(self, path: str) -> PublishedProblems | None:
        """The problems that the server sent last for the file at absolute `path`."""
        with self._lock:
            return self._published.get(path)

    def _on_progress(self, params: object) -> None:
        token, value = str(get_nested(params, "token")), get_nested(params, "value")
        kind = get_nested(value, "kind")
        self.active_at = time.monotonic()
        with self._lock:
            if kind == "end":
                self.finished += self._progress.pop(token, None) is not None
            elif kind == "begin" or token in self._progress:
                title = str(get_nested(value, "title") or self._progress.get(token, ("", ""))[0])
                percent = get_nested(value, "percentage")
                message = str(get_nested(value, "message") or "")
                percentage = f"{percent:.0f}%" if isinstance(percent, int | float) else ""
                if len(self._progress) < MAX_PROGRESS or token in self._progress:
                    self._progress[token] = (title[:80], " ".join(filter(None, (message[:80], percentage))))
        self._on_activity()

    def _on_problems(self, params: object) -> None:
        uri, version = get_nested(params, "uri"), get_nested(params, "version")
        try:
            path = uri_to_path(as_text(uri))
        except MalformedMessage:
            return
        raw, version = get_nested(params, "diagnostics"), version if isinstance(version, int) else None
        published = PublishedProblems(raw, version, time.monotonic())
        with self._lock:
            if len(self._published) >= MAX_PROBLEM_FILES and path not in self._published:
                self._published.pop(next(iter(self._published)))
            self._published[path] = published
            self._fresh.add(path)
        self._on_activity()

    def _on_log(self, params: object) -> None:
        kind = get_nested(params, "type")
        level = LOG_LEVELS.get(kind, "log") if isinstance(kind, int) else "log"
        self._log.say(level, str(get_nested(params, "message"))[:2000])

    def _on_configuration(self, params: object) -> list[object]:
        items = get_nested(params, "items")
        return [self._setting(item) for item in items[:100]] if isinstance(items, list) else []

    def _setting(self, item: object) -> object:
        section = get_nested(item, "section")
        if not isinstance(section, str) or not section:
            return dict(self._settings)
        if section in self._settings:
            return self._settings[section]
        return get_nested(dict(self._settings), *section.split("."))

    def _on_edit(self, params: object) -> object:
        if self._captured is None:
            return EDIT_REFUSED
        self._captured.append(get_nested(params, "edit"))
        # Reported as applied, because the command would fail otherwise: it is applied once the user agrees.
        return {"applied": True}

    def _on_refresh(self, _: object) -> None:
        self.refreshed += 1
        self._on_activity()

    def _on_register(self, params: object) -> None:
        registrations = get_nested(params, "registrations")
        for registration in registrations[:200] if isinstance(registrations, list) else []:
            key, method = get_nested(registration, "id"), get_nested(registration, "method")
            if isinstance(key, str) and isinstance(method, str):
                options = get_nested(registration, "registerOptions")
                self.registered = {**self.registered, key: (method, options)}
        self._on_activity()

    def _on_unregister(self, params: object) -> None:
        removed = get_nested(params, "unregisterations")
        ids = [get_nested(item, "id") for item in removed] if isinstance(removed, list) else []
        self.registered = {key: value for key, value in self.registered.items() if key not in ids}


class ProjectReadiness:
    """Whether a server has read the whole project: several answer references earlier, incompletely and
    without saying so.

    It is ready when no progress is open and either one has ended, or two equal answers came far enough apart,
    or the server was quiet for long enough after its first answer. Once ready it stays so. Time is passed as
    an argument.
    """

    def __init__(self, limits: LspLimits, ready: float) -> None:
        self._limits = limits
        self._quiet_since = ready
        self._answers: dict[object, tuple[int, float]] = {}
        self._answered = False
        self._equal = False
        self._settled = False

    def answered(self, key: object, answer: int, now: float) -> None:
        """Record an answer for `key`, by its hash."""
        self._answered = True
        earlier = self._answers.get(key)
        if earlier is None or earlier[0] != answer:
            self._answers[key] = (answer, now)
        elif now - earlier[1] >= self._limits.apart:
            self._equal = True
        if len(self._answers) > 200:
            self._answers.pop(next(iter(self._answers)))

    def is_settled(self, incoming: ServerMessages, now: float) -> bool:
        if incoming.working:
            # A server that was ready and reports progress again works on a change, not from the start.
            return self._settled
        quiet = now - max(self._quiet_since, incoming.active_at) >= self._limits.quiet
        self._settled = self._settled or incoming.finished > 0 or self._equal or (quiet and self._answered)
        return self._settled


class ProblemStore:
    """The problems of one server as rows, by file. Frozen files keep theirs while an overlay is staged.
    Thread-safe."""

    def __init__(self, root: str, texts: DocumentTextCache) -> None:
        self.encoding: Encoding = "utf-16"
        self._root = root
        self._texts = texts
        self._lock = threading.Lock()
        self._rows: dict[str, tuple[ProblemRow, ...]] = {}
        self._raw: dict[str, object] = {}
        self._frozen_paths: frozenset[str] = frozenset()

    def published(
        self, fresh: Mapping[str, PublishedProblems], server: str, version_of: Callable[[str], int | None]
    ) -> bool:
        """Store what the server published. Returns whether any row changed.

        Problems of another version of the document are dropped: those of the current one are on their way.
        """
        has_changed = False
        for path, item in fresh.items():
            if item.version is not None and version_of(path) not in (None, item.version):
                continue
            body = self._texts.get(path)
            # The file does not exist: it was part of a withdrawn overlay, or was deleted.
            raw = item.raw if body is not None else []
            try:
                rows = self.rows_of(path, raw, server, body)
            except MalformedMessage:
                continue
            has_changed |= self.store(path, rows, raw)
        return has_changed

    def rows_of(
        self, path: str, raw: object, server: str, body: DocumentText | None
    ) -> tuple[ProblemRow, ...]:
        """Rows of a list of diagnostics for the file with text `body`. Raises `MalformedMessage`."""
        name, diagnostics = display_path(self._root, path), as_list(raw)[:MAX_PROBLEMS]
        return tuple(_problem_row(name, item, server, body, self.encoding) for item in diagnostics)

    def store(self, path: str, rows: tuple[ProblemRow, ...], raw: object) -> bool:
        """Store `rows` of the file at absolute `path`. Returns whether they changed."""
        with self._lock:
            name = display_path(self._root, path)
            if path in self._frozen_paths:
                return False
            self._raw[name] = raw
            has_changed = rows != self._rows.pop(name, ())
            if rows:
                self._rows[name] = rows
            return has_changed

    def freeze(self, paths: Iterable[str]) -> None:
        """Keep the rows of `paths` (absolute) unchanged: the server is being shown other texts."""
        with self._lock:
            self._frozen_paths = frozenset(paths)

    def forget(self, path: str) -> bool:
        """Forget the deleted file at absolute `path`. Returns whether it had problems."""
        with self._lock:
            name = display_path(self._root, path)
            self._raw.pop(name, None)
            return self._rows.pop(name, None) is not None

    def all(self) -> Mapping[str, tuple[ProblemRow, ...]]:
        with self._lock:
            return dict(self._rows)

    def paths(self) -> tuple[str, ...]:
        """The absolute paths of the files with problems."""
        with self._lock:
            return tuple(str(Path(self._root, name)) for name in self._rows)

    def raw_within(self, path: str, first: int, last: int) -> list[object]:
        """The server's own diagnostics for lines `first` to `last` of the file at absolute `path`."""
        with self._lock:
            raw = self._raw.get(display_path(self._root, path))
        rows = raw if isinstance(raw, list) else []
        return [diagnostic for diagnostic in rows if _overlaps(get_nested(diagnostic, "range"), first, last)]


def _overlaps(span: object, first: int, last: int) -> bool:
    start, end = get_nested(span, "start", "line"), get_nested(span, "end", "line")
    return isinstance(start, int) and isinstance(end, int) and start < last and end >= first - 1


def _problem_row(
    name: str, raw: object, server: str, body: DocumentText | None, encoding: Encoding
) -> ProblemRow:
    diagnostic = as_object(raw)
    start, end = get_nested(diagnostic, "range", "start"), get_nested(diagnostic, "range", "end")
    line, column_at = _problem_position(start, body, encoding)
    end_line, end_column = _problem_position(end, body, encoding)
    level = diagnostic.get("severity")
    severity = SEVERITIES.get(level, "warning") if isinstance(level, int) else "warning"
    code = diagnostic.get("code")
    code_text = str(code) if isinstance(code, str | int) else ""
    message = as_text(diagnostic.get("message", ""))
    return ProblemRow(name, line, column_at, end_line, end_column, severity, message, code_text, server)


def _problem_position(position: object, body: DocumentText | None, encoding: Encoding) -> tuple[int, int]:
    line, offset = as_count(get_nested(position, "line")) + 1, as_count(get_nested(position, "character"))
    if body is None:
        return line, offset + 1
    return line, offset_to_column(body.line(line), offset, encoding)
