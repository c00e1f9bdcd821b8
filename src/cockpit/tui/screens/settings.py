"""Attach a model: pick a provider, paste its key, see it work. The core does the trying and the keeping.

It speaks with the plugin `connect`: `connect.presets` lists providers, `connect.try` tests a key and (with
`save`) keeps what answered. Each answer comes as a notice that carries the id of the op.

Models that are known, with window and price; any other name can be typed as `provider:model`.

Settings: every key with its value and where that comes from; Enter changes one in the person's own file.

The core knows the keys and writes the file (`config.set`, `config.unset`); nothing is written here.
"""

import json
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from cockpit.protocol import queries
from cockpit.protocol.messages import Json
from cockpit.protocol.rows import SettingRow
from cockpit.tui.clean import single_line
from cockpit.tui.render import number_format
from cockpit.tui.render.layout import StyledLine, layout_paragraph
from cockpit.tui.render.themes import Palette
from cockpit.tui.screens.dialogs import SHEET_CSS, LinesView, TextDialog
from cockpit.tui.screens.picker import Picker, PickerChoice
from cockpit.tui.state.screen_state import FrontendRequest

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController
    from cockpit.tui.session_link import SessionLink


WAIT_SECONDS = 30.0


class KeyDialog(ModalScreen[tuple[str, str] | None]):
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
        self._provider = single_line(str(preset.get("label") or preset.get("name", "")))
        self._known = single_line(str(preset.get("key_from", "")))
        self._where = single_line(str(preset.get("keys_at", "")))
        self._address = single_line(str(preset.get("base_url", "")))
        self._usual = single_line(str(preset.get("usual", self._address)))
        self._is_local = bool(preset.get("local"))

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(self._lay, self._palette)
            if not self._is_local:
                known = f"paste another key, or Enter for the one from {self._known}"
                yield Input(password=True, placeholder=known if self._known else "paste the key", id="key")
            yield Input(
                self._address, placeholder="the server's address", id="address", select_on_focus=False
            )
            yield LinesView(self._foot, self._palette)

    def on_mount(self) -> None:
        fields = self.query(Input)
        for field in fields:
            field.cursor_blink = False
        fields.first().focus()

    def _lay(self, width: int) -> list[StyledLine]:
        title = f"{self._provider}, on this machine" if self._is_local else f"Key for {self._provider}"
        lines = [StyledLine([(title, "heading/surface+b")], "body/surface")]
        if self._where:
            lines.append(StyledLine([(f"keys are made at {self._where}", "muted/surface")], "body/surface"))
        if self._problem:
            sign = [("✗ ", "bad/surface")]
            lines += layout_paragraph(
                self._problem, width, key="body/surface", first=sign, rest=sign, fill="body/surface"
            )
        return lines

    def _foot(self, width: int) -> list[StyledLine]:
        text = "It is tested with one call, then kept in the system's keyring or a file of yours alone."
        return [
            *layout_paragraph(text, width, key="muted/surface", fill="body/surface"),
            StyledLine(
                [("Enter test and keep   Tab the address   Esc leave", "faint/surface")], "body/surface"
            ),
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


class WaitDialog(ModalScreen[FrontendRequest | None]):
    """Says what is being waited for; gives the answer, or None when it did not come or Esc was pressed."""

    CSS = "Waiting {" + SHEET_CSS + "} Waiting > #sheet { width: 60; }"

    def __init__(
        self, palette: Palette, text: str, link: "SessionLink", action: str, arguments: dict[str, Json]
    ) -> None:
        super().__init__()
        self._palette, self._text = palette, text
        self._link, self._action, self._arguments = link, action, arguments
        self._op = ""

    def compose(self) -> ComposeResult:
        lines = [
            StyledLine([(self._text, "body/surface")], "body/surface"),
            StyledLine([("Esc leaves", "faint/surface")], "body/surface"),
        ]
        with Vertical(id="sheet"):
            yield LinesView(lambda width: lines, self._palette)

    async def on_mount(self) -> None:
        self._op = await self._link.invoke(self._action, self._arguments, captured=True)
        self.set_timer(WAIT_SECONDS, lambda: self.dismiss(None))

    def take(self, request: FrontendRequest) -> None:
        """The core's answer."""
        if request.op == self._op and self.is_current:
            self.dismiss(request)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if event.key == "escape":
            self.dismiss(None)


async def connect_provider(desk: "SessionController", wanted: str = "") -> None:
    link, app = desk.link, desk.app
    if link is None:
        return
    answer = await app.push_screen_wait(
        WaitDialog(app.palette, "Looking for providers …", link, "connect.presets", {})
    )
    presets = answer_rows(answer, "presets")
    if not presets:
        reason = single_line(answer.text) if answer is not None else ""
        app.notify(
            reason or "the plugin `connect` did not answer; `cockpit plugins` says why", severity="warning"
        )
        return
    name: str | None = wanted
    if wanted not in [one.get("name") for one in presets]:
        choices = [_provider_choice(row) for row in presets]
        name = await app.push_screen_wait(Picker(app.palette, "Connect a model provider", choices))
    row = next((one for one in presets if one.get("name") == name), None)
    if row is not None:
        await _try_provider(desk, row)


async def _try_provider(desk: "SessionController", preset: dict[str, Json]) -> None:
    """Ask for key and address until it works or the person leaves. A local server is tried first."""
    app, link = desk.app, desk.link
    assert link is not None
    name, problem = str(preset.get("name", "")), ""
    preset = {**preset, "usual": preset.get("base_url", "")}
    while True:
        arguments: dict[str, Json] = {"preset": name, "key": ""}
        if problem or not preset.get("local"):
            given = await app.push_screen_wait(KeyDialog(app.palette, preset, problem))
            if given is None:
                return
            arguments["key"], address = given
            if address:
                arguments["base_url"] = address
                preset = {**preset, "base_url": address}
        tried = WaitDialog(app.palette, f"Trying {name} …", link, "connect.try", arguments)
        answer = await app.push_screen_wait(tried)
        if answer is None:
            return
        if answer.values.get("ok"):
            break
        problem = single_line(answer.text or str(answer.values.get("message", "")) or "it did not work")
    await _choose_provider_model(desk, name, arguments, answer)


async def _choose_provider_model(
    desk: "SessionController", name: str, arguments: dict[str, Json], tried: FrontendRequest
) -> None:
    """A model of those the server lists; then the connection is kept with it."""
    app, link = desk.app, desk.link
    assert link is not None
    listed, first = tried.values.get("models"), str(tried.values.get("default", ""))
    models = [str(one) for one in listed] if isinstance(listed, list) else []
    choices = [PickerChoice(one, one, now=one == first) for one in models]
    picker = Picker(app.palette, f"{name} answers: choose a model", choices, placeholder="model", free=True)
    chosen = await app.push_screen_wait(picker)
    if not chosen:
        return
    kept = WaitDialog(
        app.palette, "Keeping it …", link, "connect.try", {**arguments, "model": chosen, "save": True}
    )
    answer = await app.push_screen_wait(kept)
    if answer is None or not answer.values.get("ok"):
        app.notify(single_line(answer.text) if answer is not None else "not kept", severity="warning")
        return
    await link.select_model(f"{name}:{chosen}")
    where = str(answer.values.get("saved", ""))
    app.notify(
        f"{name}:{chosen} answers from the next step on" + (f"; the key lies in {where}" if where else "")
    )


def answer_rows(answer: FrontendRequest | None, name: str) -> list[dict[str, Json]]:
    """The objects of a list in an answer; empty where there is none."""
    rows = answer.values.get(name) if answer is not None else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _provider_choice(row: dict[str, Json]) -> PickerChoice:
    name, label = str(row.get("name", "")), single_line(str(row.get("label", "") or row.get("name", "")))
    ready = not row.get("ready")
    state = "no key needed" if row.get("local") else "ready" if ready else ""
    return PickerChoice(name, label, single_line(str(row.get("base_url", ""))), state)


_READY_STATES = ("ready", "local")


async def choose_model(desk: "SessionController") -> None:
    link, app = desk.link, desk.app
    if link is None:
        return
    choices: list[PickerChoice] = []
    if "model" in link.commands:
        answer = await app.push_screen_wait(
            WaitDialog(app.palette, "Looking for models …", link, "model", {})
        )
        known = sorted(answer_rows(answer, "models"), key=lambda row: row.get("state") not in _READY_STATES)
        named = (row for row in known if not str(row.get("model", "")).endswith(":"))
        choices = [_model_choice(row, link.state.model) for row in named]
    if not choices:
        reply = await link.ask(queries.Listing("models"))
        rows = reply.rows if isinstance(reply, queries.ListingRows) else ()
        choices = [
            PickerChoice(row.name, row.name, row.description, row.state, row.name == link.state.model)
            for row in rows
        ]
    foot = "Enter use   any provider:model can be typed   /connect adds a provider"
    picker = Picker(app.palette, "Model", choices, placeholder="provider:model", free=True, foot=foot)
    chosen = await app.push_screen_wait(picker)
    if chosen:
        await link.select_model(chosen)


def _model_choice(row: dict[str, Json], current: str) -> PickerChoice:
    name = single_line(str(row.get("model", "")))
    window = row.get("window")
    size = (
        number_format.format_tokens(window)
        if isinstance(window, int) and window
        else single_line(str(window or ""))
    )
    facts = [f"window {size}" if size else "", single_line(str(row.get("price") or ""))]
    state = single_line(str(row.get("state") or ""))
    if state not in _READY_STATES:
        facts.append(state)  # what is missing, in words
    detail = " · ".join(fact for fact in facts if fact)
    return PickerChoice(name, name, detail, state if state in _READY_STATES else "", now=name == current)


_DEFAULT_CHOICE = "\0"
"""The choice that takes a setting back to what holds without it."""
_SETTINGS_FOOT = "Enter change   type to narrow   Esc leave"


async def edit_settings(desk: "SessionController", wanted: str = "") -> None:
    """The list, and again after each change, until it is left. `wanted` opens a key at once."""
    link, app = desk.link, desk.app
    if link is None:
        return
    at = wanted
    while True:
        reply = await link.ask(queries.Settings())
        rows = reply.rows if isinstance(reply, queries.SettingsTable) else ()
        known = {one.key: one for one in rows}
        if not known:
            app.notify("the settings cannot be read: `cockpit config check` says why", severity="warning")
            return
        if wanted not in known:
            choices = [_setting_choice(one, at) for one in rows]
            picked = await app.push_screen_wait(Picker(app.palette, "Settings", choices, foot=_SETTINGS_FOOT))
            if picked is None:
                return
            at = picked
        await _change_setting(desk, known[at])
        wanted = ""


def _setting_choice(row: SettingRow, at: str) -> PickerChoice:
    origin = "" if row.origin == "default" else f"  {single_line(row.origin, 200).rpartition('/')[2]}"
    return PickerChoice(
        row.key, row.key, row.about, f"{format_value(row.value, row.default)}{origin}", row.key == at
    )


def format_value(value: Json, default: Json = None) -> str:
    """A value as it is read and typed; what holds where nothing is set stands in brackets."""
    if value is None:
        return "" if default is None else f"({format_value(default)})"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return value if isinstance(value, str) else json.dumps(value)


async def _change_setting(desk: "SessionController", row: SettingRow) -> None:
    app = desk.app
    if not row.writable:
        app.notify(
            f"{row.key} is set in {row.origin}, which is stronger than your own file", severity="warning"
        )
        return
    now = format_value(row.value)
    if row.choices:
        choices = [PickerChoice(one, one, now=one == now) for one in row.choices]
        if row.value is not None:
            choices.append(
                PickerChoice(
                    _DEFAULT_CHOICE, f"default {format_value(None, row.default)}", "take the setting out"
                )
            )
        picked = await app.push_screen_wait(Picker(app.palette, row.key, choices))
        if picked is not None:
            await _write_setting(desk, row, "" if picked == _DEFAULT_CHOICE else picked)
        return
    foot = f"{row.about}   Enter keeps it (empty: the default)   Esc leave"
    typed = await app.push_screen_wait(TextDialog(app.palette, row.key, row.wanted, now, foot))
    if typed is not None and typed != now:
        await _write_setting(desk, row, typed)


async def _write_setting(desk: "SessionController", row: SettingRow, text: str) -> None:
    app, link = desk.app, desk.link
    assert link is not None
    action = "config.set" if text else "config.unset"
    arguments: dict[str, Json] = {"key": row.key, **({"value": text} if text else {})}
    answer = await app.push_screen_wait(
        WaitDialog(app.palette, f"Keeping {row.key} …", link, action, arguments)
    )
    if answer is None:
        return
    said = single_line(answer.text, 200)
    later = "" if row.live else "; it holds from the next session on"
    ok = bool(answer.values.get("ok", True))
    app.notify(f"{said}{later}" if ok else said, severity="information" if ok else "warning")
