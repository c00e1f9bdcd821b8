"""Git for worktrees: running commands, opening a repository, our refs, and snapshots of a checkout.

As with `safe_git`, no hook, helper or filter of the repository runs; in addition nothing is signed, and merge
drivers of the repository are replaced by git's text merge. Our refs, such as `refs/cockpit/TAIL/base` for the
branch `cockpit/TAIL`, survive a crash and protect their commits from garbage collection. A snapshot is a
commit on no branch; secrets, ignored files and large files are left out and listed.
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


@dataclass(frozen=True, slots=True)
class GitClient:
    """Git in the checkout at `top`; `off` are the options that switch off what the repository configures."""

    processes: Processes
    top: str
    off: tuple[str, ...] = ()

    def at(self, top: str) -> "GitClient":
        """Git of the same repository in another of its checkouts."""
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

    async def output(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> str:
        """The output. Raises `CockpitError` with git's own message if it fails."""
        code, output = await self.run(*arguments, stdin=stdin, environment=environment)
        if code != 0:
            raise CockpitError(f"git {arguments[0]}: {_error_text(output) or f'it ended with code {code}'}")
        return output

    async def fields(self, *arguments: str) -> list[str]:
        """The output of a command with `-z`, split into its fields."""
        output = await self.output(arguments[0], "-z", *arguments[1:])
        return [field for field in output.split("\0") if field]

    async def commit_of(self, name: str) -> str:
        """The commit that a ref names, or "". Raises `CockpitError` if git cannot tell."""
        options = ("--verify", "--quiet", "--end-of-options")
        code, output = await self.run("rev-parse", *options, f"{name}^{{commit}}")
        if code == 1:
            return ""
        if code != 0 or not output.strip():
            raise CockpitError(f"git rev-parse {name}: {_error_text(output) or f'it ended with code {code}'}")
        return output.strip()

    async def identity(self) -> dict[str, str]:
        """Who commits: the user as configured in git, or cockpit if nothing is configured."""
        variables: dict[str, str] = {}
        for field, fallback in zip(("name", "email"), FALLBACK_IDENTITY, strict=True):
            code, output = await self.run("config", "--get", f"user.{field}")
            value = output.strip() if code == 0 and output.strip() else fallback
            for role in ("AUTHOR", "COMMITTER"):
                name = f"GIT_{role}_{field.upper()}"
                variables[name] = os.environ.get(name) or value
        return variables

    async def current_branch(self) -> str:
        """The branch that is checked out, "" for a detached HEAD."""
        code, output = await self.run("symbolic-ref", "--quiet", "--short", "HEAD")
        return output.strip() if code == 0 else ""


