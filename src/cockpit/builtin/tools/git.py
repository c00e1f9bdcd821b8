"""The tools `git`, which reads the repository, and `git_change`, which changes it locally. Neither reaches a
remote.

Git runs through `workspace.safe_git`, because a plain `git status` or `git diff` would run programs that the
repository's settings name. Files that no tool may read are left out of every output.
"""

import re
from dataclasses import dataclass, field
from typing import Annotated, Literal

from cockpit.builtin.tools.text_reads import is_readable
from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import parse, schema, typed
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Alias, Arguments, Cap, Done, Part, Preview, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope
from cockpit.plugin.workspace import Launch, ProcessResult
from cockpit.protocol.content import Code
from cockpit.workspace.path_names import SECRET_FILES, SECRET_PATTERNS
from cockpit.workspace.safe_git import GIT_ENVIRONMENT, filter_options, safe_git_argv

GIT_SECONDS = 60.0
MAX_STATUS_PATHS = 200
MAX_COMMITS = 500
MAX_FAILURE_LINES = 8
QUERY_COMMANDS = ("status", "diff", "log", "show", "blame")
CHANGE_COMMANDS = ("add", "commit", "restore", "branch", "switch", "stash")

DIFF_SECTION = re.compile(r"^(?=diff --(?:git|cc|combined) )", re.MULTILINE)
DIFF_PATHS = re.compile(r"^(?:--- a/|\+\+\+ b/|rename (?:from|to) |copy (?:from|to) )(.+?)\t?$", re.MULTILINE)
DIFF_HEAD = re.compile(r"diff --(?:git a/(.+) b/\1|cc (.+)|combined (.+))$", re.MULTILINE)
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


@dataclass(frozen=True, slots=True)
class GitArguments:
    what: Literal["status", "diff", "log", "show", "blame"]
    path: Annotated[str, "only this file or folder"] = ""
    ref: Annotated[str, "a commit, branch or range"] = ""
    staged: Annotated[bool, "diff: what is staged"] = False
    start: Annotated[int, "blame: first line"] = 0
    end: Annotated[int, "blame: last line"] = 0
    limit: Annotated[int, "log: how many"] = 20


@dataclass(frozen=True, slots=True)
class GitChangeArguments:
    what: Literal["add", "commit", "restore", "branch", "switch", "stash", "unstash"]
    paths: Annotated[list[str], "add, restore, commit, stash: the files; empty: all of them"] = field(
        default_factory=list
    )
    message: Annotated[str, "commit, stash: the message"] = ""
    name: Annotated[str, "branch, switch: the branch"] = ""
    ref: Annotated[str, "branch, restore, switch: from this commit"] = ""
    create: Annotated[bool, "switch: create the branch"] = False
    staged: Annotated[bool, "restore: only unstage"] = False


def _check_ref(name: str) -> str:
    """`name` as an argument. Raises `ToolFailed` if git would read it as an option."""
    if name.startswith("-"):
        raise ToolFailed(f"{name!r} starts with a dash and would be an option; name a commit or branch")
    if any(ord(character) < 32 for character in name):
        raise ToolFailed(f"{name!r} contains a control character; name a commit or branch")
    return name


def _optional_ref(name: str) -> tuple[str, ...]:
    return (_check_ref(name),) if name else ()


def _pathspecs(*paths: str) -> tuple[str, ...]:
    """`paths` as arguments that git takes literally: `*` and `:(...)` have no meaning in them."""
    return ("--", *(f":(literal){path}" for path in paths))


async def _run_git(context: Context, *arguments: str) -> str:
    """The output of git in the root. Raises `ToolFailed` with git's own message when it fails."""
    root, pieces, processes = context.workspace.root, list[str](), context.workspace.processes

    async def run(argv: tuple[str, ...]) -> ProcessResult:
        pieces.clear()
        try:
            return await processes.run(
                argv, seconds=GIT_SECONDS, environment=GIT_ENVIRONMENT, on_output=pieces.append
            )
        except CockpitError as error:
            message = "git could not be started; install it or work without version control"
            raise ToolFailed(message) from error

    ended = await run(safe_git_argv(root, *arguments, off=await filter_options(run, root, arguments[0])))
    return _check_output(ended, "".join(pieces))


