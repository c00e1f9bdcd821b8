"""Opening a session: the first entry, what to try, what there is; and another session in its place."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit.errors import CockpitError
from cockpit.protocol import queries
from cockpit.tui import themes
from cockpit.tui.clean import one_line
from cockpit.tui.state.entries import Welcomed
from cockpit.tui.state.state import Request

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk


async def switch(desk: "Desk", session: str | None) -> None:
    """Another session in the place of this one: a stored one, or (None) a new one."""
    link = desk.link
    if link is None:
        return
    model, mode = link.state.model, link.state.mode
    try:
        await link.open(session, welcomed(desk))
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
    await learn(desk)


def welcomed(desk: "Desk") -> Welcomed:
    """The first entry of a session."""
    tries = tries_for(Path(desk.app.root))
    desk.app.editor.tries = tries
    return Welcomed(desk.app.project, _from_home(desk.app.root), tries=tries)


def tries_for(root: Path) -> tuple[str, ...]:
    """Three things that make sense in a folder, told by the names at its top (nothing is read)."""
    tests = ("tests", "test", "pyproject.toml", "package.json", "go.mod", "Cargo.toml", "Makefile")
    found = ["explain this project"]
    if any(os.path.lexists(root / name) for name in tests):
        found.append("run the tests")
    if os.path.lexists(root / ".git"):
        found.append("what changed?")
    return (*found, *[one for one in ("find TODO", "help", "outline of README.md") if len(found) < 3])[:3]


def _from_home(path: str) -> str:
    home = str(Path.home())
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path


async def learn(desk: "Desk") -> None:
    """What the session counts and which commands there are; the welcome says it."""
    link = desk.link
    assert link is not None
    await link.learn_commands()
    listed = await link.ask(queries.Listing("themes"))
    for problem in _take_themes(desk, listed.rows if isinstance(listed, queries.ListingRows) else ()):
        link.say("warning", problem)
    listed = await link.ask(queries.Listing("panels"))
    if isinstance(listed, queries.ListingRows):
        link.state.titles = {row.name: row.description or row.name for row in listed.rows}
    reply = await link.ask(queries.Settings())
    entry = link.state.entries[0] if link.state.entries else None
    if not isinstance(entry, Welcomed):
        return
    if isinstance(reply, queries.SettingsTable):
        entry.counts = reply.counts
    link.state.touch(0)
    link.state.aspects.add("bar")
    desk.learned = True
    desk.changed()
    desk.app.run_worker(_look_for_local(desk))


async def _look_for_local(desk: "Desk") -> None:
    """Behind the first paint, and only where nothing better is attached."""
    link = desk.link
    assert link is not None
    await link.heard.wait()
    if link.state.model.partition(":")[0] == "offline" and "model" in link.commands:
        desk.local_op = await link.invoke("connect.local", {}, captured=True)


def offer_local(desk: "Desk", request: Request) -> None:
    """Say which servers of models answer on this machine, and the one word that uses each."""
    link = desk.link
    servers = request.values.get("servers")
    for server in servers if isinstance(servers, list) else ():
        if link is None or not isinstance(server, dict) or not server.get("ok"):
            continue
        name, model = one_line(str(server.get("provider", ""))), one_line(str(server.get("default", "")))
        if model:
            link.say("note", f"{name} answers on this machine", f"/model {name}:{model} uses it")


def _take_themes(desk: "Desk", rows: Sequence[queries.ListingRow]) -> list[str]:
    """Take the themes of plugins; what is wrong with them, and with the name of the theme wanted."""
    found, problems = themes.registered(rows)
    for theme in found:
        if theme != desk.app.available_themes.get(theme.name):
            desk.app.register_theme(theme)
    wanted, desk.theme_due = desk.theme_due, ""
    if wanted in desk.app.available_themes:
        desk.set_theme(wanted)
    elif wanted:
        problems.append(f"there is no theme called {wanted}; /theme lists them")
    return problems
