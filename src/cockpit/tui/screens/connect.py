"""Attach a model: pick a provider, paste its key, see it work. The core does the trying and the keeping.

It speaks with the plugin `connect`: `connect.presets` lists providers, `connect.try` tests a key,
`connect.save` keeps it. Each answer comes as a notice that carries the id of the op.
"""

import asyncio
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from cockpit.protocol.messages import Json
from cockpit.tui.clean import one_line
from cockpit.tui.palette import Palette
from cockpit.tui.screens.picker import Choice, Picker
from cockpit.tui.screens.sheet import SHEET_CSS, Lines
from cockpit.tui.state.state import Request
from cockpit.tui.trace.layout import Line, paragraph

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk
    from cockpit.tui.link import Link

PATIENCE = 30.0


class AskKey(ModalScreen[str | None]):
    """One masked line; gives the key, or None."""

    CSS = (
        "AskKey {"
        + SHEET_CSS
        + "} AskKey Input { border: none; background: $panel; height: 1; padding: 0 1; margin: 1 0; }"
        + " AskKey Input:focus { border: none; }"
    )

    def __init__(self, palette: Palette, provider: str, problem: str, where: str) -> None:
        super().__init__()
        self._palette, self._provider, self._problem, self._where = palette, provider, problem, where

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Lines(self._lay, self._palette)
            yield Input(password=True, placeholder="paste the key")
            yield Lines(self._foot, self._palette)

    def on_mount(self) -> None:
        field = self.query_one(Input)
        field.cursor_blink = False
        field.focus()

    def _lay(self, width: int) -> list[Line]:
        lines = [Line([(f"Key for {self._provider}", "heading/surface+b")], "body/surface")]
        if self._where:
            lines.append(Line([(self._where, "muted/surface")], "body/surface"))
        if self._problem:
            sign = [("✗ ", "bad/surface")]
            lines += paragraph(
                self._problem, width, key="body/surface", first=sign, rest=sign, fill="body/surface"
            )
        return lines

    def _foot(self, width: int) -> list[Line]:
        text = "It is tested with one call, then kept in the system's keyring or a file of yours alone."
        return [
            *paragraph(text, width, key="muted/surface", fill="body/surface"),
            Line([("Enter test and keep   Esc leave", "faint/surface")], "body/surface"),
        ]

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)


class Waiting(ModalScreen[Request | None]):
    """Says what is being waited for; gives the answer, or None when it did not come or Esc was pressed."""

    CSS = "Waiting {" + SHEET_CSS + "} Waiting > #sheet { width: 60; }"

    def __init__(
        self, palette: Palette, text: str, link: "Link", action: str, arguments: dict[str, Json]
    ) -> None:
        super().__init__()
        self._palette, self._text = palette, text
        self._link, self._action, self._arguments = link, action, arguments
        self._op = ""

    def compose(self) -> ComposeResult:
        lines = [
            Line([(self._text, "body/surface")], "body/surface"),
            Line([("Esc leaves", "faint/surface")], "body/surface"),
        ]
        with Vertical(id="sheet"):
            yield Lines(lambda width: lines, self._palette)

    async def on_mount(self) -> None:
        self._op = await self._link.invoke(self._action, self._arguments, "connect", captured=True)
        self.set_timer(PATIENCE, lambda: self.dismiss(None))

    def take(self, request: Request) -> None:
        """The core's answer."""
        if request.op == self._op and self.is_current:
            self.dismiss(request)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if event.key == "escape":
            self.dismiss(None)


async def show(desk: "Desk") -> None:
    link, app = desk.link, desk.app
    if link is None:
        return
    answer = await app.push_screen_wait(
        Waiting(app.palette, "Looking for providers …", link, "connect.presets", {})
    )
    presets = _rows(answer, "presets")
    if not presets:
        reason = (
            one_line(answer.text)
            if answer is not None and answer.text
            else "the plugin `connect` did not answer"
        )
        app.notify(reason, severity="warning")
        return
    choices = [_choice(row) for row in presets]
    name = await app.push_screen_wait(Picker(app.palette, "Connect a model provider", choices))
    row = next((one for one in presets if one.get("name") == name), None)
    if row is not None:
        await _try(desk, row)


async def _try(desk: "Desk", preset: dict[str, Json]) -> None:
    """Ask for the key until it works or the person leaves."""
    app, link = desk.app, desk.link
    assert link is not None
    name, problem = str(preset.get("name", "")), ""
    while True:
        key: str | None = ""
        if preset.get("needs_key", True):
            where = one_line(str(preset.get("where", "") or preset.get("url", "")))
            key = await app.push_screen_wait(AskKey(app.palette, name, problem, where))
            if key is None:
                return
        arguments: dict[str, Json] = {"name": name, "key": key}
        answer = await app.push_screen_wait(
            Waiting(app.palette, f"Trying {name} …", link, "connect.try", arguments)
        )
        if answer is None:
            return
        if answer.values.get("ok"):
            break
        problem = one_line(str(answer.values.get("problem", "") or answer.text or "it did not work"))
        if not preset.get("needs_key", True):
            app.notify(problem, severity="warning")
            return
    models = answer.values.get("models")
    await _choose_model(desk, name, [str(one) for one in models] if isinstance(models, list) else [])


async def _choose_model(desk: "Desk", name: str, models: list[str]) -> None:
    app, link = desk.app, desk.link
    assert link is not None
    if models:
        choices = [Choice(one, one) for one in models]
        chosen = await app.push_screen_wait(
            Picker(app.palette, f"{name} works: choose a model", choices, free=True)
        )
    else:
        chosen = await app.push_screen_wait(
            Picker(app.palette, f"{name} works: name a model", (), placeholder="model", free=True)
        )
    if chosen:
        model = chosen if chosen.startswith(f"{name}:") else f"{name}:{chosen}"
        await link.invoke("connect.save", {"name": name, "model": model}, "connect")
        await link.select_model(model)
        await asyncio.sleep(0)
        app.notify(f"{model} answers from the next step on")


def _rows(answer: Request | None, name: str) -> list[dict[str, Json]]:
    rows = answer.values.get(name) if answer is not None else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _choice(row: dict[str, Json]) -> Choice:
    name = str(row.get("name", ""))
    state = str(row.get("state", "")) or ("" if row.get("needs_key", True) else "no key needed")
    return Choice(
        name, name, one_line(str(row.get("url", ""))), one_line(state), now=bool(row.get("connected"))
    )
