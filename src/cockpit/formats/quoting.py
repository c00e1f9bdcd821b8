"""Putting a value into a command line as the words it is: never as more of the command.

Looks at the quotes that are open where the value goes, and at nothing else; what the line then does is
judged like any line.
"""

import re
import shlex
from typing import Literal

Shell = Literal["bash", "powershell"]


def split(arguments: str) -> tuple[str, ...]:
    """Words as a shell reads them; at blanks alone where a quote never ends (`don't do it`)."""
    try:
        return tuple(shlex.split(arguments))
    except ValueError:
        return tuple(arguments.split())


def put(value: str, before: str, shell: Shell = "bash") -> str:
    """`value` as it is written into a line of which `before` stands there already: one word, or a part of
    the quoted one that is open."""
    return _in_powershell(value, before) if shell == "powershell" else _in_bash(value, before)


def _in_bash(value: str, before: str) -> str:
    stack = _open(before)
    match stack[-1]:
        case "'":
            written = value.replace("'", "'\\''")
        case '"':
            written = re.sub(r'(["$`\\])', r"\\\1", value)
        case _:
            written = shlex.quote(value)
    for _ in range(stack.count("`")):
        # Between backticks a shell takes one backslash away before it reads on.
        written = re.sub(r"([$`\\])", r"\\\1", written)
    return written


def _in_powershell(value: str, before: str) -> str:
    if before.count("'") % 2 and not before.count('"') % 2:
        return value.replace("'", "''")
    if before.count('"') % 2:
        return re.sub(r'(["$`])', r"`\1", value)
    plain = re.fullmatch(r"[\w./:\\-]+", value)
    return value if plain else "'" + value.replace("'", "''") + "'"


def _open(before: str) -> list[str]:
    """What is open at the end of `before`, the innermost last: `'`, `"`, `)` of `$( )`, a backtick.

    Where a here-document makes quotes mean nothing none is open: a value is then quoted once too often
    rather than not at all.
    """
    if "<<" in before:
        return [""]
    stack = [""]
    at = 0
    while at < len(before):
        at += _step(stack, before, at)
    return stack


def _step(stack: list[str], text: str, at: int) -> int:
    """Read what stands at `at` and note it; how many characters it is."""
    char, top = text[at], stack[-1]
    if top == "'":
        if char == "'":
            stack.pop()
        return 1
    if char == "\\":
        return 2
    if text.startswith("$(", at):
        stack.append(")")
        return 2
    if char == "`" or (char == ")" and top == ")") or (char == '"' and top == '"'):
        if top == char:
            stack.pop()
        else:
            stack.append(char)
        return 1
    if top == '"':
        return 1
    if char == "#" and (at == 0 or text[at - 1] in " \t\n;"):
        return len(text[at:].partition("\n")[0]) or 1
    if char in "'\"(":
        stack.append(")" if char == "(" else char)
    return 1
