"""The one table of what a person can do: keys, palette, help, hints, slash commands come from it.

Knows no widget; `doing` carries the actions out by name.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

Group = Literal["prompt", "session", "view", "code", "approval", "trace", "work"]
Does = Literal["op", "query", "screen", "view"]


class Action(NamedTuple):
    """`keys` as Textual names them; `slash` are the commands that do the same; `everywhere`: the key
    works whatever has the focus; `listed`: it stands in the palette."""

    name: str
    keys: tuple[str, ...]
    label: str
    group: Group
    does: Does
    slash: tuple[str, ...] = ()
    everywhere: bool = False
    listed: bool = True


ACTIONS: tuple[Action, ...] = (
    Action("send", ("enter",), "send; while a turn runs: steer it", "prompt", "op", listed=False),
    Action(
        "newline",
        ("shift+enter", "ctrl+j"),
        "new line (also a backslash before Enter)",
        "prompt",
        "view",
        listed=False,
    ),
    Action(
        "queue",
        ("tab",),
        "queue a follow-up while a turn runs; accept a completion",
        "prompt",
        "op",
        listed=False,
    ),
    Action(
        "interrupt", ("escape",), "interrupt the turn; twice: clear the draft", "prompt", "op", listed=False
    ),
    Action("clear_or_quit", ("ctrl+c",), "clear, interrupt, and twice: quit", "prompt", "view", listed=False),
    Action("leave", ("ctrl+d",), "quit when the Composer is empty", "prompt", "view", listed=False),
    Action("history", ("ctrl+r",), "search what you said before", "prompt", "screen"),
    Action("editor", ("ctrl+g",), "edit the prompt in $EDITOR", "prompt", "view", everywhere=True),
    Action("mode", ("shift+tab",), "next permission mode", "prompt", "op", everywhere=True),
    Action("palette", ("ctrl+p",), "everything, by name", "view", "screen", everywhere=True, listed=False),
    Action("help", ("f1",), "keys and commands", "view", "screen", ("help",), everywhere=True),
    Action(
        "copy", ("f2",), "copy the selection or the last answer", "view", "view", ("copy",), everywhere=True
    ),
    Action("trace", ("f3",), "go to the Trace", "view", "view", everywhere=True),
    Action("composer", ("f4",), "go to the Composer", "view", "view", everywhere=True),
    Action("work", ("f5",), "go to Work; open or shut it when narrow", "view", "view", everywhere=True),
    Action(
        "expand",
        ("ctrl+o",),
        "open or fold tool output and thoughts",
        "view",
        "view",
        ("display",),
        everywhere=True,
    ),
    Action("todo", ("ctrl+t",), "show the todo list", "view", "view", everywhere=True),
    Action("redraw", ("ctrl+l",), "draw the screen anew", "view", "view", everywhere=True),
    Action("suspend", ("ctrl+z",), "suspend to the shell", "view", "view", everywhere=True),
    Action("theme", (), "choose a theme", "view", "screen", ("theme",)),
    Action("changes", (), "what this session changed, as a diff", "view", "screen", ("diff", "changes")),
    Action("symbols", ("f6",), "go to symbol", "code", "screen", ("symbols",), everywhere=True),
    Action("outline", ("f7",), "go to symbol in file", "code", "screen", ("outline",), everywhere=True),
    Action("problems", ("f8",), "problems", "code", "screen", ("problems",), everywhere=True),
    Action("references", (), "find references", "code", "screen", ("references",)),
    Action("callers", (), "find callers", "code", "screen", ("callers",)),
    Action("rename", (), "rename symbol", "code", "op", ("rename",)),
    Action("restart_servers", (), "restart language servers", "code", "op"),
    Action("tab_now", ("alt+1",), "Work: what happens now", "work", "view", everywhere=True),
    Action("tab_outline", ("alt+2",), "Work: outline of the file at hand", "work", "view", everywhere=True),
    Action("tab_problems", ("alt+3",), "Work: problems", "work", "view", everywhere=True),
    Action("tab_next", ("right_square_bracket",), "next tab", "work", "view", listed=False),
    Action("tab_previous", ("left_square_bracket",), "tab before", "work", "view", listed=False),
    Action("look", ("v",), "look at the place here, without an editor", "work", "screen", listed=False),
    Action(
        "sessions",
        ("ctrl+s",),
        "open another session",
        "session",
        "screen",
        ("sessions", "resume"),
        everywhere=True,
    ),
    Action("new", (), "start a new session", "session", "op", ("new",)),
    Action("clear", (), "empty the Trace; the conversation stays", "view", "view", ("clear",)),
    Action(
        "settings", (), "settings, and where each comes from", "session", "screen", ("settings", "config")
    ),
    Action("model", (), "choose a model", "session", "screen", ("model",)),
    Action("connect", (), "connect a model provider", "session", "screen", ("connect",)),
    Action("trust", (), "trust this folder, or stop trusting it", "session", "screen", ("trust",)),
    Action(
        "review_plan",
        ("f9",),
        "review the plan, or fill in the form, that waits for you",
        "session",
        "screen",
        everywhere=True,
    ),
    Action("form", (), "fill in the form that waits for you", "session", "screen", listed=False),
    Action("carry_out", (), "approve the plan and leave plan mode", "session", "op", ("do",)),
    Action("compact", (), "summarise the older part of the context", "session", "op"),
    Action("rewind", (), "go back to before a turn", "session", "screen", ("rewind",)),
    Action("quit", (), "leave cockpit", "session", "view", ("exit", "quit")),
    Action("allow_once", ("y",), "allow this once", "approval", "op", listed=False),
    Action("allow_session", ("a",), "allow this shape for the session", "approval", "op", listed=False),
    Action("allow_always", ("p",), "allow this shape for ever", "approval", "op", listed=False),
    Action("reject", ("n",), "reject, with a word to the model", "approval", "op", listed=False),
    Action("edit_hunk", ("e",), "edit the hunk under the cursor", "approval", "screen", listed=False),
    Action("view_approval", ("v",), "see all of what is asked", "approval", "screen", listed=False),
    Action("find", ("slash",), "search the Trace", "trace", "view", listed=False),
    Action("find_next", ("n",), "next place", "trace", "view", listed=False),
    Action("find_previous", ("N",), "place before", "trace", "view", listed=False),
    Action("open_entry", ("enter",), "open or fold the entry in sight", "trace", "view", listed=False),
)

BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}
BY_SLASH: Mapping[str, Action] = {slash: action for action in ACTIONS for slash in action.slash}

_NAMES = {
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
    if key in _NAMES:
        return _NAMES[key]
    if "+" in key:
        return "+".join(part.capitalize() for part in key.split("+"))
    return key.upper() if len(key) > 1 else key


def keys_of(name: str, keymap: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The keys of an action: those of the person's keymap, or the table's."""
    if name in keymap:
        return tuple(keymap[name])
    return BY_NAME[name].keys


def hints(
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
