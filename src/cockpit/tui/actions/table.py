"""The one table of what a person can do: keys, palette, help, hints, slash commands come from it.

Knows no widget; `doing` carries the actions out by name.

A person's own keys: `keys.toml` beside their settings, or Claude's `keybindings.json` read as it is.

`keys.toml` is a table of action to key or keys: `palette = "ctrl+k"`, `copy = ["f2", "ctrl+y"]`; an empty
list takes the key away. Names are those of `actions.ACTIONS`.
"""

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, cast

ActionGroup = Literal["prompt", "session", "view", "code", "approval", "trace", "work"]
ActionEffect = Literal["op", "query", "screen", "view"]


class TuiAction(NamedTuple):
    """`keys` as Textual names them; `slash` are the commands that do the same; `everywhere`: the key
    works whatever has the focus; `listed`: it stands in the palette."""

    name: str
    keys: tuple[str, ...]
    label: str
    group: ActionGroup
    does: ActionEffect
    slash: tuple[str, ...] = ()
    everywhere: bool = False
    listed: bool = True


ACTIONS: tuple[TuiAction, ...] = (
    TuiAction("send", ("enter",), "send; while a turn runs: steer it", "prompt", "op", listed=False),
    TuiAction(
        "newline",
        ("shift+enter", "ctrl+j"),
        "new line (also a backslash before Enter)",
        "prompt",
        "view",
        listed=False,
    ),
    TuiAction(
        "queue",
        ("tab",),
        "queue a follow-up while a turn runs; accept a completion",
        "prompt",
        "op",
        listed=False,
    ),
    TuiAction(
        "interrupt", ("escape",), "interrupt the turn; twice: clear the draft", "prompt", "op", listed=False
    ),
    TuiAction(
        "clear_or_quit", ("ctrl+c",), "clear, interrupt, and twice: quit", "prompt", "view", listed=False
    ),
    TuiAction("leave", ("ctrl+d",), "quit when the Composer is empty", "prompt", "view", listed=False),
    TuiAction("history", ("ctrl+r",), "search what you said before", "prompt", "screen"),
    TuiAction("editor", ("ctrl+g",), "edit the prompt in $EDITOR", "prompt", "view", everywhere=True),
    TuiAction("mode", ("shift+tab",), "next permission mode", "prompt", "op", everywhere=True),
    TuiAction("palette", ("ctrl+p",), "everything, by name", "view", "screen", everywhere=True, listed=False),
    TuiAction("help", ("f1",), "keys and commands", "view", "screen", ("help",), everywhere=True),
    TuiAction(
        "copy", ("f2",), "copy the selection or the last answer", "view", "view", ("copy",), everywhere=True
    ),
    TuiAction("trace", ("f3",), "go to the Trace", "view", "view", everywhere=True),
    TuiAction("composer", ("f4",), "go to the Composer", "view", "view", everywhere=True),
    TuiAction("work", ("f5",), "go to Work; open or shut it when narrow", "view", "view", everywhere=True),
    TuiAction(
        "expand",
        ("ctrl+o",),
        "open or fold tool output and thoughts",
        "view",
        "view",
        ("display",),
        everywhere=True,
    ),
    TuiAction("todo", ("ctrl+t",), "show the todo list", "view", "view", everywhere=True),
    TuiAction("redraw", ("ctrl+l",), "draw the screen anew", "view", "view", everywhere=True),
    TuiAction("suspend", ("ctrl+z",), "suspend to the shell", "view", "view", everywhere=True),
    TuiAction("theme", (), "choose a theme", "view", "screen", ("theme",)),
    TuiAction("changes", (), "what this session changed, as a diff", "view", "screen", ("diff", "changes")),
    TuiAction("symbols", ("f6",), "go to symbol", "code", "screen", ("symbols",), everywhere=True),
    TuiAction("outline", ("f7",), "go to symbol in file", "code", "screen", ("outline",), everywhere=True),
    TuiAction("problems", ("f8",), "problems", "code", "screen", ("problems",), everywhere=True),
    TuiAction("references", (), "find references", "code", "screen", ("references",)),
    TuiAction("callers", (), "find callers", "code", "screen", ("callers",)),
    TuiAction("rename", (), "rename symbol", "code", "op", ("rename",)),
    TuiAction("restart_servers", (), "restart language servers", "code", "op"),
    TuiAction("tab_now", ("alt+1",), "Work: what happens now", "work", "view", everywhere=True),
    TuiAction(
        "tab_outline", ("alt+2",), "Work: outline of the file at hand", "work", "view", everywhere=True
    ),
    TuiAction("tab_problems", ("alt+3",), "Work: problems", "work", "view", everywhere=True),
    TuiAction("tab_next", ("right_square_bracket",), "next tab", "work", "view", listed=False),
    TuiAction("tab_previous", ("left_square_bracket",), "tab before", "work", "view", listed=False),
    TuiAction("look", ("v",), "look at the place here, without an editor", "work", "screen", listed=False),
    TuiAction(
        "sessions",
        ("ctrl+s",),
        "open another session",
        "session",
        "screen",
        ("sessions", "resume"),
        everywhere=True,
    ),
    TuiAction("new", (), "start a new session", "session", "op", ("new",)),
    TuiAction("clear", (), "empty the Trace; the conversation stays", "view", "view", ("clear",)),
    TuiAction(
        "settings", (), "settings, and where each comes from", "session", "screen", ("settings", "config")
    ),
    TuiAction("model", (), "choose a model", "session", "screen", ("model",)),
    TuiAction("connect", (), "connect a model provider", "session", "screen", ("connect",)),
    TuiAction("trust", (), "trust this folder, or stop trusting it", "session", "screen", ("trust",)),
    TuiAction(
        "review_plan",
        ("f9",),
        "review the plan, or fill in the form, that waits for you",
        "session",
        "screen",
        everywhere=True,
    ),
    TuiAction("form", (), "fill in the form that waits for you", "session", "screen", listed=False),
    TuiAction("carry_out", (), "approve the plan and leave plan mode", "session", "op", ("do",)),
    TuiAction("compact", (), "summarise the older part of the context", "session", "op"),
    TuiAction("rewind", (), "go back to before a turn", "session", "screen", ("rewind",)),
    TuiAction("quit", (), "leave cockpit", "session", "view", ("exit", "quit")),
    TuiAction("allow_once", ("y",), "allow this once", "approval", "op", listed=False),
    TuiAction("allow_session", ("a",), "allow this shape for the session", "approval", "op", listed=False),
    TuiAction("allow_always", ("p",), "allow this shape for ever", "approval", "op", listed=False),
    TuiAction("reject", ("n",), "reject, with a word to the model", "approval", "op", listed=False),
    TuiAction("edit_hunk", ("e",), "edit the hunk under the cursor", "approval", "screen", listed=False),
    TuiAction("view_approval", ("v",), "see all of what is asked", "approval", "screen", listed=False),
    TuiAction("find", ("slash",), "search the Trace", "trace", "view", listed=False),
    TuiAction("find_next", ("n",), "next place", "trace", "view", listed=False),
    TuiAction("find_previous", ("N",), "place before", "trace", "view", listed=False),
    TuiAction("open_entry", ("enter",), "open or fold the entry in sight", "trace", "view", listed=False),
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
    """`ctrl+p` as a person reads it: `Ctrl+P`."""
    if key in _KEY_NAMES:
        return _KEY_NAMES[key]
    if "+" in key:
        return "+".join(part.capitalize() for part in key.split("+"))
    return key.upper() if len(key) > 1 else key


def keys_of(name: str, keymap: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The keys of an action: those of the person's keymap, or the table's."""
    if name in keymap:
        return tuple(keymap[name])
    return BY_NAME[name].keys


def hint_keys(
    keymap: Mapping[str, Sequence[str]],
    *,
    busy: bool,
    approval: Collection[str],
    question: bool,
    place: str,
    purpose: str = "prompt",
    draft: bool = False,
) -> list[tuple[str, str]]:
    """The keys that matter now, the most needed first; `approval` are the actions that answer one, which
    a `draft` in the Composer keeps from doing so there."""
    chosen: list[tuple[str, str]] = []
    if purpose == "note":
        wanted = [("send", "reject with this word"), ("interrupt", "back")]
    elif approval and draft and place == "composer":
        wanted = [("work", "answer the question"), ("send", "steer"), ("interrupt", "interrupt")]
    elif approval:
        wanted = [("allow_once", "once"), ("allow_session", "session"), ("allow_always", "always")]
        wanted += [("reject", "reject"), ("view_approval", "whole"), ("edit_hunk", "edit hunk")]
        wanted = [(name, label) for name, label in wanted if name in approval]
        wanted.append(("interrupt", "interrupt"))
    elif place == "trace":
        wanted = [
            ("find", "search"),
            ("open_entry", "open"),
            ("copy", "copy"),
            ("composer", "back to Composer"),
        ]
    elif place == "work" and not question:
        wanted = [("open_entry", "open"), ("look", "look"), ("tab_previous", "tab before")]
        wanted += [("tab_next", "next tab"), ("composer", "back to Composer")]
    elif question:
        wanted = [("send", "answer"), ("interrupt", "interrupt")]
    elif busy:
        wanted = [("send", "steer"), ("queue", "queue"), ("interrupt", "interrupt"), ("expand", "expand")]
    else:
        wanted = [("send", "send"), ("newline", "new line"), ("mode", "mode"), ("palette", "palette")]
        wanted += [("sessions", "sessions"), ("expand", "expand")]
    wanted.append(("help", "help"))
    for name, label in wanted:
        if keys := keys_of(name, keymap):
            chosen.append((key_name(keys[0]), label))
    return chosen


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
    """Keys by action name, and what is wrong with the file."""
    own, other = folder / "keys.toml", folder / "keybindings.json"
    try:
        if own.is_file():
            return _parse_keys_toml(tomllib.loads(own.read_text("utf-8")))
        if other.is_file():
            return _parse_claude_bindings(json.loads(other.read_text("utf-8")))
    except (OSError, ValueError) as error:
        name = own.name if own.is_file() else other.name
        return {}, [f"{name} is not read: {error}"]
    return {}, []


def _parse_keys_toml(table: dict[str, object]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    keymap: dict[str, tuple[str, ...]] = {}
    problems: list[str] = []
    for name, value in table.items():
        keys = [value] if isinstance(value, str) else value
        if name not in BY_NAME:
            problems.append(f"keys.toml: no action is called {name}; F1 lists them")
        elif not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            problems.append(f"keys.toml: {name} must be a key or a list of keys")
        else:
            keymap[name] = tuple(_textual_key(key) for key in cast("list[str]", keys) if key)
    return keymap, problems


def _parse_claude_bindings(table: object) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """`{"bindings": [{"context": "Chat", "bindings": {"ctrl+e": "chat:externalEditor"}}]}`; null unbinds."""
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
                        kept = keymap.setdefault(action.name, list(action.keys))
                        keymap[action.name] = [one for one in kept if one != _textual_key(key)]
    return {name: tuple(dict.fromkeys(keys)) for name, keys in keymap.items()}, []


def _textual_key(key: str) -> str:
    """`Ctrl-P` and `cmd+k` as Textual names keys."""
    key = key.strip().lower().replace("control", "ctrl").replace("cmd", "super").replace("meta", "alt")
    if "-" in key and "+" not in key and len(key) > 1:
        key = key.replace("-", "+")
    return {"esc": "escape", "return": "enter", "pgup": "pageup", "pgdn": "pagedown"}.get(key, key)
