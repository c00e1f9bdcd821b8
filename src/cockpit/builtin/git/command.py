"""Git as these tools start it: by argument list, as `workspace.git` makes harmless, with git's own
words as the fault. Plain `git status` or `git diff` would run what a repository's settings name.
"""

from cockpit.errors import CockpitError
from cockpit.plugin.context import Context
from cockpit.plugin.tools import ToolFailed
from cockpit.plugin.workspace import Ended
from cockpit.workspace.git import ENVIRONMENT, filters_off, reading

SECONDS = 60.0


def ref(name: str) -> str:
    """`name` as an argument. Raises `ToolFailed` for what git would read as an option."""
    if name.startswith("-"):
        raise ToolFailed(f"{name!r} starts with a dash and would be an option; name a commit or branch")
    if any(ord(character) < 32 for character in name):
        raise ToolFailed(f"{name!r} holds a control character; name a commit or branch")
    return name


def pathspec(path: str) -> str:
    """`path` taken literally: `*` and `:(...)` mean nothing in it."""
    return f":(literal){path}"


async def git(context: Context, *arguments: str) -> str:
    """What git wrote, run in the root. Raises `ToolFailed` with git's own words when it fails."""
    root, pieces, processes = context.workspace.root, list[str](), context.workspace.processes

    async def run(argv: tuple[str, ...]) -> Ended:
        pieces.clear()
        try:
            return await processes.run(
                argv, seconds=SECONDS, environment=ENVIRONMENT, on_output=pieces.append
            )
        except CockpitError as error:
            raise ToolFailed(
                "git could not be started; install it or work without version control"
            ) from error

    ended = await run(reading(root, *arguments, off=await filters_off(run, root, arguments[0])))
    return output_of(ended, "".join(pieces))


def output_of(ended: Ended, heard: str) -> str:
    """What git wrote (`heard` is all of it, streamed). Raises `ToolFailed` where it failed."""
    if ended.timed_out:
        raise ToolFailed(
            f"git took longer than {SECONDS:.0f} s and was stopped; name a `path` to ask for less"
        )
    output = heard or ended.output
    if ended.code != 0:
        raise ToolFailed(_fault(output, ended.code))
    return output


def _fault(output: str, code: int) -> str:
    said = "\n".join(output.strip().splitlines()[:8]) or f"git ended with code {code}"
    if "not a git repository" in said:
        return "this folder is no git repository; `git init` makes one"
    if "dubious ownership" in said:
        return f"{said}\nthe folder belongs to another user: git refuses it until its owner is trusted"
    if "does not have any commits yet" in said or "ambiguous argument 'HEAD'" in said:
        return "there is no commit yet"
    return said
