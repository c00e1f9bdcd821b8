"""Settings, models and providers.

Each flow sends a command to the core (`config.set`, `model`, `connect.presets`, `connect.try`) and waits for
the answer.
"""

import json

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from cockpit.protocol import queries
from cockpit.protocol.messages import Json
from cockpit.protocol.rows import SettingRow
from cockpit.protocol.safe_text import single_line
from cockpit.tui.render.layout import StyledLine, layout_paragraph
from cockpit.tui.render.number_format import format_tokens
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens.dialogs import (
    CLOSE_WITH_ESCAPE,
    INPUT_CSS,
    SHEET_CSS,
    LinesView,
    TextDialog,
    WaitDialog,
    sheet_line,
    title_line,
)
from cockpit.tui.screens.picker import Picker, PickerChoice
from cockpit.tui.session_link import SessionLink
from cockpit.tui.state.screen_state import FrontendRequest

_READY_STATES = ("ready", "local")
_DEFAULT_CHOICE = "\0"
"""The choice that removes a setting, so that the default applies again."""
_SETTINGS_FOOT = "Enter change   type to narrow   Esc close"


class KeyDialog(ModalScreen[tuple[str, str] | None]):
    """Asks for a key (masked, and not for a local server) and an address. Returns both, or None for Esc."""

    BINDINGS = CLOSE_WITH_ESCAPE
    CSS = f"KeyDialog {{ {SHEET_CSS} {INPUT_CSS} }}"

    def __init__(self, preset: dict[str, Json], problem: str) -> None:
        super().__init__()
        self._problem = problem
        self._provider = single_line(str(preset.get("label") or preset.get("name", "")))
        self._key_source = single_line(str(preset.get("key_from", "")))
        self._key_page = single_line(str(preset.get("keys_at", "")))
        self._address = single_line(str(preset.get("base_url", "")))
        self._default_address = single_line(str(preset.get("usual", self._address)))
        self._is_local = bool(preset.get("local"))

    def compose(self) -> ComposeResult:
        with Vertical(id="sheet"):
            yield LinesView(self._head)
            if not self._is_local:
                hint = "paste the key"
                if self._key_source:
                    hint = f"paste another key, or Enter for the one from {self._key_source}"
                yield Input(password=True, placeholder=hint, id="key")
            hint = "the server's address"
            yield Input(self._address, placeholder=hint, id="address", select_on_focus=False)
            yield LinesView(self._foot)

    def on_mount(self) -> None:
        fields = self.query(Input)
        for field in fields:
            field.cursor_blink = False
        fields.first().focus()

    def _head(self, width: int) -> list[StyledLine]:
        title = f"{self._provider}, on this machine" if self._is_local else f"Key for {self._provider}"
        lines = [title_line(title)]
        if self._key_page:
            lines.append(sheet_line(f"create a key at {self._key_page}", "muted"))
        if self._problem:
            sign = [("✗ ", "bad/surface")]
            lines += layout_paragraph(
                self._problem, width, key="body/surface", first=sign, rest=sign, fill="body/surface"
            )
        return lines

    def _foot(self, width: int) -> list[StyledLine]:
        text = "It is tested with one call, then stored in the keyring or in a file that only you can read."
        return [
            *layout_paragraph(text, width, key="muted/surface", fill="body/surface"),
            sheet_line("Enter test and store   Tab the address   Esc close", "faint"),
        ]

    def on_input_submitted(self, event: Input.Submitted) -> None:
        values = {field.id: field.value.strip() for field in self.query(Input)}
        address = values.get("address", "")
        self.dismiss((values.get("key", ""), "" if address == self._default_address else address))


async def connect_provider(app: ThemedApp, link: SessionLink, preset: str = "") -> None:
    """Choose a provider, unless `preset` names one, and connect it."""
    answer = await app.push_screen_wait(WaitDialog("Looking for providers …", link, "connect.presets", {}))
    presets = answer_rows(answer, "presets")
    if not presets:
        reason = single_line(answer.text) if answer is not None else ""
        reason = reason or "the plugin `connect` did not answer; run `cockpit plugins`"
        app.notify(reason, severity="warning")
        return
    name: str | None = preset
    if preset not in [row.get("name") for row in presets]:
        choices = [_provider_choice(row) for row in presets]
        name = await app.push_screen_wait(Picker("Connect a model provider", choices))
    row = next((row for row in presets if row.get("name") == name), None)
    if row is not None:
        await _try_provider(app, link, row)


async def _try_provider(app: ThemedApp, link: SessionLink, preset: dict[str, Json]) -> None:
    """Ask for key and address until they work or the user leaves. A local server is tried without asking."""
    name, problem = str(preset.get("name", "")), ""
    preset = {**preset, "usual": preset.get("base_url", "")}
    while True:
        arguments: dict[str, Json] = {"preset": name, "key": ""}
        if problem or not preset.get("local"):
            entered = await app.push_screen_wait(KeyDialog(preset, problem))
            if entered is None:
                return
            arguments["key"], address = entered
            if address:
                arguments["base_url"] = address
                preset = {**preset, "base_url": address}
        answer = await app.push_screen_wait(WaitDialog(f"Trying {name} …", link, "connect.try", arguments))
        if answer is None:
            return
        if answer.values.get("ok"):
            break
        problem = single_line(
            answer.text or str(answer.values.get("message", "")) or "the provider did not answer"
        )
    await _choose_provider_model(app, link, name, arguments, answer)


