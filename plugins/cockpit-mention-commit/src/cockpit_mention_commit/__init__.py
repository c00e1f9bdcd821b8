"""`#a1b2c3` in a prompt adds that commit's message and diff. An example of `register_mentions`.

A mention does two things: it completes while the user types, and it adds a block to the prompt.
"""

import re

from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.values import Mention, Register, Scope
from cockpit.protocol.content import Block, Text
from cockpit.protocol.queries import Completion

HASH = re.compile(r"[0-9a-f]{4,40}")
MAX_COMMITS = 50
MAX_TEXT = 20_000
# The repository's settings must not make git start a program.
GIT = ("git", "-c", "core.fsmonitor=false", "--no-pager")


async def git(context: Context, *arguments: str) -> str:
    """The output of git, or an empty string if it fails: no repository, unknown commit, no git."""
    try:
        process = await context.workspace.processes.run((*GIT, *arguments), seconds=5, separate_errors=True)
    except OSError:
        return ""
    return process.output if process.code == 0 else ""


async def complete(text: str, context: Context) -> tuple[Completion, ...]:
    """Recent commits whose hash begins with `text` or whose message contains it."""
    listed = await git(context, "log", f"-{MAX_COMMITS}", "--format=%h%x09%s%x09%an, %ar")
    rows = [line.split("\t", 2) for line in listed.splitlines() if line.count("\t") >= 2]
    word = text.lower()
    return tuple(
        Completion(f"#{name} ", f"{name} {subject}", detail, 0, 0)
        for name, subject, detail in rows
        if name.startswith(word) or word in subject.lower()
    )


async def expand(name: str, context: Context) -> Block | None:
    """The commit, or None for other words, so that `#1` and `#todo` stay as they are."""
    if not HASH.fullmatch(name):
        return None
    options = ("--no-ext-diff", "--no-textconv", "--stat", "--patch")
    text = await git(context, "show", *options, f"{name}^{{commit}}")
    if not text:
        return None
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n[cut; `git show {name}` has the rest]"
    return Text(text)


@hookimpl
def register_mentions(register: Register, scope: Scope) -> None:
    register(Mention("commits", "#", complete, expand))
