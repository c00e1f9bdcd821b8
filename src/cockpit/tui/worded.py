"""Actions that take words: `/model openai:gpt-5`, `/mode plan`, `/compact keep the plan`."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from cockpit.protocol import ops
from cockpit.protocol.messages import MODES
from cockpit.tui import opening
from cockpit.tui.link import ORIGIN
from cockpit.tui.screens import connect, rewind, settings, trust

if TYPE_CHECKING:
    from cockpit.tui.desk import Desk


async def _select_model(desk: "Desk", name: str) -> None:
    if desk.link is not None:
        await desk.link.select_model(name)


async def _set_mode(desk: "Desk", name: str) -> None:
    mode = next((mode for mode in MODES if mode == name), None)
    if desk.link is None:
        return
    if mode is None:
        desk.link.say("warning", f"there is no mode called {name}", f"the modes are {', '.join(MODES)}")
    else:
        await desk.link.submit(ops.SelectMode(desk.link.fresh(), ORIGIN, mode))


async def _carry_out(desk: "Desk", note: str) -> None:
    if desk.link is not None:
        await desk.link.decide_plan("approve", note=note)


async def _compact_about(desk: "Desk", focus: str) -> None:
    if desk.link is not None:
        await desk.link.submit(ops.Compact(desk.link.fresh(), ORIGIN, focus))


async def _set_trust(desk: "Desk", word: str) -> None:
    if desk.link is not None and word in ("yes", "y", "no", "n"):
        await desk.link.trust(word.startswith("y"))
    else:
        await trust.show(desk)


async def _rewind(desk: "Desk", words: str) -> None:
    await (rewind.undo(desk) if words == "undo" else rewind.show(desk))


async def _set_one(desk: "Desk", key: str) -> None:
    await settings.show(desk, key)


async def _connect_to(desk: "Desk", preset: str) -> None:
    await connect.show(desk, preset)


async def _resume(desk: "Desk", session: str) -> None:
    await opening.switch(desk, session)


async def _set_theme(desk: "Desk", name: str) -> None:
    if name in desk.app.available_themes:
        desk.set_theme(name)
        desk.memory.theme = name
        desk.memory.save()
    elif desk.link is not None:
        desk.link.say("warning", f"there is no theme called {name}", "/theme lists them")


WITH_WORDS: dict[str, Callable[["Desk", str], Awaitable[None]]] = {
    "model": _select_model,
    "theme": _set_theme,
    "sessions": _resume,
    "mode": _set_mode,
    "compact": _compact_about,
    "carry_out": _carry_out,
    "trust": _set_trust,
    "rewind": _rewind,
    "connect": _connect_to,
    "settings": _set_one,
}
