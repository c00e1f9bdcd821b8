"""`/skill NAME`, and what `/NAME` does for every skill (core/skill_entries.py)."""

from cockpit.builtin.skills.forking import forked
from cockpit.builtin.skills.index import cut, said
from cockpit.builtin.skills.rendering import rendered
from cockpit.builtin.skills.state import STATE
from cockpit.builtin.skills.tool import named
from cockpit.errors import CockpitError
from cockpit.plugin.context import Context
from cockpit.plugin.values import AsPrompt, Command, CommandAnswer, Invoked, Show, Skill
from cockpit.protocol.content import Markdown, Table, Text

DESCRIBED = 90
LONGEST = 16_000


async def use(invoked: Invoked, context: Context) -> CommandAnswer:
    """The skill as the next prompt; a fork runs at once, and its report is shown."""
    name, _, arguments = invoked.text.strip().partition(" ")
    if not name:
        return Show((_table(context.session.skills()),))
    skill = named(name, context.session.skills())
    if not skill.for_person:
        hint = "it is switched off" if not skill.for_model else "the model uses it where it fits"
        raise CockpitError(
            f"the skill {skill.name} is not for people: {hint}", "`cockpit skills list` shows all"
        )
    arguments = arguments.strip()
    if skill.fork:
        report = await forked(skill, arguments, context, typed=True)
        # No turn of the main agent: it hears of it with the next one.
        STATE.tell(
            context.session.id, f"[Before this the person ran /{skill.name} {arguments}]\n{report[:LONGEST]}"
        )
        return Show((Markdown(report),))
    text = await rendered(skill, arguments, context, typed=True)
    STATE.expect(context.session.id, text, skill)
    return AsPrompt(text, mentions=False, model=skill.model)


def _table(skills: tuple[Skill, ...]) -> Table | Text:
    rows = [
        (f"/{one.name}", one.hint, _layer(one), cut(said(one), DESCRIBED)) for one in skills if one.for_person
    ]
    if not rows:
        return Text(
            "No skill is here. cockpit reads them from .cockpit/skills, .claude/skills, .agents/skills."
        )
    return Table(("skill", "takes", "from", "what"), tuple(rows), f"{len(rows)} skills")


def _layer(skill: Skill) -> str:
    return skill.origin.layer if skill.origin is not None else "plugin"


def skill_command() -> Command:
    return Command("skill", "Use a skill; alone it lists them", use, "[name] [arguments]")
