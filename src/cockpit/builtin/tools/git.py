"""Git as these tools start it: by argument list, as `workspace.git` makes harmless, with git's own
words as the fault. Plain `git status` or `git diff` would run what a repository's settings name.

A diff without the files that are not to be read.

What git says: status, diff, log, show, blame. Changes nothing in the repository.

Changes to the local repository: add, commit, restore, branch, switch, stash. Never a remote.

`git` reads the repository, `git_change` changes it locally. Nothing here reaches a remote.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context, PathRefused
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Part, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.plugin.workspace import Launch, ProcessResult
from cockpit.protocol.content import Code
from cockpit.workspace.path_names import SECRET_FILES, SECRET_PATTERNS
from cockpit.workspace.safe_git import GIT_ENVIRONMENT, filter_options, safe_git_argv

GIT_SECONDS = 60.0


def check_ref(name: str) -> str:
    """`name` as an argument. Raises `ToolFailed` for what git would read as an option."""
    if name.startswith("-"):
        raise ToolFailed(f"{name!r} starts with a dash and would be an option; name a commit or branch")
    if any(ord(character) < 32 for character in name):
        raise ToolFailed(f"{name!r} holds a control character; name a commit or branch")
    return name


def literal_pathspec(path: str) -> str:
    """`path` taken literally: `*` and `:(...)` mean nothing in it."""
    return f":(literal){path}"


async def run_git(context: Context, *arguments: str) -> str:
    """What git wrote, run in the root. Raises `ToolFailed` with git's own words when it fails."""
    root, pieces, processes = context.workspace.root, list[str](), context.workspace.processes

    async def run(argv: tuple[str, ...]) -> ProcessResult:
        pieces.clear()
        try:
            return await processes.run(
                argv, seconds=GIT_SECONDS, environment=GIT_ENVIRONMENT, on_output=pieces.append
            )
        except CockpitError as error:
            raise ToolFailed(
                "git could not be started; install it or work without version control"
            ) from error

    ended = await run(safe_git_argv(root, *arguments, off=await filter_options(run, root, arguments[0])))
    return check_output(ended, "".join(pieces))


def check_output(ended: ProcessResult, heard: str) -> str:
    """What git wrote (`heard` is all of it, streamed). Raises `ToolFailed` where it failed."""
    if ended.timed_out:
        raise ToolFailed(
            f"git took longer than {GIT_SECONDS:.0f} s and was stopped; name a `path` to ask for less"
        )
    output = heard or ended.output
    if ended.code != 0:
        raise ToolFailed(_describe_failure(output, ended.code))
    return output


def _describe_failure(output: str, code: int) -> str:
    said = "\n".join(output.strip().splitlines()[:8]) or f"git ended with code {code}"
    if "not a git repository" in said:
        return "this folder is no git repository; `git init` makes one"
    if "dubious ownership" in said:
        return f"{said}\nthe folder belongs to another user: git refuses it until its owner is trusted"
    if "does not have any commits yet" in said or "ambiguous argument 'HEAD'" in said:
        return "there is no commit yet"
    return said


DIFF_SECTION = re.compile(r"^(?=diff --(?:git|cc|combined) )", re.MULTILINE)
DIFF_PATHS = re.compile(r"^(?:--- a/|\+\+\+ b/|rename (?:from|to) |copy (?:from|to) )(.+?)\t?$", re.MULTILINE)
DIFF_HEAD = re.compile(r"diff --(?:git a/(.+) b/\1|cc (.+)|combined (.+))$", re.MULTILINE)


def hide_unreadable(output: str, context: Context) -> str:
    """`output` of `git diff` or `git show`, in which a file that may not be read is only named."""
    pieces = DIFF_SECTION.split(output)
    return "".join(_hide_section(piece, context) for piece in pieces)


def _hide_section(piece: str, context: Context) -> str:
    if not piece.startswith("diff --"):
        return piece
    head = DIFF_HEAD.match(piece)
    names = {*DIFF_PATHS.findall(piece.partition("\n@@")[0]), *(head.groups() if head else ())}
    if all(_is_readable(name, context) for name in names if name):
        return piece
    return piece.partition("\n")[0] + "\n(its lines are not to be read)\n"


def _is_readable(name: str, context: Context) -> bool:
    try:
        context.workspace.resolve(name, "read")
    except PathRefused:
        return False
    return True


