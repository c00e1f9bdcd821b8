"""Verdicts of the safety policy on command lines and paths.

Command lines are judged by their grammar and paths by their real location. Tools that run a command use
the same judgement as the decider, so that both see the same line.
"""

import asyncio
from typing import Literal

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Decider, Judged, Verdict
from cockpit.plugin.tools import Capability, CommandLine
from cockpit.plugin.values import Register, Scope
from cockpit.safety.values import JudgedLine
from cockpit.workspace.resolver import PathVerdict


async def judge_command(line: CommandLine, context: Context) -> JudgedLine:
    """Judge `line`: its verdict and the form that is to run. Raises `SettingsInvalid` for a bad rule file."""
    isolation = await context.workspace.processes.isolation()
    root, trusted = context.workspace.root, context.session.trusted
    return await asyncio.to_thread(judge_command_line, line, root, trusted, isolation.level == "full")


def judge_command_line(line: CommandLine, root: str, trusted: bool, sandboxed: bool) -> JudgedLine:
    """Judge `line` in the folder `root`; `sandboxed` means that a full sandbox is available.

    Raises `SettingsInvalid` for a bad rule file.
    """
    from cockpit.safety.engine import judge_line
    from cockpit.safety.policy import build_context, load_active_rules

    # The repository is not read before the folder is trusted, so git commands ask.
    context = build_context(root, line.cwd, sandboxed, reads_git=trusted)
    return judge_line(line.text, line.shell, context, load_active_rules(root, trusted))


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    register(Decider("commands", decide_command))
    register(Decider("places", decide_paths))


async def decide_command(judged: Judged) -> Verdict | None:
    """Judge a command line as its shell will read it. A program that a tool starts itself always asks."""
    preview = judged.preview
    if preview is not None and preview.line is not None:
        return (await judge_command(preview.line, judged.context)).verdict
    if preview is not None and preview.launch is not None:
        return Verdict(
            "ask", "it runs a program", 30, judged.tool.capabilities, ("program",), sandbox="build"
        )
    return None


async def decide_paths(judged: Judged) -> Verdict | None:
    """Ask for paths outside the project, and for files inside it that decide what runs later."""
    paths = judged.preview.paths if judged.preview is not None else ()
    if not paths:
        return None
    access: Literal["read", "write"] = "read" if judged.tool.kind in ("read", "search") else "write"
    path = await asyncio.to_thread(_first_restricted_path, paths, access, judged.context.workspace.root)
    if path is None:
        return None
    capabilities: frozenset[Capability] = frozenset() if path.inside else frozenset({"fs.outside"})
    risk = 60 if access == "write" else 40
    # A path rule may cover a place outside; a rule about a command does not say where it runs.
    may_remember = not path.inside and judged.tool.kind != "execute"
    return Verdict("ask", path.reason, risk, capabilities, (f"path.{path.sort}",), may_remember=may_remember)


def _first_restricted_path(
    paths: tuple[str, ...], access: Literal["read", "write"], root: str
) -> PathVerdict | None:
    from cockpit.safety.path_classifier import classify_path
    from cockpit.safety.policy import build_context

    context = build_context(root, reads_git=False)
    verdicts = (classify_path(path, access, context) for path in paths)
    return next((verdict for verdict in verdicts if verdict.level != "allow"), None)