def _check_output(ended: ProcessResult, streamed: str) -> str:
    """The output (`streamed` is all of it). Raises `ToolFailed` if git failed."""
    if ended.timed_out:
        raise ToolFailed(f"git was stopped after {GIT_SECONDS:.0f} s; name a `path` to ask for less")
    output = streamed or ended.output
    if ended.code == 0:
        return output
    message = "\n".join(output.strip().splitlines()[:MAX_FAILURE_LINES])
    if "not a git repository" in message:
        message = "this folder is not a git repository; `git init` creates one"
    if "dubious ownership" in message:
        message += "\nthe folder belongs to another user: git refuses it until its owner is trusted"
    if "does not have any commits yet" in message or "ambiguous argument 'HEAD'" in message:
        message = "there is no commit yet"
    raise ToolFailed(message or f"git ended with code {ended.code}")


async def run_query(arguments: GitArguments, context: Context) -> Done:
    queries = {
        "status": _query_status,
        "diff": _query_diff,
        "log": _query_log,
        "show": _query_show,
        "blame": _query_blame,
    }
    return await queries[arguments.what](arguments, context)


async def preview_query(arguments: Arguments, context: Context) -> Preview:
    parsed = parse(GitArguments, arguments)
    named = [parsed.path] if parsed.path else []
    if parsed.what == "show" and ":" in parsed.ref:
        named.append(parsed.ref.split(":", 1)[1])
    # Resolving refuses a file with secrets, whichever commit it is read from.
    paths = tuple(context.workspace.resolve(path, "read") for path in named)
    return Preview(title=f"git {parsed.what}", paths=paths)


def _readable_pathspecs(path: str) -> tuple[str, ...]:
    """The requested path, or everything except the files that no tool reads."""
    if path:
        return _pathspecs(path)
    return ("--", *(f":(exclude,icase,glob)**/{name}" for name in (*SECRET_FILES, *SECRET_PATTERNS)))


async def _query_status(arguments: GitArguments, context: Context) -> Done:
    options = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=all")
    only = _pathspecs(arguments.path) if arguments.path else ("--",)
    return Done(format_status(await _run_git(context, "status", *options, *only)))


def format_status(porcelain: str) -> str:
    """`git status --porcelain=v2 --branch -z` as lines: the branch, then the paths by state."""
    headers: dict[str, str] = {}
    groups: dict[str, list[str]] = {"conflicted": [], "staged": [], "not staged": [], "untracked": []}
    records = iter(porcelain.split("\0"))
    for record in records:
        kind, _, rest = record.partition(" ")
        match kind:
            case "#":
                key, _, value = rest.partition(" ")
                headers[key] = value
            case "?":
                groups["untracked"].append(rest)
            case "u":
                groups["conflicted"].append(record.split(" ", 10)[10])
            case "1":
                parts = record.split(" ", 8)
                _add_status(groups, parts[1], parts[8])
            case "2":
                parts = record.split(" ", 9)
                _add_status(groups, parts[1], f"{next(records, '')} -> {parts[9]}")
    lines = [_format_branch(headers)]
    for name, paths in groups.items():
        if paths:
            lines.append(f"{name} ({len(paths)}):")
            lines += [f"  {path}" for path in paths[:MAX_STATUS_PATHS]]
        if len(paths) > MAX_STATUS_PATHS:
            lines.append(f"  ... and {len(paths) - MAX_STATUS_PATHS} more")
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


