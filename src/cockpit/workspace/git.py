"""Running git for cockpit's own reading, so that nothing a repository configures can run a program.

Plain `git status` runs what `core.fsmonitor` names, `git diff` what `diff.external` or a textconv
names: a repository is somebody else's text until a person trusts it.
"""

from cockpit.plugin.context import Ended, Processes

HARMLESS = (
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.pager=cat",
    "-c",
    "diff.external=",
    "-c",
    "core.sshCommand=false",
    "-c",
    "credential.helper=",
    "-c",
    "log.showSignature=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "color.ui=false",
    "-c",
    "protocol.allow=never",
    "-c",
    "submodule.recurse=false",
)
ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_EDITOR": "true",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
SHOWS_DIFFS = frozenset({"diff", "log", "show", "diff-tree", "diff-index", "diff-files", "whatchanged"})
READS_ATTRIBUTES = frozenset({"blame", "grep", "annotate"})


def reading(root: str, *arguments: str) -> tuple[str, ...]:
    """The argv of `git ARGUMENTS` in `root` without hooks, helpers, pagers or diff programs."""
    command, rest = arguments[0], arguments[1:]
    extra: tuple[str, ...] = ()
    if command in SHOWS_DIFFS:
        extra = ("--no-ext-diff", "--no-textconv")
    elif command in READS_ATTRIBUTES:
        extra = ("--no-textconv",)
    return ("git", "-C", root, *HARMLESS, command, *extra, *rest)


async def git(processes: Processes, root: str, *arguments: str, seconds: float = 30.0) -> Ended:
    """`git ARGUMENTS` as a reader. Raises `ProcessFailed` where there is no git."""
    argv = reading(root, *arguments)
    return await processes.run(argv, seconds=seconds, environment=ENVIRONMENT)
