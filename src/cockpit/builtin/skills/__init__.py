"""Skills: the eight that are shipped and those of files, their index for the model, `use_skill`, `/skill`,
and what holds a skill to the tools it names."""

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from cockpit.builtin.skills.command import skill_command
from cockpit.builtin.skills.holding import begin_turn, hold, notice
from cockpit.builtin.skills.index import awake, index
from cockpit.builtin.skills.tool import skill_tool
from cockpit.formats.heads import Heads
from cockpit.formats.places import Place
from cockpit.formats.skill_places import find, in_places
from cockpit.plugin import hookimpl
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.safety import Guard
from cockpit.plugin.values import ContextSource, Register, Scope, Skill, Source


def shipped() -> tuple[Skill | Unloaded, ...]:
    """The skills that come with cockpit."""
    folder = Path(str(resources.files("cockpit.builtin.skills") / "shipped"))
    heads = Heads()
    found = in_places((Place(folder, "built-in", "cockpit"),), heads)
    heads.save()
    return found


def of_files(scope: Scope) -> Iterable[Skill | Unloaded]:
    return find(Path(scope.root), scope.trusted, Path.home())


@hookimpl
def register_skills(register: Register, scope: Scope) -> None:
    register(Source("shipped-skills", lambda scope: shipped(), layer="built-in"))
    register(Source("skill-files", of_files))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(skill_tool())


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(skill_command())


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(ContextSource("skills", "prefix", "session", index, order=30))
    register(ContextSource("skills-of-files", "reminder", "step", awake, order=30))


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    register(Guard("skill-turn", "prompt", begin_turn))
    register(Guard("skill-tools", "tool_call", hold))
    register(Guard("skill-paths", "tool_result", notice))
