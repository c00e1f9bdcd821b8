"""The text that a skill becomes when it is used.

What a model is told of the skills there are: a short list in the prompt's stable head, and behind the
conversation those of the files that are worked on.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit.builtin.files.placeholders import PlaceholderRefused, fill_placeholders
from cockpit.builtin.files.skills.state import SKILL_SESSIONS
from cockpit.formats.globs import matches_any
from cockpit.formats.skills import find_skill_folder
from cockpit.formats.substitution import ExpandedTemplate, Shell, TemplateValues, expand_template
from cockpit.plugin.context import Context
from cockpit.plugin.tools import ToolFailed
from cockpit.plugin.values import Skill

MAX_LISTED_FILES = 40
MAX_FOLDER_DEPTH = 4


def expand_skill(skill: Skill, arguments: str, root: str, session: str) -> ExpandedTemplate:
    """The body with its arguments put in; nothing is run or read. Raises `ToolFailed` where the file is
    gone or unreadable."""
    try:
        body = skill.body()
    except OSError as error:
        raise ToolFailed(f"the skill {skill.name} cannot be read: {error.strerror or error}") from error
    return expand_template(body, substitution_values(skill, arguments, root, session))


def substitution_values(skill: Skill, arguments: str, root: str, session: str) -> TemplateValues:
    folder = str(Path(skill.path).parent) if skill.path else root
    variables = {"SKILL_DIR": folder, "PROJECT_DIR": root, "EFFORT": skill.effort}
    variables |= {"SESSION_ID": session} if session else {}
    named = {f"{whose}_{name}": value for name, value in variables.items() for whose in ("CLAUDE", "COCKPIT")}
    shell: Shell = "powershell" if sys.platform == "win32" else "bash"
    return TemplateValues(arguments, skill.arguments, named, skill.dialect, skill.name, shell)


def render_without_arguments(skill: Skill, context: Context) -> str:
    """The body without arguments, nothing of it run; for what is in force unasked."""
    try:
        return expand_skill(skill, "", context.session.root, context.session.id).text
    except ToolFailed as error:
        return f"({error.message})"


async def render_skill(skill: Skill, arguments: str, context: Context, typed: bool = False) -> str:
    """What a model reads when the skill is used: where it is from, its text, what holds while it is in
    force. `typed`: a person wrote the arguments. Raises `NotUsed` and `ToolFailed`."""
    expanded = expand_skill(skill, arguments, context.session.root, context.session.id)
    words = arguments if typed else ""
    text = await fill_placeholders(
        expanded, context, f"the skill {skill.name}", find_skill_folder(skill), words
    )
    return frame_text(skill, text)


def frame_text(skill: Skill, text: str) -> str:
    """`text` with the skill's name and files before it, and its limits behind it."""
    parts = [f"[Skill {skill.name}{_describe_folder(skill)}]", text.strip("\n")]
    if limits := describe_limits(skill):
        parts.append(f"[To the end of this turn the skill {skill.name} {limits}.]")
    return "\n\n".join(parts)


def describe_limits(skill: Skill) -> str:
    """What the skill holds the model to, in words; empty for nothing."""
    limits = []
    if skill.allowed_tools is not None:
        limits.append(f"allows only these tools: {', '.join(skill.allowed_tools) or 'none'}")
    if skill.denied_tools:
        limits.append(f"forbids these tools: {', '.join(skill.denied_tools)}")
    return " and ".join(limits)


def _describe_folder(skill: Skill) -> str:
    folder = find_skill_folder(skill)
    if folder is None:
        return ""
    files = list_skill_files(folder)
    if not files:
        return f"; its folder: {folder}"
    more = f" and {len(files) - MAX_LISTED_FILES} more" if len(files) > MAX_LISTED_FILES else ""
    listed = ", ".join(files[:MAX_LISTED_FILES]) + more
    return f"; its folder: {folder}; its files, each by use_skill(name, file=...): {listed}"


