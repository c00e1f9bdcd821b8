"""Git: repositories whose configuration runs programs, the hardened form of git readers, and remotes.

Reads the configuration in process and starts nothing; in doubt a repository is not plain. In a worktree a git
command that changes the tree it was made from is denied: it would move the user's branch, index or files
unseen.
"""

import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from cockpit.safety.bash import locations
from cockpit.safety.bash.command_model import GIT_VALUE_OPTIONS, ShellWord, SimpleCommand
from cockpit.safety.findings import SafetyFinding, deny
from cockpit.safety.values import ExecutionContext
from cockpit.settings import file_io
from cockpit.workspace.word_set import word_set
from cockpit.workspace.worktrees.values import WORKTREES_FOLDER, origin_tree

# Sections and keys whose value git runs, or which include other configuration.
RUNNING_SETTINGS = re.compile(
    r"^\s*\[\s*(filter|include|includeif|diff|merge|mergetool|difftool|gpg|alias|pager|credential|extensions"
    r"|trailer)\b|^\s*(textconv|clean|smudge|process|command|external|driver|cachetextconv|worktree"
    r"|attributesfile|worktreeconfig)\s*=",
    re.I | re.M,
)
HARMLESS_SECTIONS = re.compile(
    r"^\s*\[\s*(diff|merge|extensions|alias|pager|credential)\s*\]\s*$\n(?:^(?!\s*\[)(?!\s*(external|command|textconv|driver|tool|worktreeconfig|guitool|orderfile)\b).*$\n?)*",
    re.I | re.M,
)
DRIVER_ATTRIBUTES = re.compile(r"\b(filter|diff|merge)\s*=\s*(?!lfs\b|unset\b)", re.I)
KNOWN_DRIVERS = re.compile(
    r"\bdiff\s*=\s*(ada|bash|bibtex|cpp|csharp|css|dts|elixir|fortran|fountain|golang|html|java|"
    r"kotlin|markdown|matlab|objc|"
    r"pascal|perl|php|python|ruby|rust|scheme|tex)\b|\bmerge\s*=\s*(union|ours|text|binary)\b",
    re.I,
)
MAX_CONFIG_BYTES = 1_000_000


def is_repository_plain(root: str) -> bool:
    """Whether a hardened git reader runs nothing that the configuration of the repository at `root` names."""
    return _is_config_plain(root, _config_stamp(root))


def is_folder_plain(cwd: str | None, context: ExecutionContext) -> bool:
    """Whether the repository of the folder a command runs in is plain. The workspace may contain others."""
    if cwd is None:
        return False
    if cwd in (context.root, context.cwd):
        return True
    folder = Path(cwd)
    if _is_bare(folder):
        return False
    while str(folder) != context.root and folder != folder.parent:
        if (folder / ".git").exists() or _is_bare(folder):
            return is_repository_plain(str(folder))
        folder = folder.parent
    return True


