"""Actions that take words: `/model openai:gpt-5`, `/mode plan`, `/compact keep the plan`.

The actions of the table, carried out: what a person sends, answers and interrupts.

What only changes the view, and the screens, are in `showing`. Each is a function of the desk.

Everything said before, the newest first; what is chosen comes into the Composer.
"""

import difflib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from cockpit.protocol import ops
from cockpit.protocol.messages import MODES, Json
from cockpit.tui.actions import approvals, open_location, preferences, sessions, view
from cockpit.tui.actions.table import BY_NAME, BY_SLASH
from cockpit.tui.clean import single_line
from cockpit.tui.composer.editor import ComposerPurpose, SendMode
from cockpit.tui.render.number_format import format_count
from cockpit.tui.screens import rewind, settings
from cockpit.tui.screens.picker import Picker, PickerChoice
from cockpit.tui.session_link import ORIGIN, is_live
from cockpit.tui.work.now_tab import count_background_agents

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


async def _select_model_by_name(desk: "SessionController", name: str) -> None:
    if desk.link is not None:
        await desk.link.select_model(name)


async def _set_mode(desk: "SessionController", name: str) -> None:
    mode = next((mode for mode in MODES if mode == name), None)
    if desk.link is None:
        return
    if mode is None:
        desk.link.say("warning", f"there is no mode called {name}", f"the modes are {', '.join(MODES)}")
    else:
        await desk.link.submit(ops.SelectMode(desk.link.fresh(), ORIGIN, mode))


async def _approve_plan_with_note(desk: "SessionController", note: str) -> None:
    if desk.link is not None:
        await desk.link.decide_plan("approve", note=note)


async def _compact_about(desk: "SessionController", focus: str) -> None:
    if desk.link is not None:
        await desk.link.submit(ops.Compact(desk.link.fresh(), ORIGIN, focus))


async def _set_trust(desk: "SessionController", word: str) -> None:
    if desk.link is not None and word in ("yes", "y", "no", "n"):
        await desk.link.trust(word.startswith("y"))
    else:
        await preferences.ask_trust(desk)


async def _rewind_or_undo(desk: "SessionController", words: str) -> None:
    await (rewind.undo_rewind(desk) if words == "undo" else rewind.choose_rewind(desk))


async def _edit_setting(desk: "SessionController", key: str) -> None:
    await settings.edit_settings(desk, key)


async def _connect_to(desk: "SessionController", preset: str) -> None:
    await settings.connect_provider(desk, preset)


async def _resume_session(desk: "SessionController", session: str) -> None:
    await sessions.switch_session(desk, session)


async def _set_theme(desk: "SessionController", name: str) -> None:
    if name in desk.app.available_themes:
        desk.set_theme(name)
        desk.memory.theme = name
        desk.memory.save()
    elif desk.link is not None:
        desk.link.say("warning", f"there is no theme called {name}", "/theme lists them")


WITH_WORDS: dict[str, Callable[["SessionController", str], Awaitable[None]]] = {
    "model": _select_model_by_name,
    "theme": _set_theme,
    "sessions": _resume_session,
    "mode": _set_mode,
    "compact": _compact_about,
    "carry_out": _approve_plan_with_note,
    "trust": _set_trust,
    "rewind": _rewind_or_undo,
    "connect": _connect_to,
    "settings": _edit_setting,
}


PromptAction = Callable[["SessionController"], Awaitable[None]]
DOUBLE_PRESS_SECONDS = 1.2
"""Seconds within which a second press of the same key means more."""


async def run_action(desk: "SessionController", name: str) -> None:
    """Carry out the action `name`."""
    if name.startswith("option_"):
        await approvals.choose_option(desk, int(name.removeprefix("option_")))
    elif name in approvals.DECISIONS:
        await approvals.decide(desk, approvals.DECISIONS[name])
    elif name in _PROMPT_ACTIONS:
        await _PROMPT_ACTIONS[name](desk)
    elif name in view.VIEW_ACTIONS:
        await view.VIEW_ACTIONS[name](desk)


