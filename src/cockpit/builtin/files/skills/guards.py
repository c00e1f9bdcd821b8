"""The guards of skills: what a skill in force allows, when it is over, and whose files are touched. None of
them loosens anything."""

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

MAIN_AGENT = "main"
# Looking at what was said, and asking: without these a model could not even say what it lacks.
ALWAYS_ALLOWED = frozenset({"use_skill", "read_result", "todo", "ask_user", "tool_search", "propose_plan"})


async def begin_turn(guarded: Guarded, context: Context) -> Ruling:
    """A turn begins: what was in force is over, and skills that wait for a word in the prompt are read."""
    session = context.session
    await asyncio.to_thread(SKILL_SESSIONS.begin, session.id, session.agent, guarded.text)
    said = SKILL_SESSIONS.told(session.id) if session.agent == MAIN_AGENT else ()
    waiting = (one for one in session.skills() if one.trigger == "match" and one.for_model)
    met = [one for one in waiting if _has_keyword(one, guarded)]
    texts = await asyncio.to_thread(
        lambda: [render_without_arguments(one, context)[:MAX_AUTO_TEXT] for one in met]
    )
    said = (*said, *(frame_text(one, text) for one, text in zip(met, texts, strict=True)))
    return Add("\n\n".join(said)) if said else Pass()


def _has_keyword(skill: Skill, guarded: Guarded) -> bool:
    text = guarded.text.lower()
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in skill.keywords)


async def enforce_restrictions(guarded: Guarded, context: Context) -> Ruling:
    """Refuse what a skill in force does not allow. A person's own call is the person's."""
    if guarded.call is None or guarded.facts.get("asked_by") == "person":
        return Pass()
    forces = SKILL_SESSIONS.over(context.session.id, context.session.agent)
    if not forces:
        return Pass()
    tool = next((one for one in context.session.toolbox.tools() if one.name == guarded.tool), None)
    if tool is None:
        return Pass()
    for force in forces:
        if reason := await _refusal_reason(force, tool, guarded, context):
            return Refuse(reason)
    return Pass()


async def _refusal_reason(force: SkillRestriction, tool: Tool, guarded: Guarded, context: Context) -> str:
    call = guarded.call
    assert call is not None
    if force.denied and await touches_call(force.denied, tool, call, context):
        return (
            f"the skill {force.skill} forbids it to the end of this turn ({', '.join(force.denied)}); "
            "go on without it"
        )
    if (
        force.allowed is None
        or tool.name in ALWAYS_ALLOWED
        or await covers_call(force.allowed, tool, call, context)
    ):
        return ""
    allowed = ", ".join(force.allowed) or "no tools"
    return (
        f"the skill {force.skill} allows only {allowed} to the end of this turn; "
        "do it with these, or say what could not be done"
    )


async def activate_for_paths(guarded: Guarded, context: Context) -> Ruling:
    """Skills of the files that a call read or changed are told of from the next step on."""
    paths = guarded.facts.get("paths")
    if isinstance(paths, list) and paths:
        waiting = [one for one in context.session.skills() if one.paths and one.for_model]
        if woken := match_paths(waiting, [str(path) for path in paths]):
            SKILL_SESSIONS.wake(context.session.id, woken)
    return Pass()
