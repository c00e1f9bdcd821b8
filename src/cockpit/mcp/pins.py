"""Stores what the user approved for each server: its command line or address, and its tools' definitions.

There is a file per root, and one for the servers of the user's own files, in the state folder. A server whose
command or address changed does not start, and a tool whose definition changed is not called, until the user
approves it again. Call it in worker threads.
"""

import difflib
import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import cast

from cockpit.mcp.values import ToolDefinition
from cockpit.plugin.values import McpServer
from cockpit.protocol.messages import Json
from cockpit.settings import file_io
from cockpit.settings.file_io import write_atomically
from cockpit.workspace.environment import is_secret_variable

MAX_SCRIPT_BYTES = 1 << 28
MAX_DIFF_LINES = 30
# Servers start at the same time in several threads and share one file.
_WRITING = threading.Lock()


@dataclass(frozen=True, slots=True)
class PinStatus:
    """Whether a server may start, with the reason if not. `is_refused`: the user rejected it."""

    allowed: bool
    reason: str = ""
    is_refused: bool = False


def describe_target(server: McpServer) -> str:
    """The command line or the address, for the user."""
    return " ".join(server.command) if server.command else server.url


def is_project_server(server: McpServer) -> bool:
    """Whether the project's own files define it."""
    return server.origin is not None and server.origin.layer == "project"


