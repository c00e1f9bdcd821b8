"""Runs git to read a repository, so that nothing the repository configures can run a program.

A plain `git status` runs what `core.fsmonitor` names, `git diff` runs `diff.external` and textconv programs,
and commands that look at the working tree run the clean filters: all of it is untrusted text until the user
trusts the folder.
"""

from collections.abc import Awaitable, Callable, Mapping

from cockpit.errors import CockpitError
from cockpit.plugin.context import ProcessResult

HARMLESS_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "diff.external": "",
    "core.sshCommand": "false",
    "credential.helper": "",
    "log.showSignature": "false",
    "core.quotePath": "false",
    "color.ui": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
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
# Commands that hash files of the working tree, and run their clean filters for it.
COMPARE_COMMANDS = frozenset({"status", "diff", "diff-index", "diff-files", "blame", "annotate"})
# A submodule has its own settings: it is compared by its commit, and git does not enter it.
SUBMODULE_COMMANDS = COMPARE_COMMANDS - {"blame", "annotate"}
FILTER_QUERY = ("config", "--null", "--show-scope", "--includes", "--get-regexp", r"^filter\.")
TRUSTED_SCOPES = frozenset({"system", "global"})

RunGit = Callable[[tuple[str, ...]], Awaitable[ProcessResult]]


def config_options(settings: Mapping[str, str]) -> tuple[str, ...]:
    """The options that give git these settings for one command."""
    return tuple(part for name, value in settings.items() for part in ("-c", f"{name}={value}"))


def safe_git_argv(root: str, *arguments: str, off: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The argv of git without hooks, helpers, pagers or diff programs; `off` comes from `filter_options`."""
    command, rest = arguments[0], arguments[1:]
    extra: tuple[str, ...] = ()
    if command in DIFF_COMMANDS:
        extra = ("--no-ext-diff", "--no-textconv")
    elif command in ATTRIBUTE_COMMANDS:
        extra = ("--no-textconv",)
    if command in SUBMODULE_COMMANDS:
        extra = (*extra, "--ignore-submodules=dirty")
    return ("git", "-C", root, "--no-pager", *config_options(HARMLESS_SETTINGS), *off, command, *extra, *rest)


async def filter_options(run: RunGit, root: str, command: str) -> tuple[str, ...]:
    """The options that switch off the filters which the repository itself configures; the user's own (such as
    Git LFS) stay. Raises `CockpitError` for a filter that no option can switch off."""
    if command not in COMPARE_COMMANDS:
        return ()
    # Exits with 1 if there is no filter; outside a repository only the user's own are listed.
    fields = (await run(safe_git_argv(root, *FILTER_QUERY))).output.split("\0")
    names: set[str] = set()
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        if scope not in TRUSTED_SCOPES:
            names.add(setting.split("\n", 1)[0].removeprefix("filter.").rpartition(".")[0])
    if unusable := next((name for name in names if "=" in name), None):
        reason = f"the repository configures a filter {unusable!r} that git cannot switch off"
        raise CockpitError(reason, "remove it from .git/config")
    switched_off = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return config_options(
        {f"filter.{name}.{key}": value for name in sorted(names) for key, value in switched_off.items()}
    )
