"""A command file when it is used: the next prompt, or the task of a subagent. Its tools are held as a
skill's are (builtin/skills/holding)."""

import asyncio
import tomllib
from dataclasses import replace

from cockpit.builtin.filling import filled
from cockpit.builtin.skills.forking import DEFAULT, narrowed
from cockpit.builtin.skills.rendering import limits_of
from cockpit.builtin.skills.state import STATE
from cockpit.errors import CockpitError
from cockpit.formats.command_files import CommandFile
from cockpit.formats.substitution import Expanded, expand
from cockpit.plugin.context import Context
from cockpit.plugin.values import AsPrompt, Command, CommandAnswer, Invoked, Show, Skill
from cockpit.protocol.content import Markdown, Text


def command_of(file: CommandFile) -> Command:
    """The slash command that a file is."""

    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        return await use(file, invoked.text.strip(), context)

    hidden = not file.for_person
    return Command(file.name, file.description, run, file.hint, hidden=hidden, origin=file.origin)


def expansion(file: CommandFile, arguments: str, root: str, session: str) -> Expanded:
    """The template with its arguments; nothing is run or read. Raises `CockpitError` where it is gone."""
    try:
        template = file.template()
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CockpitError(f"{file.path} cannot be read: {error}", "mend or remove the file") from error
    own = {
        "SKILL_DIR": str(file.path.parent),
        "PROJECT_DIR": root,
        "SESSION_ID": session,
        "EFFORT": file.effort,
    }
    variables = {f"{whose}_{name}": value for name, value in own.items() for whose in ("CLAUDE", "COCKPIT")}
    return expand(template, file.values(arguments, template, variables))


async def use(file: CommandFile, arguments: str, context: Context) -> CommandAnswer:
    """The prompt it becomes; one that runs in a subagent is shown with its report."""
    session = context.session
    expanded = await asyncio.to_thread(expansion, file, arguments, session.root, session.id)
    text = await filled(expanded, context, f"the command /{file.name}", None, arguments)
    skill = as_skill(file)
    if limits := limits_of(skill):
        text += f"\n\n[To the end of this turn the command /{file.name} {limits}.]"
    STATE.expect(session.id, text, skill)
    if file.fork:
        return Show(((await _forked(file, skill, text, context)),))
    return AsPrompt(text, mentions=False, model=file.model)


def as_skill(file: CommandFile) -> Skill:
    """What of a file holds while it is in force, as a skill says it."""
    return Skill(
        name=file.name,
        description=file.description,
        body=file.template,
        path=str(file.path),
        allowed_tools=file.allowed_tools,
        denied_tools=file.denied_tools,
        role=file.role,
        background=file.background,
        model=file.model,
        effort=file.effort,
        origin=file.origin,
    )


async def _forked(file: CommandFile, skill: Skill, task: str, context: Context) -> Markdown | Text:
    role = narrowed(context.agents.role(file.role or DEFAULT), skill, context)
    role = replace(role, background=file.background or role.background)
    name = file.name.replace(":", "-")
    handle = await context.agents.open(role, task, background=role.background, name=name)
    if role.background:
        return Text(f"/{file.name} runs in the background as {handle.id}; its report will be told")
    report = await handle.wait()
    return Markdown(f"[Report of /{file.name}, by {handle.id}]\n\n{report.text}")
