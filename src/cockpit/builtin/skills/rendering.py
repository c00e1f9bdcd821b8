"""The text that a skill becomes when it is used."""

import sys
from pathlib import Path

from cockpit.builtin.filling import NotUsed, filled
from cockpit.formats.quoting import Shell
from cockpit.formats.skills import folder_of
from cockpit.formats.substitution import Expanded, Values, expand
from cockpit.plugin.context import Context
from cockpit.plugin.tools import ToolFailed
from cockpit.plugin.values import Skill

LISTED = 40
DEEPEST = 4


def expansion(skill: Skill, arguments: str, root: str, session: str) -> Expanded:
    """The body with its arguments put in; nothing is run or read. Raises `ToolFailed` where the file is
    gone or unreadable."""
    try:
        body = skill.body()
    except OSError as error:
        raise ToolFailed(f"the skill {skill.name} cannot be read: {error.strerror or error}") from error
    return expand(body, values_of(skill, arguments, root, session))


def values_of(skill: Skill, arguments: str, root: str, session: str) -> Values:
    folder = str(Path(skill.path).parent) if skill.path else root
    variables = {"SKILL_DIR": folder, "PROJECT_DIR": root, "EFFORT": skill.effort}
    variables |= {"SESSION_ID": session} if session else {}
    named = {f"{whose}_{name}": value for name, value in variables.items() for whose in ("CLAUDE", "COCKPIT")}
    shell: Shell = "powershell" if sys.platform == "win32" else "bash"
    return Values(arguments, skill.arguments, named, skill.dialect, skill.name, shell)


def plain_text(skill: Skill, context: Context) -> str:
    """The body without arguments, nothing of it run; for what is in force unasked."""
    try:
        return expansion(skill, "", context.session.root, context.session.id).text
    except ToolFailed as error:
        return f"({error.message})"


async def rendered(skill: Skill, arguments: str, context: Context, typed: bool = False) -> str:
    """What a model reads when the skill is used: where it is from, its text, what holds while it is in
    force. `typed`: a person wrote the arguments. Raises `NotUsed` and `ToolFailed`."""
    expanded = expansion(skill, arguments, context.session.root, context.session.id)
    words = arguments if typed else ""
    text = await filled(expanded, context, f"the skill {skill.name}", folder_of(skill), words)
    return framed(skill, text)


def framed(skill: Skill, text: str) -> str:
    """`text` with the skill's name and files before it, and its limits behind it."""
    parts = [f"[Skill {skill.name}{_place(skill)}]", text.strip("\n")]
    if limits := limits_of(skill):
        parts.append(f"[To the end of this turn the skill {skill.name} {limits}.]")
    return "\n\n".join(parts)


def limits_of(skill: Skill) -> str:
    """What the skill holds the model to, in words; empty for nothing."""
    limits = []
    if skill.allowed_tools is not None:
        limits.append(f"allows only these tools: {', '.join(skill.allowed_tools) or 'none'}")
    if skill.denied_tools:
        limits.append(f"forbids these tools: {', '.join(skill.denied_tools)}")
    return " and ".join(limits)


def _place(skill: Skill) -> str:
    folder = folder_of(skill)
    if folder is None:
        return ""
    files = files_of(folder)
    if not files:
        return f"; its folder: {folder}"
    more = f" and {len(files) - LISTED} more" if len(files) > LISTED else ""
    listed = ", ".join(files[:LISTED]) + more
    return f"; its folder: {folder}; its files, each by use_skill(name, file=...): {listed}"


def files_of(folder: Path) -> list[str]:
    """The other files of a skill, relative, in their order. Hidden ones, and folders that are links, are
    left out."""
    found: list[str] = []
    waiting = [(folder, 0)]
    while waiting and len(found) < 10 * LISTED:
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
                if not entry.is_symlink() and depth < DEEPEST:
                    waiting.append((entry, depth + 1))
            else:
                found.append(entry.relative_to(folder).as_posix())
    return found


__all__ = ["NotUsed", "expansion", "files_of", "framed", "limits_of", "plain_text", "rendered"]