BLAME_LINE = re.compile(
    r"^(?P<commit>\^?[0-9a-f]+) .*?\((?P<author>.*?) +(?P<day>\d{4}-\d\d-\d\d) +(?P<line>\d+)\) ?"
)
STATUS_WORDS = {
    "M": "modified",
    "A": "added",
    "D": "deleted",
    "T": "type changed",
    "R": "renamed",
    "C": "copied",
}
MAX_STATUS_PATHS = 200


@dataclass(frozen=True, slots=True)
class GitArguments:
    what: Literal["status", "diff", "log", "show", "blame"]
    path: Annotated[str, "only this file or folder"] = ""
    ref: Annotated[str, "a commit, branch or range"] = ""
    staged: Annotated[bool, "query_diff: what is staged"] = False
    start: Annotated[int, "blame: first line"] = 0
    end: Annotated[int, "blame: last line"] = 0
    limit: Annotated[int, "log: how many"] = 20


async def run_query(arguments: GitArguments, context: Context) -> Done:
    match arguments.what:
        case "status":
            return await query_status(arguments, context)
        case "diff":
            return await query_diff(arguments, context)
        case "log":
            return await query_log(arguments, context)
        case "show":
            return await query_show(arguments, context)
        case "blame":
            return await query_blame(arguments, context)


