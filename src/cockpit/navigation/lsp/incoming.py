"""What a server says of itself, asked or not: progress, problems, logs, registrations, questions to us.

Runs in the reader's thread and only notes; `stirred` wakes the loop. All of it is bounded: a server that
floods overwrites its own notes.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cockpit.navigation.lsp.shapes import Misshapen, Record, inner, text
from cockpit.navigation.lsp.uris import path_of
from cockpit.protocol.messages import Json
from cockpit.workspace.logs import Log

MOST_PROBLEM_FILES = 5000
MOST_PROGRESS = 200
REFUSED = {"applied": False, "failureReason": "edits are only taken from an action that was asked for"}
LEVELS = {1: "error", 2: "warning", 3: "info", 4: "log"}


@dataclass(frozen=True, slots=True)
class Published:
    """Problems as the server sent them; `version` of the document, None where it did not say; `at` when."""

    raw: object
    version: int | None
    at: float


class Incoming:
    """The notes of one server's life."""

    def __init__(
        self, settings: Mapping[str, Json], folder: Record, log: Log, stirred: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._log = log
        self._stirred = stirred
        self._lock = threading.Lock()
        self._progress: dict[str, tuple[str, str]] = {}
        self._published: dict[str, Published] = {}
        self._fresh: set[str] = set()
        self._captured: list[object] | None = None
        self.registered: dict[str, tuple[str, object]] = {}
        self.finished = 0
        self.stirred_at = time.monotonic()
        self.refreshed = 0

    def __getitem__(self, method: str) -> Callable[[object], object]:
        """What answers `method`. Raises KeyError: the endpoint then answers that there is no such method."""
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
        """The progress to show; empty when the server is at rest."""
        with self._lock:
            shown = next(iter(self._progress.values()), ("", ""))
        return " ".join(filter(None, shown))

    def capture(self) -> list[object]:
        """Take the edits the server asks for from now on, until `release`."""
        self._captured = []
        return self._captured

    def release(self) -> None:
        self._captured = None

    def take(self) -> dict[str, Published]:
        """The problems that came since the last time, by absolute path."""
        with self._lock:
            fresh = {path: self._published[path] for path in self._fresh if path in self._published}
            self._fresh.clear()
        return fresh

    def published(self, path: str) -> Published | None:
        """The problems the server sent last for the file at absolute `path`."""
        with self._lock:
            return self._published.get(path)

    def _on_progress(self, params: object) -> None:
        token, value = str(inner(params, "token")), inner(params, "value")
        kind = inner(value, "kind")
        self.stirred_at = time.monotonic()
        with self._lock:
            if kind == "end":
                self.finished += self._progress.pop(token, None) is not None
            elif kind == "begin" or token in self._progress:
                title = str(inner(value, "title") or self._progress.get(token, ("", ""))[0])
                percent = inner(value, "percentage")
                words = str(inner(value, "message") or "")
                done = f"{percent:.0f}%" if isinstance(percent, int | float) else ""
                if len(self._progress) < MOST_PROGRESS or token in self._progress:
                    self._progress[token] = (title[:80], " ".join(filter(None, (words[:80], done))))
        self._stirred()

    def _on_problems(self, params: object) -> None:
        uri, version = inner(params, "uri"), inner(params, "version")
        try:
            path = path_of(text(uri))
        except Misshapen:
            return
        now = time.monotonic()
        known = Published(inner(params, "diagnostics"), version if isinstance(version, int) else None, now)
        with self._lock:
            if len(self._published) >= MOST_PROBLEM_FILES and path not in self._published:
                self._published.pop(next(iter(self._published)))
            self._published[path] = known
            self._fresh.add(path)
        self._stirred()

    def _on_log(self, params: object) -> None:
        kind = inner(params, "type")
        level = LEVELS.get(kind, "log") if isinstance(kind, int) else "log"
        self._log.say(level, str(inner(params, "message"))[:2000])

    def _on_configuration(self, params: object) -> list[object]:
        asked = inner(params, "items")
        return [self._setting(one) for one in asked[:100]] if isinstance(asked, list) else []

    def _setting(self, one: object) -> object:
        section = inner(one, "section")
        if not isinstance(section, str) or not section:
            return dict(self._settings)
        if section in self._settings:
            return self._settings[section]
        return inner(dict(self._settings), *section.split("."))

    def _on_edit(self, params: object) -> object:
        if self._captured is None:
            return REFUSED
        self._captured.append(inner(params, "edit"))
        # Said to be done, as the command would else report a failure: it is done once a person agrees.
        return {"applied": True}

    def _on_refresh(self, _: object) -> None:
        self.refreshed += 1
        self._stirred()

    def _on_register(self, params: object) -> None:
        asked = inner(params, "registrations")
        for one in asked[:200] if isinstance(asked, list) else []:
            key, method = inner(one, "id"), inner(one, "method")
            if isinstance(key, str) and isinstance(method, str):
                self.registered = {**self.registered, key: (method, inner(one, "registerOptions"))}
        self._stirred()

    def _on_unregister(self, params: object) -> None:
        asked = inner(params, "unregisterations")
        gone = [inner(one, "id") for one in asked] if isinstance(asked, list) else []
        self.registered = {key: one for key, one in self.registered.items() if key not in gone}
