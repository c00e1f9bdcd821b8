"""The hooks. Each is a plain function, called per root in a worker thread and again when trust or settings
change; `register(value)` takes frozen values, whose functions may be async."""

from collections.abc import Mapping

from pluggy import HookspecMarker

from cockpit.plugin import values
from cockpit.plugin.models import Model
from cockpit.plugin.safety import Decider, Guard
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Register, Scope

hookspec = HookspecMarker("cockpit")


@hookspec
def register_tools(register: Register, scope: Scope) -> None:
    """Tools that a model can call."""


@hookspec
def register_models(register: Register, scope: Scope) -> None:
    """Model providers."""


@hookspec
def register_skills(register: Register, scope: Scope) -> None:
    """Guidance that the model reads when it needs it."""


@hookspec
def register_roles(register: Register, scope: Scope) -> None:
    """Roles of subagents."""


@hookspec
def register_commands(register: Register, scope: Scope) -> None:
    """Slash commands."""


@hookspec
def register_mcp_servers(register: Register, scope: Scope) -> None:
    """MCP servers."""


@hookspec
def register_languages(register: Register, scope: Scope) -> None:
    """Languages, with their servers and grammars."""


@hookspec
def register_themes(register: Register, scope: Scope) -> None:
    """Colour themes."""


@hookspec
def register_mentions(register: Register, scope: Scope) -> None:
    """References in a prompt that begin with a sign such as `@`."""


@hookspec
def register_context(register: Register, scope: Scope) -> None:
    """Text that is added to requests."""


@hookspec
def register_guards(register: Register, scope: Scope) -> None:
    """Checks of prompts, calls, results, answers, stops and compactions."""


@hookspec
def register_deciders(register: Register, scope: Scope) -> None:
    """Verdicts on tool calls."""


@hookspec
def register_observers(register: Register, scope: Scope) -> None:
    """Observers of events of named kinds."""


@hookspec
def register_residents(register: Register, scope: Scope) -> None:
    """Background services."""


@hookspec
def register_runners(register: Register, scope: Scope) -> None:
    """Ways to run a subagent."""


@hookspec
def register_frontends(register: Register, scope: Scope) -> None:
    """Other frontends."""


@hookspec
def register_panels(register: Register, scope: Scope) -> None:
    """Lists in Work."""


@hookspec
def register_renderers(register: Register, scope: Scope) -> None:
    """How results of a tool are shown."""


HOOKS: Mapping[str, type] = {
    "register_tools": Tool,
    "register_models": Model,
    "register_skills": values.Skill,
    "register_roles": values.Role,
    "register_commands": values.Command,
    "register_mcp_servers": values.McpServer,
    "register_languages": values.Language,
    "register_themes": values.Theme,
    "register_mentions": values.Mention,
    "register_context": values.ContextSource,
    "register_guards": Guard,
    "register_deciders": Decider,
    "register_observers": values.Observer,
    "register_residents": values.Resident,
    "register_runners": values.Runner,
    "register_frontends": values.Frontend,
    "register_panels": values.Panel,
    "register_renderers": values.Renderer,
}
