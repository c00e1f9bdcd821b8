"""The table of all actions, from which keys, palette, help, hints and slash commands are made.

Users bind keys in `keys.toml` beside their settings, which maps action names to keys: `palette = "ctrl+k"`,
`copy = ["f2", "ctrl+y"]`; an empty list removes the key. Claude's `keybindings.json` is read as well.
"""

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, cast

ActionGroup = Literal["prompt", "session", "view", "code", "approval", "trace", "work"]


class TuiAction(NamedTuple):
    """`keys` as Textual names them; `slash` are commands that do the same; `everywhere`: the key works
    whatever has the focus; `listed`: the palette shows it."""

    name: str
    keys: tuple[str, ...]
    label: str
    group: ActionGroup
    slash: tuple[str, ...] = ()
    everywhere: bool = False
    listed: bool = True


Keymap = Mapping[str, Sequence[str]]
"""The user's own keys, by the name of the action."""

ACTIONS: tuple[TuiAction, ...] = (
    TuiAction("send", ("enter",), "send; while a turn runs: steer it", "prompt", listed=False),
    TuiAction(
        "newline",
        ("shift+enter", "ctrl+j"),
        "new line (also a backslash before Enter)",
        "prompt",
        listed=False,
    ),
    TuiAction(
        "queue", ("tab",), "queue a follow-up while a turn runs; accept a completion", "prompt", listed=False
    ),
    TuiAction("interrupt", ("escape",), "interrupt the turn; twice: clear the draft", "prompt", listed=False),
    TuiAction("clear_or_quit", ("ctrl+c",), "clear, interrupt, and twice: quit", "prompt", listed=False),
    TuiAction("leave", ("ctrl+d",), "quit when the Composer is empty", "prompt", listed=False),
    TuiAction("history", ("ctrl+r",), "search earlier prompts", "prompt"),
    TuiAction("editor", ("ctrl+g",), "edit the prompt in $EDITOR", "prompt", everywhere=True),
    TuiAction("mode", ("shift+tab",), "next permission mode", "prompt", everywhere=True),
    TuiAction("palette", ("ctrl+p",), "everything, by name", "view", everywhere=True, listed=False),
    TuiAction("help", ("f1",), "keys and commands", "view", ("help",), everywhere=True),
    TuiAction("copy", ("f2",), "copy the selection or the last answer", "view", ("copy",), everywhere=True),
    TuiAction("trace", ("f3",), "go to the Trace", "view", everywhere=True),
    TuiAction("composer", ("f4",), "go to the Composer", "view", everywhere=True),
    TuiAction("work", ("f5",), "go to Work; open or close it when narrow", "view", everywhere=True),
    TuiAction(
        "expand", ("ctrl+o",), "open or fold tool output and thoughts", "view", ("display",), everywhere=True
    ),
    TuiAction("todo", ("ctrl+t",), "show the todo list", "view", everywhere=True),
    TuiAction("redraw", ("ctrl+l",), "redraw the screen", "view", everywhere=True),
    TuiAction("suspend", ("ctrl+z",), "suspend to the shell", "view", everywhere=True),
    TuiAction("theme", (), "choose a theme", "view", ("theme",)),
    TuiAction("changes", (), "what this session changed, as a diff", "view", ("diff", "changes")),
    TuiAction("symbols", ("f6",), "go to symbol", "code", ("symbols",), everywhere=True),
    TuiAction("outline", ("f7",), "go to symbol in file", "code", ("outline",), everywhere=True),
    TuiAction("problems", ("f8",), "problems", "code", ("problems",), everywhere=True),
    TuiAction("references", (), "find references", "code", ("references",)),
    TuiAction("callers", (), "find callers", "code", ("callers",)),
    TuiAction("rename", (), "rename symbol", "code", ("rename",)),
    TuiAction("restart_servers", (), "restart language servers", "code"),
    TuiAction("tab_now", ("alt+1",), "Work: what happens now", "work", everywhere=True),
    TuiAction("tab_outline", ("alt+2",), "Work: outline of the current file", "work", everywhere=True),
    TuiAction("tab_problems", ("alt+3",), "Work: problems", "work", everywhere=True),
    TuiAction("tab_next", ("right_square_bracket",), "next tab", "work", listed=False),
    TuiAction("tab_previous", ("left_square_bracket",), "previous tab", "work", listed=False),
    TuiAction("look", ("v",), "view the place here, without an editor", "work", listed=False),
    TuiAction(
        "sessions", ("ctrl+s",), "open another session", "session", ("sessions", "resume"), everywhere=True
    ),
    TuiAction("new", (), "start a new session", "session", ("new",)),
    TuiAction("clear", (), "empty the Trace; the conversation stays", "view", ("clear",)),
    TuiAction("settings", (), "settings, and where each comes from", "session", ("settings", "config")),
    TuiAction("model", (), "choose a model", "session", ("model",)),
    TuiAction("connect", (), "connect a model provider", "session", ("connect",)),
    TuiAction("trust", (), "trust this folder, or stop trusting it", "session", ("trust",)),
    TuiAction(
        "review_plan",
        ("f9",),
        "review the plan, or fill in the form, that waits for you",
        "session",
        everywhere=True,
    ),
    TuiAction("form", (), "fill in the form that waits for you", "session", listed=False),
    TuiAction("carry_out", (), "approve the plan and leave plan mode", "session", ("do",)),
    TuiAction("compact", (), "summarise the older part of the context", "session"),
    TuiAction("rewind", (), "go back to before a turn", "session", ("rewind",)),
    TuiAction("quit", (), "leave cockpit", "session", ("exit", "quit")),
    TuiAction("allow_once", ("y",), "allow this once", "approval", listed=False),
    TuiAction("allow_session", ("a",), "allow its rule for the session", "approval", listed=False),
    TuiAction("allow_always", ("p",), "allow its rule permanently", "approval", listed=False),
    TuiAction("reject", ("n",), "reject, with a note to the model", "approval", listed=False),
    TuiAction("edit_hunk", ("e",), "edit the hunk under the cursor", "approval", listed=False),
    TuiAction("view_approval", ("v",), "view the whole approval", "approval", listed=False),
    TuiAction("find", ("slash",), "search the Trace", "trace", listed=False),
    TuiAction("find_next", ("n",), "next match", "trace", listed=False),
    TuiAction("find_previous", ("N",), "previous match", "trace", listed=False),
    TuiAction("open_entry", ("enter",), "open or fold the entry on screen", "trace", listed=False),
)

