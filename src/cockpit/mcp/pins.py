"""What a person agreed to: which command line or address a server has, and how its tools describe themselves.

A file per root, and one for the servers of the user's own files, in the state folder. A server that is
another one now does not start, and a tool that describes itself otherwise is not called, until a person
says yes again (G23 of the safety guarantees). Called in worker threads.
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
from cockpit.settings import plain
from cockpit.settings.atomic import write_atomically
from cockpit.workspace.environment import is_secret

LARGEST_SCRIPT = 1 << 28
SHOWN = 30
# Servers start at the same time, each in a thread, and their pins lie in one file.
_WRITING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a server may start; `reason` says why not, `is_refused` that a person said no to it."""

    allowed: bool
    reason: str = ""
    is_refused: bool = False


def words_of(server: McpServer) -> str:
    """The command line or the address, as a person reads it."""
    return " ".join(server.command) if server.command else server.url


def is_of_project(server: McpServer) -> bool:
    """Whether the project's own files name it."""
    return server.origin is not None and server.origin.layer == "project"


def fingerprint(server: McpServer, root: str) -> str:
    """What a yes is for: all that is started or reached, and the files of the root that a project's command
    line names. Values that are secret by their name may change."""
    files = [_content(root, word) for word in server.command] if is_of_project(server) else []
    given = sorted((name, "" if is_secret(name) else value) for name, value in server.environment.items())
    said = [server.name, list(server.command), server.url, server.transport, server.cwd, given]
    raw = json.dumps([*said, sorted(server.headers), files]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()


def _content(root: str, word: str) -> str:
    """The digest of a file of the root that a word of a command line names; empty for other words."""
    try:
        real = Path(root, word).resolve()
        inside = real.is_relative_to(Path(root).resolve()) and real.is_file()
        return hashlib.sha256(plain.read_bytes(real, LARGEST_SCRIPT)).hexdigest() if inside else ""
    except (OSError, ValueError):
        return ""


class Pins:
    """The pins of one root. `folder` is cockpit's state folder."""

    def __init__(self, root: str, folder: Path) -> None:
        self._root = root
        digest = hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._own = folder / "mcp" / f"{digest}.json"
        self._user = folder / "mcp" / "user.json"

    def standing(self, server: McpServer) -> Standing:
        """Whether it may start. A server of the user's own files is taken as they wrote it first; from then
        on it must be the same."""
        kept, now = self._load(server), fingerprint(server, self._root)
        if kept.get("target") == now:
            return Standing(True)
        words = words_of(server)
        if kept.get("refused") == now:
            return Standing(False, "a person said no to it", True)
        if kept.get("target"):
            was = str(kept.get("words"))
            change = (
                f"it was {was!r}, it is {words!r}" if was != words else f"what {words!r} runs is different"
            )
            return Standing(False, f"it changed since it was approved: {change}")
        if is_of_project(server):
            return Standing(False, f"this project wants to start {words!r}" if server.command else words)
        return Standing(True)

    def approve(self, server: McpServer) -> None:
        """Keep a person's yes to the server as it is now; its tools are taken anew when they are seen."""
        self._save(server, {"target": fingerprint(server, self._root), "words": words_of(server)})

    def refuse(self, server: McpServer) -> None:
        """Keep a person's no."""
        self._save(server, {"refused": fingerprint(server, self._root), "words": words_of(server)})

    def forget(self, server: McpServer) -> None:
        """As if nobody had ever seen it."""
        self._save(server, None)

    def checked(self, server: McpServer, tools: tuple[ToolDefinition, ...]) -> "Checked":
        """`tools` with the definitions that were approved, and what is different now. A tool that was never
        seen is taken as it is; one that is gone stays known, so that it cannot come back as another."""
        kept = self._load(server)
        known = dict(cast("Mapping[str, Mapping[str, Json]]", kept.get("tools") or {}))
        standing: list[ToolDefinition] = []
        changed: dict[str, str] = {}
        fresh = False
        for tool in tools:
            now = _plain(tool)
            before = known.get(tool.name)
            if before is None:
                known[tool.name], fresh = now, True
            elif before != now:
                changed[tool.name] = difference(before, now)
                tool = _tool(before, tool)
            standing.append(tool)
        if fresh or "target" not in kept:
            target = {"target": fingerprint(server, self._root), "words": words_of(server)}
            self._save(server, {**target, "tools": cast("Json", known)})
        return Checked(tuple(standing), changed)

    def accept(self, server: McpServer, tools: tuple[ToolDefinition, ...]) -> None:
        """Keep a person's yes to the definitions as they are now."""
        kept = self._load(server)
        known = cast("dict[str, Json]", dict(cast("Mapping[str, Json]", kept.get("tools") or {})))
        known |= {tool.name: cast("Json", _plain(tool)) for tool in tools}
        self._save(server, {**kept, "tools": known})

    def _file(self, server: McpServer) -> Path:
        fields = server.origin.fields if server.origin is not None else {}
        return self._own if is_of_project(server) or fields.get("scope") == "local" else self._user

    def _load(self, server: McpServer) -> Mapping[str, Json]:
        kept = _read(self._file(server)).get(server.name)
        return kept if isinstance(kept, dict) else {}

    def _save(self, server: McpServer, entry: Mapping[str, Json] | None) -> None:
        file = self._file(server)
        with _WRITING:
            entries = {name: one for name, one in _read(file).items() if name != server.name}
            if entry is not None:
                entries[server.name] = dict(entry)
            write_atomically(file, json.dumps(entries, indent=1).encode(), private=True)


@dataclass(frozen=True, slots=True)
class Checked:
    """Tools as they were approved; `changed` says of those that are others now what is different."""

    tools: tuple[ToolDefinition, ...]
    changed: Mapping[str, str]


def difference(before: Mapping[str, Json], now: Mapping[str, Json]) -> str:
    """What is different, line by line, for a person."""
    lines = [
        line
        for line in difflib.unified_diff(_lines(before), _lines(now), "approved", "now", n=1, lineterm="")
        if not line.startswith("@@")
    ]
    more = f"\n... and {len(lines) - SHOWN} lines more" if len(lines) > SHOWN else ""
    return "\n".join(lines[:SHOWN]) + more


def _lines(one: Mapping[str, Json]) -> list[str]:
    return json.dumps(one, ensure_ascii=False, indent=1, sort_keys=True).split("\n")


def _plain(tool: ToolDefinition) -> dict[str, Json]:
    """A definition as JSON keeps it."""
    return cast("dict[str, Json]", json.loads(json.dumps(asdict(tool))))


def _tool(kept: Mapping[str, Json], now: ToolDefinition) -> ToolDefinition:
    """The definition that was approved, as a model goes on seeing it."""
    return replace(
        now,
        description=str(kept.get("description", "")),
        parameters=cast("Mapping[str, Json]", kept.get("parameters") or {"type": "object"}),
        title=str(kept.get("title", "")),
        reads_only=kept.get("reads_only") is True and now.reads_only is True,
        destroys=kept.get("destroys") is True or now.destroys is True,
        is_open=kept.get("is_open") is True or now.is_open is True,
    )


def _read(file: Path) -> dict[str, Json]:
    try:
        raw = json.loads(plain.read_bytes(file, LARGEST_SCRIPT))
    except (OSError, ValueError):
        # Without a readable file nobody agreed to anything: the person is asked again.
        return {}
    return raw if isinstance(raw, dict) else {}
