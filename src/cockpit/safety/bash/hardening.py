"""The form in which git readers run: without hooks, helpers, pagers, diff programs and submodules."""

from cockpit.safety.bash.commands import Command
from cockpit.safety.bash.readers import subcommand

SETTINGS = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", "/dev/null"),
    ("diff.external", ""),
    ("diff.ignoreSubmodules", "dirty"),
    ("credential.helper", ""),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("color.ui", "false"),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("safe.bareRepository", "explicit"),
    ("status.submoduleSummary", "false"),
    ("grep.fallbackToNoIndex", "false"),
)
VARIABLES = (
    ("GIT_ASKPASS", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PAGER", "cat"),
)
# What each subcommand takes besides. An option that is there already is harmless.
EXTRA = {
    "diff": "--no-ext-diff --no-textconv --ignore-submodules=dirty",
    "log": "--no-ext-diff --no-textconv",
    "show": "--no-ext-diff --no-textconv",
    "whatchanged": "--no-ext-diff --no-textconv",
    "diff-tree": "--no-ext-diff --no-textconv",
    "diff-index": "--no-ext-diff --no-textconv --ignore-submodules=dirty",
    "diff-files": "--no-ext-diff --no-textconv --ignore-submodules=dirty",
    "status": "--ignore-submodules=dirty",
    "grep": "--no-textconv",
}


def environment() -> tuple[tuple[str, str], ...]:
    """What every git of the line reads, above all configuration of the repository."""
    pairs = [("GIT_CONFIG_COUNT", str(len(SETTINGS))), *VARIABLES]
    for at, (key, value) in enumerate(SETTINGS):
        pairs += [(f"GIT_CONFIG_KEY_{at}", key), (f"GIT_CONFIG_VALUE_{at}", value)]
    return tuple(sorted(pairs))


def harden(source: str, commands: list[Command]) -> str:
    """`source` with the options put in behind each subcommand of git, by position."""
    raw = source.encode("utf-8", "surrogatepass")
    cuts: dict[int, str] = {}
    for command in commands:
        if command.program != "git" or command.nested:
            continue
        name, at = subcommand(command)
        span = command.words[at].span if at > 0 else None
        if span and name in EXTRA:
            cuts[span[1]] = EXTRA[name]
    for end in sorted(cuts, reverse=True):
        raw = raw[:end] + b" " + cuts[end].encode() + raw[end:]
    return raw.decode("utf-8", "surrogatepass")
