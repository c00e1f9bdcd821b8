"""Slash commands from the command files of Claude Code, opencode, Gemini, Codex, crush and cockpit.

A command file becomes the next prompt, or the task of a subagent. Its tool restrictions are enforced like
a skill's (`skills/guards.py`).
"""

import asyncio
import tomllib
from collections.abc import Iterator
from pathlib import Path

from cockpit.builtin.files.placeholders import fill_placeholders
from cockpit.builtin.files.skills.prompt_text import describe_limits, template_variables
from cockpit.builtin.files.skills.state import SKILL_SESSIONS
from cockpit.builtin.files.skills.use_skill import narrow_role, run_in_subagent
from cockpit.errors import CockpitError
from cockpit.formats.command_files import CommandFile, find_commands
from cockpit.formats.substitution import ExpandedTemplate, expand_template
from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.values import (
    AsPrompt,
    Command,
    CommandAnswer,
    Invoked,
    Register,
    Scope,
    Show,
    Skill,
    Source,
)
from cockpit.protocol.content import Markdown


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    register(Source("command-files", load_commands))


def load_commands(scope: Scope) -> Iterator[Command | Unloaded]:
    for file in find_commands(Path(scope.root), scope.trusted, Path.home()):
        yield file if isinstance(file, Unloaded) else build_command(file)


def build_command(file: CommandFile) -> Command:
    """Build the slash command of a file."""

    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        """Return the prompt that the command becomes, or the report of its subagent."""
        session, arguments = context.session, invoked.text.strip()
        expanded = await asyncio.to_thread(expand_command, file, arguments, session.root, session.id)
        text = await fill_placeholders(expanded, context, f"the command /{file.name}", None, arguments)
        skill = as_skill(file)
        if limits := describe_limits(skill):
            text += f"\n\n[Until the end of this turn the command /{file.name} {limits}.]"
        if file.fork:
            role = narrow_role(skill, context)
            return Show((Markdown(await run_in_subagent(skill, role, text, f"/{file.name}", context)),))
        SKILL_SESSIONS.expect_prompt(session.id, text, skill)
        return AsPrompt(text, mentions=False, model=file.model)

    hidden = not file.for_user
    return Command(file.name, file.description, run, file.hint, hidden=hidden, origin=file.origin)


def expand_command(file: CommandFile, arguments: str, root: str, session: str) -> ExpandedTemplate:
    """Expand the arguments and variables in a command file; nothing is run or read. Raises `CockpitError` if
    the file cannot be read."""
    try:
        template = file.template()
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CockpitError(f"{file.path} cannot be read: {error}", "fix or remove the file") from error
    variables = template_variables(str(file.path.parent), root, session, file.effort)
    return expand_template(template, file.values(arguments, template, variables))


def as_skill(file: CommandFile) -> Skill:
    """The file's restrictions, role and model as a skill."""
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
