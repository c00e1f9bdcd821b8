"""Values and names of worktrees: their folders, branches and states. Pure."""

import re
from dataclasses import dataclass
from typing import Literal

WORKTREES_FOLDER = (".cockpit", "worktrees")
BRANCH_PREFIX = "cockpit/"
SCRATCH_PREFIX = "merging-"
MAX_NAME_LENGTH = 40
NON_SLUG = re.compile(r"[^a-z0-9]+")


def make_slug(name: str) -> str:
    """`name` as the name of a folder on every platform and of a branch: letters, digits, single dashes."""
    plain = NON_SLUG.sub("-", name.lower()).strip("-")[:MAX_NAME_LENGTH].strip("-")
    if not plain:
        return "work"
    # Windows reserves such names, whatever follows them; the scratch prefix is ours.
    reserved = re.fullmatch(r"con|prn|aux|nul|com\d|lpt\d", plain) or plain.startswith(SCRATCH_PREFIX)
    return f"work-{plain}" if reserved else plain


def folder_name(slug: str, number: int) -> str:
    return slug if number == 1 else f"{slug}-{number}"


def branch_name(slug: str, number: int) -> str:
    return f"{BRANCH_PREFIX}{slug}-{number}"


def worktrees_folder(top: str) -> str:
    """The folder that contains the worktrees of the checkout `top`."""
    return "/".join((top.replace("\\", "/").rstrip("/"), *WORKTREES_FOLDER))


def origin_tree(root: str) -> str:
    """The top of the tree that the worktree around `root` was made from; "" outside of our worktrees."""
    parts = root.replace("\\", "/").split("/")
    for at in range(len(parts) - len(WORKTREES_FOLDER)):
        if tuple(part.casefold() for part in parts[at : at + len(WORKTREES_FOLDER)]) == WORKTREES_FOLDER:
            return "/".join(parts[:at]) or "/"
    return ""


def origin_path(path: str) -> str:
    """The path in the origin tree that corresponds to an absolute `path` in one of our worktrees; any other
    path unchanged. `/r/.cockpit/worktrees/x/src/a` is `/r/src/a`."""
    parts = path.replace("\\", "/").split("/")
    folded = [part.casefold() for part in parts]
    at = 0
    while at + 2 < len(parts):
        if folded[at] == WORKTREES_FOLDER[0] and folded[at + 1] == WORKTREES_FOLDER[1]:
            del parts[at : at + 3], folded[at : at + 3]
        else:
            at += 1
    return "/".join(parts) or "/"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as seen from one folder. All paths are real and absolute.

    `top` is the checkout that contains the folder, `origin` the checkout that contains its worktrees (another
    one only if `top` is one of our worktrees), `store` the git folder they share. `inside` is the folder
    relative to `top` ("" for the top itself); `branch` is "" if HEAD is detached.
    """

    top: str
    origin: str
    store: str
    head: str
    branch: str
    inside: str


@dataclass(frozen=True, slots=True)
class Worktree:
    """One of our worktrees. `head` is the commit it was made from, `base` the one its agent started with:
    `head`, or a commit on top of it with the uncommitted changes that were carried over.

    `linked` are the targets of its links in the origin; `notes` are for the caller that requested it.
    """

    name: str
    branch: str
    path: str
    origin: str
    head: str
    base: str
    linked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_carrying(self) -> bool:
        return self.base != self.head

    @property
    def tail(self) -> str:
        """Its branch without the prefix, under which its refs are stored."""
        return self.branch.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class WorktreeRow:
    """The state of a worktree, or of one of our branches without a worktree (`path` "").

    `commits`, `files`, `added` and `removed` count the changes since `base`; `uncommitted` counts files in no
    commit yet. `is_merged`: every commit, or its changes, is in a branch of the user's. `used` is in epoch
    seconds.
    """

    name: str
    branch: str
    path: str
    commits: int = 0
    files: int = 0
    added: int = 0
    removed: int = 0
    uncommitted: int = 0
    is_merged: bool = False
    is_in_use: bool = False
    used: float = 0.0

    @property
    def is_empty(self) -> bool:
        return not self.files and not self.uncommitted


@dataclass(frozen=True, slots=True)
class MergedFile:
    """A file that a merge changes. `mode` is git's, "" for a deleted file; 120000 is a link."""

    path: str
    change: Literal["created", "modified", "deleted"]
    mode: str
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class MergeTrial:
    """The result of merging `branch` into `target`, tried in a scratch worktree.

    `old` is the commit of the target, `new` the merged commit ("" with `conflicts`, or with nothing to
    merge), `result` its tree id, `tip` the commit that is merged. `tree` is the checkout of `target`, "" for
    none. `refused` are the files that no agent may write, each with the reason. `uncommitted` files in the
    worktree of the branch are committed first.
    """

    branch: str
    target: str
    old: str
    tip: str
    new: str = ""
    result: str = ""
    tree: str = ""
    subjects: tuple[str, ...] = ()
    files: tuple[MergedFile, ...] = ()
    conflicts: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    uncommitted: int = 0

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed for file in self.files)


@dataclass(frozen=True, slots=True)
class WorktreeOutcome:
    """The result of a worktree whose agent has ended. If not `kept`, it had no changes and was removed."""

    branch: str
    kept: bool
    commit: str = ""
    files: int = 0
    added: int = 0
    removed: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PruneOutcome:
    """The result of pruning for a worktree or branch: whether it was removed (`gone`), and why."""

    name: str
    branch: str
    gone: bool
    reason: str
