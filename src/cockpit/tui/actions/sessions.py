"""Opening a session: the first entry, what to try, what there is; and another session in its place.

Stored sessions of this folder, the newest first; choosing one opens it in this one's place.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.errors import CockpitError
from cockpit.protocol import queries
from cockpit.protocol.queries import SessionRow
from cockpit.tui.clean import single_line
from cockpit.tui.render import number_format, themes
from cockpit.tui.screens.picker import Picker, PickerChoice
from cockpit.tui.state.entries import WelcomeEntry
from cockpit.tui.state.screen_state import FrontendRequest

if TYPE_CHECKING:
    from cockpit.tui.controller import SessionController


async def switch_session(desk: "SessionController", session: str | None) -> None:
    """Another session in the place of this one: a stored one, or (None) a new one."""
    link = desk.link
    if link is None:
        return
    model, mode = link.state.model, link.state.mode
    try:
        await link.open(session, welcome_entry(desk))
        if session is None:
            # A new session goes on with what was chosen in this one.
            await link.keep(model, mode)
    except CockpitError as error:
        link.say("error", error.message, error.hint)
        return
    desk.app.trace.clear()
    link.state.touched.update(range(len(link.state.entries)))
    link.state.aspects |= {"trace", "work", "bar"}
    desk.changed()
    await load_session_facts(desk)


def welcome_entry(desk: "SessionController") -> WelcomeEntry:
    """The first entry of a session."""
    tries = suggest_prompts(Path(desk.app.root))
    desk.app.editor.tries = tries
    return WelcomeEntry(desk.app.project, _abbreviate_home(desk.app.root), tries=tries)


def suggest_prompts(root: Path) -> tuple[str, ...]:
    """Three things that make sense in a folder, told by the names at its top (nothing is read)."""
    tests = ("tests", "test", "pyproject.toml", "package.json", "go.mod", "Cargo.toml", "Makefile")
    found = ["explain this project"]
    if any(os.path.lexists(root / name) for name in tests):
        found.append("run the tests")
    if os.path.lexists(root / ".git"):
        found.append("what changed?")
    return (*found, *[one for one in ("find TODO", "help", "outline of README.md") if len(found) < 3])[:3]


def _abbreviate_home(path: str) -> str:
    home = str(Path.home())
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path


async def load_session_facts(desk: "SessionController") -> None:
    """What the session counts and which commands there are; the welcome says it."""
    link = desk.link
    assert link is not None
    await link.learn_commands()
    listed = await link.ask(queries.Listing("themes"))
    for problem in _register_plugin_themes(
        desk, listed.rows if isinstance(listed, queries.ListingRows) else ()
    ):
        link.say("warning", problem)
    listed = await link.ask(queries.Listing("panels"))
    if isinstance(listed, queries.ListingRows):
        link.state.titles = {row.name: row.description or row.name for row in listed.rows}
    reply = await link.ask(queries.Settings())
    entry = link.state.entries[0] if link.state.entries else None
    if not isinstance(entry, WelcomeEntry):
        return
    if isinstance(reply, queries.SettingsTable):
        entry.counts = reply.counts
    link.state.touch(0)
    link.state.aspects.add("bar")
    desk.learned = True
    desk.changed()
    desk.app.run_worker(_find_local_models(desk))


async def _find_local_models(desk: "SessionController") -> None:
    """Behind the first paint, and only where nothing better is attached."""
    link = desk.link
    assert link is not None
    await link.heard.wait()
    if link.state.model.partition(":")[0] == "offline" and "model" in link.commands:
        desk.local_op = await link.invoke("connect.local", {}, captured=True)


def offer_local_models(desk: "SessionController", request: FrontendRequest) -> None:
    """Say which servers of models answer on this machine, and the one word that uses each."""
    link = desk.link
    servers = request.values.get("servers")
    for server in servers if isinstance(servers, list) else ():
        if link is None or not isinstance(server, dict) or not server.get("ok"):
            continue
        name, model = (
            single_line(str(server.get("provider", ""))),
            single_line(str(server.get("default", ""))),
        )
        if model:
            link.say("note", f"{name} answers on this machine", f"/model {name}:{model} uses it")


def _register_plugin_themes(desk: "SessionController", rows: Sequence[queries.ListingRow]) -> list[str]:
    """Take the themes of plugins; what is wrong with them, and with the name of the theme wanted."""
    found, problems = themes.plugin_themes(rows)
    for theme in found:
        if theme != desk.app.available_themes.get(theme.name):
            desk.app.register_theme(theme)
    wanted, desk.theme_due = desk.theme_due, ""
    if wanted in desk.app.available_themes:
        desk.set_theme(wanted)
    elif wanted:
        problems.append(f"there is no theme called {wanted}; /theme lists them")
    return problems


async def choose_session(desk: "SessionController") -> None:
    app, link = desk.app, desk.link
    if link is None:
        return
    try:
        rows = await link.deck.list(app.root)
    except CockpitError as error:
        link.say("error", error.message, error.hint)
        return
    choices = [
        PickerChoice("", "start a new session"),
        *[_session_choice(row, link.state.session, desk) for row in rows],
    ]
    foot = "Enter open   Esc stay"
    chosen = await app.push_screen_wait(Picker(app.palette, f"Sessions of {app.project}", choices, foot=foot))
    if chosen is None or chosen == link.state.session:
        return
    await switch_session(desk, chosen or None)


def _session_choice(row: SessionRow, current: str, desk: "SessionController") -> PickerChoice:
    now = row.updated if desk.app.options.still else time.time()
    detail = f"{number_format.format_count(row.turns, 'turn')} · {row.model} · {row.id[:8]}"
    right = number_format.format_age(max(0.0, now - row.updated))
    return PickerChoice(
        row.id, single_line(row.title) or "(nothing said)", detail, right, now=row.id == current
    )
