"""Texts about skills for the model: the index of skills in the prompt, and the text of a skill in use."""

import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit.builtin.files.placeholders import fill_placeholders
from cockpit.builtin.files.skills.state import SKILL_SESSIONS
from cockpit.formats.globs import matches_any
from cockpit.formats.skills import find_skill_folder
from cockpit.formats.substitution import ExpandedTemplate, Shell, TemplateValues, expand_template
from cockpit.plugin.context import Context
from cockpit.plugin.tools import ToolFailed
from cockpit.plugin.values import Skill

MAX_LISTED_FILES = 40
MAX_FOLDER_DEPTH = 4
INDEX_HEADING = "Skills, by use_skill(name) before work they fit (no name lists them all):"
# Thirty skills stay under 300 tokens at four characters a token; each further skill costs nine.
INDEX_BUDGET = 1_100
CHARACTERS_PER_SKILL = 36
MAX_INDEX = 4_000
MAX_DESCRIPTION = 200
MIN_DESCRIPTION = 16
MAX_AUTO_TEXT = 4_000
TOOL_NAME = "use_skill"


def expand_skill(skill: Skill, arguments: str, root: str, session: str) -> ExpandedTemplate:
    """Expand the arguments and variables in a skill's body; nothing is run or read. Raises `ToolFailed` if
    the skill's file cannot be read."""
    try:
        body = skill.body()
    except OSError as error:
        raise ToolFailed(f"the skill {skill.name} cannot be read: {error.strerror or error}") from error
    folder = str(Path(skill.path).parent) if skill.path else root
    variables = template_variables(folder, root, session, skill.effort)
    shell: Shell = "powershell" if sys.platform == "win32" else "bash"
    values = TemplateValues(arguments, skill.arguments, variables, skill.dialect, skill.name, shell)
    return expand_template(body, values)


def template_variables(folder: str, root: str, session: str, effort: str) -> dict[str, str]:
    """Return the variables that skills and command files may use, as `CLAUDE_…` and as `COCKPIT_…`."""
    variables = {"SKILL_DIR": folder, "PROJECT_DIR": root, "EFFORT": effort}
    variables |= {"SESSION_ID": session} if session else {}
    return {
        f"{prefix}_{name}": value for name, value in variables.items() for prefix in ("CLAUDE", "COCKPIT")
    }


def render_without_arguments(skill: Skill, context: Context) -> str:
    """Return the body without arguments and without running anything, for skills that apply automatically."""
    try:
        return expand_skill(skill, "", context.session.root, context.session.id).text
    except ToolFailed as error:
        return f"({error.message})"


async def render_skill(skill: Skill, arguments: str, context: Context, typed: bool = False) -> str:
    """Render the text a model reads when the skill is used: its source, its body and its restrictions.
    `typed` means that the user wrote the arguments. Raises `PlaceholderRefused` and `ToolFailed`."""
    expanded = expand_skill(skill, arguments, context.session.root, context.session.id)
    folder, words = find_skill_folder(skill), arguments if typed else ""
    text = await fill_placeholders(expanded, context, f"the skill {skill.name}", folder, words)
    return frame_text(skill, text)


def frame_text(skill: Skill, text: str) -> str:
    """Put the skill's name and files before `text`, and its restrictions after it."""
    parts = [f"[Skill {skill.name}{_describe_folder(skill)}]", text.strip("\n")]
    if limits := describe_limits(skill):
        parts.append(f"[Until the end of this turn the skill {skill.name} {limits}.]")
    return "\n\n".join(parts)