async def submit_composer(
    desk: "SessionController", text: str, how: SendMode, purpose: ComposerPurpose
) -> None:
    """Enter, or Tab while busy, in the Composer."""
    link = desk.link
    assert link is not None
    if purpose == "note":
        approvals.return_to_prompt(desk)
        await approvals.reject(desk, text)
    elif purpose == "answer":
        request = next(iter(link.state.questions), "")
        approvals.return_to_prompt(desk)
        await link.answer(request, text)
    else:
        desk.history.add(text)
        await send_text(desk, text, queue=how == "queue")


async def send_text(desk: "SessionController", text: str, *, queue: bool) -> None:
    """A prompt, a `/command` or a `!command`."""
    assert desk.link is not None
    desk.app.trace.to_end()
    if text.startswith("!") and text[1:].strip():
        await desk.link.shell(text[1:].strip())
    elif text.startswith("/") and (name := text[1:].split(maxsplit=1)[:1]) and "/" not in name[0]:
        await _run_command(desk, name[0], text[1 + len(name[0]) :].strip())
    else:
        await desk.link.prompt(text, queue)


async def _run_command(desk: "SessionController", name: str, rest: str) -> None:
    link = desk.link
    assert link is not None
    action = BY_SLASH.get(name)
    if action is not None and not rest:
        await run_action(desk, action.name)
    elif action is not None and (taken := WITH_WORDS.get(action.name)):
        await taken(desk, rest)
    elif not link.commands or name in link.commands:
        await link.invoke(name, {"text": rest})
    else:
        near = difflib.get_close_matches(name, sorted({*link.commands, *BY_SLASH}), 3, 0.5)
        hint = "did you mean " + " or ".join(f"/{one}" for one in near) + "?" if near else "F1 lists them all"
        link.say("warning", f"there is no command /{name}", hint)


async def _interrupt(desk: "SessionController") -> None:
    """Esc: leave what is open, then the turn, then (twice) the draft."""
    editor, link = desk.app.editor, desk.link
    if editor.purpose == "note":
        approvals.return_to_prompt(desk)
    elif link is not None and (link.state.is_working or link.state.approvals or link.state.questions):
        await link.interrupt()
    elif editor.text and _pressed_twice(desk, "escape"):
        desk.draft = ""
        editor.put("")
    elif editor.text:
        _show_hint(desk, "Esc again clears the draft ")
    elif link is not None and (behind := count_background_agents(link.state.panels.get("agents", ()))):
        if _pressed_twice(desk, "escape"):
            await link.interrupt()
        else:
            _show_hint(desk, f"Esc again stops {format_count(behind, 'agent')} in the background ")
    elif _pressed_twice(desk, "escape"):
        await run_action(desk, "rewind")
    else:
        desk.app.trace.to_end()


async def _clear_or_quit(desk: "SessionController") -> None:
    """Ctrl+C: copy what is selected, clear, interrupt, and pressed twice: quit."""
    editor, link = desk.app.editor, desk.link
    if editor.selected_text or desk.app.screen.get_selected_text():
        await view.copy_text(desk)
    elif _pressed_twice(desk, "ctrl+c"):
        await view.quit_app(desk)
    elif editor.text:
        desk.history.add(editor.text)
        editor.put("")
        _show_hint(desk, "cleared; Up brings it back ")
    else:
        if link is not None and link.state.is_working:
            await link.interrupt()
        _show_hint(desk, "Ctrl+C again quits ")


def _pressed_twice(desk: "SessionController", key: str) -> bool:
    now = time.monotonic()
    twice = now - desk.pressed_at.get(key, -DOUBLE_PRESS_SECONDS) < DOUBLE_PRESS_SECONDS
    desk.pressed_at[key] = 0.0 if twice else now
    return twice


