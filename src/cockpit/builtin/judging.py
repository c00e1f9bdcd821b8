"""The verdict on a command line of this workspace, for the tools that run one and the decider that judges
it: both see the same line, read once."""

import asyncio
import os
import sys
from pathlib import Path

from cockpit import paths
from cockpit.plugin.context import Context
from cockpit.plugin.tools import CommandLine
from cockpit.safety.values import Ground, Line


async def judged(line: CommandLine, context: Context) -> Line:
    """`line` with its verdict and the form that is to run. Raises `SettingsInvalid` for a bad rule file."""
    isolation = await context.workspace.processes.isolation()
    held = isolation.level == "full"
    return await asyncio.to_thread(judged_line, line, context.workspace.root, context.session.trusted, held)


def judged_line(line: CommandLine, root: str, trusted: bool, held: bool) -> Line:
    """The same for a root; `held` says that a full sandbox is there. Raises `SettingsInvalid`."""
    from cockpit.safety.engine import judge_line
    from cockpit.safety.rules import load

    project = Path(root) / ".cockpit" / "policy.yaml" if trusted else None
    own = (str(paths.config()), str(paths.state()), str(paths.cache()))
    ground = Ground(
        root=root,
        home=os.path.realpath(Path.home()),
        cwd=line.cwd,
        own=tuple(os.path.realpath(folder) for folder in own),
        sandbox=held,
        platform="windows" if sys.platform == "win32" else "posix",
    )
    return judge_line(line.text, line.shell, ground, load(paths.config() / "policy.yaml", project))
