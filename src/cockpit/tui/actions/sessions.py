"""Opens, switches and leaves sessions; collects the facts that a new session shows."""

import os
import time
from pathlib import Path

from cockpit.errors import CockpitError
from cockpit.protocol import queries
from cockpit.protocol.queries import SessionRow
from cockpit.protocol.safe_text import single_line
from cockpit.tui.actions.preferences import ThemeSelection
from cockpit.tui.render.number_format import format_age, format_count
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens.dialogs import ConfirmDialog
from cockpit.tui.screens.picker import Picker, PickerChoice
from cockpit.tui.session_link import SessionLink
from cockpit.tui.state.entries import WelcomeEntry
from cockpit.tui.state.screen_state import FrontendRequest
from cockpit.tui.trace.view import TraceView


def welcome_entry(root: str, project: str) -> WelcomeEntry:
    """The first entry of a session."""
    home = str(Path.home())
    path = "~" + root[len(home) :] if root.startswith(home + os.sep) else root
    return WelcomeEntry(project, path, tries=suggest_prompts(Path(root)))


def suggest_prompts(root: Path) -> tuple[str, ...]:
    """Three prompts that make sense in a folder, by the names at its top (no file is read)."""
    tests = ("tests", "test", "pyproject.toml", "package.json", "go.mod", "Cargo.toml", "Makefile")
    prompts = ["explain this project"]
    if any(os.path.lexists(root / name) for name in tests):
        prompts.append("run the tests")
    if os.path.lexists(root / ".git"):
        prompts.append("what changed?")
    return (*prompts, "find TODO", "help")[:3]


async def choose_session(app: ThemedApp, link: SessionLink) -> str | None:
    """Choose a stored session of this folder. Returns its id, "" for a new one, None to stay."""
    if link.deck is None:
        return None
    try:
        rows = await link.deck.list(link.root)
    except CockpitError as error:
        link.say("error", error.message, error.hint)
        return None
    now = None if app.options.still else time.time()
    choices = [PickerChoice("", "start a new session")]
    choices += [_session_choice(row, link.state.session, now) for row in rows]
    picker = Picker(f"Sessions of {app.project}", choices, foot="Enter open   Esc close")
    chosen = await app.push_screen_wait(picker)
    return None if chosen == link.state.session else chosen


def _session_choice(row: SessionRow, current: str, now: float | None) -> PickerChoice:
    detail = f"{format_count(row.turns, 'turn')} · {row.model} · {row.id[:8]}"
    age = format_age(max(0.0, now - row.updated) if now is not None else 0.0)
    title = single_line(row.title) or "(no prompt yet)"
    return PickerChoice(row.id, title, detail, age, now=row.id == current)


async def switch_session(
    link: SessionLink, trace: TraceView, welcome: WelcomeEntry, session: str | None
) -> bool:
    """Open another session in place of the current one: a stored one or, for None, a new one, which keeps the
    current model and mode. Returns whether it was opened."""
    model, mode = link.state.model, link.state.mode
    if link.deck is None:
        return False
    try:
        await link.open(session, welcome)
        if session is None and model:
            await link.select_model(model)
            await link.select_mode(mode)
    except CockpitError as error:
        link.say("error", error.message, error.hint)
        return False
    trace.clear()
    link.state.touched.update(range(len(link.state.entries)))
    link.redraw("trace", "work", "bar")
    return True


async def load_session_facts(link: SessionLink, selection: ThemeSelection) -> None:
    """Ask for the commands, the themes of plugins, the titles of panels and the counts of the welcome."""
    await link.load_commands()
    themes = await link.ask(queries.Listing("themes"))
    for problem in selection.load_plugins(themes.rows if isinstance(themes, queries.ListingRows) else ()):
        link.say("warning", problem)
    panels = await link.ask(queries.Listing("panels"))
    if isinstance(panels, queries.ListingRows):
        link.state.titles = {row.name: row.description or row.name for row in panels.rows}
    settings = await link.ask(queries.Settings())
    entry = link.state.entries[0] if link.state.entries else None
    if isinstance(entry, WelcomeEntry) and isinstance(settings, queries.SettingsTable):
        entry.counts = settings.counts
        link.state.touch(0)
    link.redraw("bar")


async def find_local_models(link: SessionLink) -> str:
    """Where no real model is attached, look for model servers on this machine. Returns the id of the op whose
    answer reports them, or ""."""
    await link.started.wait()
    if link.state.model.partition(":")[0] == "offline" and "model" in link.commands:
        return await link.invoke("connect.local", {}, captured=True)
    return ""


def offer_local_models(link: SessionLink, request: FrontendRequest) -> None:
    """Name the model servers that answer on this machine, and the command that uses each."""
    servers = request.values.get("servers")
    for server in servers if isinstance(servers, list) else ():
        if not isinstance(server, dict) or not server.get("ok"):
            continue
        name = single_line(str(server.get("provider", "")))
        model = single_line(str(server.get("default", "")))
        if model:
            link.say("note", f"{name} answers on this machine", f"/model {name}:{model} uses it")


async def quit_app(app: ThemedApp, link: SessionLink) -> None:
    """Leave the cockpit; while a turn runs, only after asking."""
    if link.state.busy:
        lines = ["A turn is still running. Quitting interrupts it; the session is saved and can be resumed."]
        dialog = ConfirmDialog("Quit?", lines, (("y", "quit"), ("n", "stay")))
        if await app.push_screen_wait(dialog) != "y":
            return
    await link.leave()
    if link.deck is not None:
        await link.deck.close()
    app.exit(0)
