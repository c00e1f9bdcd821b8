"""Skills that run in a subagent: the text is its task, its report is what comes back.

`use_skill`: the list of all skills, the text of one, a file of one.

`/skill NAME`, and what `/NAME` does for every skill (core/plugins/catalog.py).
"""

import asyncio
import difflib
from dataclasses import dataclass, replace
from typing import Annotated

from cockpit.builtin.files.placeholders import read_inside
from cockpit.builtin.files.skills.prompt_text import describe_skill, list_skill_files, render_skill, shorten
from cockpit.builtin.files.skills.state import SKILL_SESSIONS
from cockpit.builtin.files.skills.tool_patterns import matches_tool
from cockpit.errors import CockpitError
from cockpit.formats.skills import find_skill_folder
from cockpit.plugin.agents import Role
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context, PathRefused
from cockpit.plugin.tools import Alias, Arguments, Done, Tool, ToolFailed
from cockpit.plugin.values import AsPrompt, Command, CommandAnswer, Invoked, Show, Skill
from cockpit.protocol.content import Markdown, Table, Text

DEFAULT_ROLE = "general"


async def run_in_subagent(skill: Skill, arguments: str, context: Context, typed: bool = False) -> str:
    """The report of the subagent; for one in the background, what it is called. Raises `CockpitError` for
    a role nobody knows and where no agent may be opened."""
    role = narrow_role(context.agents.role(skill.role or DEFAULT_ROLE), skill, context)
    task = await render_skill(skill, arguments, context, typed)
    # What the skill allows is held there by the same guard: its turn begins with this very task.
    SKILL_SESSIONS.expect(context.session.id, task, skill)
    call = context.call.call.id if context.call is not None else ""
    background = skill.background or role.background
    handle = await context.agents.open(role, task, background=background, name=_agent_name(skill), call=call)
    if background:
        return f"the skill {skill.name} runs in the background as {handle.id}; its report will be told"
    report = await handle.wait()
    return f"[Report of the skill {skill.name}, by {handle.id}]\n\n{report.text}"


def narrow_role(role: Role, skill: Skill, context: Context) -> Role:
    """`role` with the model of the skill, and at most its tools. Never more than the role has."""
    tools = role.tools
    if skill.allowed_tools is not None:
        there = context.session.toolbox.tools()
        own = [one for one in there if any(matches_tool(pattern, one) for pattern in skill.allowed_tools)]
        if tools is not None:
            own = [one for one in own if any(matches_tool(pattern, one) for pattern in tools)]
        tools = tuple(one.name for one in own)
    return replace(role, tools=tools, model=skill.model or role.model, effort=skill.effort or role.effort)


def _agent_name(skill: Skill) -> str:
    return skill.name.replace(":", "-")


MAX_FILE_BYTES = 400_000
# A person may be asked about a command in a skill, and a fork may work for long.
TIMEOUT_SECONDS = 86_400.0
LIST_DESCRIPTION_WIDTH = 300


@dataclass(frozen=True, slots=True)
class UseSkill:
    name: Annotated[str, "empty: list them all"] = ""
    arguments: Annotated[str, "as behind /name"] = ""
    file: Annotated[str, "a file of the skill, to read"] = ""


async def use_skill(arguments: UseSkill, context: Context) -> Done:
    skills = [one for one in context.session.skills() if one.for_model]
    if not arguments.name.strip():
        return Done(_list_skills(skills))
    skill = find_skill(arguments.name, context.session.skills())
    if not skill.for_model:
        raise ToolFailed(_unavailable_reason(skill))
    if arguments.file.strip():
        return Done(await asyncio.to_thread(_read_skill_file, skill, arguments.file.strip(), context))
    if skill.fork:
        return Done(await run_in_subagent(skill, arguments.arguments, context))
    text = await render_skill(skill, arguments.arguments, context)
    await asyncio.to_thread(SKILL_SESSIONS.take, context.session.id, context.session.agent, skill)
    return Done(text)