def list_skill_files(folder: Path) -> list[str]:
    """The other files of a skill, relative, in their order. Hidden ones, and folders that are links, are
    left out."""
    found: list[str] = []
    waiting = [(folder, 0)]
    while waiting and len(found) < 10 * MAX_LISTED_FILES:
        here, depth = waiting.pop(0)
        try:
            entries = sorted(here.iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith((".", "__pycache__")) or (
                here == folder and entry.name.upper() == "SKILL.MD"
            ):
                continue
            if entry.is_dir():
                if not entry.is_symlink() and depth < MAX_FOLDER_DEPTH:
                    waiting.append((entry, depth + 1))
            else:
                found.append(entry.relative_to(folder).as_posix())
    return found


__all__ = [
    "PlaceholderRefused",
    "describe_limits",
    "expand_skill",
    "frame_text",
    "list_skill_files",
    "render_skill",
    "render_without_arguments",
]


INDEX_HEADING = "Skills, by use_skill(name) before work they fit (no name lists them all):"
# Thirty skills stay under 300 tokens, at four characters a token; each further one costs nine.
INDEX_BUDGET = 1_100
CHARACTERS_PER_SKILL = 36
MAX_INDEX = 4_000
MAX_DESCRIPTION = 200
MIN_DESCRIPTION = 16
MAX_AUTO_TEXT = 4_000
TOOL_NAME = "use_skill"


async def collect_index(context: Context) -> str:
    """The list, and what is always in force. Equal from turn to turn while the skills are."""
    if not any(tool.name == TOOL_NAME for tool in context.session.toolbox.tools()):
        return ""
    skills = context.session.skills()
    listed = [one for one in skills if is_listed(one)]
    always = [one for one in skills if one.trigger == "auto" and one.for_model]
    parts = [format_index(listed)] if listed else []
    parts += [
        f"Skill {one.name}, always in force:\n{render_without_arguments(one, context)[:MAX_AUTO_TEXT]}"
        for one in always
    ]
    return "\n\n".join(parts)


def is_listed(skill: Skill) -> bool:
    """Whether a model is told of it unasked."""
    return skill.for_model and not skill.paths and skill.trigger != "auto"


def format_index(skills: Sequence[Skill]) -> str:
    """A line for each; descriptions as long as all of them have room for, short ones giving theirs away."""
    budget = min(max(INDEX_BUDGET, CHARACTERS_PER_SKILL * len(skills)), MAX_INDEX) - len(INDEX_HEADING)
    named = [one.name for one in skills]
    room = budget - sum(len(name) + 3 for name in named)
    lengths = share_room(
        room - 2 * len(skills), [min(len(describe_skill(one)), MAX_DESCRIPTION) for one in skills]
    )
    lines = [INDEX_HEADING]
    for at, (skill, length) in enumerate(zip(skills, lengths, strict=True)):
        line = (
            f"- {skill.name}: {shorten(describe_skill(skill), length)}"
            if length >= MIN_DESCRIPTION
            else f"- {skill.name}"
        )
        budget -= len(line) + 1
        if budget < 0:
            lines.append(f"- and {len(skills) - at} more")
            break
        lines.append(line)
    return "\n".join(lines)


def share_room(room: int, wanted: Sequence[int]) -> list[int]:
    """`room` divided among those who want so much: nobody gets more, and all others get the same."""
    given = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    for done, at in enumerate(order):
        given[at] = max(0, min(wanted[at], room // (len(order) - done)))
        room -= given[at]
    return given


def describe_skill(skill: Skill) -> str:
    return " ".join(f"{skill.description} {skill.when}".split())


def shorten(text: str, length: int) -> str:
    """`text` in at most `length` characters, between words where it can be."""
    if len(text) <= length:
        return text
    kept = text[: length - 1]
    whole = kept.rpartition(" ")[0]
    return (whole if 2 * len(whole) > length else kept).rstrip(" ,;:.-") + "…"


async def collect_path_skills(context: Context) -> str:
    """The skills whose files were touched in this session."""
    names = SKILL_SESSIONS.awake(context.session.id)
    woken = [one for one in context.session.skills() if one.name in names and one.for_model]
    if not woken:
        return ""
    lines = [f"- {one.name}: {shorten(describe_skill(one), MAX_DESCRIPTION)}" for one in woken]
    return "\n".join(["[Skills for files that this session works on, by use_skill:]", *lines])


def match_paths(skills: Sequence[Skill], paths: Sequence[str]) -> set[str]:
    """The names of the skills that one of `paths` (relative to the root) wakes."""
    return {one.name for one in skills if one.paths and any(matches_any(one.paths, path) for path in paths)}
