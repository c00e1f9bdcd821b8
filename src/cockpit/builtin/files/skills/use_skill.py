"""Using a skill: the tool `use_skill` for the model and `/skill NAME` for the user.

A skill's text becomes a result or the next prompt; a skill that forks becomes the task of a subagent.
"""

import asyncio
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
from cockpit.suggestions import closest_names, did_you_mean

DEFAULT_ROLE = "general"
MAX_FILE_BYTES = 400_000
MAX_REPORT = 16_000
# The user may be asked about a command in a skill, and a fork may work for long.
TIMEOUT_SECONDS = 86_400.0
LIST_DESCRIPTION_WIDTH = 300
TABLE_DESCRIPTION_WIDTH = 90
SKILL_FOLDERS = ".cockpit/skills, .claude/skills and .agents/skills"


@dataclass(frozen=True, slots=True)
class UseSkill:
    name: Annotated[str, "empty: list them all"] = ""
    arguments: Annotated[str, "as behind /name"] = ""
    file: Annotated[str, "a file of the skill, to read"] = ""


async def use_skill(arguments: UseSkill, context: Context) -> Done:
    if not arguments.name.strip():
        return Done(_list_skills(context))
    skill = find_skill(arguments.name, context.session.skills())
    if not skill.for_model:
        reason = f"only the user can use the skill {skill.name}; ask them to type /{skill.name}"
        if not skill.for_user:
            enable = f"`cockpit skills enable {skill.name}` switches it on"
            reason = f"the skill {skill.name} is switched off; {enable}"
        raise ToolFailed(reason)
    if arguments.file.strip():
        return Done(await asyncio.to_thread(_read_skill_file, skill, arguments.file.strip(), context))
    if skill.fork:
        return Done(await _run_fork(skill, arguments.arguments, context))
    text = await render_skill(skill, arguments.arguments, context)
    await asyncio.to_thread(SKILL_SESSIONS.activate, context.session.id, context.session.agent, skill)
    return Done(text)


async def run_skill_command(invoked: Invoked, context: Context) -> CommandAnswer:
    """Use the skill as the next prompt. A skill that forks runs at once, and its report is shown."""
    name, _, arguments = invoked.text.strip().partition(" ")
    if not name:
        return Show((_skill_table(context.session.skills()),))
    skill = find_skill(name, context.session.skills())
    if not skill.for_user:
        hint = "the model uses it when it fits" if skill.for_model else "it is switched off"
        reason = f"the skill {skill.name} cannot be used as a command: {hint}"
        raise CockpitError(reason, "`cockpit skills list` lists all skills")
    arguments = arguments.strip()
    if skill.fork:
        report = await _run_fork(skill, arguments, context, typed=True)
        # The main agent has no turn for this, so it learns of the report with the next prompt.
        note = f"[Before this the user ran /{skill.name} {arguments}]\n{report[:MAX_REPORT]}"
        SKILL_SESSIONS.add_note(context.session.id, note)
        return Show((Markdown(report),))
    text = await render_skill(skill, arguments, context, typed=True)
    SKILL_SESSIONS.expect_prompt(context.session.id, text, skill)
    return AsPrompt(text, mentions=False, model=skill.model)


def find_skill(name: str, skills: tuple[Skill, ...]) -> Skill:
    """Find a skill by name or alias, or by the last part of a bundle's skill name if it is unique. Raises
    `ToolFailed` with similar names."""
    wanted = name.strip().lstrip("/").lower()
    for skill in skills:
        if wanted in (skill.name.lower(), *(alias.lower() for alias in skill.aliases)):
            return skill
    bundled = [skill for skill in skills if skill.name.lower().rpartition(":")[2] == wanted]
    if len(bundled) == 1:
        return bundled[0]
    names = [skill.name for skill in skills]
    similar = closest_names(wanted, names, limit=3, cutoff=0.5)
    similar = similar or [name for name in names if wanted in name][:3]
    hint = f"{did_you_mean(similar)} " if similar else ""
    raise ToolFailed(f"unknown skill '{name.strip()}'; {hint}choose {', '.join(names) or 'none'}")


async def _run_fork(skill: Skill, arguments: str, context: Context, typed: bool = False) -> str:
    role = narrow_role(skill, context)
    task = await render_skill(skill, arguments, context, typed)
    return await run_in_subagent(skill, role, task, f"the skill {skill.name}", context)


