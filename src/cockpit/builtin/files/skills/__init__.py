"""Skills: the eight that are shipped and those of files, their index for the model, `use_skill`, `/skill`,
and what holds a skill to the tools it names."""

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from cockpit.builtin.files.skills.guards import activate_for_paths, begin_turn, enforce_restrictions
from cockpit.builtin.files.skills.prompt_text import collect_index, collect_path_skills
from cockpit.builtin.files.skills.use_skill import skill_command, skill_tool
from cockpit.formats.frontmatter import FrontmatterCache
from cockpit.formats.search_folders import SearchFolder
from cockpit.formats.skills import find_skills, find_skills_in
from cockpit.plugin import hookimpl
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.safety import Guard
from cockpit.plugin.values import ContextSource, Register, Scope, Skill, Source


def load_shipped_skills() -> tuple[Skill | Unloaded, ...]:
    """The skills that come with cockpit."""
    folder = Path(str(resources.files("cockpit.builtin.files.skills") / "shipped"))
    heads = FrontmatterCache()
    found = find_skills_in((SearchFolder(folder, "built-in", "cockpit"),), heads)
    heads.save()
    return found


def load_file_skills(scope: Scope) -> Iterable[Skill | Unloaded]:
    return find_skills(Path(scope.root), scope.trusted, Path.home())


@hookimpl
def register_skills(register: Register, scope: Scope) -> None:
    register(Source("shipped-skills", lambda scope: load_shipped_skills(), layer="built-in"))
    register(Source("skill-files", load_file_skills))


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(skill_tool())


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(skill_command())


@hookimpl
def register_context(register: Register, scope: Scope) -> None:
    register(ContextSource("skills", "prefix", "session", collect_index, order=30))
    register(ContextSource("skills-of-files", "reminder", "step", collect_path_skills, order=30))


@hookimpl
def register_guards(register: Register, scope: Scope) -> None:
    register(Guard("skill-turn", "prompt", begin_turn))
    register(Guard("skill-tools", "tool_call", enforce_restrictions))
    register(Guard("skill-paths", "tool_result", activate_for_paths))