def _show_hint(desk: "SessionController", text: str) -> None:
    """A word at the right of the hints, for a moment."""
    desk.hint = text
    _refresh_bar(desk)

    def forget() -> None:
        if desk.hint == text:
            desk.hint = ""
            _refresh_bar(desk)

    desk.app.set_timer(DOUBLE_PRESS_SECONDS, forget)


def _refresh_bar(desk: "SessionController") -> None:
    if desk.link is not None:
        desk.link.state.aspects.add("bar")
        desk.changed()


async def _select_next_mode(desk: "SessionController") -> None:
    if desk.link is not None:
        await desk.link.next_mode()


async def _approve_plan(desk: "SessionController") -> None:
    if desk.link is not None:
        await desk.link.decide_plan("approve")


async def _compact(desk: "SessionController") -> None:
    if desk.link is not None:
        await desk.link.submit(ops.Compact(desk.link.fresh(), ORIGIN))


async def _open_new_session(desk: "SessionController") -> None:
    await sessions.switch_session(desk, None)


async def _clear_trace(desk: "SessionController") -> None:
    """Empty the Trace; the conversation stays as it is."""
    desk.app.trace.hide()


def handle_requests(desk: "SessionController") -> None:
    """What the core asks of this frontend: an action, or an answer to a screen."""
    link = desk.link
    assert link is not None
    requests, link.state.requests = link.state.requests, []
    for request in requests:
        if request.kind == "action" and is_live(request.time, link.began):
            desk.app.run_worker(_run_requested_action(desk, request.values))
        elif request.kind == "rewound":
            if is_live(request.time, link.began) and not desk.app.editor.text:
                desk.app.editor.put(request.text)
        elif request.op == desk.local_op:
            sessions.offer_local_models(desk, request)
        else:
            view.deliver_reply(desk, request)


async def _run_requested_action(desk: "SessionController", values: Mapping[str, Json]) -> None:
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
        await run_action(desk, action.name)
    if prompt := arguments.get("prompt"):
        await desk.link.prompt(str(prompt), queue=True)


async def choose_row(desk: "SessionController", does: str) -> None:
    """Enter on a row of Work."""
    link = desk.link
    assert link is not None
    what, _, value = does.partition(":")
    if what == "panel" and value.startswith("open "):
        what, value = "place", value.removeprefix("open ")
    if what == "diff":
        await view.show_changes(desk, value)
    elif what == "place":
        await open_location.open_location(desk, value)
    elif what == "plan":
        await run_action(desk, "review_plan")
    elif what == "tab":
        await run_action(desk, f"tab_{value}")
    elif what == "panel":
        plugin, _, action = value.partition("/")
        await link.invoke(action, {}, plugin)
    elif what == "agent":
        from cockpit.tui.screens import subagent

        await subagent.open_subagent(desk, value)
    elif what == "form":
        await run_action(desk, "form")
    elif what == "option":
        await approvals.choose_option(desk, int(value))
    elif what in ("part", "hunk"):
        approvals.toggle_hunk(desk, value)


_PROMPT_ACTIONS: dict[str, PromptAction] = {
    "interrupt": _interrupt,
    "clear_or_quit": _clear_or_quit,
    "mode": _select_next_mode,
    "compact": _compact,
    "carry_out": _approve_plan,
    "new": _open_new_session,
    "clear": _clear_trace,
    "reject": lambda desk: approvals.ask_rejection_note(desk),
    "edit_hunk": lambda desk: approvals.edit_hunk(desk),
}


async def choose_from_history(desk: "SessionController") -> None:
    said = list(dict.fromkeys(reversed(desk.history.said)))
    choices = [PickerChoice(str(number), single_line(text)) for number, text in enumerate(said)]
    chosen = await desk.app.push_screen_wait(Picker(desk.app.palette, "Said before", choices))
    if chosen is not None:
        desk.app.editor.put(said[int(chosen)])
    desk.app.editor.focus()
