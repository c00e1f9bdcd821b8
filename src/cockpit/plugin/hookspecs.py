"""The hooks. Each is a plain function, called per root in a worker thread and again when trust or settings
change; `register(value)` takes frozen values whose functions may be async."""

from collections.abc import Mapping

from pluggy import HookspecMarker

from cockpit.plugin.models import Model
from cockpit.plugin.safety import Decider, Guard
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import (
    Command,
    ContextSource,
    Frontend,
    Language,
    McpServer,
    Mention,
    Observer,
    Panel,
    Register,
    Renderer,
    Resident,
    Role,
    Runner,
    Scope,
    Skill,
    Theme,
)

hookspec = HookspecMarker("cockpit")


@hookspec
def register_tools(register: Register, scope: Scope) -> None:
    """Tools that a model can call."""


@hookspec
def register_models(register: Register, scope: Scope) -> None:
    """Providers of models."""


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
    """MCP servers with tools of other programs."""


@hookspec
def register_languages(register: Register, scope: Scope) -> None:
    """Languages with their servers and grammars."""


@hookspec
def register_themes(register: Register, scope: Scope) -> None:
    """Colours."""


@hookspec
def register_mentions(register: Register, scope: Scope) -> None:
    """What a prompt may reference with a sign such as `@`."""


@hookspec
def register_context(register: Register, scope: Scope) -> None:
    """Text that is sent to the model with a request."""


@hookspec
def register_guards(register: Register, scope: Scope) -> None:
    """Checks of prompts, calls, results, answers, stops and compactions."""


@hookspec
def register_deciders(register: Register, scope: Scope) -> None:
    """Verdicts on calls."""


@hookspec
def register_observers(register: Register, scope: Scope) -> None:
    """Observers of events of named kinds."""


@hookspec
def register_residents(register: Register, scope: Scope) -> None:
    """Background services that live beside the turns."""


@hookspec
def register_runners(register: Register, scope: Scope) -> None:
    """Ways to run a role."""


@hookspec
def register_frontends(register: Register, scope: Scope) -> None:
    """Other frontends on the deck."""


@hookspec
def register_panels(register: Register, scope: Scope) -> None:
    """Lists in Work."""


@hookspec
def register_renderers(register: Register, scope: Scope) -> None:
    """How the result of a tool is shown."""


HOOKS: Mapping[str, type] = {
    "register_tools": Tool,
    "register_models": Model,
    "register_skills": Skill,
    "register_roles": Role,
    "register_commands": Command,
    "register_mcp_servers": McpServer,
    "register_languages": Language,
    "register_themes": Theme,
    "register_mentions": Mention,
    "register_context": ContextSource,
    "register_guards": Guard,
    "register_deciders": Decider,
    "register_observers": Observer,
    "register_residents": Resident,
    "register_runners": Runner,
    "register_frontends": Frontend,
    "register_panels": Panel,
    "register_renderers": Renderer,
}