def fingerprint(server: McpServer, root: str) -> str:
    """A digest of what is approved: everything that is started or contacted, and the files of the root that a
    project's command line names. Values with secret names may change."""
    files = [_digest_file(root, word) for word in server.command] if is_project_server(server) else []
    values = sorted(
        (name, "" if is_secret_variable(name) else value) for name, value in server.environment.items()
    )
    target = [server.name, list(server.command), server.url, server.transport, server.cwd, values]
    raw = json.dumps([*target, sorted(server.headers), files]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()


def _digest_file(root: str, word: str) -> str:
    """The digest of a file in the root that is named on a command line, empty for other words."""
    try:
        real = Path(root, word).resolve()
        inside = real.is_relative_to(Path(root).resolve()) and real.is_file()
        return hashlib.sha256(file_io.read_bytes(real, MAX_SCRIPT_BYTES)).hexdigest() if inside else ""
    except (OSError, ValueError):
        return ""


class PinStore:
    """The approvals of one root. `folder` is cockpit's state folder."""

    def __init__(self, root: str, folder: Path) -> None:
        self._root = root
        digest = hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._own = folder / "mcp" / f"{digest}.json"
        self._user = folder / "mcp" / "user.json"

    def status(self, server: McpServer) -> PinStatus:
        """Whether a server may start. One of the user's own files is approved as first seen."""
        entry, now = self._load(server), fingerprint(server, self._root)
        if entry.get("target") == now:
            return PinStatus(True)
        words = describe_target(server)
        if entry.get("refused") == now:
            return PinStatus(False, "the user rejected it", True)
        if entry.get("target"):
            before, change = str(entry.get("words")), f"the files that {words!r} runs have changed"
            if before != words:
                change = f"it was {before!r} and is now {words!r}"
            return PinStatus(False, f"it changed since it was approved: {change}")
        if is_project_server(server):
            return PinStatus(False, f"this project wants to start {words!r}" if server.command else words)
        return PinStatus(True)

    def approve(self, server: McpServer) -> None:
        """Store the approval of the server as it is now. Its tools are approved when they are next seen."""
        self._save(server, self._target("target", server))

    def refuse(self, server: McpServer) -> None:
        """Store the rejection of the server as it is now."""
        self._save(server, self._target("refused", server))

    def _target(self, key: str, server: McpServer) -> dict[str, Json]:
        return {key: fingerprint(server, self._root), "words": describe_target(server)}

    def forget(self, server: McpServer) -> None:
        """Delete everything stored about the server."""
        self._save(server, None)

    def checked(
        self, server: McpServer, tools: tuple[ToolDefinition, ...]
    ) -> tuple[tuple[ToolDefinition, ...], Mapping[str, str]]:
        """`tools` with their approved definitions, and the changes since then by tool.

        A tool seen for the first time is approved as it is. One that disappears stays stored, so that it
        cannot come back with another description.
        """
        entry = self._load(server)
        known = dict(cast("Mapping[str, Mapping[str, Json]]", entry.get("tools") or {}))
        pinned: list[ToolDefinition] = []
        changed: dict[str, str] = {}
        fresh = False
        for tool in tools:
            now = _definition_to_json(tool)
            before = known.get(tool.name)
            if before is None:
                known[tool.name], fresh = now, True
            elif before != now:
                changed[tool.name] = diff_definitions(before, now)
                tool = _approved_definition(before, tool)
            pinned.append(tool)
        if fresh or "target" not in entry:
            self._save(server, {**self._target("target", server), "tools": cast("Json", known)})
        return tuple(pinned), changed

    def accept(self, server: McpServer, tools: tuple[ToolDefinition, ...]) -> None:
        """Store the approval of the definitions as they are now."""
        entry = self._load(server)
        known = cast("dict[str, Json]", dict(cast("Mapping[str, Json]", entry.get("tools") or {})))
        known |= {tool.name: cast("Json", _definition_to_json(tool)) for tool in tools}
        self._save(server, {**entry, "tools": known})

    def _file(self, server: McpServer) -> Path:
        fields = server.origin.fields if server.origin is not None else {}
        return self._own if is_project_server(server) or fields.get("scope") == "local" else self._user

    def _load(self, server: McpServer) -> Mapping[str, Json]:
        entry = _read_entries(self._file(server)).get(server.name)
        return entry if isinstance(entry, dict) else {}

    def _save(self, server: McpServer, entry: Mapping[str, Json] | None) -> None:
        file = self._file(server)
        with _WRITING:
            entries = {name: entry for name, entry in _read_entries(file).items() if name != server.name}
            if entry is not None:
                entries[server.name] = dict(entry)
            write_atomically(file, json.dumps(entries, indent=1).encode(), private=True)


def diff_definitions(before: Mapping[str, Json], now: Mapping[str, Json]) -> str:
    """The changes line by line, for the user."""
    old, new = (
        json.dumps(definition, ensure_ascii=False, indent=1, sort_keys=True).split("\n")
        for definition in (before, now)
    )
    diff = difflib.unified_diff(old, new, "approved", "now", n=1, lineterm="")
    lines = [line for line in diff if not line.startswith("@@")]
    more = f"\n... and {len(lines) - MAX_DIFF_LINES} lines more" if len(lines) > MAX_DIFF_LINES else ""
    return "\n".join(lines[:MAX_DIFF_LINES]) + more


def _definition_to_json(tool: ToolDefinition) -> dict[str, Json]:
    return cast("dict[str, Json]", json.loads(json.dumps(asdict(tool))))


def _approved_definition(entry: Mapping[str, Json], now: ToolDefinition) -> ToolDefinition:
    """The approved definition, which the model continues to see."""
    return replace(
        now,
        description=str(entry.get("description", "")),
        parameters=cast("Mapping[str, Json]", entry.get("parameters") or {"type": "object"}),
        title=str(entry.get("title", "")),
        reads_only=entry.get("reads_only") is True and now.reads_only is True,
        destroys=entry.get("destroys") is True or now.destroys is True,
        is_open=entry.get("is_open") is True or now.is_open is True,
    )


def _read_entries(file: Path) -> dict[str, Json]:
    try:
        raw = json.loads(file_io.read_bytes(file, MAX_SCRIPT_BYTES))
    except (OSError, ValueError):
        # Without a readable file nothing counts as approved, and the user is asked again.
        return {}
    return raw if isinstance(raw, dict) else {}
