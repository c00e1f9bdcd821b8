"""Running git for cockpit's own reading, so that nothing a repository configures can run a program.

Plain `git status` runs what `core.fsmonitor` names, `git diff` what `diff.external` or a textconv
names, and each that looks at the working tree the clean filters: a repository is somebody else's text
until a person trusts it.
"""

from collections.abc import Awaitable, Callable

from cockpit.errors import CockpitError
from cockpit.plugin.context import Processes, ProcessResult

HARMLESS_OPTIONS = (
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
GIT_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_EDITOR": "true",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
DIFF_COMMANDS = frozenset({"diff", "log", "show", "diff-tree", "diff-index", "diff-files", "whatchanged"})
ATTRIBUTE_COMMANDS = frozenset({"blame", "grep", "annotate"})
# What hashes files of the working tree, and runs their clean filters for it.
COMPARE_COMMANDS = frozenset({"status", "diff", "diff-index", "diff-files", "blame", "annotate"})
# A submodule has settings of its own: it is compared by its commit, and git does not go into it.
SUBMODULE_COMMANDS = COMPARE_COMMANDS - {"blame", "annotate"}
FILTER_QUERY = ("config", "--null", "--show-scope", "--includes", "--get-regexp", r"^filter\.")
TRUSTED_SCOPES = frozenset({"system", "global"})

RunGit = Callable[[tuple[str, ...]], Awaitable[ProcessResult]]


def safe_git_argv(root: str, *arguments: str, off: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The argv of `git ARGUMENTS` in `root` without hooks, helpers, pagers or diff programs; `off` is
    what `filters_off` found."""
    command, rest = arguments[0], arguments[1:]
    extra: tuple[str, ...] = ()
    if command in DIFF_COMMANDS:
        extra = ("--no-ext-diff", "--no-textconv")
    elif command in ATTRIBUTE_COMMANDS:
        extra = ("--no-textconv",)
    if command in SUBMODULE_COMMANDS:
        extra = (*extra, "--ignore-submodules=dirty")
    return ("git", "-C", root, *HARMLESS_OPTIONS, *off, command, *extra, *rest)


async def filter_options(run: RunGit, root: str, command: str) -> tuple[str, ...]:
    """The options that switch off the filters which the repository itself configures; the person's own
    (Git LFS, say) stay. Raises `CockpitError` for a filter that git cannot be told to leave out."""
    if command not in COMPARE_COMMANDS:
        return ()
    # Without a filter it ends with 1; outside of a repository only the person's own are found.
    fields = (await run(safe_git_argv(root, *FILTER_QUERY))).output.split("\0")
    found: set[str] = set()
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        if scope not in TRUSTED_SCOPES:
            found.add(setting.split("\n", 1)[0].removeprefix("filter.").rpartition(".")[0])
    if strange := next((name for name in found if "=" in name), None):
        raise CockpitError(
            f"the repository names a filter {strange!r} that git cannot be told to leave out",
            "look at .git/config and remove it",
        )
    switched = ("clean=", "smudge=", "process=", "required=false")
    return tuple(
        part for name in sorted(found) for one in switched for part in ("-c", f"filter.{name}.{one}")
    )


async def run_git(processes: Processes, root: str, *arguments: str, seconds: float = 30.0) -> ProcessResult:
    """`git ARGUMENTS` as a reader. Raises `ProcessFailed` where there is no git."""

    async def run(argv: tuple[str, ...]) -> ProcessResult:
        return await processes.run(argv, seconds=seconds, environment=GIT_ENVIRONMENT)

    return await run(safe_git_argv(root, *arguments, off=await filter_options(run, root, arguments[0])))
