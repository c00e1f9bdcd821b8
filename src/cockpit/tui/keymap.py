"""A person's own keys: `keys.toml` beside their settings, or Claude's `keybindings.json` read as it is.

`keys.toml` is a table of action to key or keys: `palette = "ctrl+k"`, `copy = ["f2", "ctrl+y"]`; an empty
list takes the key away. Names are those of `actions.ACTIONS`.
"""

import json
import tomllib
from pathlib import Path
from typing import cast

from cockpit.tui.actions import BY_NAME

_CLAUDE = {
    "app:interrupt": "clear_or_quit",
    "app:exit": "leave",
    "app:toggleTodos": "todo",
    "app:toggleTranscript": "expand",
    "app:redraw": "redraw",
    "history:search": "history",
    "chat:cancel": "interrupt",
    "chat:cycleMode": "mode",
    "chat:modelPicker": "model",
    "chat:submit": "send",
    "chat:newline": "newline",
    "chat:externalEditor": "editor",
}


def load(folder: Path) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Keys by action name, and what is wrong with the file."""
    own, other = folder / "keys.toml", folder / "keybindings.json"
    try:
        if own.is_file():
            return _own(tomllib.loads(own.read_text("utf-8")))
        if other.is_file():
            return _claude(json.loads(other.read_text("utf-8")))
    except (OSError, ValueError) as error:
        name = own.name if own.is_file() else other.name
        return {}, [f"{name} is not read: {error}"]
    return {}, []


def _own(table: dict[str, object]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    keymap: dict[str, tuple[str, ...]] = {}
    problems: list[str] = []
    for name, value in table.items():
        keys = [value] if isinstance(value, str) else value
        if name not in BY_NAME:
            problems.append(f"keys.toml: no action is called {name}; F1 lists them")
        elif not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            problems.append(f"keys.toml: {name} must be a key or a list of keys")
        else:
            keymap[name] = tuple(_textual(key) for key in cast("list[str]", keys) if key)
    return keymap, problems


def _claude(table: object) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """`{"bindings": [{"context": "Chat", "bindings": {"ctrl+e": "chat:externalEditor"}}]}`; null unbinds."""
    keymap: dict[str, list[str]] = {}
    blocks = table.get("bindings", []) if isinstance(table, dict) else []
    for block in blocks if isinstance(blocks, list) else []:
        bindings = block.get("bindings", {}) if isinstance(block, dict) else {}
        for key, command in bindings.items() if isinstance(bindings, dict) else ():
            name = _CLAUDE.get(command) if isinstance(command, str) else None
            if name:
                keymap.setdefault(name, list(BY_NAME[name].keys)).append(_textual(key))
            elif command is None:
                for action in BY_NAME.values():
                    if _textual(key) in action.keys:
                        kept = keymap.setdefault(action.name, list(action.keys))
                        keymap[action.name] = [one for one in kept if one != _textual(key)]
    return {name: tuple(dict.fromkeys(keys)) for name, keys in keymap.items()}, []


def _textual(key: str) -> str:
    """`Ctrl-P` and `cmd+k` as Textual names keys."""
    key = key.strip().lower().replace("control", "ctrl").replace("cmd", "super").replace("meta", "alt")
    if "-" in key and "+" not in key and len(key) > 1:
        key = key.replace("-", "+")
    return {"esc": "escape", "return": "enter", "pgup": "pageup", "pgdn": "pagedown"}.get(key, key)