def describe_limits(skill: Skill) -> str:
    """Describe which tools the skill allows and forbids; empty if it restricts none."""
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
    """List a skill's other files, relative to its folder. Hidden files and linked folders are left out."""
    files: list[str] = []
    queue = [(folder, 0)]
    while queue and len(files) < 10 * MAX_LISTED_FILES:
        current, depth = queue.pop(0)
        try:
            entries = sorted(current.iterdir())
        except OSError:
            continue
        for entry in entries:
            is_skill_file = current == folder and entry.name.upper() == "SKILL.MD"
            if is_skill_file or entry.name.startswith((".", "__pycache__")):
                continue
            if not entry.is_dir():
                files.append(entry.relative_to(folder).as_posix())
            elif not entry.is_symlink() and depth < MAX_FOLDER_DEPTH:
                queue.append((entry, depth + 1))
    return files


async def collect_index(context: Context) -> str:
    """Collect the list of skills and the text of those that always apply, for the prompt's stable prefix."""
    if not any(tool.name == TOOL_NAME for tool in context.session.toolbox.tools()):
        return ""
    skills = context.session.skills()
    listed = [skill for skill in skills if is_listed(skill)]
    automatic = [skill for skill in skills if skill.trigger == "auto" and skill.for_model]
    parts = [format_index(listed)] if listed else []
    for skill in automatic:
        text = render_without_arguments(skill, context)[:MAX_AUTO_TEXT]
        parts.append(f"Skill {skill.name}, always in force:\n{text}")
    return "\n\n".join(parts)


def is_listed(skill: Skill) -> bool:
    """Whether the index in the prompt lists the skill."""
    return skill.for_model and not skill.paths and skill.trigger != "auto"


def format_index(skills: Sequence[Skill]) -> str:
    """Format one line per skill, with descriptions cut so that all of them fit."""
    budget = min(max(INDEX_BUDGET, CHARACTERS_PER_SKILL * len(skills)), MAX_INDEX) - len(INDEX_HEADING)
    descriptions = [describe_skill(skill) for skill in skills]
    # Each line needs "- ", a line break, and ": " before a description.
    room = budget - sum(len(skill.name) + 5 for skill in skills)
    lengths = share_room(room, [min(len(description), MAX_DESCRIPTION) for description in descriptions])
    lines = [INDEX_HEADING]
    for index, (skill, description, length) in enumerate(zip(skills, descriptions, lengths, strict=True)):
        line = f"- {skill.name}"
        if length >= MIN_DESCRIPTION:
            line += f": {shorten(description, length)}"
        budget -= len(line) + 1
        if budget < 0:
            lines.append(f"- and {len(skills) - index} more")
            break
        lines.append(line)
    return "\n".join(lines)


def share_room(room: int, requests: Sequence[int]) -> list[int]:
    """Divide `room` evenly; a request that needs less than its share leaves the rest to the others."""
    shares = [0] * len(requests)
    order = sorted(range(len(requests)), key=lambda index: requests[index])
    for done, index in enumerate(order):
        shares[index] = max(0, min(requests[index], room // (len(order) - done)))
        room -= shares[index]
    return shares


def describe_skill(skill: Skill) -> str:
    return " ".join(f"{skill.description} {skill.when}".split())


def shorten(text: str, length: int) -> str:
    """Cut `text` to at most `length` characters, between words if possible."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    whole_words = cut.rpartition(" ")[0]
    return (whole_words if 2 * len(whole_words) > length else cut).rstrip(" ,;:.-") + "…"


async def collect_path_skills(context: Context) -> str:
    """List the skills whose files were touched in this session."""
    names = SKILL_SESSIONS.path_skills(context.session.id)
    skills = [skill for skill in context.session.skills() if skill.name in names and skill.for_model]
    if not skills:
        return ""
    lines = [f"- {skill.name}: {shorten(describe_skill(skill), MAX_DESCRIPTION)}" for skill in skills]
    return "\n".join(["[Skills for files that this session works on, by use_skill:]", *lines])


def match_paths(skills: Sequence[Skill], paths: Sequence[str]) -> set[str]:
    """Return the names of the skills for any of `paths`, which are relative to the root."""
    return {skill.name for skill in skills if any(matches_any(skill.paths, path) for path in paths)}
