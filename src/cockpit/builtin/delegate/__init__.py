"""Giving work to subagents: the tools `delegate` and `agents`, `/agent` and `/agents`, `@role`, and the list
of roles that the model is shown beside its tools, never in them (docs/subagents.md)."""

from cockpit.builtin.delegate.commands import commands
from cockpit.builtin.delegate.listing import listed
from cockpit.builtin.delegate.looking_after import agents_tool
from cockpit.builtin.delegate.mention import mention
from cockpit.builtin.delegate.opening import delegate_tool
from cockpit.plugin import hookimpl
from cockpit.plugin.values import ContextSource, Register, Scope


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(delegate_tool())
    register(agents_tool())


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    for command in commands():
        register(command)


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(mention())


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(ContextSource("agents", "reminder", "step", listed, order=30))
