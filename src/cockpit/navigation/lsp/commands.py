"""What a person may do to servers: restart, stop, allow; and what was done, in words."""

import asyncio
from typing import assert_never

from cockpit.navigation.lsp import approvals
from cockpit.navigation.lsp.life import Life
from cockpit.navigation.lsp.roster import Roster
from cockpit.navigation.lsp.status import Verb


async def command(roster: Roster, verb: Verb, name: str) -> str:
    """Do `verb` to the servers called `name` (empty: all that were wanted)."""
    lives = roster.named(name)
    if not lives:
        return f"no server is called {name}" if name else "no language server was started yet"
    match verb:
        case "restart":
            await asyncio.gather(*(one.restart() for one in lives))
            return _said(lives, "restarted")
        case "stop":
            up = [one for one in lives if one.is_up]
            words = "stopped; /lsp restart starts it again"
            await asyncio.gather(*(_stop(roster, one, words) for one in up))
            return _said(up, "stopped") if up else "no language server is running"
        case "allow":
            waiting = [one for one in lives if one.spec.named_by]
            if not waiting:
                return "nothing waits for a yes"
            for one in waiting:
                await asyncio.to_thread(approvals.allow, roster.approved, one.spec, roster.root)
                one.touched = True
                await one.restart()
            return "\n".join(f"allowed: {' '.join(one.spec.command)}" for one in waiting)
        case other:
            assert_never(other)


async def _stop(roster: Roster, life: Life, words: str) -> None:
    """It stays down until a person restarts it. One that may not run now starts again once it may."""
    barred = await asyncio.to_thread(roster.gate, life.spec)
    await life.stop(barred or words, held=not barred)


def _said(lives: list[Life], words: str) -> str:
    return f"{words}: {', '.join(one.spec.name for one in lives)}"
