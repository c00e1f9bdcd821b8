"""Making the navigator of a root. Imports servers and index only when something is asked of them."""

import asyncio
from dataclasses import dataclass, replace

from cockpit.navigation.life import Begin, Sources
from cockpit.navigation.navigator import LiveNavigator
from cockpit.plugin.languages import Language
from cockpit.plugin.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Root:
    """What a navigator stands on: `state` and `cache` are cockpit's folders, not the root's own."""

    workspace: Workspace
    languages: tuple[Language, ...]
    trusted: bool
    state: str
    cache: str


def open_navigator(root: Root) -> LiveNavigator:
    """A navigator that begins servers and index at the first question. End it with `life.close()`."""
    return LiveNavigator(root.workspace, languages=root.languages, begin=beginning(root))


async def renew(navigator: LiveNavigator, old: Root, new: Root) -> None:
    """Take other languages or another trust; what is equal goes on."""
    if new != old:
        await navigator.life.begin_again(beginning(new))


def beginning(root: Root) -> Begin:
    """How the sources of `root` begin."""

    async def begin() -> Sources:
        return await asyncio.to_thread(_made, root)

    return begin


def _made(root: Root) -> Sources:
    return replace(Sources(), languages=root.languages)