def find_skill(name: str, skills: tuple[Skill, ...]) -> Skill:
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


def _unavailable_reason(skill: Skill) -> str:
    if not skill.for_person:
        return f"the skill {skill.name} is switched off; `cockpit skills enable {skill.name}` switches it on"
    return f"only a person uses the skill {skill.name}; ask them to type /{skill.name}"


def _list_skills(skills: list[Skill]) -> str:
    if not skills:
        return "no skill is here; cockpit reads them from .cockpit/skills, .claude/skills and .agents/skills"
    lines = []
    for skill in sorted(skills, key=lambda one: one.name):
        hint = f" {skill.hint}" if skill.hint else ""
        fork = " (runs in a subagent)" if skill.fork else ""
        paths = f" (for {', '.join(skill.paths)})" if skill.paths else ""
        lines.append(
            f"- {skill.name}{hint}{fork}{paths}: {shorten(describe_skill(skill), LIST_DESCRIPTION_WIDTH)}"
        )
    return "\n".join(lines)


def _read_skill_file(skill: Skill, name: str, context: Context) -> str:
    """The text of a file in the skill's folder. Raises `ToolFailed`."""
    folder = find_skill_folder(skill)
    files = list_skill_files(folder) if folder is not None else []
    listed = f"its files: {', '.join(files)}" if files else "it has no files"
    if folder is None:
        raise ToolFailed(f"the skill {skill.name} is one file; use it without `file`")
    try:
        raw = read_inside(folder, name, context, MAX_FILE_BYTES)
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
        run=typed(UseSkill, use_skill),
        title=_title,
        aliases=(
            Alias("Skill", (("skill", "name"), ("command", "name"), ("args", "arguments"))),
            Alias("skill", (("skill", "name"), ("args", "arguments"))),
            Alias("activate_skill", (("skill_name", "name"),)),
        ),
        keywords=("skill", "guidance", "how to"),
        seconds=TIMEOUT_SECONDS,
    )


TABLE_DESCRIPTION_WIDTH = 90
MAX_REPORT = 16_000


async def run_skill_command(invoked: Invoked, context: Context) -> CommandAnswer:
    """The skill as the next prompt; a fork runs at once, and its report is shown."""
    name, _, arguments = invoked.text.strip().partition(" ")
    if not name:
        return Show((_skill_table(context.session.skills()),))
    skill = find_skill(name, context.session.skills())
    if not skill.for_person:
        hint = "it is switched off" if not skill.for_model else "the model uses it where it fits"
        raise CockpitError(
            f"the skill {skill.name} is not for people: {hint}", "`cockpit skills list` shows all"
        )
    arguments = arguments.strip()
    if skill.fork:
        report = await run_in_subagent(skill, arguments, context, typed=True)
        # No turn of the main agent: it hears of it with the next one.
        SKILL_SESSIONS.tell(
            context.session.id,
            f"[Before this the person ran /{skill.name} {arguments}]\n{report[:MAX_REPORT]}",
        )
        return Show((Markdown(report),))
    text = await render_skill(skill, arguments, context, typed=True)
    SKILL_SESSIONS.expect(context.session.id, text, skill)
    return AsPrompt(text, mentions=False, model=skill.model)


def _skill_table(skills: tuple[Skill, ...]) -> Table | Text:
    rows = [
        (f"/{one.name}", one.hint, _layer_name(one), shorten(describe_skill(one), TABLE_DESCRIPTION_WIDTH))
        for one in skills
        if one.for_person
    ]
    if not rows:
        return Text(
            "No skill is here. cockpit reads them from .cockpit/skills, .claude/skills, .agents/skills."
        )
    return Table(("skill", "takes", "from", "what"), tuple(rows), f"{len(rows)} skills")


def _layer_name(skill: Skill) -> str:
    return skill.origin.layer if skill.origin is not None else "plugin"


def skill_command() -> Command:
    return Command("skill", "Use a skill; alone it lists them", run_skill_command, "[name] [arguments]")