async def _query_diff(arguments: GitArguments, context: Context) -> Done:
    staged = ("--cached",) if arguments.staged else ()
    options = ("--stat=120", "--patch", "--ignore-submodules=all", *staged, *_optional_ref(arguments.ref))
    output = await _run_git(context, "diff", *options, *_readable_pathspecs(arguments.path))
    output = hide_unreadable(output, context)
    if output.strip():
        return Done(output, (Code(output, "diff"),))
    if arguments.ref:
        return Done(f"no difference from {arguments.ref}")
    return Done("no staged changes" if arguments.staged else "no unstaged changes")


async def _query_log(arguments: GitArguments, context: Context) -> Done:
    count = max(1, min(arguments.limit, MAX_COMMITS))
    options = [f"-{count + 1}", "--date=short", "--format=%h %ad %an: %s"]
    if arguments.path and not arguments.path.endswith("/"):
        # `--follow` takes one plain path, not a pathspec.
        options += ["--follow", *_optional_ref(arguments.ref), "--", arguments.path]
    else:
        only = _pathspecs(arguments.path) if arguments.path else ("--",)
        options += [*_optional_ref(arguments.ref), *only]
    lines = (await _run_git(context, "log", *options)).strip().splitlines()
    if not lines:
        return Done(f"no commit touches {arguments.path}" if arguments.path else "there is no commit yet")
    more = [f"... older commits are left out (limit {count})"] if len(lines) > count else []
    return Done("\n".join([*lines[:count], *more]))


async def _query_show(arguments: GitArguments, context: Context) -> Done:
    only = () if ":" in arguments.ref else _readable_pathspecs(arguments.path)
    options = ("--stat=120", "--patch", "--date=iso", _check_ref(arguments.ref or "HEAD"))
    output = hide_unreadable(await _run_git(context, "show", *options, *only), context)
    return Done(output, (Code(output, "diff"),))


async def _query_blame(arguments: GitArguments, context: Context) -> Done:
    if not arguments.path:
        raise ToolFailed("blame needs a `path`")
    lines: tuple[str, ...] = ()
    if arguments.start > 0:
        lines = ("-L", f"{arguments.start},{max(arguments.end, arguments.start)}")
    options = ("--date=short", "--abbrev=8", *lines, *_optional_ref(arguments.ref))
    output = await _run_git(context, "blame", *options, "--", arguments.path)
    return Done("\n".join(_format_blame_line(line) for line in output.rstrip("\n").splitlines()))


def _format_blame_line(line: str) -> str:
    match = BLAME_LINE.match(line)
    if not match:
        return line
    origin = f"{match['commit'].lstrip('^')} {match['day']} {match['author'].strip()}"
    return f"{match['line']}: {origin} | {line[match.end() :]}"


def hide_unreadable(output: str, context: Context) -> str:
    """`output` of `git diff` or `git show` with the lines of unreadable files replaced by a note."""
    sections = DIFF_SECTION.split(output)
    for at, section in enumerate(sections):
        if section.startswith("diff --"):
            head = DIFF_HEAD.match(section)
            names = {*DIFF_PATHS.findall(section.partition("\n@@")[0]), *(head.groups() if head else ())}
            if not all(is_readable(name, context) for name in names if name):
                sections[at] = section.partition("\n")[0] + "\n(this file may not be read)\n"
    return "".join(sections)


