"""`#a1b2c3` in a prompt: the commit of that name, its message and its diff. Teaches `register_mentions`.

A mention does two things: it completes while a person types, and what was named is put beside the prompt.
"""

import re

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.values import Mention, Register, Scope
from cockpit.protocol.content import Block, Text
from cockpit.protocol.queries import Completion

HASH = re.compile(r"[0-9a-f]{4,40}")
RECENT = 50
LONGEST = 20_000
# A folder's own settings must not choose a program that git starts to show a diff.
GIT = ("git", "-c", "core.fsmonitor=false", "--no-pager")


async def git(context: Context, *arguments: str) -> str:
    """What git prints, empty where it cannot: no repository, no such commit, no git."""
    try:
        ended = await context.workspace.processes.run((*GIT, *arguments), seconds=5, separate_errors=True)
    except OSError:
        return ""
    return ended.output if ended.code == 0 else ""


async def complete(text: str, context: Context) -> tuple[Completion, ...]:
    """Recent commits whose hash begins with `text`, or whose message holds it."""
    listed = await git(context, "log", f"-{RECENT}", "--format=%h%x09%s%x09%an, %ar")
    rows = [line.split("\t", 2) for line in listed.splitlines() if line.count("\t") >= 2]
    word = text.lower()
    return tuple(
        Completion(f"#{name} ", f"{name} {subject}", detail, 0, 0)
        for name, subject, detail in rows
        if name.startswith(word) or word in subject.lower()
    )


async def expand(name: str, context: Context) -> Block | None:
    """The commit; None for what is none, so that `#1` and `#todo` stay words."""
    if not HASH.fullmatch(name):
        return None
    options = ("--no-ext-diff", "--no-textconv", "--stat", "--patch")
    text = await git(context, "show", *options, f"{name}^{{commit}}")
    if not text:
        return None
    cut = len(text) > LONGEST
    return Text(text[:LONGEST] + f"\n[cut; `git show {name}` has the rest]" if cut else text)


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(Mention("commits", "#", complete, expand))