BY_NAME: Mapping[str, TuiAction] = {action.name: action for action in ACTIONS}
BY_SLASH: Mapping[str, TuiAction] = {slash: action for action in ACTIONS for slash in action.slash}

_KEY_NAMES = {
    "escape": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "slash": "/",
    "shift+tab": "Shift+Tab",
    "shift+enter": "Shift+Enter",
    "space": "Space",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}


def key_name(key: str) -> str:
    """A key as it is shown: `Ctrl+P` for `ctrl+p`."""
    if key in _KEY_NAMES:
        return _KEY_NAMES[key]
    if "+" in key:
        return "+".join(part.capitalize() for part in key.split("+"))
    return key.upper() if len(key) > 1 else key


def keys_of(name: str, keymap: Keymap) -> tuple[str, ...]:
    """The keys of an action: the user's own, else the table's."""
    if name in keymap:
        return tuple(keymap[name])
    return BY_NAME[name].keys


def hint_keys(
    keymap: Keymap,
    *,
    busy: bool,
    approval: Collection[str],
    question: bool,
    region: str,
    purpose: str = "prompt",
    has_draft: bool = False,
) -> list[tuple[str, str]]:
    """The keys that matter now with their labels, the most needed first. `approval` are the actions that
    answer an open one, except in the Composer while it has a draft; `region` is the id of what has the
    focus."""
    if purpose == "note":
        actions = [("send", "reject with this note"), ("interrupt", "back")]
    elif approval and has_draft and region == "composer":
        actions = [("work", "answer the question"), ("send", "steer"), ("interrupt", "interrupt")]
    elif approval:
        actions = [("allow_once", "once"), ("allow_session", "session"), ("allow_always", "always")]
        actions += [("reject", "reject"), ("view_approval", "whole"), ("edit_hunk", "edit hunk")]
        actions = [(name, label) for name, label in actions if name in approval]
        actions.append(("interrupt", "interrupt"))
    elif region == "trace":
        actions = [
            ("find", "search"),
            ("open_entry", "open"),
            ("copy", "copy"),
            ("composer", "back to Composer"),
        ]
    elif region == "work" and not question:
        actions = [("open_entry", "open"), ("look", "view"), ("tab_previous", "previous tab")]
        actions += [("tab_next", "next tab"), ("composer", "back to Composer")]
    elif question:
        actions = [("send", "answer"), ("interrupt", "interrupt")]
    elif busy:
        actions = [("send", "steer"), ("queue", "queue"), ("interrupt", "interrupt"), ("expand", "expand")]
    else:
        actions = [("send", "send"), ("newline", "new line"), ("mode", "mode"), ("palette", "palette")]
        actions += [("sessions", "sessions"), ("expand", "expand")]
    actions.append(("help", "help"))
    return [(key_name(keys[0]), label) for name, label in actions if (keys := keys_of(name, keymap))]


