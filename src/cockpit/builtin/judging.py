"""The verdict on a command line of this workspace, for the tools that run one and the decider that judges
it: both see the same line, read once."""

import asyncio

from cockpit.plugin.context import Context
from cockpit.plugin.tools import CommandLine
from cockpit.safety.values import Line


async def judged(line: CommandLine, context: Context) -> Line:
    """`line` with its verdict and the form that is to run. Raises `SettingsInvalid` for a bad rule file."""
    isolation = await context.workspace.processes.isolation()
    held = isolation.level == "full"
    return await asyncio.to_thread(judged_line, line, context.workspace.root, context.session.trusted, held)


def judged_line(line: CommandLine, root: str, trusted: bool, held: bool) -> Line:
    """The same for a root; `held` says that a full sandbox is there. Raises `SettingsInvalid`."""
    from cockpit.safety.engine import judge_line
    from cockpit.safety.ground import ground_of, rules_in_force

    # Before trust nothing of the repository is read (G1), and its git asks.
    ground = ground_of(root, line.cwd, held, reads_git=trusted)
    return judge_line(line.text, line.shell, ground, rules_in_force(root, trusted))