def _is_bare(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and folder.name != ".git"


def _config_stamp(root: str) -> tuple[tuple[str, int, int], ...]:
    stamps = []
    for path in _config_files(root):
        with suppress(OSError):
            status = path.stat()
            stamps.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(stamps)


def _config_files(root: str) -> list[Path]:
    folder = _git_folder(Path(root))
    if folder is None:
        return []
    common = folder
    if (pointer := _read_text(folder / "commondir")) is not None:
        common = Path(os.path.normpath(folder / pointer.strip()))
    files = [folder / "config", folder / "config.worktree", common / "config", common / "config.worktree"]
    files += [common / "info" / "attributes", Path(root) / ".gitattributes", folder / "info" / "attributes"]
    modules = common / "modules"
    if modules.is_dir():
        files += sorted(modules.rglob("config"))[:200]
    return list(dict.fromkeys(files))


def _git_folder(root: Path) -> Path | None:
    dot = root / ".git"
    if dot.is_dir():
        return dot
    text = _read_text(dot)
    if text is None or not text.startswith("gitdir:"):
        return None
    return Path(os.path.normpath(root / text[7:].strip()))


@lru_cache(maxsize=64)
def _is_config_plain(root: str, stamp: tuple[tuple[str, int, int], ...]) -> bool:
    for name, _, size in stamp:
        if size > MAX_CONFIG_BYTES:
            return False
        text = _read_text(Path(name))
        if text is None:
            return False
        if name.endswith("attributes"):
            if DRIVER_ATTRIBUTES.search(KNOWN_DRIVERS.sub("", re.sub(r"(?m)^\s*#.*$", "", text))):
                return False
        elif "\\\n" in text or RUNNING_SETTINGS.search(HARMLESS_SECTIONS.sub("", text)):
            return False
    return True


def _read_text(path: Path) -> str | None:
    try:
        return file_io.read_text(path)
    except OSError:
        return None


SETTING_TABLE = """
    core.fsmonitor=false core.hooksPath=/dev/null core.pager=cat core.sshCommand=false
    core.untrackedCache=false core.attributesFile=/dev/null diff.external= diff.ignoreSubmodules=dirty
    credential.helper= log.showSignature=false gpg.program=false color.ui=false protocol.allow=never
    submodule.recurse=false safe.bareRepository=explicit status.submoduleSummary=false
    grep.fallbackToNoIndex=false
"""
HARDENED_SETTINGS = dict(pair.split("=") for pair in SETTING_TABLE.split())
VARIABLE_TABLE = """
    GIT_ASKPASS=true GIT_EDITOR=true GIT_NO_LAZY_FETCH=1 GIT_NO_REPLACE_OBJECTS=1 GIT_OPTIONAL_LOCKS=0
    GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 PAGER=cat
"""
HARDENED_VARIABLES = dict(pair.split("=") for pair in VARIABLE_TABLE.split())
# Further options per subcommand. Repeating an option is harmless.
HARDENED_OPTIONS = {
    **dict.fromkeys(("log", "show", "whatchanged", "diff-tree"), "--no-ext-diff --no-textconv"),
    **dict.fromkeys(
        ("diff", "diff-index", "diff-files"), "--no-ext-diff --no-textconv --ignore-submodules=dirty"
    ),
    "status": "--ignore-submodules=dirty",
    "grep": "--no-textconv",
}


def git_environment() -> tuple[tuple[str, str], ...]:
    """Variables that override all configuration of the repository for every git of the line."""
    pairs = [("GIT_CONFIG_COUNT", str(len(HARDENED_SETTINGS))), *HARDENED_VARIABLES.items()]
    for at, (key, value) in enumerate(HARDENED_SETTINGS.items()):
        pairs += [(f"GIT_CONFIG_KEY_{at}", key), (f"GIT_CONFIG_VALUE_{at}", value)]
    return tuple(sorted(pairs))


def harden_git(source: str, commands: list[SimpleCommand]) -> str:
    """`source` with the hardening options inserted after each git subcommand, by byte position."""
    raw = source.encode("utf-8", "surrogatepass")
    cuts: dict[int, str] = {}
    for command in commands:
        if command.program != "git" or command.nested:
            continue
        name, at = command.subcommand()
        span = command.words[at].span if at > 0 else None
        if span and name in HARDENED_OPTIONS:
            cuts[span[1]] = HARDENED_OPTIONS[name]
    for end in sorted(cuts, reverse=True):
        raw = raw[:end] + b" " + cuts[end].encode() + raw[end:]
    return raw.decode("utf-8", "surrogatepass")


REMOTE_SUBCOMMANDS = frozenset({"push", "pull", "fetch", "clone", "ls-remote"})
CONFIGURED_REMOTE = "the configured remote"


def find_git_remote(command: SimpleCommand) -> str:
    """The remote that git would contact, for the user to see; "" for any other command."""
    words = [word.guess for word in command.words]
    if command.program != "git" or len(words) < 2 or words[1] not in REMOTE_SUBCOMMANDS:
        return ""
    names = [word for word in words[2:] if not word.startswith("-")]
    return names[0] if names else CONFIGURED_REMOTE


LOCATION_OPTIONS = ("--git-dir", "--work-tree")
READING_SUBCOMMANDS = word_set(
    "log show diff status blame grep shortlog describe rev-parse rev-list ls-files ls-tree cat-file name-rev "
    "merge-base for-each-ref show-ref count-objects check-ignore check-attr cherry diff-tree diff-index "
    "diff-files version help annotate whatchanged ls-remote"
)


def check_origin_tree(command: SimpleCommand, context: ExecutionContext) -> list[SafetyFinding]:
    """Deny a git command that would change the tree this worktree was made from."""
    tree = origin_tree(context.root) if command.program == "git" else ""
    if not tree or command.subcommand()[0] in READING_SUBCOMMANDS:
        return []
    depth = len(WORKTREES_FOLDER) + 1
    worktree = posixpath.join(tree, *context.root[len(tree) :].strip("/").split("/")[:depth])
    for folder in _working_folders(command, context):
        if locations.is_within(folder, tree) and not locations.is_within(folder, worktree):
            reason = f"git would work in {folder}, the tree that this worktree was made from"
            return [deny("write.origin", f"{reason}; run it in the worktree", "vcs.local", "fs.outside")]
    return []


def _working_folders(command: SimpleCommand, context: ExecutionContext) -> Iterator[str]:
    """The folders git would work in: `-C` options one after the other, and folders named by options and
    variables."""
    folder = command.cwd or command.likely_cwd
    names = [word for name, word in command.assignments if name in ("GIT_DIR", "GIT_WORK_TREE")]
    options = list(command.words[1:])
    while options and options[0].guess.startswith("-"):
        option, _, value = options.pop(0).text.partition("=")
        if option == "-C" and options:
            folder = locations.locate(options.pop(0), folder, folder, context).path
        elif option in LOCATION_OPTIONS and value:
            names.append(ShellWord(value))
        elif option in GIT_VALUE_OPTIONS and options:
            word = options.pop(0)
            names += [word] if option in LOCATION_OPTIONS else []
    yield folder
    for word in names:
        yield locations.locate(word, folder, folder, context).path
