"""The verdict on a command line of this workspace, for the tools that run one and the decider that judges
it: both see the same line, read once.

The verdicts of the policy: command lines by their grammar, paths by where they really lie. What it does
not know is asked about.
"""

import asyncio
from typing import Literal

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Decider, Judged, Verdict
from cockpit.plugin.tools import Capability, CommandLine
from cockpit.plugin.values import Register, Scope
from cockpit.safety.values import JudgedLine
from cockpit.workspace.resolver import PathVerdict as Place


async def judge_command(line: CommandLine, context: Context) -> JudgedLine:
    """`line` with its verdict and the form that is to run. Raises `SettingsInvalid` for a bad rule file."""
    isolation = await context.workspace.processes.isolation()
    held = isolation.level == "full"
    return await asyncio.to_thread(
        judge_command_line, line, context.workspace.root, context.session.trusted, held
    )


def judge_command_line(line: CommandLine, root: str, trusted: bool, held: bool) -> JudgedLine:
    """The same for a root; `held` says that a full sandbox is there. Raises `SettingsInvalid`."""
    from cockpit.safety.engine import judge_line
    from cockpit.safety.policy import build_context, load_active_rules

    # Before trust nothing of the repository is read (G1), and its git asks.
    ground = build_context(root, line.cwd, held, reads_git=trusted)
    return judge_line(line.text, line.shell, ground, load_active_rules(root, trusted))


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    register(Decider("commands", decide_command))
    register(Decider("places", decide_paths))


async def decide_command(judged: Judged) -> Verdict | None:
    """A command line as its shell will read it; a program that a tool starts by itself needs a person."""
    preview = judged.preview
    if preview is not None and preview.line is not None:
        return (await judge_command(preview.line, judged.context)).verdict
    if preview is not None and preview.launch is not None:
        return Verdict(
            "ask", "it runs a program", 30, judged.tool.capabilities, ("program",), sandbox="build"
        )
    return None


async def decide_paths(judged: Judged) -> Verdict | None:
    """Paths that leave the project, and those inside of it that say what runs later."""
    paths = judged.preview.paths if judged.preview is not None else ()
    if not paths:
        return None
    access: Literal["read", "write"] = "read" if judged.tool.kind in ("read", "search") else "write"
    found = await asyncio.to_thread(_first_outside_path, paths, access, judged.context.workspace.root)
    if found is None:
        return None
    outside: frozenset[Capability] = frozenset() if found.inside else frozenset({"fs.outside"})
    risk = 60 if access == "write" else 40
    # A rule on paths may cover a place outside; one on a command's words says nothing of where it runs.
    remember = not found.inside and judged.tool.kind != "execute"
    return Verdict("ask", found.reason, risk, outside, (f"path.{found.sort}",), may_remember=remember)


def _first_outside_path(paths: tuple[str, ...], access: Literal["read", "write"], root: str) -> Place | None:
    """The first path that is not plainly the project's."""
    from cockpit.safety.path_classifier import classify_path
    from cockpit.safety.policy import build_context

    ground = build_context(root, reads_git=False)
    return next(
        (found for path in paths if (found := classify_path(path, access, ground)).level != "allow"), None
    )