async def open_repository(processes: Processes, root: str) -> tuple[GitClient, Repository]:
    """Git and the repository of `root`. Raises `CockpitError` if worktrees are not possible there."""
    plain = GitClient(processes, root)
    code, output = await plain.run("rev-parse", "--is-bare-repository", "--is-inside-work-tree")
    if code != 0:
        raise _no_repository_error(root, output)
    if output.split() != ["false", "true"]:
        reason = f"{root} is a bare repository or inside a .git folder; worktrees need a checkout"
        raise CockpitError(reason, "clone the repository with git clone, and open cockpit in the clone")
    output = await plain.output("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
    top, store, home, here = _real_paths(*output.splitlines()[:2], "~", root)
    if home == top:
        reason = "your home folder is the git repository; worktrees are not created in it"
        raise CockpitError(reason, "open cockpit in a project with its own repository")
    git = GitClient(processes, top, await _neutral_options(plain))
    head = await git.commit_of("HEAD")
    if not head:
        raise CockpitError("the repository has no commit yet, and a worktree needs one", "commit first")
    origin, inside = _real_paths(origin_path(top))[0], here[len(top) :].lstrip("/\\")
    return git, Repository(top, origin, store, head, await git.current_branch(), inside)


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


def _no_repository_error(root: str, output: str) -> CockpitError:
    if "dubious ownership" in output:
        hint = f"if you trust it: git config --global --add safe.directory {root}"
        return CockpitError(f"{root} belongs to another user, so git refuses to work in it", hint)
    if "not a git repository" in output:
        hint = "create one with git init and commit, or work without a worktree"
        return CockpitError(f"{root} is not in a git repository, and worktrees need one", hint)
    return CockpitError(f"git cannot open a repository in {root}: {_error_text(output)}")


def _error_text(output: str) -> str:
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
    await git.output("update-ref", f"{REF_PREFIX}{tree.tail}/{kind}", commit)


async def delete_refs(git: GitClient, tail: str) -> None:
    for kind in REF_KINDS:
        await git.run("update-ref", "-d", f"{REF_PREFIX}{tail}/{kind}")


async def read_refs(git: GitClient) -> dict[str, dict[str, str]]:
    """The recorded commits by branch tail and kind."""
    refs: dict[str, dict[str, str]] = {}
    output = await git.output("for-each-ref", "--format=%(refname) %(objectname)", REF_PREFIX)
    for line in output.splitlines():
        name, _, commit = line.partition(" ")
        tail, _, kind = name.removeprefix(REF_PREFIX).rpartition("/")
        if tail and kind in REF_KINDS:
            refs.setdefault(tail, {})[kind] = commit
    return refs


def recorded_worktree(
    refs: Mapping[str, Mapping[str, str]], branch: str, origin: str, commit: str, path: str = ""
) -> Worktree:
    """The worktree with this branch as its refs record it; `commit` is its head if there are none."""
    recorded = refs.get(branch.removeprefix(BRANCH_PREFIX), {})
    head = recorded.get(HEAD_REF, commit)
    return Worktree(os.path.basename(path), branch, path, origin, head, recorded.get(BASE_REF, head))


async def list_branches(git: GitClient) -> dict[str, str]:
    """Our branches and their commits."""
    output = await git.output(
        "for-each-ref", "--format=%(refname:short) %(objectname)", f"refs/heads/{BRANCH_PREFIX}"
    )
    return dict(line.split(" ", 1) for line in output.splitlines() if " " in line)


MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_TOTAL_BYTES = 512 * 1024 * 1024
MAX_NEW_FILES = 50_000
MAX_NAMED_PATHS = 5


@dataclass(frozen=True, slots=True)
class WorktreeSnapshot:
    """`commit` is on top of HEAD, or HEAD itself if nothing differs. `files` counts the differences;
    `left_out` are changed files that are not in it."""

    commit: str
    tree: str
    files: int = 0
    left_out: tuple[str, ...] = ()


async def take_snapshot(git: GitClient, parent: str, message: str) -> WorktreeSnapshot:
    """The files in `git.top` as a commit on top of `parent`. Raises `CockpitError` during a merge."""
    if await git.fields("ls-files", "--unmerged"):
        reason = f"a merge is in progress in {git.top}: some files are unmerged"
        raise CockpitError(reason, "finish it (or run git merge --abort), then try again")
    index = (await git.output("rev-parse", "--path-format=absolute", "--git-path", "index")).strip()
    folder = tempfile.mkdtemp(prefix="cockpit-index-")
    try:
        copy = os.path.join(folder, "index")
        await asyncio.to_thread(_copy_index, index, copy)
        return await _commit_snapshot(git, parent, message, {"GIT_INDEX_FILE": copy})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def list_changed_paths(git: GitClient) -> tuple[str, ...]:
    """The paths that differ from HEAD or are new, as status lists them."""
    output = await git.output("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
    return tuple(field[3:] for field in output.split("\0") if len(field) > 3)


async def _commit_snapshot(
    git: GitClient, parent: str, message: str, index: dict[str, str]
) -> WorktreeSnapshot:
    changed = await git.fields("diff", "--name-only", "HEAD")
    # The new content of tracked files with names for secrets is not copied.
    secrets = [path for path in changed if path_names.secret_reason(tuple(path.split("/")))]
    untracked = await git.fields("ls-files", "--others", "--exclude-standard")
    new, left_out = await asyncio.to_thread(_select_files, git.top, untracked)
    staged = await git.fields("ls-files", "--stage")
    modules = [row.split("\t", 1)[1] for row in staged if row.startswith("160000")]
    excluded = (f":(exclude,literal,top){path}" for path in (*secrets, *modules))
    await git.output("add", "--update", "--", ":/", *excluded, environment=index)
    if new:
        stdin = b"\0".join(map(os.fsencode, new)) + b"\0"
        await git.output("update-index", "--add", "-z", "--stdin", stdin=stdin, environment=index)
    tree = parse_last_id(await git.output("write-tree", environment=index))
    files = await git.fields("diff-tree", "-r", "--name-only", "--no-commit-id", parent, tree)
    commit = parent
    if files:
        who = await git.identity()
        output = await git.output("commit-tree", tree, "-p", parent, "-m", message, environment=who)
        commit = parse_last_id(output)
    return WorktreeSnapshot(commit, tree, len(files), (*secrets, *left_out))


def _copy_index(index: str, to: str) -> None:
    """Copy with the modification time: git trusts cached file data only if it is older than the index, so a
    younger copy would hide a change of the last moment."""
    if os.path.isfile(index):
        shutil.copy2(index, to)


def _select_files(top: str, paths: list[str]) -> tuple[list[str], list[str]]:
    """The untracked files to include, and those to leave out."""
    included, left_out, size = list[str](), list[str](), 0
    for path in paths:
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
            and len(included) < MAX_NEW_FILES
        )
        if plain and fits and not path_names.secret_reason(tuple(path.split("/"))):
            included.append(path)
            size += facts.st_size
        else:
            left_out.append(path)
    return included, left_out


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
