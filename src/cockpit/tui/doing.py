"""The actions of the table, carried out: what a person sends, answers and interrupts.

What only changes the view, and the screens, are in `showing`. Each is a function of the desk.
"""

import difflib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from cockpit.protocol import ops
from cockpit.protocol.messages import Json
from cockpit.tui import answering, going, opening, showing
from cockpit.tui.actions import BY_NAME, BY_SLASH
from cockpit.tui.composer.editor import How, Purpose
from cockpit.tui.figures import count
from cockpit.tui.link import ORIGIN, is_live
from cockpit.tui.worded import WITH_WORDS
from cockpit.tui.work.agents import agents_behind

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

Doing = Callable[["Desk"], Awaitable[None]]
TWICE = 1.2
"""Seconds within which a second press of the same key means more."""


async def do(desk: "Desk", name: str) -> None:
    """Carry out the action `name`."""
    if name.startswith("option_"):
        await answering.option(desk, int(name.removeprefix("option_")))
    elif name in answering.DECISIONS:
        await answering.decide(desk, answering.DECISIONS[name])
    elif name in _DOING:
        await _DOING[name](desk)
    elif name in showing.SHOWING:
        await showing.SHOWING[name](desk)


async def submitted(desk: "Desk", text: str, how: How, purpose: Purpose) -> None:
    """Enter, or Tab while busy, in the Composer."""
    link = desk.link
    assert link is not None
    if purpose == "note":
        answering.write_prompt(desk)
        await answering.reject(desk, text)
    elif purpose == "answer":
        request = next(iter(link.state.questions), "")
        answering.write_prompt(desk)
        await link.answer(request, text)
    else:
        desk.history.add(text)
        await send(desk, text, queue=how == "queue")


async def send(desk: "Desk", text: str, *, queue: bool) -> None:
    """A prompt, a `/command` or a `!command`."""
    assert desk.link is not None
    desk.app.trace.to_end()
    if text.startswith("!") and text[1:].strip():
        await desk.link.shell(text[1:].strip())
    elif text.startswith("/") and (name := text[1:].split(maxsplit=1)[:1]) and "/" not in name[0]:
        await _command(desk, name[0], text[1 + len(name[0]) :].strip())
    else:
        await desk.link.prompt(text, queue)


async def _command(desk: "Desk", name: str, rest: str) -> None:
    link = desk.link
    assert link is not None
    action = BY_SLASH.get(name)
    if action is not None and not rest:
        await do(desk, action.name)
    elif action is not None and (taken := WITH_WORDS.get(action.name)):
        await taken(desk, rest)
    elif not link.commands or name in link.commands:
        await link.invoke(name, {"text": rest})
    else:
        near = difflib.get_close_matches(name, sorted({*link.commands, *BY_SLASH}), 3, 0.5)
        hint = "did you mean " + " or ".join(f"/{one}" for one in near) + "?" if near else "F1 lists them all"
        link.say("warning", f"there is no command /{name}", hint)


async def _interrupt(desk: "Desk") -> None:
    """Esc: leave what is open, then the turn, then (twice) the draft."""
    editor, link = desk.app.editor, desk.link
    if editor.purpose == "note":
        answering.write_prompt(desk)
    elif link is not None and (link.state.is_working or link.state.approvals or link.state.questions):
        await link.interrupt()
    elif editor.text and _pressed_twice(desk, "escape"):
        desk.draft = ""
        editor.put("")
    elif editor.text:
        _hint(desk, "Esc again clears the draft ")
    elif link is not None and (behind := agents_behind(link.state.panels.get("agents", ()))):
        if _pressed_twice(desk, "escape"):
            await link.interrupt()
        else:
            _hint(desk, f"Esc again stops {count(behind, 'agent')} in the background ")
    elif _pressed_twice(desk, "escape"):
        await do(desk, "rewind")
    else:
        desk.app.trace.to_end()


async def _clear_or_quit(desk: "Desk") -> None:
    """Ctrl+C: copy what is selected, clear, interrupt, and pressed twice: quit."""
    editor, link = desk.app.editor, desk.link
    if editor.selected_text or desk.app.screen.get_selected_text():
        await showing.copy(desk)
    elif _pressed_twice(desk, "ctrl+c"):
        await showing.leave(desk)
    elif editor.text:
        desk.history.add(editor.text)
        editor.put("")
        _hint(desk, "cleared; Up brings it back ")
    else:
        if link is not None and link.state.is_working:
            await link.interrupt()
        _hint(desk, "Ctrl+C again quits ")


