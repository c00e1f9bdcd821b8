"""The verdicts of the policy: command lines by their grammar, paths by where they really lie. What it does
not know is asked about."""

import asyncio
from typing import Literal

from cockpit.builtin.judging import judged as judge
from cockpit.plugin import hookimpl
from cockpit.plugin.safety import Decider, Judged, Verdict
from cockpit.plugin.tools import Capability
from cockpit.plugin.values import Register, Scope
from cockpit.workspace.resolver import Judged as Place


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    register(Decider("commands", commands))
    register(Decider("places", places))


async def commands(judged: Judged) -> Verdict | None:
    """A command line as its shell will read it; a program that a tool starts by itself needs a person."""
    preview = judged.preview
    if preview is not None and preview.line is not None:
        return (await judge(preview.line, judged.context)).verdict
    if preview is not None and preview.launch is not None:
        return Verdict(
            "ask", "it runs a program", 30, judged.tool.capabilities, ("program",), sandbox="build"
        )
    return None


async def places(judged: Judged) -> Verdict | None:
    """Paths that leave the project, and those inside of it that say what runs later."""
    paths = judged.preview.paths if judged.preview is not None else ()
    if not paths:
        return None
    access: Literal["read", "write"] = "read" if judged.tool.kind in ("read", "search") else "write"
    found = await asyncio.to_thread(_worst, paths, access, judged.context.workspace.root)
    if found is None:
        return None
    outside: frozenset[Capability] = frozenset() if found.inside else frozenset({"fs.outside"})
    risk = 60 if access == "write" else 40
    # A rule on paths may cover a place outside; one on a command's words says nothing of where it runs.
    remember = not found.inside and judged.tool.kind != "execute"
    return Verdict("ask", found.reason, risk, outside, (f"path.{found.sort}",), may_remember=remember)


def _worst(paths: tuple[str, ...], access: Literal["read", "write"], root: str) -> Place | None:
    """The first path that is not plainly the project's."""
    from cockpit.safety.ground import ground_of
    from cockpit.safety.paths import classify

    ground = ground_of(root, reads_git=False)
    return next((found for path in paths if (found := classify(path, access, ground)).level != "allow"), None)
