"""Git for worktrees: running commands, opening a repository, our refs, and snapshots of a work tree.

As with `safe_git`, no hook, helper or filter of the repository runs; in addition nothing is signed, and merge
drivers that the repository names are replaced by git's text merge. Our refs outlive a crash, and git's
garbage collection keeps what they name: `refs/cockpit/TAIL/base` for the branch `cockpit/TAIL`. A snapshot is
a commit that no branch knows; secrets, ignored files and large files are left out and listed.
"""

import asyncio
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from cockpit.errors import CockpitError
from cockpit.plugin.workspace import Processes, ProcessResult
from cockpit.workspace import path_names
from cockpit.workspace.safe_git import (
    GIT_ENVIRONMENT,
    TRUSTED_SCOPES,
    config_options,
    filter_options,
    safe_git_argv,
)
from cockpit.workspace.worktrees.values import BRANCH_PREFIX, Repository, Worktree, origin_path

GIT_SECONDS = 300.0
GIT_SETTINGS = {
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "merge.default": "text",
    "merge.autoStash": "false",
    "rerere.enabled": "false",
    "diff.ignoreSubmodules": "dirty",
    "diff.renames": "false",
    "advice.detachedHead": "false",
    "checkout.guess": "false",
    "worktree.guessRemote": "false",
    "core.safecrlf": "false",
}
MERGE_DRIVER_QUERY = (
    "config",
    "--null",
    "--show-scope",
    "--includes",
    "--get-regexp",
    r"^merge\..*\.driver$",
)
TEXT_MERGE = "git merge-file %A %O %B"
FALLBACK_IDENTITY = ("cockpit", "cockpit@localhost")
# Git reads the folder of every worktree; one that another git is still creating makes it fail like this.
HALF_MADE_WORKTREE = re.compile(r"failed to read \S*worktrees/\S+: (Success|No such file)")
RETRY_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 0.0)
NO_REPOSITORY = "worktrees need a git repository, and this folder is not in one"


