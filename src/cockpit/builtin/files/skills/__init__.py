"""Skills: those that ship with cockpit (`shipped/`) and those in files.

Start with `use_skill.py`, which holds the tool and `/skill`. `prompt_text.py` writes what the model reads,
`guards.py` enforces the tools a skill allows, with its state in `state.py`.
"""

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
    folder = Path(str(resources.files("cockpit.builtin.files.skills") / "shipped"))
    cache = FrontmatterCache()
    skills = find_skills_in((SearchFolder(folder, "built-in", "cockpit"),), cache)
    cache.save()
    return skills


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
