"""What git says: status, diff, log, show, blame. Changes nothing in the repository."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from cockpit.builtin.git.command import git, pathspec, ref
from cockpit.builtin.git.hidden import without_hidden
from cockpit.plugin.arguments import parse
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Arguments, Done, Preview, ToolFailed
from cockpit.protocol.content import Code
from cockpit.workspace.names import SECRET_FILES, SECRET_PATTERNS

BLAME = re.compile(
    r"^(?P<commit>\^?[0-9a-f]+) .*?\((?P<author>.*?) +(?P<day>\d{4}-\d\d-\d\d) +(?P<line>\d+)\) ?"
)
KINDS = {"M": "modified", "A": "added", "D": "deleted", "T": "type changed", "R": "renamed", "C": "copied"}
MOST = 200


@dataclass(frozen=True, slots=True)
class Git:
    what: Literal["status", "diff", "log", "show", "blame"]
    path: Annotated[str, "only this file or folder"] = ""
    ref: Annotated[str, "a commit, branch or range"] = ""
    staged: Annotated[bool, "diff: what is staged"] = False
    start: Annotated[int, "blame: first line"] = 0
    end: Annotated[int, "blame: last line"] = 0
    limit: Annotated[int, "log: how many"] = 20


async def run(arguments: Git, context: Context) -> Done:
    match arguments.what:
        case "status":
            return await status(arguments, context)
        case "diff":
            return await diff(arguments, context)
        case "log":
            return await log(arguments, context)
        case "show":
            return await show(arguments, context)
        case "blame":
            return await blame(arguments, context)


async def preview(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(Git, arguments)
    named = [wanted.path] if wanted.path else []
    if wanted.what == "show" and ":" in wanted.ref:
        named.append(wanted.ref.split(":", 1)[1])
    # Resolving refuses a file that holds secrets, in whatever commit it is asked for.
    paths = tuple(context.workspace.resolve(path, "read") for path in named)
    return Preview(title=f"git {wanted.what}", paths=paths)


def _only(arguments: Git) -> tuple[str, ...]:
    return ("--", pathspec(arguments.path)) if arguments.path else ("--",)


def _without_secrets(arguments: Git) -> tuple[str, ...]:
    """The path asked for, or everything but the files that no tool reads."""
    if arguments.path:
        return _only(arguments)
    return ("--", *(f":(exclude,icase,glob)**/{name}" for name in (*SECRET_FILES, *SECRET_PATTERNS)))


async def status(arguments: Git, context: Context) -> Done:
    output = await git(
        context,
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=all",
        "--ignore-submodules=all",
        *_only(arguments),
    )
    return Done(describe_status(output))


def describe_status(porcelain: str) -> str:
    """`git status --porcelain=v2 --branch -z` as lines: the branch, then paths by what they are."""
    headers: dict[str, str] = {}
    groups: dict[str, list[str]] = {"conflicted": [], "staged": [], "not staged": [], "untracked": []}
    fields = iter(porcelain.split("\0"))
    for field in fields:
        if field.startswith("# "):
            key, _, value = field[2:].partition(" ")
            headers[key] = value
        elif field.startswith("? "):
            groups["untracked"].append(field[2:])
        elif field.startswith("u "):
            groups["conflicted"].append(field.split(" ", 10)[10])
        elif field.startswith("1 "):
            parts = field.split(" ", 8)
            _add(groups, parts[1], parts[8])
        elif field.startswith("2 "):
            parts = field.split(" ", 9)
            _add(groups, parts[1], f"{next(fields, '')} -> {parts[9]}")
    lines = [_branch(headers)]
    for name, paths in groups.items():
        if paths:
            lines.append(f"{name} ({len(paths)}):")
            lines += [f"  {path}" for path in paths[:MOST]]
            lines += [f"  ... and {len(paths) - MOST} more"] if len(paths) > MOST else []
    return "\n".join(lines if len(lines) > 1 else [*lines, "nothing to commit, working tree clean"])


def _add(groups: dict[str, list[str]], letters: str, path: str) -> None:
    for letter, group in zip(letters, ("staged", "not staged"), strict=False):
        if letter != ".":
            groups[group].append(f"{KINDS.get(letter, letter)}: {path}")


def _branch(headers: dict[str, str]) -> str:
    head, upstream = headers.get("branch.head", "?"), headers.get("branch.upstream", "")
    line = "no branch (detached HEAD)" if head == "(detached)" else f"on branch {head}"
    if headers.get("branch.oid") == "(initial)":
        line += ", no commit yet"
    if upstream:
        ahead, _, behind = headers.get("branch.ab", "+0 -0").partition(" ")
        line += f", {ahead.lstrip('+')} ahead and {behind.lstrip('-')} behind {upstream}"
    return line


async def diff(arguments: Git, context: Context) -> Done:
    staged = ("--cached",) if arguments.staged else ()
    against = (ref(arguments.ref),) if arguments.ref else ()
    output = await git(
        context,
        "diff",
        "--stat=120",
        "--patch",
        "--ignore-submodules=all",
        *staged,
        *against,
        *_without_secrets(arguments),
    )
    output = without_hidden(output, context)
    if not output.strip():
        if against:
            return Done(f"no difference from {arguments.ref}")
        return Done("no staged changes" if arguments.staged else "no unstaged changes")
    return Done(output, (Code(output, "diff"),))


async def log(arguments: Git, context: Context) -> Done:
    count = max(1, min(arguments.limit, 500))
    against = (ref(arguments.ref),) if arguments.ref else ()
    follow = ("--follow",) if arguments.path and not arguments.path.endswith("/") else ()
    form = "--format=%h %ad %an: %s"
    only = ("--", arguments.path) if follow else _only(arguments)
    output = await git(
        context,
        "log",
        f"-{count + 1}",
        "--date=short",
        form,
        *follow,
        *against,
        *only,
    )
    lines = output.strip().splitlines()
    if not lines:
        return Done(f"no commit touches {arguments.path}" if arguments.path else "there is no commit yet")
    more = [f"... older ones are left out (limit {count})"] if len(lines) > count else []
    return Done("\n".join([*lines[:count], *more]))


async def show(arguments: Git, context: Context) -> Done:
    output = await git(
        context,
        "show",
        "--stat=120",
        "--patch",
        "--date=iso",
        ref(arguments.ref or "HEAD"),
        *(() if ":" in arguments.ref else _without_secrets(arguments)),
    )
    output = without_hidden(output, context)
    return Done(output, (Code(output, "diff"),))


async def blame(arguments: Git, context: Context) -> Done:
    if not arguments.path:
        raise ToolFailed("blame needs a `path`")
    span: tuple[str, ...] = ()
    if arguments.start > 0:
        end = max(arguments.end, arguments.start)
        span = ("-L", f"{arguments.start},{end}")
    against = (ref(arguments.ref),) if arguments.ref else ()
    output = await git(context, "blame", "--date=short", "--abbrev=8", *span, *against, "--", arguments.path)
    return Done("\n".join(_blamed(line) for line in output.rstrip("\n").splitlines()))


def _blamed(line: str) -> str:
    found = BLAME.match(line)
    if not found:
        return line
    who = f"{found['commit'].lstrip('^')} {found['day']} {found['author'].strip()}"
    return f"{found['line']}: {who} | {line[found.end() :]}"
