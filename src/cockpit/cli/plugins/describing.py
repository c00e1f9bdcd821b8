"""A registered value in one line: what it is, and what it may do or see."""

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
    Renderer,
    Resident,
    Role,
    Runner,
    Skill,
    Theme,
)


def described(value: object) -> str:
    """What a person should know of a value before they let it in. Of foreign text one line."""
    match value:
        case Tool():
            text = f"a model may call it; {value.kind}: {', '.join(sorted(value.capabilities))}"
        case Model():
            text = "on this machine" if value.local else "sends what you write to its provider"
        case Skill() | Role() | Frontend():
            text = value.description
        case Command():
            text = f"/{value.name}: {value.description}"
        case McpServer():
            text = f"starts {' '.join(value.command)}" if value.command else f"talks to {value.url}"
        case Language():
            servers = ", ".join(one.name for one in value.servers)
            text = f"{' '.join(value.globs)}" + (
                f"; starts {servers} where it is installed" if servers else ""
            )
        case Guard():
            text = f"sees and may stop every {value.point.replace('_', ' ')}"
        case Decider():
            text = "judges every tool call; the strictest verdict wins"
        case ContextSource():
            text = f"tells the model something each {value.each}"
        case Observer():
            text = f"sees {', '.join(value.kinds)}"
        case Resident():
            text = f"runs beside your work, one per {value.per}"
        case Mention():
            text = f"{value.sign} in a prompt"
        case Runner():
            text = "may run subagents"
        case Panel():
            text = f"the list {value.title!r} in Work"
        case Renderer():
            text = f"shows what {value.tool} found"
        case Theme():
            text = "colours"
        case _:
            text = ""
    return " ".join(text.split())