async def _choose_provider_model(
    app: ThemedApp, link: SessionLink, name: str, arguments: dict[str, Json], trial: FrontendRequest
) -> None:
    listed, default = trial.values.get("models"), str(trial.values.get("default", ""))
    models = [str(model) for model in listed] if isinstance(listed, list) else []
    choices = [PickerChoice(model, model, now=model == default) for model in models]
    picker = Picker(f"{name} answers: choose a model", choices, placeholder="model", free=True)
    chosen = await app.push_screen_wait(picker)
    if not chosen:
        return
    arguments = {**arguments, "model": chosen, "save": True}
    answer = await app.push_screen_wait(WaitDialog("Storing it …", link, "connect.try", arguments))
    if answer is None or not answer.values.get("ok"):
        app.notify(single_line(answer.text) if answer is not None else "not stored", severity="warning")
        return
    await link.select_model(f"{name}:{chosen}")
    place = str(answer.values.get("saved", ""))
    stored = f"; the key is stored in {place}" if place else ""
    app.notify(f"{name}:{chosen} is used from the next step on{stored}")


def answer_rows(answer: FrontendRequest | None, name: str) -> list[dict[str, Json]]:
    """The objects of a list in an answer; empty where there is no such list."""
    rows = answer.values.get(name) if answer is not None else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _provider_choice(row: dict[str, Json]) -> PickerChoice:
    name, label = str(row.get("name", "")), single_line(str(row.get("label", "") or row.get("name", "")))
    ready = not row.get("ready")
    state = "no key needed" if row.get("local") else "ready" if ready else ""
    return PickerChoice(name, label, single_line(str(row.get("base_url", ""))), state)


async def choose_model(app: ThemedApp, link: SessionLink) -> None:
    """Choose a known model, with its window and price, or type any other as `provider:model`."""
    choices: list[PickerChoice] = []
    if "model" in link.commands:
        answer = await app.push_screen_wait(WaitDialog("Looking for models …", link, "model", {}))
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
    picker = Picker("Model", choices, placeholder="provider:model", free=True, foot=foot)
    chosen = await app.push_screen_wait(picker)
    if chosen:
        await link.select_model(chosen)


def _model_choice(row: dict[str, Json], current: str) -> PickerChoice:
    name = single_line(str(row.get("model", "")))
    window = row.get("window")
    size = format_tokens(window) if isinstance(window, int) and window else single_line(str(window or ""))
    facts = [f"window {size}" if size else "", single_line(str(row.get("price") or ""))]
    state = single_line(str(row.get("state") or ""))
    if state not in _READY_STATES:
        facts.append(state)  # what is missing, in words
    detail = " · ".join(fact for fact in facts if fact)
    return PickerChoice(name, name, detail, state if state in _READY_STATES else "", now=name == current)


async def edit_settings(app: ThemedApp, link: SessionLink, key: str = "") -> None:
    """List every key with its value and where that comes from, again after each change. `key` is opened at
    once."""
    at = key
    while True:
        reply = await link.ask(queries.Settings())
        rows = reply.rows if isinstance(reply, queries.SettingsTable) else ()
        known = {row.key: row for row in rows}
        if not known:
            app.notify("the settings cannot be read: run `cockpit config check`", severity="warning")
            return
        if key not in known:
            choices = [_setting_choice(row, at) for row in rows]
            picked = await app.push_screen_wait(Picker("Settings", choices, foot=_SETTINGS_FOOT))
            if picked is None:
                return
            at = picked
        await _change_setting(app, link, known[at])
        key = ""


def _setting_choice(row: SettingRow, at: str) -> PickerChoice:
    origin = "" if row.origin == "default" else f"  {single_line(row.origin, 200).rpartition('/')[2]}"
    value = f"{format_value(row.value, row.default)}{origin}"
    return PickerChoice(row.key, row.key, row.about, value, row.key == at)


def format_value(value: Json, default: Json = None) -> str:
    """A value as it is shown and typed; a default that is not set explicitly is in brackets."""
    if value is None:
        return "" if default is None else f"({format_value(default)})"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


async def _change_setting(app: ThemedApp, link: SessionLink, row: SettingRow) -> None:
    if not row.writable:
        reason = f"{row.key} is set in {row.origin}, which takes precedence over your own file"
        app.notify(reason, severity="warning")
        return
    current = format_value(row.value)
    if row.choices:
        choices = [PickerChoice(choice, choice, now=choice == current) for choice in row.choices]
        if row.value is not None:
            label = f"default {format_value(None, row.default)}"
            choices.append(PickerChoice(_DEFAULT_CHOICE, label, "remove the setting"))
        picked = await app.push_screen_wait(Picker(row.key, choices))
        if picked is not None:
            await _write_setting(app, link, row, "" if picked == _DEFAULT_CHOICE else picked)
        return
    foot = f"{row.about}   Enter stores it (empty: the default)   Esc close"
    typed = await app.push_screen_wait(TextDialog(row.key, row.wanted, current, foot))
    if typed is not None and typed != current:
        await _write_setting(app, link, row, typed)


async def _write_setting(app: ThemedApp, link: SessionLink, row: SettingRow, text: str) -> None:
    action = "config.set" if text else "config.unset"
    arguments: dict[str, Json] = {"key": row.key, **({"value": text} if text else {})}
    answer = await app.push_screen_wait(WaitDialog(f"Storing {row.key} …", link, action, arguments))
    if answer is None:
        return
    text = single_line(answer.text, 200)
    if not answer.values.get("ok", True):
        app.notify(text, severity="warning")
    else:
        app.notify(text if row.live else f"{text}; it applies from the next session")
