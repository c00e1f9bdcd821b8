"""Sends prompts, slash commands and shell commands; handles Esc and Ctrl+C in the Composer.

Esc elsewhere: `controller.key_typed` for Trace and Work, and each screen for itself.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import isawaitable

from cockpit.protocol.messages import MODES
from cockpit.protocol.safe_text import single_line
from cockpit.suggestions import closest_names, did_you_mean
from cockpit.tui.actions.sessions import quit_app
from cockpit.tui.actions.table import BY_SLASH
from cockpit.tui.actions.view import copy_text
from cockpit.tui.composer.editor import PromptEditor
from cockpit.tui.render.number_format import format_count
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens.picker import Picker, PickerChoice
from cockpit.tui.session_link import SessionLink
from cockpit.tui.trace.view import TraceView
from cockpit.tui.work.now_tab import count_background_agents

DOUBLE_PRESS_SECONDS = 1.2
"""Seconds within which a second press of the same key means more."""

Run = Callable[[], Awaitable[object] | None]
RunWithWords = Callable[[str], Awaitable[object] | None]
ShowHint = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BoundActions:
    """What each action of the table does in a running cockpit; some also take words (`/model
    openai:gpt-5`)."""

    plain: Mapping[str, Run]
    with_words: Mapping[str, RunWithWords]

    async def run(self, name: str, words: str = "") -> None:
        """Carry out the action `name`; without effect where there is none of that name."""
        if words and name in self.with_words:
            done = self.with_words[name](words)
        elif name in self.plain:
            done = self.plain[name]()
        else:
            return
        if isawaitable(done):
            await done


class DoublePress:
    """Recognises the second press of a key in quick succession."""

    def __init__(self) -> None:
        self._pressed_at: dict[str, float] = {}

    def is_second(self, key: str) -> bool:
        now = time.monotonic()
        is_second = now - self._pressed_at.get(key, -DOUBLE_PRESS_SECONDS) < DOUBLE_PRESS_SECONDS
        self._pressed_at[key] = 0.0 if is_second else now
        return is_second


async def send_text(link: SessionLink, actions: BoundActions, text: str, *, queue: bool) -> None:
    """Send a prompt, run a `/command` or a `!command`."""
    if text.startswith("!") and text[1:].strip():
        await link.call_tool("shell", {"command": text[1:].strip()})
    elif text.startswith("/") and (words := text[1:].split(maxsplit=1)) and "/" not in words[0]:
        await _run_command(link, actions, words[0], text[1 + len(words[0]) :].strip())
    else:
        await link.prompt(text, queue)


async def _run_command(link: SessionLink, actions: BoundActions, name: str, words: str) -> None:
    action = BY_SLASH.get(name)
    if action is not None and (not words or action.name in actions.with_words):
        await actions.run(action.name, words)
    elif not link.commands or name in link.commands:
        await link.invoke(name, {"text": words})
    else:
        near = closest_names(name, {*link.commands, *BY_SLASH}, limit=3, cutoff=0.5)
        hint = did_you_mean([f"/{other}" for other in near], "F1 lists them all")
        link.say("warning", f"unknown command /{name}", hint)


async def select_mode_by_name(link: SessionLink, name: str) -> None:
    mode = next((mode for mode in MODES if mode == name), None)
    if mode is None:
        link.say("warning", f"unknown mode {name}", f"choose one of {', '.join(MODES)}")
    else:
        await link.select_mode(mode)


async def choose_from_history(app: ThemedApp, editor: PromptEditor) -> None:
    """Choose an earlier prompt, the newest first, and put it into the Composer."""
    texts = list(dict.fromkeys(reversed(editor.prompts.texts)))
    choices = [PickerChoice(str(number), single_line(text)) for number, text in enumerate(texts)]
    chosen = await app.push_screen_wait(Picker("Earlier prompts", choices))
    if chosen is not None:
        editor.put(texts[int(chosen)])
    editor.focus()


async def interrupt(
    link: SessionLink,
    editor: PromptEditor,
    trace: TraceView,
    presses: DoublePress,
    show_hint: ShowHint,
    rewind: Callable[[], Awaitable[None]],
) -> None:
    """Esc: leave the note, else interrupt the turn, else (twice) clear the draft, stop background agents or
    open the rewind list."""
    state = link.state
    if editor.purpose == "note":
        editor.return_to_prompt()
        link.redraw("work", "bar")
    elif state.is_working or state.approvals or state.questions:
        await link.interrupt()
    elif editor.text and presses.is_second("escape"):
        editor.discard_drafts()
    elif editor.text:
        show_hint("Esc again clears the draft ")
    elif agents := count_background_agents(state.panels.get("agents", ())):
        if presses.is_second("escape"):
            await link.interrupt()
        else:
            show_hint(f"Esc again stops {format_count(agents, 'agent')} in the background ")
    elif presses.is_second("escape"):
        await rewind()
    else:
        trace.to_end()


async def clear_or_quit(
    app: ThemedApp, link: SessionLink, editor: PromptEditor, presses: DoublePress, show_hint: ShowHint
) -> None:
    """Ctrl+C: copy the selection, else clear the draft, else interrupt; pressed twice: quit."""
    if editor.selected_text or app.screen.get_selected_text():
        await copy_text(app, link.state, editor)
    elif presses.is_second("ctrl+c"):
        await quit_app(app, link)
    elif editor.text:
        editor.prompts.add(editor.text)
        editor.put("")
        show_hint("cleared; Up brings it back ")
    else:
        if link.state.is_working:
            await link.interrupt()
        show_hint("Ctrl+C again quits ")
