"""Models that are registered, and tiers; any other name can be typed as `provider:model`."""

from typing import TYPE_CHECKING

from cockpit.protocol import queries
from cockpit.tui.screens.picker import Choice, Picker

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk


async def show(desk: "Desk") -> None:
    link, app = desk.link, desk.app
    if link is None:
        return
    reply = await link.ask(queries.Listing("models"))
    rows = reply.rows if isinstance(reply, queries.ListingRows) else ()
    choices = [
        Choice(row.name, row.name, row.description, row.state, now=row.name == link.state.model)
        for row in rows
    ]
    foot = "Enter use   any provider:model can be typed   /connect adds a provider"
    picker = Picker(app.palette, "Model", choices, placeholder="provider:model", free=True, foot=foot)
    chosen = await app.push_screen_wait(picker)
    if chosen:
        await link.select_model(chosen)
