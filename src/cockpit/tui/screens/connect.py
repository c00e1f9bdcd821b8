"""Attach a model: pick a provider, paste its key, see it work. The core does the trying and the keeping.

It speaks with the plugin `connect`: `connect.presets` lists providers, `connect.try` tests a key and (with
`save`) keeps what answered. Each answer comes as a notice that carries the id of the op.
"""

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


class AskKey(ModalScreen[tuple[str, str] | None]):
    """A masked line for the key (none for a local server) and one for the address; gives both, or None."""

    CSS = (
        "AskKey {"
        + SHEET_CSS
        + "} AskKey Input { border: none; background: $panel; height: 1; padding: 0 1; margin: 1 0; }"
        + " AskKey Input:focus { border: none; }"
    )

    def __init__(self, palette: Palette, preset: dict[str, Json], problem: str) -> None:
        super().__init__()
        self._palette, self._problem = palette, problem
        self._provider = one_line(str(preset.get("label") or preset.get("name", "")))
        self._known = one_line(str(preset.get("key_from", "")))
        self._where = one_line(str(preset.get("keys_at", "")))
        self._address = one_line(str(preset.get("base_url", "")))
        self._usual = one_line(str(preset.get("usual", self._address)))
        self._is_local = bool(preset.get("local"))

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield Lines(self._lay, self._palette)
            if not self._is_local:
                known = f"paste another key, or Enter for the one from {self._known}"
                yield Input(password=True, placeholder=known if self._known else "paste the key", id="key")
            yield Input(
                self._address, placeholder="the server's address", id="address", select_on_focus=False
            )
            yield Lines(self._foot, self._palette)

    def on_mount(self) -> None:
        fields = self.query(Input)
        for field in fields:
            field.cursor_blink = False
        fields.first().focus()

    def _lay(self, width: int) -> list[Line]:
        title = f"{self._provider}, on this machine" if self._is_local else f"Key for {self._provider}"
        lines = [Line([(title, "heading/surface+b")], "body/surface")]
        if self._where:
            lines.append(Line([(f"keys are made at {self._where}", "muted/surface")], "body/surface"))
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
            Line([("Enter test and keep   Tab the address   Esc leave", "faint/surface")], "body/surface"),
        ]

    def on_input_submitted(self, event: Input.Submitted) -> None:
        given = {field.id: field.value.strip() for field in self.query(Input)}
        address = given.get("address", "")
        unchanged = address == self._usual
        self.dismiss((given.get("key", ""), "" if unchanged else address))

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
        self._op = await self._link.invoke(self._action, self._arguments, captured=True)
        self.set_timer(PATIENCE, lambda: self.dismiss(None))

    def take(self, request: Request) -> None:
        """The core's answer."""
        if request.op == self._op and self.is_current:
            self.dismiss(request)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if event.key == "escape":
            self.dismiss(None)


async def show(desk: "Desk", wanted: str = "") -> None:
    link, app = desk.link, desk.app
    if link is None:
        return
    answer = await app.push_screen_wait(
        Waiting(app.palette, "Looking for providers …", link, "connect.presets", {})
    )
    presets = rows_of(answer, "presets")
    if not presets:
        reason = one_line(answer.text) if answer is not None else ""
        app.notify(
            reason or "the plugin `connect` did not answer; `cockpit plugins` says why", severity="warning"
        )
        return
    name: str | None = wanted
    if wanted not in [one.get("name") for one in presets]:
        choices = [_choice(row) for row in presets]
        name = await app.push_screen_wait(Picker(app.palette, "Connect a model provider", choices))
    row = next((one for one in presets if one.get("name") == name), None)
    if row is not None:
        await _try(desk, row)


async def _try(desk: "Desk", preset: dict[str, Json]) -> None:
    """Ask for key and address until it works or the person leaves. A local server is tried first."""
    app, link = desk.app, desk.link
    assert link is not None
    name, problem = str(preset.get("name", "")), ""
    preset = {**preset, "usual": preset.get("base_url", "")}
    while True:
        arguments: dict[str, Json] = {"preset": name, "key": ""}
        if problem or not preset.get("local"):
            given = await app.push_screen_wait(AskKey(app.palette, preset, problem))
            if given is None:
                return
            arguments["key"], address = given
            if address:
                arguments["base_url"] = address
                preset = {**preset, "base_url": address}
        tried = Waiting(app.palette, f"Trying {name} …", link, "connect.try", arguments)
        answer = await app.push_screen_wait(tried)
        if answer is None:
            return
        if answer.values.get("ok"):
            break
        problem = one_line(answer.text or str(answer.values.get("message", "")) or "it did not work")
    await _choose_model(desk, name, arguments, answer)


async def _choose_model(desk: "Desk", name: str, arguments: dict[str, Json], tried: Request) -> None:
    """A model of those the server lists; then the connection is kept with it."""
    app, link = desk.app, desk.link
    assert link is not None
    listed, first = tried.values.get("models"), str(tried.values.get("default", ""))
    models = [str(one) for one in listed] if isinstance(listed, list) else []
    choices = [Choice(one, one, now=one == first) for one in models]
    picker = Picker(app.palette, f"{name} answers: choose a model", choices, placeholder="model", free=True)
    chosen = await app.push_screen_wait(picker)
    if not chosen:
        return
    kept = Waiting(
        app.palette, "Keeping it …", link, "connect.try", {**arguments, "model": chosen, "save": True}
    )
    answer = await app.push_screen_wait(kept)
    if answer is None or not answer.values.get("ok"):
        app.notify(one_line(answer.text) if answer is not None else "not kept", severity="warning")
        return
    await link.select_model(f"{name}:{chosen}")
    where = str(answer.values.get("saved", ""))
    app.notify(
        f"{name}:{chosen} answers from the next step on" + (f"; the key lies in {where}" if where else "")
    )


def rows_of(answer: Request | None, name: str) -> list[dict[str, Json]]:
    """The objects of a list in an answer; empty where there is none."""
    rows = answer.values.get(name) if answer is not None else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _choice(row: dict[str, Json]) -> Choice:
    name, label = str(row.get("name", "")), one_line(str(row.get("label", "") or row.get("name", "")))
    ready = not row.get("ready")
    state = "no key needed" if row.get("local") else "ready" if ready else ""
    return Choice(name, label, one_line(str(row.get("base_url", ""))), state)
