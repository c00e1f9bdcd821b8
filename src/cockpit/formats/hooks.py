"""Hooks as files hold them: Claude Code's shape, which Codex and crush share, read to plain values.

{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "..."}]}]}}

The values; `hook_files` reads them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from cockpit.formats.hook_events import Event, Kind
from cockpit.plugin.origin import Fault, Layer, Origin, Unloaded
from cockpit.protocol.messages import Json

NEEDED: Mapping[Kind, tuple[str, ...]] = {
    "command": ("command",),
    "http": ("url",),
    "mcp_tool": ("server", "tool"),
    "prompt": ("prompt",),
    "agent": ("prompt",),
    "block": (),
}
LOOSENS = "it can deny and ask; its allow loosens nothing"
DECIDING = frozenset({"PreToolUse", "PermissionRequest"})


@dataclass(frozen=True, slots=True)
class HookFile:
    """A file that may hold hooks. `seconds` is its own default for commands, `family` the agent it belongs
    to; `root` the folder of the bundle it came with, `prefix` that bundle's name."""

    path: Path
    layer: Layer
    family: str = "claude"
    seconds: float | None = None
    root: str = ""
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """When a hook runs: its event's matcher, and `when`, a permission rule that the call must fit."""

    matcher: str = ""
    when: str = ""


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook. `action` are the fields that say what it does (`command`, `url`, `prompt`, ...). It runs
    where one of `conditions` fits; the same hook twice in a layer is one with two conditions. Where one of
    `elsewhere` fits, the same hook of another layer runs already. `also` are the other places of it.
    `fails_closed`: when it fails that is a no.
    """

    event: Event
    kind: Kind
    action: Mapping[str, Json]
    conditions: tuple[Condition, ...]
    seconds: float
    file: HookFile
    line: int
    once: bool = False
    in_background: bool = False
    fails_closed: bool = False
    also: tuple[str, ...] = ()
    elsewhere: tuple[Condition, ...] = ()
    refused: tuple[Fault, ...] = ()
    nth: int = 1

    @property
    def text(self) -> str:
        """What it does, in one line."""
        named = [self.action.get(name) for name in (*NEEDED[self.kind], "reason")]
        args = self.action.get("args")
        words = [str(one) for one in (*named, *(args if isinstance(args, list) else ())) if one]
        return " ".join(" ".join(words).split())

    def name(self, root: str) -> str:
        """What messages and settings call it: `PreToolUse .claude/settings.json:4`."""
        file, where = self.file.path, self.file.path.as_posix()
        for base, sign in ((Path(root), ""), (Path.home(), "~/")):
            if file.is_relative_to(base):
                where = f"{sign}{file.relative_to(base).as_posix()}"
                break
        nth = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.event.name} {where}:{self.line}{nth}"

    def action_text(self, name: str) -> str:
        """A field of the action that is text, empty where it has none."""
        value = self.action.get(name)
        return value if isinstance(value, str) else ""

    def digest(self) -> str:
        """The sha256 (hex) of all that it does and when: a person's yes is for exactly this."""
        told = [self.event.name, self.kind, dict(self.action), [[c.matcher, c.when] for c in self.conditions]]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def origin(self) -> Origin:
        """Where it came from, as a listing tells it."""
        one = self.conditions[0]
        told: dict[str, Json] = {"event": self.event.name, "type": self.kind, "line": self.line}
        told |= {"matcher": one.matcher} if one.matcher else {}
        told |= {"if": one.when} if one.when else {}
        if more := [[c.matcher, c.when] for c in self.conditions[1:]]:
            told["or"] = cast("Json", more)
        told |= {**self.action, "timeout": self.seconds}
        flags = {"once": self.once, "async": self.in_background, "onFailure block": self.fails_closed}
        told |= {name: True for name, on in flags.items() if on}
        told |= {"decides": LOOSENS} if self.event.name in DECIDING else {}
        return Origin(str(self.file.path), self.file.layer, told, self.also, self.refused)


@dataclass(frozen=True, slots=True)
class Found:
    """What the hook files of a folder hold."""

    hooks: tuple[Hook, ...] = ()
    unloaded: tuple[Unloaded, ...] = ()

    def without(self, off: tuple[str, ...], root: str) -> "Found":
        """All but those of these names; a name without a line (`PreToolUse .claude/settings.json`, or the
        file alone) is all that stand there."""
        kept = tuple(one for one in self.hooks if not any(_is_named(word, one.name(root)) for word in off))
        return Found(kept, self.unloaded)


def _is_named(word: str, name: str) -> bool:
    return word == name or name.startswith(f"{word}:") or name.partition(" ")[2].startswith(f"{word}:")


def merged(hooks: list[Hook]) -> tuple[Hook, ...]:
    """Each hook once. Those of a layer that do the same at the same event become the first of them; one
    that another layer has too runs where that one does not."""
    kept: dict[tuple[str, Layer], Hook] = {}
    for hook in hooks:
        same, layer = _sameness(hook), hook.file.layer
        others = [key for key in kept if key[0] == same and key[1] != layer]
        whole = next((key for key in others if {*hook.conditions} <= {*kept[key].conditions}), None)
        if whole is not None:
            kept[whole] = _with(kept[whole], hook)
        elif (first := kept.get((same, layer))) is not None:
            conditions = tuple(dict.fromkeys((*first.conditions, *hook.conditions)))
            kept[same, layer] = replace(_with(first, hook), conditions=conditions)
        else:
            elsewhere = tuple(condition for key in others for condition in kept[key].conditions)
            kept[same, layer] = replace(hook, elsewhere=elsewhere)
    return tuple(kept.values())


def _with(first: Hook, hook: Hook) -> Hook:
    """`first`, which tells that `hook` says the same."""
    return replace(first, also=(*first.also, f"{hook.file.path}:{hook.line}"))


def _sameness(hook: Hook) -> str:
    """What two hooks have in common that do the same. A bundle's own folder makes a difference."""
    return json.dumps([hook.event.name, hook.kind, dict(hook.action), hook.file.root], sort_keys=True)


def numbered(hooks: list[Hook]) -> tuple[Hook, ...]:
    """Hooks that stand in one line are told apart by their number there."""
    seen: dict[int, int] = {}
    out: list[Hook] = []
    for hook in hooks:
        seen[hook.line] = seen.get(hook.line, 0) + 1
        out.append(replace(hook, nth=seen[hook.line]))
    return tuple(out)
