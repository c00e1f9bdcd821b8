"""Resolves every path of every tool: its real path, and whether it can ever be touched.

`judge` has three levels: allow (inside the root, ordinary), ask (outside, or a file that controls installs)
and deny (secret, protected, a device, a link that leaves the root). `resolve` raises `PathRefused` for deny
only. Whether a path may be touched now is for the deciders.
"""

import errno
import ntpath
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from cockpit import paths
from cockpit.plugin.context import PathRefused
from cockpit.settings import file_io
from cockpit.workspace import path_names
from cockpit.workspace.word_set import word_set

SECRET_PLACES = word_set(".ssh .aws .gnupg .kube .azure .docker .config/gcloud .config/gh .config/cockpit")
MAX_SECRET_ENTRIES = 256


def find_secret_hard_link(facts: os.stat_result, home: str, root: str) -> str:
    """The secret file with the same inode as `facts`, or "". Searches only the usual places of secrets."""
    for entry in _secret_files(home, root):
        try:
            other = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if (other.st_dev, other.st_ino) == (facts.st_dev, facts.st_ino):
            return entry.path
    return ""


def _secret_files(home: str, root: str) -> Iterator["os.DirEntry[str]"]:
    for place in SECRET_PLACES:
        yield from _folder_entries(os.path.join(home, place))
    for folder, in_home in ((home, True), (root, False), ("/etc", False)):
        for entry in _folder_entries(folder):
            in_etc = entry.path in ("/etc/shadow", "/etc/gshadow")
            if in_etc or path_names.secret_reason((entry.name,), in_home):
                yield entry


def _folder_entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return [entry for _, entry in zip(range(MAX_SECRET_ENTRIES * 4), entries, strict=False)]
    except OSError:
        return []


Access = Literal["read", "write"]
PathLevel = Literal["allow", "ask", "deny"]
PathKind = Literal[
    "plain", "outside", "installs", "secret", "protected", "system", "device", "link", "unreadable"
]
SYSTEM_FOLDERS = word_set(
    """
    /etc /usr /bin /sbin /lib /lib32 /lib64 /libx32 /boot /dev /proc /sys /run /var /opt /snap /System
    /Library /Applications /private/etc /private/var/db /private/var/root /nix /srv
    """
)
OWN_IN_HOME = (".config/cockpit", ".local/state/cockpit", ".local/share/cockpit")
NEVER_SYSTEM = ("/var/tmp", "/var/folders", "/private/var/folders", "/private/var/tmp", "/dev/shm")
PROCESS_FILES = re.compile(
    r"^/proc/(self|thread-self|\d+)(/|$)|^/proc/(kcore|kmem|kmsg|kallsyms|sysrq-trigger)$"
)
SYSTEM_SECRETS = re.compile(
    r"^/(private/)?etc/(shadow-?|gshadow-?|sudoers(\.d/.*)?|master\.passwd|ssh/.*key|ssl/private/.*)$"
    r"|^/(var/)?run/secrets/|^/var/db/sudo/|^/private/var/db/dslocal/"
)
# Access to one of these means root on the machine.
ROOT_SOCKETS = re.compile(r"^/(var/)?run/.*(docker|containerd|podman|crio|libvirt-sock)[^/]*(\.sock)?$")


