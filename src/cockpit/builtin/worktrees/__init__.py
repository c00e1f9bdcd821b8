"""Worktrees: entered and left by the session, merged back, pruned; and the verdict on each. The git of it is
`cockpit.workspace.worktrees`' part."""

from cockpit.builtin.worktrees import entering, merging, pruning
from cockpit.builtin.worktrees.commands import command
from cockpit.builtin.worktrees.judging import decide
from cockpit.plugin import hookimpl
from cockpit.plugin.safety import Decider
from cockpit.plugin.values import Register, Scope


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    for tool in (entering.enter_tool(), entering.leave_tool(), merging.tool(), pruning.tool()):
        register(tool)


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(command())


@hookimpl
def register_deciders(register: Register, scope: Scope) -> None:
    register(Decider("worktrees", decide))