def build_change_argv(arguments: GitChangeArguments) -> tuple[str, ...]:
    """The arguments after `git`. Raises `ToolFailed` for what is missing or unsafe."""
    only = _pathspecs(*arguments.paths)
    match arguments.what:
        case "add":
            return ("add", *only) if arguments.paths else ("add", "--all", "--", ":/")
        case "commit":
            if not arguments.message.strip():
                raise ToolFailed("a commit needs a `message`")
            commit = ("commit", "--no-verify", "--no-gpg-sign", f"--message={arguments.message}")
            return (*commit, "--only", *only) if arguments.paths else commit
        case "restore":
            if not arguments.paths:
                raise ToolFailed("restore discards changes: name the `paths`")
            source = (f"--source={_check_ref(arguments.ref)}",) if arguments.ref else ()
            return ("restore", *(("--staged",) if arguments.staged else ()), *source, *only)
        case "branch" | "switch" if not arguments.name:
            raise ToolFailed(f"{arguments.what} needs a `name`")
        case "branch":
            return ("branch", _check_ref(arguments.name), *_optional_ref(arguments.ref))
        case "switch":
            if not arguments.create:
                return ("switch", "--no-guess", _check_ref(arguments.name))
            return ("switch", "-c", _check_ref(arguments.name), *_optional_ref(arguments.ref))
        case "stash":
            message = (f"--message={arguments.message}",) if arguments.message else ()
            return ("stash", "push", *message, *only)
        case "unstash":
            return ("stash", "pop")


async def preview_change(arguments: Arguments, context: Context) -> Preview:
    parsed = parse(GitChangeArguments, arguments)
    argv = build_change_argv(parsed)
    root = context.workspace.root
    return Preview(
        title=f"git {parsed.what}",
        parts=(Part("run", " ".join(("git", *argv)), parsed.message),),
        argv=(("git", *argv),),
        paths=tuple(context.workspace.resolve(path, "read") for path in parsed.paths),
        lift=f"git {parsed.what} *",
        launch=Launch(safe_git_argv(root, *argv), root, tuple(sorted(GIT_ENVIRONMENT.items()))),
    )


async def run_change(arguments: GitChangeArguments, context: Context) -> Done:
    running = context.running()
    launch = running.preview.launch if running.preview is not None else None
    if launch is None or launch.argv != safe_git_argv(context.workspace.root, *build_change_argv(arguments)):
        raise ToolFailed("this command was not approved; call the tool again")
    pieces: list[str] = []
    try:
        ended = await context.workspace.processes.run_sealed(
            launch, running.seal, seconds=GIT_SECONDS, on_output=pieces.append
        )
    except CockpitError as error:
        raise ToolFailed(f"git could not be started: {error.message}") from error
    output = _check_output(ended, "".join(pieces)).strip()
    return Done(output or _describe_change(arguments), isolation=ended.isolation)


def _describe_change(arguments: GitChangeArguments) -> str:
    """The result of a command that printed nothing."""
    paths = ", ".join(arguments.paths) or "all changes"
    match arguments.what:
        case "add":
            return f"staged {paths}"
        case "restore":
            return f"unstaged {paths}" if arguments.staged else f"restored {paths}"
        case "branch":
            return f"created branch {arguments.name}"
        case "switch":
            return f"on branch {arguments.name}"
        case "commit" | "stash" | "unstash":
            return f"git {arguments.what}: done"


def _title(arguments: Arguments) -> str:
    parts = ("git", *(str(arguments.get(name, "")) for name in ("what", "ref", "path", "name")))
    return " ".join(part for part in parts if part)


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    query_names = (
        *(("commit", "ref"), ("revision", "ref"), ("cached", "staged"), ("max_count", "limit")),
        *(("start_line", "start"), ("end_line", "end"), ("file", "path")),
    )
    change_names = (("files", "paths"), ("branch", "name"))
    register(
        Tool(
            name="git",
            kind="read",
            description="Read the git repository: status, diff, log, show, blame.",
            parameters=schema(GitArguments),
            capabilities=frozenset({"fs.read"}),
            run=typed(GitArguments, run_query),
            title=_title,
            preview=preview_query,
            is_concurrent=lambda arguments: True,
            cap=Cap(shape="head"),
            aliases=tuple(Alias(f"git_{what}", query_names, (("what", what),)) for what in QUERY_COMMANDS),
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
            title=_title,
            preview=preview_change,
            deferred=True,
            aliases=tuple(Alias(f"git_{what}", change_names, (("what", what),)) for what in CHANGE_COMMANDS),
            keywords=("commit", "stage", "branch", "stash", "restore", "checkout", "git"),
        )
    )