_CLAUDE_ACTIONS = {
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


def load_keymap(folder: Path) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The user's keys by action name, and what is wrong with their file."""
    own, other = folder / "keys.toml", folder / "keybindings.json"
    try:
        if own.is_file():
            return _parse_keys_toml(tomllib.loads(own.read_text("utf-8")))
        if other.is_file():
            return _parse_claude_bindings(json.loads(other.read_text("utf-8")))
    except (OSError, ValueError) as error:
        name = own.name if own.is_file() else other.name
        return {}, [f"{name} cannot be read, so the default keys apply: {error}"]
    return {}, []


def _parse_keys_toml(table: dict[str, object]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    keymap: dict[str, tuple[str, ...]] = {}
    problems: list[str] = []
    for name, value in table.items():
        keys = [value] if isinstance(value, str) else value
        if name not in BY_NAME:
            problems.append(f"keys.toml: unknown action {name}; F1 lists the actions")
        elif not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            problems.append(f"keys.toml: {name} must be a key or a list of keys")
        else:
            keymap[name] = tuple(_textual_key(key) for key in cast("list[str]", keys) if key)
    return keymap, problems


def _parse_claude_bindings(table: object) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Parse `{"bindings": [{"context": "Chat", "bindings": {"ctrl+e": "chat:externalEditor"}}]}`; null
    unbinds."""
    keymap: dict[str, list[str]] = {}
    blocks = table.get("bindings", []) if isinstance(table, dict) else []
    for block in blocks if isinstance(blocks, list) else []:
        bindings = block.get("bindings", {}) if isinstance(block, dict) else {}
        for key, command in bindings.items() if isinstance(bindings, dict) else ():
            name = _CLAUDE_ACTIONS.get(command) if isinstance(command, str) else None
            if name:
                keymap.setdefault(name, list(BY_NAME[name].keys)).append(_textual_key(key))
            elif command is None:
                for action in BY_NAME.values():
                    if _textual_key(key) in action.keys:
                        others = keymap.setdefault(action.name, list(action.keys))
                        keymap[action.name] = [other for other in others if other != _textual_key(key)]
    return {name: tuple(dict.fromkeys(keys)) for name, keys in keymap.items()}, []


def _textual_key(key: str) -> str:
    """`Ctrl-P` and `cmd+k` as Textual names keys."""
    key = key.strip().lower().replace("control", "ctrl").replace("cmd", "super").replace("meta", "alt")
    if "-" in key and "+" not in key and len(key) > 1:
        key = key.replace("-", "+")
    return {"esc": "escape", "return": "enter", "pgup": "pageup", "pgdn": "pagedown"}.get(key, key)
