"""Changes to the local repository: add, commit, restore, branch, switch, stash. Never a remote."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from cockpit.builtin.git.command import SECONDS, output_of, pathspec, ref
from cockpit.errors import CockpitError
from cockpit.plugin.arguments import parse
from cockpit.plugin.context import Context
from cockpit.plugin.launching import Launch
from cockpit.plugin.tools import Arguments, Done, Part, Preview, ToolFailed
from cockpit.workspace.git import ENVIRONMENT, reading

What = Literal["add", "commit", "restore", "branch", "switch", "stash", "unstash"]


@dataclass(frozen=True, slots=True)
class GitChange:
    what: What
    paths: Annotated[list[str], "add, restore, commit, stash: the files; empty: all of them"] = field(
        default_factory=list
    )
    message: Annotated[str, "commit, stash: the message"] = ""
    name: Annotated[str, "branch, switch: the branch"] = ""
    ref: Annotated[str, "branch, restore, switch: from this commit"] = ""
    create: Annotated[bool, "switch: make the branch"] = False
    staged: Annotated[bool, "restore: only take it out of the index"] = False


def argv(arguments: GitChange) -> tuple[str, ...]:
    """The arguments after `git`. Raises `ToolFailed` for what is missing or unsafe."""
    build: Mapping[What, Callable[[GitChange], tuple[str, ...]]] = {
        "add": _add,
        "commit": _commit,
        "restore": _restore,
        "branch": _branch,
        "switch": _switch,
        "stash": _stash,
        "unstash": lambda one: ("stash", "pop"),
    }
    return build[arguments.what](arguments)


def _specs(arguments: GitChange) -> tuple[str, ...]:
    return tuple(pathspec(path) for path in arguments.paths)


def _add(arguments: GitChange) -> tuple[str, ...]:
    if not arguments.paths:
        return ("add", "--all", "--", ":/")
    return ("add", "--", *_specs(arguments))


def _commit(arguments: GitChange) -> tuple[str, ...]:
    if not arguments.message.strip():
        raise ToolFailed("a commit needs a `message`")
    base = ("commit", "--no-verify", "--no-gpg-sign", f"--message={arguments.message}")
    return (*base, "--only", "--", *_specs(arguments)) if arguments.paths else base


def _restore(arguments: GitChange) -> tuple[str, ...]:
    if not arguments.paths:
        raise ToolFailed("restore throws changes away: name the `paths`")
    source = (f"--source={ref(arguments.ref)}",) if arguments.ref else ()
    return ("restore", *(("--staged",) if arguments.staged else ()), *source, "--", *_specs(arguments))


def _branch(arguments: GitChange) -> tuple[str, ...]:
    if not arguments.name:
        raise ToolFailed("branch needs a `name`")
    return ("branch", ref(arguments.name), *((ref(arguments.ref),) if arguments.ref else ()))


def _switch(arguments: GitChange) -> tuple[str, ...]:
    if not arguments.name:
        raise ToolFailed("switch needs a `name`")
    if not arguments.create:
        return ("switch", "--no-guess", ref(arguments.name))
    return ("switch", "-c", ref(arguments.name), *((ref(arguments.ref),) if arguments.ref else ()))


def _stash(arguments: GitChange) -> tuple[str, ...]:
    message = (f"--message={arguments.message}",) if arguments.message else ()
    return ("stash", "push", *message, "--", *_specs(arguments))


async def preview(arguments: Arguments, context: Context) -> Preview:
    wanted = parse(GitChange, arguments)
    command = ("git", *argv(wanted))
    paths = tuple(context.workspace.resolve(path, "read") for path in wanted.paths)
    root = context.workspace.root
    return Preview(
        title=f"git {wanted.what}",
        parts=(Part("run", " ".join(command), wanted.message),),
        argv=(command,),
        paths=paths,
        lift=f"git {wanted.what} *",
        launch=Launch(reading(root, *command[1:]), root, tuple(sorted(ENVIRONMENT.items()))),
    )


async def run(arguments: GitChange, context: Context) -> Done:
    running = context.running()
    launch = running.preview.launch if running.preview is not None else None
    if launch is None or launch.argv != reading(context.workspace.root, *argv(arguments)):
        raise ToolFailed("nothing like this was approved; call it again")
    pieces: list[str] = []
    try:
        ended = await context.workspace.processes.run_sealed(
            launch, running.seal, seconds=SECONDS, on_output=pieces.append
        )
    except CockpitError as error:
        raise ToolFailed(f"git could not be started: {error.message}") from error
    said = output_of(ended, "".join(pieces)).strip()
    return Done(said or _quiet(arguments), isolation=ended.isolation)


def _quiet(arguments: GitChange) -> str:
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
