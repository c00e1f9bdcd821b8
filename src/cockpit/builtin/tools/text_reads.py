"""Reads of the workspace that several tools share."""

import re

from cockpit.plugin.context import Context, Files, PathRefused

BRACES = re.compile(r"\{([^{}]*)\}")


def is_readable(path: str, context: Context) -> bool:
    """Whether tools may read `path`."""
    try:
        context.workspace.resolve(path, "read")
    except PathRefused:
        return False
    return True


async def read_text(path: str, files: Files) -> str:
    """The text of a file, or an empty string if it cannot be read."""
    try:
        return (await files.read(path)).decode("utf-8", "replace")
    except (OSError, PathRefused):
        return ""


def expand_braces(pattern: str, limit: int, braces: re.Pattern[str] = BRACES) -> list[str]:
    """The alternatives of a glob with `{a,b}`, at most about `limit`."""
    pending, expanded = [pattern], list[str]()
    while pending and len(pending) + len(expanded) < limit:
        pattern = pending.pop(0)
        match = braces.search(pattern)
        if match is None:
            expanded.append(pattern)
            continue
        head, tail = pattern[: match.start()], pattern[match.end() :]
        pending += [head + choice + tail for choice in match[1].split(",")]
    return expanded + pending
