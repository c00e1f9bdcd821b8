"""Fills the shell commands and `@file` mentions embedded in skills and command files.

Each command is a call of `shell`, judged and approved as such; each file is read as its mention would be.
"""

import os
import re
from pathlib import Path

from cockpit.builtin.context import file_mentions
from cockpit.errors import CockpitError
from cockpit.formats.substitution import MENTION_PATTERN, ExpandedTemplate
from cockpit.plugin.context import Context, PathRefused
from cockpit.plugin.tools import ToolFailed
from cockpit.protocol.content import Code, Text
from cockpit.settings import file_io

SUCCESS_SUFFIX = re.compile(r"\n?\[exit code 0\]\s*\Z")
MAX_FILE_BYTES = 200_000
MAX_FILES = 20


class PlaceholderRefused(ToolFailed):
    """An embedded command was not allowed, so the file is not used at all."""


async def fill_placeholders(
    expanded: ExpandedTemplate, context: Context, name: str, folder: Path | None = None, typed: str = ""
) -> str:
    """Return the text of `expanded` with command outputs and file contents.

    `name` is how messages refer to the file. Paths that the workspace does not have are looked up in
    `folder`. Files that the user mentions in `typed` are appended. Raises `PlaceholderRefused` if a command
    is refused.
    """
    outputs: dict[str, str] = {}
    for command in expanded.commands:
        result = await context.session.call_tool("shell", {"command": command})
        if result.outcome in ("denied", "cancelled"):
            reason = f"its command `{command}` did not run ({result.text})"
            raise PlaceholderRefused(f"{name} was not used: {reason}")
        outputs[command] = SUCCESS_SUFFIX.sub("", result.text).rstrip("\n")
    contents: dict[str, str] = {}
    for path in expanded.files[:MAX_FILES]:
        if (content := await _read_mention(path, context, folder)) is not None:
            contents[path] = content
    text = expanded.filled(outputs, contents)
    mentions = re.finditer(MENTION_PATTERN, typed)
    typed_paths = dict.fromkeys(match["quoted"] or match["bare"].rstrip(".:!?") for match in mentions)
    for path in list(typed_paths)[:MAX_FILES]:
        content = await _read_mention(path, context) if path not in contents else None
        text += f"\n\n[@{path}]\n{content}" if content is not None else ""
    return text


async def _read_mention(path: str, context: Context, folder: Path | None = None) -> str | None:
    """Read the file of `@path`: from the workspace, else from `folder`. None if it names no file."""
    if folder is not None and Path(path).is_absolute():
        return _read_in_folder(path, folder, context)
    try:
        block = await file_mentions.expand_file(path, context)
    except (CockpitError, ValueError):
        block = None
    if block is None:
        return _read_in_folder(path, folder, context) if folder is not None else None
    return block.text if isinstance(block, Text | Code) else None


def _read_in_folder(path: str, folder: Path, context: Context) -> str | None:
    try:
        return read_inside(folder, path, context, MAX_FILE_BYTES).decode("utf-8", "replace")
    except (CockpitError, OSError, ValueError):
        return None


def read_inside(folder: Path, path: str, context: Context, max_bytes: int) -> bytes:
    """Read the file `path` of the skill in `folder`, which may lie outside the workspace. Raises
    `PathRefused` for a path outside `folder` or one that rules forbid to read, and OSError."""
    real = os.path.realpath(folder / path)
    if not Path(real).is_relative_to(os.path.realpath(folder)):
        raise PathRefused(f"{path} is not in the folder {folder}")
    if context.workspace.is_inside(real):
        context.workspace.resolve(real, "read")
    return file_io.read_bytes(real, max_bytes)