def _pressed_twice(desk: "Desk", key: str) -> bool:
    now = time.monotonic()
    twice = now - desk.pressed_at.get(key, -TWICE) < TWICE
    desk.pressed_at[key] = 0.0 if twice else now
    return twice


def _hint(desk: "Desk", text: str) -> None:
    """A word at the right of the hints, for a moment."""
    desk.hint = text
    _bar(desk)

    def forget() -> None:
        if desk.hint == text:
            desk.hint = ""
            _bar(desk)

    desk.app.set_timer(TWICE, forget)


def _bar(desk: "Desk") -> None:
    if desk.link is not None:
        desk.link.state.aspects.add("bar")
        desk.changed()


async def _mode(desk: "Desk") -> None:
    if desk.link is not None:
        await desk.link.next_mode()


async def _carry_out(desk: "Desk") -> None:
    if desk.link is not None:
        await desk.link.decide_plan("approve")


async def _compact(desk: "Desk") -> None:
    if desk.link is not None:
        await desk.link.submit(ops.Compact(desk.link.fresh(), ORIGIN))


async def _new(desk: "Desk") -> None:
    await opening.switch(desk, None)


async def _clear(desk: "Desk") -> None:
    """Empty the Trace; the conversation stays as it is."""
    desk.app.trace.hide()


def take_requests(desk: "Desk") -> None:
    """What the core asks of this frontend: an action, or an answer to a screen."""
    link = desk.link
    assert link is not None
    requests, link.state.requests = link.state.requests, []
    for request in requests:
        if request.kind == "action" and is_live(request.time, link.began):
            desk.app.run_worker(_requested(desk, request.values))
        elif request.kind == "rewound":
            if is_live(request.time, link.began) and not desk.app.editor.text:
                desk.app.editor.put(request.text)
        elif request.op == desk.local_op:
            opening.offer_local(desk, request)
        else:
            showing.answered(desk, request)


async def _requested(desk: "Desk", values: Mapping[str, Json]) -> None:
    """A command's answer: one of this frontend's actions, with its words, and perhaps a prompt."""
    assert desk.link is not None
    name = str(values.get("action", "")).replace("select_model", "model")
    action = BY_NAME.get(name) or BY_SLASH.get(name)
    given = values.get("arguments")
    arguments = given if isinstance(given, dict) else {}
    words = [str(arguments[key]) for key in ("text", "model", "preset") if arguments.get(key)]
    if action is None:
        desk.link.say("warning", f"this screen knows no action called {name}", "a newer cockpit may")
    elif words and (taken := WITH_WORDS.get(action.name)):
        await taken(desk, words[0].strip())
    else:
        await do(desk, action.name)
    if prompt := arguments.get("prompt"):
        await desk.link.prompt(str(prompt), queue=True)


async def choose(desk: "Desk", does: str) -> None:
    """Enter on a row of Work."""
    link = desk.link
    assert link is not None
    what, _, value = does.partition(":")
    if what == "panel" and value.startswith("open "):
        what, value = "place", value.removeprefix("open ")
    if what == "diff":
        await showing.changes(desk, value)
    elif what == "place":
        await going.go_to(desk, value)
    elif what == "plan":
        await do(desk, "review_plan")
    elif what == "tab":
        await do(desk, f"tab_{value}")
    elif what == "panel":
        plugin, _, action = value.partition("/")
        await link.invoke(action, {}, plugin)
    elif what == "agent":
        from cockpit.tui.screens import agent

        await agent.show(desk, value)
    elif what == "form":
        await do(desk, "form")
    elif what == "option":
        await answering.option(desk, int(value))
    elif what in ("part", "hunk"):
        answering.toggle(desk, value)


_DOING: dict[str, Doing] = {
    "interrupt": _interrupt,
    "clear_or_quit": _clear_or_quit,
    "mode": _mode,
    "compact": _compact,
    "carry_out": _carry_out,
    "new": _new,
    "clear": _clear,
    "reject": answering.ask_why,
    "edit_hunk": answering.edit_hunk,
}
