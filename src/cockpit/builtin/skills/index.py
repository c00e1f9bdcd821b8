"""What a model is told of the skills there are: a short list in the prompt's stable head, and behind the
conversation those of the files that are worked on."""

from collections.abc import Sequence

from cockpit.builtin.skills.rendering import plain_text
from cockpit.builtin.skills.state import STATE
from cockpit.formats.globs import fits
from cockpit.plugin.context import Context
from cockpit.plugin.values import Skill

HEAD = "Skills, by use_skill(name) before work they fit (no name lists them all):"
# Thirty skills stay under 300 tokens, at four characters a token; each further one costs nine.
BUDGET = 1_100
EACH = 36
MOST = 4_000
LONGEST = 200
SHORTEST = 16
AUTO = 4_000
TOOL = "use_skill"


async def index(context: Context) -> str:
    """The list, and what is always in force. Equal from turn to turn while the skills are."""
    if not any(tool.name == TOOL for tool in context.session.toolbox.tools()):
        return ""
    skills = context.session.skills()
    listed = [one for one in skills if is_listed(one)]
    always = [one for one in skills if one.trigger == "auto" and one.for_model]
    parts = [index_of(listed)] if listed else []
    parts += [f"Skill {one.name}, always in force:\n{plain_text(one, context)[:AUTO]}" for one in always]
    return "\n\n".join(parts)


def is_listed(skill: Skill) -> bool:
    """Whether a model is told of it unasked."""
    return skill.for_model and not skill.paths and skill.trigger != "auto"


def index_of(skills: Sequence[Skill]) -> str:
    """A line for each; descriptions as long as all of them have room for, short ones giving theirs away."""
    budget = min(max(BUDGET, EACH * len(skills)), MOST) - len(HEAD)
    named = [one.name for one in skills]
    room = budget - sum(len(name) + 3 for name in named)
    lengths = shared(room - 2 * len(skills), [min(len(said(one)), LONGEST) for one in skills])
    lines = [HEAD]
    for at, (skill, length) in enumerate(zip(skills, lengths, strict=True)):
        line = f"- {skill.name}: {cut(said(skill), length)}" if length >= SHORTEST else f"- {skill.name}"
        budget -= len(line) + 1
        if budget < 0:
            lines.append(f"- and {len(skills) - at} more")
            break
        lines.append(line)
    return "\n".join(lines)


def shared(room: int, wanted: Sequence[int]) -> list[int]:
    """`room` divided among those who want so much: nobody gets more, and all others get the same."""
    given = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    for done, at in enumerate(order):
        given[at] = max(0, min(wanted[at], room // (len(order) - done)))
        room -= given[at]
    return given


def said(skill: Skill) -> str:
    return " ".join(f"{skill.description} {skill.when}".split())


def cut(text: str, length: int) -> str:
    """`text` in at most `length` characters, between words where it can be."""
    if len(text) <= length:
        return text
    kept = text[: length - 1]
    whole = kept.rpartition(" ")[0]
    return (whole if 2 * len(whole) > length else kept).rstrip(" ,;:.-") + "…"


async def awake(context: Context) -> str:
    """The skills whose files were touched in this session."""
    names = STATE.awake(context.session.id)
    woken = [one for one in context.session.skills() if one.name in names and one.for_model]
    if not woken:
        return ""
    lines = [f"- {one.name}: {cut(said(one), LONGEST)}" for one in woken]
    return "\n".join(["[Skills for files that this session works on, by use_skill:]", *lines])


def woken_by(skills: Sequence[Skill], paths: Sequence[str]) -> set[str]:
    """The names of the skills that one of `paths` (relative to the root) wakes."""
    return {one.name for one in skills if one.paths and any(fits(one.paths, path) for path in paths)}
