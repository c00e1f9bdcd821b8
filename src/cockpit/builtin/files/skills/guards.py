"""Guards of skills: limit calls to the tools that an active skill allows, and record which files are touched.

No guard here loosens a verdict.
"""

import asyncio
import re

from cockpit.builtin.files.skills.prompt_text import (
    MAX_AUTO_TEXT,
    frame_text,
    match_paths,
    render_without_arguments,
)
from cockpit.builtin.files.skills.state import SKILL_SESSIONS, SkillRestriction
from cockpit.builtin.files.skills.tool_patterns import covers_call, touches_call
from cockpit.plugin.context import Context
from cockpit.plugin.safety import Add, Guarded, Pass, Refuse, Ruling
from cockpit.plugin.tools import Tool
from cockpit.plugin.values import Skill
from cockpit.protocol.messages import ToolCall

MAIN_AGENT = "main"
# Without these a restricted model could not even report what it lacks.
ALWAYS_ALLOWED = frozenset({"use_skill", "read_result", "todo", "ask_user", "tool_search", "propose_plan"})


async def begin_turn(guarded: Guarded, context: Context) -> Ruling:
    """Lift the restrictions of the previous turn, and add the skills that have a keyword in the prompt."""
    session = context.session
    await asyncio.to_thread(SKILL_SESSIONS.begin_turn, session.id, session.agent, guarded.text)
    notes = SKILL_SESSIONS.take_notes(session.id) if session.agent == MAIN_AGENT else ()
    matching = [skill for skill in session.skills() if skill.trigger == "match" and skill.for_model]
    triggered = [skill for skill in matching if _has_keyword(skill, guarded.text.lower())]

    def render() -> list[str]:
        texts = ((skill, render_without_arguments(skill, context)[:MAX_AUTO_TEXT]) for skill in triggered)
        return [frame_text(skill, text) for skill, text in texts]

    parts = (*notes, *(await asyncio.to_thread(render)))
    return Add("\n\n".join(parts)) if parts else Pass()


def _has_keyword(skill: Skill, text: str) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in skill.keywords)


async def enforce_restrictions(guarded: Guarded, context: Context) -> Ruling:
    """Refuse what an active skill does not allow. Calls made by the user are not restricted."""
    if guarded.call is None or guarded.facts.get("asked_by") == "person":
        return Pass()
    tool = next((tool for tool in context.session.toolbox.tools() if tool.name == guarded.tool), None)
    if tool is None:
        return Pass()
    for restriction in SKILL_SESSIONS.restrictions(context.session.id, context.session.agent):
        if reason := await _refusal_reason(restriction, tool, guarded.call, context):
            return Refuse(reason)
    return Pass()


async def _refusal_reason(restriction: SkillRestriction, tool: Tool, call: ToolCall, context: Context) -> str:
    if restriction.denied and await touches_call(restriction.denied, tool, call, context):
        denied = ", ".join(restriction.denied)
        return (
            f"the skill {restriction.skill} forbids {denied} until the end of this turn; continue without it"
        )
    if restriction.allowed is None or tool.name in ALWAYS_ALLOWED:
        return ""
    if await covers_call(restriction.allowed, tool, call, context):
        return ""
    allowed = ", ".join(restriction.allowed) or "no tools"
    return (
        f"the skill {restriction.skill} allows only {allowed} until the end of this turn; "
        "do it with these, or say what could not be done"
    )


async def activate_for_paths(guarded: Guarded, context: Context) -> Ruling:
    """List the skills for the files that a call read or changed, from the next step on."""
    paths = guarded.facts.get("paths")
    if isinstance(paths, list) and paths:
        skills = [skill for skill in context.session.skills() if skill.paths and skill.for_model]
        if names := match_paths(skills, [str(path) for path in paths]):
            SKILL_SESSIONS.add_path_skills(context.session.id, names)
    return Pass()
