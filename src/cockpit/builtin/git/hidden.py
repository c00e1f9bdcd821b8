"""A diff without the files that are not to be read."""

import re

from cockpit.plugin.context import Context, PathRefused

SECTION = re.compile(r"^(?=diff --(?:git|cc|combined) )", re.MULTILINE)
NAMED = re.compile(r"^(?:--- a/|\+\+\+ b/|rename (?:from|to) |copy (?:from|to) )(.+?)\t?$", re.MULTILINE)
HEAD = re.compile(r"diff --(?:git a/(.+) b/\1|cc (.+)|combined (.+))$", re.MULTILINE)


def without_hidden(output: str, context: Context) -> str:
    """`output` of `git diff` or `git show`, in which a file that may not be read is only named."""
    pieces = SECTION.split(output)
    return "".join(_shown(piece, context) for piece in pieces)


def _shown(piece: str, context: Context) -> str:
    if not piece.startswith("diff --"):
        return piece
    head = HEAD.match(piece)
    names = {*NAMED.findall(piece.partition("\n@@")[0]), *(head.groups() if head else ())}
    if all(_readable(name, context) for name in names if name):
        return piece
    return piece.partition("\n")[0] + "\n(its lines are not to be read)\n"


def _readable(name: str, context: Context) -> bool:
    try:
        context.workspace.resolve(name, "read")
    except PathRefused:
        return False
    return True