async def run_in_subagent(skill: Skill, role: Role, task: str, label: str, context: Context) -> str:
    """Give a skill's text to a subagent and return its report, or its id if it runs in the background.
    `label` is how messages refer to the skill. Raises `CockpitError` where no subagent may be opened."""
    # The subagent's turn begins with this task, so its guard applies the skill's restriction there.
    SKILL_SESSIONS.expect_prompt(context.session.id, task, skill)
    call = context.call.call.id if context.call is not None else ""
    background = skill.background or role.background
    name = skill.name.replace(":", "-")
    handle = await context.agents.open(role, task, background=background, name=name, call=call)
    if background:
        return f"{label} runs in the background as {handle.id}; you will get its report"
    report = await handle.wait()
    return f"[Report of {label}, by {handle.id}]\n\n{report.text}"


def narrow_role(skill: Skill, context: Context) -> Role:
    """Return the skill's role with its model, limited to the tools that both the role and the skill allow.
    Raises `CockpitError` for an unknown role."""
    role = context.agents.role(skill.role or DEFAULT_ROLE)
    tools = role.tools
    if skill.allowed_tools is not None:
        allowed = [
            tool
            for tool in context.session.toolbox.tools()
            if any(matches_tool(pattern, tool) for pattern in skill.allowed_tools)
        ]
        if tools is not None:
            allowed = [tool for tool in allowed if any(matches_tool(pattern, tool) for pattern in tools)]
        tools = tuple(tool.name for tool in allowed)
    return replace(role, tools=tools, model=skill.model or role.model, effort=skill.effort or role.effort)


def _list_skills(context: Context) -> str:
    skills = [skill for skill in context.session.skills() if skill.for_model]
    if not skills:
        return f"there are no skills here; cockpit reads them from {SKILL_FOLDERS}"
    lines = []
    for skill in sorted(skills, key=lambda skill: skill.name):
        hint = f" {skill.hint}" if skill.hint else ""
        fork = " (runs in a subagent)" if skill.fork else ""
        paths = f" (for {', '.join(skill.paths)})" if skill.paths else ""
        description = shorten(describe_skill(skill), LIST_DESCRIPTION_WIDTH)
        lines.append(f"- {skill.name}{hint}{fork}{paths}: {description}")
    return "\n".join(lines)


def _skill_table(skills: tuple[Skill, ...]) -> Table | Text:
    rows = tuple(
        (
            f"/{skill.name}",
            skill.hint,
            skill.origin.layer if skill.origin is not None else "plugin",
            shorten(describe_skill(skill), TABLE_DESCRIPTION_WIDTH),
        )
        for skill in skills
        if skill.for_user
    )
    if not rows:
        return Text(f"There are no skills here. cockpit reads them from {SKILL_FOLDERS}.")
    return Table(("skill", "arguments", "from", "description"), rows, f"{len(rows)} skills")


def _read_skill_file(skill: Skill, name: str, context: Context) -> str:
    folder = find_skill_folder(skill)
    if folder is None:
        raise ToolFailed(f"the skill {skill.name} is a single file; use it without `file`")
    files = list_skill_files(folder)
    listed = f"its files: {', '.join(files)}" if files else "it has no files"
    try:
        content = read_inside(folder, name, context, MAX_FILE_BYTES)
    except PathRefused as error:
        raise ToolFailed(f"{error.message}; {listed}") from error
    except OSError as error:
        raise ToolFailed(f"{name} cannot be read: {error.strerror or error}; {listed}") from error
    if b"\0" in content[:8192]:
        size = f"{len(content):,} bytes"
        raise ToolFailed(f"{name} is a binary file of {size}; a program may use it by its path")
    return content.decode("utf-8", "replace")


def skill_tool() -> Tool:
    """Build `use_skill`, which also answers to Claude Code's `Skill`."""

    def title(arguments: Arguments) -> str:
        file = f" {arguments['file']}" if arguments.get("file") else ""
        name = str(arguments.get("name") or "").strip()
        return f"use skill {name}{file}" if name else "list skills"

    return Tool(
        name="use_skill",
        kind="read",
        description="Read a skill: how to do a kind of work here.",
        parameters=schema(UseSkill),
        capabilities=frozenset({"fs.read"}),
        run=typed(UseSkill, use_skill),
        title=title,
        aliases=(
            Alias("Skill", (("skill", "name"), ("command", "name"), ("args", "arguments"))),
            Alias("skill", (("skill", "name"), ("args", "arguments"))),
            Alias("activate_skill", (("skill_name", "name"),)),
        ),
        keywords=("skill", "guidance", "how to"),
        seconds=TIMEOUT_SECONDS,
    )


def skill_command() -> Command:
    return Command("skill", "Use a skill; without a name, list them", run_skill_command, "[name] [arguments]")