@dataclass(frozen=True, slots=True)
class GitClient:
    """Git in the work tree whose top is `top`; `off` are the options that switch off what the repository
    configures."""

    processes: Processes
    top: str
    off: tuple[str, ...] = ()

    def at(self, top: str) -> "GitClient":
        """Git of the same repository in another of its work trees."""
        return replace(self, top=top)

    async def run(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """The exit code and the whole output. Raises `ProcessFailed` if git is not installed."""
        for pause in RETRY_PAUSES:
            code, output = await self._once(arguments, stdin, environment or {})
            if code == 0 or HALF_MADE_WORKTREE.search(output) is None:
                break
            await asyncio.sleep(pause)
        return code, output

    async def _once(
        self, arguments: tuple[str, ...], stdin: bytes, environment: Mapping[str, str]
    ) -> tuple[int, str]:
        pieces: list[str] = []
        ended: ProcessResult = await self.processes.run(
            safe_git_argv(self.top, *arguments, off=self.off),
            cwd=self.top,
            stdin=stdin,
            seconds=GIT_SECONDS,
            environment={**GIT_ENVIRONMENT, **environment},
            on_output=pieces.append,
        )
        if ended.timed_out:
            raise CockpitError(f"git {arguments[0]} took longer than {GIT_SECONDS:g} s and was stopped")
        return ended.code, "".join(pieces)

    async def say(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> str:
        """The output. Raises `CockpitError` with git's own message if it fails."""
        code, output = await self.run(*arguments, stdin=stdin, environment=environment)
        if code != 0:
            raise CockpitError(f"git {arguments[0]}: {_error_text(output) or f'it ended with code {code}'}")
        return output

    async def commit_of(self, name: str) -> str:
        """The commit that a ref names, or "". Raises `CockpitError` if git cannot tell."""
        asked = ("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        code, output = await self.run("rev-parse", *asked)
        if code == 1:
            return ""
        if code != 0 or not output.strip():
            raise CockpitError(f"git rev-parse {name}: {_error_text(output) or f'it ended with code {code}'}")
        return output.strip()

    async def identity(self) -> dict[str, str]:
        """Who commits: the user as configured in git, or cockpit if nothing is configured."""
        kept: dict[str, str] = {}
        for field, fallback in zip(("name", "email"), FALLBACK_IDENTITY, strict=True):
            code, output = await self.run("config", "--get", f"user.{field}")
            value = output.strip() if code == 0 and output.strip() else fallback
            for role in ("AUTHOR", "COMMITTER"):
                name = f"GIT_{role}_{field.upper()}"
                kept[name] = os.environ.get(name) or value
        return kept


async def open_repository(processes: Processes, root: str) -> tuple[GitClient, Repository]:
    """Git and the repository of `root`. Raises `CockpitError` if worktrees are not possible there."""
    plain = GitClient(processes, root)
    code, output = await plain.run("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    if code != 0:
        raise _no_repository_error(output)
    if output.split() != ["false", "true"]:
        raise CockpitError(
            "worktrees for agents need a work tree; this folder is in a bare repository or in .git",
            "open cockpit in a checked-out folder",
        )
    output = await plain.say("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
    top, store, home, here = _real_paths(*output.splitlines()[:2], "~", root)
    if home == top:
        raise CockpitError(
            "the repository is your home folder, of which no worktrees are made",
            "open cockpit in a project with its own repository",
        )
    git = GitClient(processes, top, await _neutral_options(plain))
    head = await git.commit_of("HEAD")
    if not head:
        raise CockpitError("the repository has no commit yet, and a worktree needs one", "commit first")
    code, output = await git.run("symbolic-ref", "--quiet", "--short", "HEAD")
    branch = output.strip() if code == 0 else ""
    origin, inside = _real_paths(origin_path(top))[0], here[len(top) :].lstrip("/\\")
    return git, Repository(top, origin, store, head, branch, inside)


async def _neutral_options(git: GitClient) -> tuple[str, ...]:
    """The options that keep git from running what the repository configures."""

    async def run(argv: tuple[str, ...]) -> ProcessResult:
        return await git.processes.run(argv, seconds=GIT_SECONDS, environment=GIT_ENVIRONMENT)

    fields = (await git.run(*MERGE_DRIVER_QUERY))[1].split("\0")
    drivers = {
        setting.partition("\n")[0]: TEXT_MERGE
        for scope, setting in zip(fields[::2], fields[1::2], strict=False)
        if scope not in TRUSTED_SCOPES
    }
    return (*config_options(GIT_SETTINGS | drivers), *await filter_options(run, git.top, "status"))


def _real_paths(*paths: str) -> list[str]:
    return [os.path.realpath(os.path.expanduser(path)) for path in paths]


def _no_repository_error(output: str) -> CockpitError:
    if "dubious ownership" in output:
        hint = "git config --global --add safe.directory FOLDER, if you trust it"
        return CockpitError("the repository belongs to another user, and git refuses it", hint)
    if "not a git repository" in output:
        return CockpitError(NO_REPOSITORY, "create one with git init, or work without a worktree")
    return CockpitError(f"worktrees need a git repository: {_error_text(output)}")


def _error_text(output: str) -> str:
    """Git's error message in one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    named = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return "; ".join(named or lines[-3:])[:400]


RefKind = Literal["head", "base", "merged"]
HEAD_REF: RefKind = "head"
BASE_REF: RefKind = "base"
MERGED_REF: RefKind = "merged"
REF_KINDS: tuple[RefKind, ...] = (HEAD_REF, BASE_REF, MERGED_REF)
REF_PREFIX = "refs/cockpit/"


async def write_ref(git: GitClient, tree: Worktree, kind: RefKind, commit: str) -> None:
    await git.say("update-ref", f"{REF_PREFIX}{tree.tail}/{kind}", commit)


async def delete_refs(git: GitClient, tail: str) -> None:
    for kind in REF_KINDS:
        await git.run("update-ref", "-d", f"{REF_PREFIX}{tail}/{kind}")


async def read_refs(git: GitClient) -> dict[str, dict[str, str]]:
    """The recorded commits by branch tail and kind."""
    found: dict[str, dict[str, str]] = {}
    output = await git.say("for-each-ref", "--format=%(refname) %(objectname)", REF_PREFIX)
    for line in output.splitlines():
        name, _, commit = line.partition(" ")
        tail, _, kind = name.removeprefix(REF_PREFIX).rpartition("/")
        if tail and kind in REF_KINDS:
            found.setdefault(tail, {})[kind] = commit
    return found


async def list_branches(git: GitClient) -> dict[str, str]:
    """Our branches and their commits."""
    output = await git.say(
        "for-each-ref", "--format=%(refname:short) %(objectname)", f"refs/heads/{BRANCH_PREFIX}"
    )
    return dict(line.split(" ", 1) for line in output.splitlines() if " " in line)


MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_TOTAL_BYTES = 512 * 1024 * 1024
MAX_NEW_FILES = 50_000
MAX_NAMED_PATHS = 5


@dataclass(frozen=True, slots=True)
class WorktreeSnapshot:
    """`commit` is on top of HEAD, and HEAD itself if nothing differs. `left_out` are files of the tree that
    are not in it; `files` counts the differences."""

    commit: str
    tree: str
    files: int = 0
    left_out: tuple[str, ...] = ()


async def take_snapshot(git: GitClient, parent: str, message: str) -> WorktreeSnapshot:
    """The tree of `git.top` as a commit on top of `parent`. Raises `CockpitError` while files are
    unmerged."""
    if (await git.say("ls-files", "--unmerged", "-z")).strip("\0"):
        raise CockpitError(
            f"a merge is in progress in {git.top}: some files are unmerged",
            "finish it (or run git merge --abort), then try again",
        )
    index = (await git.say("rev-parse", "--path-format=absolute", "--git-path", "index")).strip()
    folder = tempfile.mkdtemp(prefix="cockpit-index-")
    try:
        copy = os.path.join(folder, "index")
        await asyncio.to_thread(_copy_index, index, copy)
        return await _commit_snapshot(git, parent, message, {"GIT_INDEX_FILE": copy})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def list_changed_paths(git: GitClient) -> tuple[str, ...]:
    """The paths that differ from HEAD or are new, as status lists them."""
    output = await git.say("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
    return tuple(field[3:] for field in output.split("\0") if len(field) > 3)


async def _commit_snapshot(
    git: GitClient, parent: str, message: str, own: dict[str, str]
) -> WorktreeSnapshot:
    changed_secrets = await _changed_secrets(git)
    new, left_out = await _new_files(git)
    modules = [
        row.split("\t", 1)[1]
        for row in await _git_fields(git, "ls-files", "--stage")
        if row.startswith("160000")
    ]
    kept_away = (f":(exclude,literal,top){one}" for one in (*changed_secrets, *modules))
    await git.say("add", "--update", "--", ":/", *kept_away, environment=own)
    if new:
        told = b"\0".join(os.fsencode(path) for path in new) + b"\0"
        await git.say("update-index", "--add", "-z", "--stdin", stdin=told, environment=own)
    tree = parse_last_id(await git.say("write-tree", environment=own))
    files = await _git_fields(git, "diff-tree", "-r", "--name-only", "--no-commit-id", parent, tree)
    commit = parent
    if files:
        output = await git.say(
            "commit-tree", tree, "-p", parent, "-m", message, environment=await git.identity()
        )
        commit = parse_last_id(output)
    return WorktreeSnapshot(commit, tree, len(files), (*changed_secrets, *left_out))


async def _changed_secrets(git: GitClient) -> list[str]:
    """Tracked files with names for secrets that differ: their new content is not copied."""
    rows = await _git_fields(git, "diff", "--name-only", "HEAD")
    return [path for path in rows if path_names.secret_reason(tuple(path.split("/")))]


async def _new_files(git: GitClient) -> tuple[list[str], list[str]]:
    """The untracked files to include, and those to leave out."""
    found = await _git_fields(git, "ls-files", "--others", "--exclude-standard")
    return await asyncio.to_thread(_select_files, git.top, found)


def _select_files(top: str, found: list[str]) -> tuple[list[str], list[str]]:
    taken, left_out, size = list[str](), list[str](), 0
    for path in found:
        if path.endswith("/"):
            # A repository inside this one is separate.
            continue
        try:
            facts = os.lstat(os.path.join(top, path))
        except OSError:
            left_out.append(path)
            continue
        plain = stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)
        fits = (
            facts.st_size <= MAX_FILE_BYTES
            and size + facts.st_size <= MAX_TOTAL_BYTES
            and len(taken) < MAX_NEW_FILES
        )
        if plain and fits and not path_names.secret_reason(tuple(path.split("/"))):
            taken.append(path)
            size += facts.st_size
        else:
            left_out.append(path)
    return taken, left_out


def _copy_index(index: str, to: str) -> None:
    """Copy with the modification time: git trusts its cached file data only where that is older than the
    index. A younger copy would hide a change of the last moment."""
    if os.path.isfile(index):
        shutil.copy2(index, to)


async def _git_fields(git: GitClient, *arguments: str) -> list[str]:
    output = await git.say(arguments[0], "-z", *arguments[1:])
    return [field for field in output.split("\0") if field]


def parse_last_id(output: str) -> str:
    """The id that git printed last. Raises `CockpitError` if there is none."""
    for word in reversed(output.split()):
        if len(word) in (40, 64) and all(letter in "0123456789abcdef" for letter in word):
            return word
    raise CockpitError(f"git printed no object id: {output.strip()[:200]}")


def format_paths(paths: tuple[str, ...] | list[str]) -> str:
    """Some of `paths` by name, and how many more there are."""
    more = f" and {len(paths) - MAX_NAMED_PATHS} more" if len(paths) > MAX_NAMED_PATHS else ""
    return ", ".join(paths[:MAX_NAMED_PATHS]) + more