@dataclass(frozen=True, slots=True)
class PathVerdict:
    """The verdict on a path: its real path, whether that is inside the root, and why it is not allowed."""

    level: PathLevel
    real: str
    inside: bool
    reason: str = ""
    sort: PathKind = "plain"


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves paths as seen from one root.

    `root` is a real path; `named` is how the caller wrote it. `home` is the home folder whose secrets and
    start-up files count ("": the user's); `own` are additional folders of cockpit; `origin` is the tree that
    a worktree was made from, which is never written from the worktree.
    """

    root: str
    named: str = ""
    home: str = ""
    own: tuple[str, ...] = ()
    origin: str = ""

    def judge(self, path: str, access: Access) -> PathVerdict:
        """The verdict on reading or writing `path`. Raises nothing."""
        if reason := path_names.find_path_problem(path) or (
            path_names.find_windows_path_problem(path) if os.name == "nt" else ""
        ):
            return PathVerdict("deny", "", False, reason, "unreadable")
        lexical = self.lexical(path)
        real = real_path(lexical)
        inside = is_within(real, self.root)
        reason, kind = self._refusal(lexical, real, inside, access)
        if reason:
            return PathVerdict("deny", real, inside, reason, kind)
        if not inside:
            return PathVerdict("ask", real, False, f"{real} is outside {self.root}", "outside")
        if access == "write" and (reason := path_names.install_hook_reason(_below(real, self.root))):
            return PathVerdict("ask", real, True, reason, "installs")
        return PathVerdict("allow", real, True)

    def resolve(self, path: str, access: Access) -> str:
        """The real path. Raises `PathRefused` for a path that no tool may touch."""
        verdict = self.judge(path, access)
        if verdict.level == "deny":
            verb = "read" if access == "read" else "written"
            raise PathRefused(f"{path!r} is not {verb}: {verdict.reason}")
        return verdict.real

    def is_inside(self, path: str) -> bool:
        """Whether the real path is inside the root. An invalid path is not."""
        return not path_names.find_path_problem(path) and is_within(real_path(self.lexical(path)), self.root)

    def lexical(self, path: str) -> str:
        """`path` made absolute (`~`, the root, `.`) without following links."""
        expanded = path
        if path.startswith("~"):
            is_own = path == "~" or path.startswith(("~/", f"~{os.sep}"))
            expanded = self.home_folder() + path[1:] if is_own else os.path.expanduser(path)
        joined = os.path.join(self.root, expanded)
        if self.named and self.named != self.root and is_within(joined, self.named):
            return os.path.join(self.root, os.path.relpath(joined, self.named))
        return joined

    def relative(self, real: str) -> str:
        """The path shown to users: relative to the root with `/`, absolute outside of it."""
        if is_within(real, self.root):
            return os.path.relpath(real, self.root).replace(os.sep, "/")
        return real.replace(os.sep, "/")

    def home_folder(self) -> str:
        return self.home or os.path.expanduser("~")

    def _refusal(self, lexical: str, real: str, inside: bool, access: Access) -> tuple[str, PathKind]:
        """Why no tool may touch the path, and the kind of path; an empty reason if tools may."""
        facts, reason = _stat_path(real)
        if reason := _unsafe_reason(lexical, real) or reason:
            return reason, "device"
        if reason := self._secret(real) or (self._secret(lexical) if lexical != real else ""):
            return f"{reason}; ask the user for the value you need", "secret"
        if facts is not None and facts.st_nlink > 1:
            if other := find_secret_hard_link(facts, _real_folder(self.home_folder()), self.root):
                return f"it is a hard link to {other}; ask the user for the value you need", "secret"
            if access == "write":
                names = facts.st_nlink
                return f"it is a hard link ({names} names); replace it by a separate copy first", "link"
        return self._write_refusal(lexical, real, inside) if access == "write" else ("", "plain")

    def _write_refusal(self, lexical: str, real: str, inside: bool) -> tuple[str, PathKind]:
        named_inside = is_within(os.path.normpath(lexical), self.root)
        if not inside and named_inside:
            return f"it is a link to {real}, outside {self.root}", "link"
        # The user chose the names above the root, as in ~/.claude/worktrees/x.
        candidates = [_below(real, self.root) if inside else _parts(real)]
        if named_inside:
            candidates.append(_below(os.path.normpath(lexical), self.root))
        for parts in candidates:
            # A backslash separates names on other systems: `.git\\config` is git's own file there.
            flat = tuple(name for part in parts for name in part.split("\\"))
            if reason := path_names.protected_reason(flat):
                return f"{reason}; only the user may change it", "protected"
        for folder in (*_git_folders(self.root), *self._own_folders()):
            if is_within(fold_path_case(real), fold_path_case(folder)):
                return f"{folder} controls programs that run later; only the user may change it", "protected"
        if not inside and self.origin and is_within(fold_path_case(real), fold_path_case(self.origin)):
            name = os.path.relpath(real, self.origin).replace(os.sep, "/")
            return f"it is in the tree that this worktree was made from; use {name} instead", "protected"
        if not inside and _is_system(real):
            return "it belongs to the system; only the user may change it", "system"
        return "", "plain"

    def _secret(self, path: str) -> str:
        path = os.path.normpath(path)
        if SYSTEM_SECRETS.match(path):
            return "it holds the system's secrets"
        home = _real_folder(self.home_folder())
        for folder in self._own_folders():
            if is_within(path, folder) and path_names.is_own_secret(_below(path, folder)):
                return "cockpit keeps its keys there"
        for folder in (home, self.home_folder()):
            if is_within(path, folder):
                return path_names.secret_reason(_below(path, folder), in_home=True)
        return path_names.secret_reason(_parts(path))

    def _own_folders(self) -> tuple[str, ...]:
        usual = tuple(os.path.join(self.home_folder(), name) for name in OWN_IN_HOME)
        return tuple(map(_real_folder, (str(paths.config()), str(paths.state()), *usual, *self.own)))


def real_path(path: str) -> str:
    """`path` without links.

    If a link disappears meanwhile, realpath raises: it is tried again, and in the end the lexical path is
    returned, which is safe because opening follows no link.
    """
    for _ in range(3):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
    return os.path.normpath(path)


def is_within(path: str, folder: str) -> bool:
    """Whether absolute `path` is `folder` or below it, compared part by part."""
    inner, outer = _parts(os.path.normcase(path)), _parts(os.path.normcase(folder))
    return inner[: len(outer)] == outer


def fold_path_case(path: str) -> str:
    """`path` as a file system that ignores case compares it."""
    return path.casefold()


def _stat_path(real: str) -> tuple[os.stat_result | None, str]:
    """The metadata of a real path (None for a folder), and why it can be neither read nor written."""
    try:
        facts = os.lstat(real)
    except (OSError, ValueError) as error:
        is_loop = isinstance(error, OSError) and error.errno == errno.ELOOP
        return None, "its symbolic links form a loop" if is_loop else ""
    if stat.S_ISLNK(facts.st_mode):
        return facts, "its symbolic links form a loop"
    for kind, name in ((stat.S_ISFIFO, "FIFO"), (stat.S_ISSOCK, "socket"), (stat.S_ISBLK, "device")):
        if kind(facts.st_mode):
            return facts, f"it is a {name}"
    if stat.S_ISDIR(facts.st_mode):
        return None, ""
    return facts, "it is a device" if stat.S_ISCHR(facts.st_mode) else ""


def _unsafe_reason(lexical: str, real: str) -> str:
    for path in (os.path.normpath(lexical), real):
        if PROCESS_FILES.match(path):
            return "it is the memory or state of a process"
        if is_within(path, "/dev") and not is_within(path, "/dev/shm"):
            return "it is a device"
        if ROOT_SOCKETS.match(path):
            return "it is the socket of a program that runs as root"
    return ""


@lru_cache(maxsize=64)
def _real_folder(path: str) -> str:
    """Cached: the user's own folders do not move while cockpit runs."""
    return os.path.realpath(path)


def _git_folders(root: str) -> tuple[str, ...]:
    """The git folders of `root`, if `.git` is a file that points elsewhere."""
    try:
        line = file_io.read_text(os.path.join(root, ".git"), 4096)
    except OSError:
        return ()
    if not line.startswith("gitdir:"):
        return ()
    folder = os.path.realpath(os.path.join(root, line[7:].strip()))
    try:
        named = file_io.read_text(os.path.join(folder, "commondir"), 4096).strip()
        common = os.path.realpath(os.path.join(folder, named))
    except OSError:
        common = folder
    # A pointer to the root itself, or above it, would forbid every path.
    return tuple(store for store in (folder, common) if not is_within(root, store))


def _is_system(path: str) -> bool:
    if os.name == "nt":
        return path_names.is_windows_system(path)
    folded = fold_path_case(path)
    if any(is_within(folded, folder) for folder in NEVER_SYSTEM):
        return False
    return any(is_within(folded, fold_path_case(folder)) for folder in SYSTEM_FOLDERS)


def _below(path: str, folder: str) -> tuple[str, ...]:
    return _parts(path)[len(_parts(folder)) :]


@lru_cache(maxsize=4096)
def _parts(path: str) -> tuple[str, ...]:
    drive, rest = os.path.splitdrive(path)
    split = tuple(part for part in rest.replace(os.sep, "/").split("/") if part)
    return (drive, *split) if drive else split


def judge_windows_path(
    path: str, access: Access, root: str, home: str, own: tuple[str, ...] = ()
) -> PathVerdict:
    """`Resolver.judge` for a Windows path, lexically and on any platform. `own` are cockpit's folders."""
    if reason := path_names.find_path_problem(path) or path_names.find_windows_path_problem(
        _below_root(path, root)
    ):
        return PathVerdict("deny", "", False, reason, "unreadable")
    whole = path_names.windows_absolute(path, root, home)
    parts = path_names.windows_parts(whole)
    inside = path_names.is_within_windows(whole, root)
    in_home = path_names.is_within_windows(whole, home)
    from_home = parts[len(path_names.windows_parts(home)) :] if in_home else parts
    if path_names.is_windows_secret(whole):
        return PathVerdict("deny", whole, inside, "it holds the system's secrets", "secret")
    if reason := path_names.secret_reason(from_home, in_home):
        return PathVerdict("deny", whole, inside, reason, "secret")
    if in_home and path_names.is_own_secret_on_windows(from_home):
        return PathVerdict("deny", whole, inside, "cockpit keeps its keys there", "secret")
    below = parts[len(path_names.windows_parts(root)) :] if inside else parts
    if access == "write":
        if reason := path_names.protected_reason(below):
            return PathVerdict("deny", whole, inside, reason, "protected")
        if any(path_names.is_within_windows(whole, folder) for folder in own):
            return PathVerdict("deny", whole, inside, "it is one of cockpit's own folders", "protected")
        if not inside and path_names.is_windows_system(whole):
            return PathVerdict("deny", whole, inside, "it belongs to the system", "system")
    if not inside:
        return PathVerdict("ask", whole, False, "outside the root", "outside")
    if access == "write" and (reason := path_names.install_hook_reason(below)):
        return PathVerdict("ask", whole, True, reason, "installs")
    return PathVerdict("allow", whole, True)


def _below_root(path: str, root: str) -> str:
    """`path` relative to the root if it is below it: the user chose the names above."""
    flat, folder = path.replace("/", "\\"), root.replace("/", "\\").rstrip("\\")
    if folder and flat.casefold().startswith(folder.casefold() + "\\"):
        return flat[len(folder) + 1 :].lstrip("\\") or "."
    return path if ntpath.normcase(flat) != ntpath.normcase(folder) else "."