async def preview_query(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(GitArguments, arguments)
    named = [wanted.path] if wanted.path else []
    if wanted.what == "show" and ":" in wanted.ref:
        named.append(wanted.ref.split(":", 1)[1])
    # Resolving refuses a file that holds secrets, in whatever commit it is asked for.
    paths = tuple(context.workspace.resolve(path, "read") for path in named)
    return Preview(title=f"git {wanted.what}", paths=paths)


def _path_arguments(arguments: GitArguments) -> tuple[str, ...]:
    return ("--", literal_pathspec(arguments.path)) if arguments.path else ("--",)


def _paths_without_secrets(arguments: GitArguments) -> tuple[str, ...]:
    """The path asked for, or everything but the files that no tool reads."""
    if arguments.path:
        return _path_arguments(arguments)
    return ("--", *(f":(exclude,icase,glob)**/{name}" for name in (*SECRET_FILES, *SECRET_PATTERNS)))


async def query_status(arguments: GitArguments, context: Context) -> Done:
    output = await run_git(
        context,
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=all",
        "--ignore-submodules=all",
        *_path_arguments(arguments),
    )
    return Done(format_status(output))


def format_status(porcelain: str) -> str:
    """`git status --porcelain=v2 --branch -z` as lines: the branch, then paths by what they are."""
    headers: dict[str, str] = {}
    groups: dict[str, list[str]] = {"conflicted": [], "staged": [], "not staged": [], "untracked": []}
    fields = iter(porcelain.split("\0"))
    for record in fields:
        if record.startswith("# "):
            key, _, value = record[2:].partition(" ")
            headers[key] = value
        elif record.startswith("? "):
            groups["untracked"].append(record[2:])
        elif record.startswith("u "):
            groups["conflicted"].append(record.split(" ", 10)[10])
        elif record.startswith("1 "):
            parts = record.split(" ", 8)
            _add_status(groups, parts[1], parts[8])
        elif record.startswith("2 "):
            parts = record.split(" ", 9)
            _add_status(groups, parts[1], f"{next(fields, '')} -> {parts[9]}")
    lines = [_format_branch(headers)]
    for name, paths in groups.items():
        if paths:
            lines.append(f"{name} ({len(paths)}):")
            lines += [f"  {path}" for path in paths[:MAX_STATUS_PATHS]]
            lines += (
                [f"  ... and {len(paths) - MAX_STATUS_PATHS} more"] if len(paths) > MAX_STATUS_PATHS else []
            )
    return "\n".join(lines if len(lines) > 1 else [*lines, "nothing to commit, working tree clean"])


def _add_status(groups: dict[str, list[str]], letters: str, path: str) -> None:
    for letter, group in zip(letters, ("staged", "not staged"), strict=False):
        if letter != ".":
            groups[group].append(f"{STATUS_WORDS.get(letter, letter)}: {path}")


def _format_branch(headers: dict[str, str]) -> str:
    head, upstream = headers.get("branch.head", "?"), headers.get("branch.upstream", "")
    line = "no branch (detached HEAD)" if head == "(detached)" else f"on branch {head}"
    if headers.get("branch.oid") == "(initial)":
        line += ", no commit yet"
    if upstream:
        ahead, _, behind = headers.get("branch.ab", "+0 -0").partition(" ")
        line += f", {ahead.lstrip('+')} ahead and {behind.lstrip('-')} behind {upstream}"
    return line


async def query_diff(arguments: GitArguments, context: Context) -> Done:
    staged = ("--cached",) if arguments.staged else ()
    against = (check_ref(arguments.ref),) if arguments.ref else ()
    output = await run_git(
        context,
        "diff",
        "--stat=120",
        "--patch",
        "--ignore-submodules=all",
        *staged,
        *against,
        *_paths_without_secrets(arguments),
    )
    output = hide_unreadable(output, context)
    if not output.strip():
        if against:
            return Done(f"no difference from {arguments.ref}")
        return Done("no staged changes" if arguments.staged else "no unstaged changes")
    return Done(output, (Code(output, "diff"),))


async def query_log(arguments: GitArguments, context: Context) -> Done:
    count = max(1, min(arguments.limit, 500))
    against = (check_ref(arguments.ref),) if arguments.ref else ()
    follow = ("--follow",) if arguments.path and not arguments.path.endswith("/") else ()
    form = "--format=%h %ad %an: %s"
    only = ("--", arguments.path) if follow else _path_arguments(arguments)
    output = await run_git(
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


async def query_show(arguments: GitArguments, context: Context) -> Done:
    output = await run_git(
        context,
        "show",
        "--stat=120",
        "--patch",
        "--date=iso",
        check_ref(arguments.ref or "HEAD"),
        *(() if ":" in arguments.ref else _paths_without_secrets(arguments)),
    )
    output = hide_unreadable(output, context)
    return Done(output, (Code(output, "diff"),))


async def query_blame(arguments: GitArguments, context: Context) -> Done:
    if not arguments.path:
        raise ToolFailed("blame needs a `path`")
    span: tuple[str, ...] = ()
    if arguments.start > 0:
        end = max(arguments.end, arguments.start)
        span = ("-L", f"{arguments.start},{end}")
    against = (check_ref(arguments.ref),) if arguments.ref else ()
    output = await run_git(
        context, "blame", "--date=short", "--abbrev=8", *span, *against, "--", arguments.path
    )
    return Done("\n".join(_format_blame_line(line) for line in output.rstrip("\n").splitlines()))


def _format_blame_line(line: str) -> str:
    found = BLAME_LINE.match(line)
    if not found:
        return line
    who = f"{found['commit'].lstrip('^')} {found['day']} {found['author'].strip()}"
    return f"{found['line']}: {who} | {line[found.end() :]}"


ChangeKind = Literal["add", "commit", "restore", "branch", "switch", "stash", "unstash"]


@dataclass(frozen=True, slots=True)
class GitChangeArguments:
    what: ChangeKind
    paths: Annotated[list[str], "add, restore, commit, stash: the files; empty: all of them"] = field(
        default_factory=list
    )
    message: Annotated[str, "commit, stash: the message"] = ""
    name: Annotated[str, "branch, switch: the branch"] = ""
    ref: Annotated[str, "branch, restore, switch: from this commit"] = ""
    create: Annotated[bool, "switch: make the branch"] = False
    staged: Annotated[bool, "restore: only take it out of the index"] = False


def build_change_argv(arguments: GitChangeArguments) -> tuple[str, ...]:
    """The arguments after `git`. Raises `ToolFailed` for what is missing or unsafe."""
    build: Mapping[ChangeKind, Callable[[GitChangeArguments], tuple[str, ...]]] = {
        "add": _add_argv,
        "commit": _commit_argv,
        "restore": _restore_argv,
        "branch": _branch_argv,
        "switch": _switch_argv,
        "stash": _stash_argv,
        "unstash": lambda one: ("stash", "pop"),
    }
    return build[arguments.what](arguments)


def _pathspecs(arguments: GitChangeArguments) -> tuple[str, ...]:
    return tuple(literal_pathspec(path) for path in arguments.paths)


def _add_argv(arguments: GitChangeArguments) -> tuple[str, ...]:
    if not arguments.paths:
        return ("add", "--all", "--", ":/")
    return ("add", "--", *_pathspecs(arguments))


def _commit_argv(arguments: GitChangeArguments) -> tuple[str, ...]:
    if not arguments.message.strip():
        raise ToolFailed("a commit needs a `message`")
    base = ("commit", "--no-verify", "--no-gpg-sign", f"--message={arguments.message}")
    return (*base, "--only", "--", *_pathspecs(arguments)) if arguments.paths else base


def _restore_argv(arguments: GitChangeArguments) -> tuple[str, ...]:
    if not arguments.paths:
        raise ToolFailed("restore throws changes away: name the `paths`")
    source = (f"--source={check_ref(arguments.ref)}",) if arguments.ref else ()
    return ("restore", *(("--staged",) if arguments.staged else ()), *source, "--", *_pathspecs(arguments))


def _branch_argv(arguments: GitChangeArguments) -> tuple[str, ...]:
    if not arguments.name:
        raise ToolFailed("branch needs a `name`")
    return ("branch", check_ref(arguments.name), *((check_ref(arguments.ref),) if arguments.ref else ()))


def _switch_argv(arguments: GitChangeArguments) -> tuple[str, ...]:
    if not arguments.name:
        raise ToolFailed("switch needs a `name`")
    if not arguments.create:
        return ("switch", "--no-guess", check_ref(arguments.name))
    return (
        "switch",
        "-c",
        check_ref(arguments.name),
        *((check_ref(arguments.ref),) if arguments.ref else ()),
    )


def _stash_argv(arguments: GitChangeArguments) -> tuple[str, ...]:
    message = (f"--message={arguments.message}",) if arguments.message else ()
    return ("stash", "push", *message, "--", *_pathspecs(arguments))


async def preview_change(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(GitChangeArguments, arguments)
    command = ("git", *build_change_argv(wanted))
    paths = tuple(context.workspace.resolve(path, "read") for path in wanted.paths)
    root = context.workspace.root
    return Preview(
        title=f"git {wanted.what}",
        parts=(Part("run", " ".join(command), wanted.message),),
        argv=(command,),
        paths=paths,
        lift=f"git {wanted.what} *",
        launch=Launch(safe_git_argv(root, *command[1:]), root, tuple(sorted(GIT_ENVIRONMENT.items()))),
    )


async def run_change(arguments: GitChangeArguments, context: Context) -> Done:
    running = context.running()
    launch = running.preview.launch if running.preview is not None else None
    if launch is None or launch.argv != safe_git_argv(context.workspace.root, *build_change_argv(arguments)):
        raise ToolFailed("nothing like this was approved; call it again")
    pieces: list[str] = []
    try:
        ended = await context.workspace.processes.run_sealed(
            launch, running.seal, seconds=GIT_SECONDS, on_output=pieces.append
        )
    except CockpitError as error:
        raise ToolFailed(f"git could not be started: {error.message}") from error
    said = check_output(ended, "".join(pieces)).strip()
    return Done(said or _describe_change(arguments), isolation=ended.isolation)


def _describe_change(arguments: GitChangeArguments) -> str:
    """What git does without a word, said."""
    what = ", ".join(arguments.paths) or "all changes"
    match arguments.what:
        case "add":
            return f"staged {what}"
        case "restore":
            return f"took {what} out of the index" if arguments.staged else f"restored {what}"
        case "branch":
            return f"made branch {arguments.name}"
        case "switch":
            return f"on branch {arguments.name}"
        case "commit" | "stash" | "unstash":
            return f"git {arguments.what}: done"


LINE_ALIASES = (("start_line", "start"), ("end_line", "end"), ("file", "path"))
QUERY_COMMANDS = ("status", "diff", "log", "show", "blame")
CHANGE_COMMANDS = ("add", "commit", "restore", "branch", "switch", "stash")


def _git_title(arguments: Arguments) -> str:
    parts = ("git", *(str(arguments.get(name, "")) for name in ("what", "ref", "path", "name")))
    return " ".join(part for part in parts if part)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    renamed = (
        ("commit", "ref"),
        ("revision", "ref"),
        ("cached", "staged"),
        ("max_count", "limit"),
        *LINE_ALIASES,
    )
    register(
        Tool(
            name="git",
            kind="read",
            description="Read the git repository: status, diff, log, show, blame.",
            parameters=schema(GitArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(GitArguments, run_query),
            title=_git_title,
            preview=preview_query,
            is_concurrent=lambda arguments: True,
            cap=Cap(shape="head"),
            aliases=tuple(Alias(f"git_{what}", renamed, (("what", what),)) for what in QUERY_COMMANDS),
            keywords=("history", "changes", "author"),
        )
    )
    register(
        Tool(
            name="git_change",
            kind="execute",
            description="Change the local repository: add, commit, restore, branch, switch, stash, unstash.",
            parameters=schema(GitChangeArguments),
            capabilities=frozenset({"vcs.local", "fs.write"}),
            run=typed(GitChangeArguments, run_change),
            title=_git_title,
            preview=preview_change,
            deferred=True,
            aliases=tuple(
                Alias(f"git_{what}", (("files", "paths"), ("branch", "name")), (("what", what),))
                for what in CHANGE_COMMANDS
            ),
            keywords=("commit", "stage", "branch", "stash", "restore", "checkout", "git"),
        )
    )
