"""Models that are known, with window and price; any other name can be typed as `provider:model`."""

from typing import TYPE_CHECKING

from cockpit.protocol import queries
from cockpit.protocol.messages import Json
from cockpit.tui import figures
from cockpit.tui.clean import one_line
from cockpit.tui.screens.connect import Waiting, rows_of
from cockpit.tui.screens.picker import Choice, Picker

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk

_READY = ("ready", "local")


async def show(desk: "Desk") -> None:
    link, app = desk.link, desk.app
    if link is None:
        return
    choices: list[Choice] = []
    if "model" in link.commands:
        answer = await app.push_screen_wait(Waiting(app.palette, "Looking for models …", link, "model", {}))
        known = sorted(rows_of(answer, "models"), key=lambda row: row.get("state") not in _READY)
        named = (row for row in known if not str(row.get("model", "")).endswith(":"))
        choices = [_choice(row, link.state.model) for row in named]
    if not choices:
        reply = await link.ask(queries.Listing("models"))
        rows = reply.rows if isinstance(reply, queries.ListingRows) else ()
        choices = [
            Choice(row.name, row.name, row.description, row.state, row.name == link.state.model)
            for row in rows
        ]
    foot = "Enter use   any provider:model can be typed   /connect adds a provider"
    picker = Picker(app.palette, "Model", choices, placeholder="provider:model", free=True, foot=foot)
    chosen = await app.push_screen_wait(picker)
    if chosen:
        await link.select_model(chosen)


def _choice(row: dict[str, Json], current: str) -> Choice:
    name = one_line(str(row.get("model", "")))
    window = row.get("window")
    size = figures.tokens(window) if isinstance(window, int) and window else one_line(str(window or ""))
    facts = [f"window {size}" if size else "", one_line(str(row.get("price") or ""))]
    state = one_line(str(row.get("state") or ""))
    if state not in _READY:
        facts.append(state)  # what is missing, in words
    detail = " · ".join(fact for fact in facts if fact)
    return Choice(name, name, detail, state if state in _READY else "", now=name == current)
