"""`use_skill`: the list of all skills, the text of one, a file of one."""

import asyncio
import difflib
from dataclasses import dataclass
from typing import Annotated

from cockpit.builtin.filling import read_beneath
from cockpit.builtin.skills.forking import forked
from cockpit.builtin.skills.index import cut, said
from cockpit.builtin.skills.rendering import files_of, rendered
from cockpit.builtin.skills.state import STATE
from cockpit.formats.skills import folder_of
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context, PathRefused
from cockpit.plugin.tools import Alias, Arguments, Done, Tool, ToolFailed
from cockpit.plugin.values import Skill

LARGEST_FILE = 400_000
# A person may be asked about a command in a skill, and a fork may work for long.
SECONDS = 86_400.0
DESCRIBED = 300


@dataclass(frozen=True, slots=True)
class UseSkill:
    name: Annotated[str, "empty: list them all"] = ""
    arguments: Annotated[str, "as behind /name"] = ""
    file: Annotated[str, "a file of the skill, to read"] = ""


async def use(arguments: UseSkill, context: Context) -> Done:
    skills = [one for one in context.session.skills() if one.for_model]
    if not arguments.name.strip():
        return Done(_all(skills))
    skill = named(arguments.name, context.session.skills())
    if not skill.for_model:
        raise ToolFailed(_not_for_model(skill))
    if arguments.file.strip():
        return Done(await asyncio.to_thread(_file, skill, arguments.file.strip(), context))
    if skill.fork:
        return Done(await forked(skill, arguments.arguments, context))
    text = await rendered(skill, arguments.arguments, context)
    await asyncio.to_thread(STATE.take, context.session.id, context.session.agent, skill)
    return Done(text)


def named(name: str, skills: tuple[Skill, ...]) -> Skill:
    """The skill of that name, or alias, or the one bundle's skill that is called so. Raises `ToolFailed`
    with those that are near."""
    wanted = name.strip().lstrip("/").lower()
    for skill in skills:
        if wanted in (skill.name.lower(), *(alias.lower() for alias in skill.aliases)):
            return skill
    ends = [one for one in skills if one.name.lower().rpartition(":")[2] == wanted]
    if len(ends) == 1:
        return ends[0]
    names = [one.name for one in skills]
    near = difflib.get_close_matches(wanted, names, 3, 0.5) or [one for one in names if wanted in one][:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "use_skill without a name lists them"
    raise ToolFailed(f"there is no skill called {name.strip()}; {hint}")


def _not_for_model(skill: Skill) -> str:
    if not skill.for_person:
        return f"the skill {skill.name} is switched off; `cockpit skills enable {skill.name}` switches it on"
    return f"only a person uses the skill {skill.name}; ask them to type /{skill.name}"


def _all(skills: list[Skill]) -> str:
    if not skills:
        return "no skill is here; cockpit reads them from .cockpit/skills, .claude/skills and .agents/skills"
    lines = []
    for skill in sorted(skills, key=lambda one: one.name):
        hint = f" {skill.hint}" if skill.hint else ""
        fork = " (runs in a subagent)" if skill.fork else ""
        paths = f" (for {', '.join(skill.paths)})" if skill.paths else ""
        lines.append(f"- {skill.name}{hint}{fork}{paths}: {cut(said(skill), DESCRIBED)}")
    return "\n".join(lines)


def _file(skill: Skill, name: str, context: Context) -> str:
    """The text of a file in the skill's folder. Raises `ToolFailed`."""
    folder = folder_of(skill)
    files = files_of(folder) if folder is not None else []
    listed = f"its files: {', '.join(files)}" if files else "it has no files"
    if folder is None:
        raise ToolFailed(f"the skill {skill.name} is one file; use it without `file`")
    try:
        raw = read_beneath(folder, name, context, LARGEST_FILE)
    except PathRefused as error:
        raise ToolFailed(f"{error.message}; {listed}") from error
    except OSError as error:
        raise ToolFailed(f"{name} cannot be read: {error.strerror or error}; {listed}") from error
    if b"\0" in raw[:8192]:
        raise ToolFailed(f"{name} is a binary file of {len(raw):,} bytes; a program may use it by its path")
    return raw.decode("utf-8", "replace")


def _title(arguments: Arguments) -> str:
    file = f" {arguments['file']}" if arguments.get("file") else ""
    name = str(arguments.get("name") or "").strip()
    return f"use skill {name}{file}" if name else "list skills"


def skill_tool() -> Tool:
    """`use_skill`, and Claude's `Skill`."""
    return Tool(
        name="use_skill",
        kind="read",
        description="Read a skill: how to do a kind of work here.",
        parameters=schema(UseSkill),
        capabilities=frozenset({"fs.read"}),
        run=typed(UseSkill, use),
        title=_title,
        aliases=(
            Alias("Skill", (("skill", "name"), ("command", "name"), ("args", "arguments"))),
            Alias("skill", (("skill", "name"), ("args", "arguments"))),
            Alias("activate_skill", (("skill_name", "name"),)),
        ),
        keywords=("skill", "guidance", "how to"),
        seconds=SECONDS,
    )
