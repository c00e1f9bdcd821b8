"""One resolver for every path of every tool. Says what a path really is and whether it can ever be
touched; whether it may be touched now is a decider's part.

`judge` has three levels: allow (inside, plain), ask (outside), deny (secret, protected, a device, a
link that leaves the root). `resolve` raises `PathRefused` for deny only.
"""

import errno
import os
import re
import stat
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from cockpit import paths
from cockpit.plugin.context import PathRefused
from cockpit.workspace import names, windows
from cockpit.workspace.words import words

Access = Literal["read", "write"]
Level = Literal["allow", "ask", "deny"]
SYSTEM_FOLDERS = tuple(
    words(
        """
    /etc /usr /bin /sbin /lib /lib32 /lib64 /libx32 /boot /dev /proc /sys /run /var /opt /snap /System
    /Library /Applications /private/etc /private/var/db /private/var/root /nix /srv
    """
    )
)
NEVER_SYSTEM = ("/var/tmp", "/var/folders", "/private/var/folders", "/private/var/tmp", "/dev/shm")
PROCESS_FILES = re.compile(
    r"^/proc/(self|thread-self|\d+)(/|$)|^/proc/(kcore|kmem|kmsg|kallsyms|sysrq-trigger)$"
)
SYSTEM_SECRETS = re.compile(
    r"^/(private/)?etc/(shadow-?|gshadow-?|sudoers(\.d/.*)?|ssh/.*key|ssl/private/.*)$"
)


@dataclass(frozen=True, slots=True)
class Judged:
    """What `path` is: its real path, where it lies, and why it is refused (or asked about)."""

    level: Level
    real: str
    inside: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resolver:
    """Paths as seen from one root. `root` is real; `named` is how the caller wrote it."""

    root: str
    named: str = ""

    def judge(self, path: str, access: Access) -> Judged:
        """What touching `path` would mean. Raises nothing."""
        if reason := names.fault(path) or (windows.fault(path) if os.name == "nt" else ""):
            return Judged("deny", "", False, reason)
        lexical = self.lexical(path)
        real = real_path(lexical)
        inside = is_within(real, self.root)
        if reason := _unsafe(lexical, real):
            return Judged("deny", real, inside, reason)
        if reason := _secret(real) or (_secret(lexical) if lexical != real else ""):
            return Judged("deny", real, inside, f"{reason}; ask the person for the value you need")
        if access == "write" and (reason := self._unwritable(lexical, real, inside)):
            return Judged("deny", real, inside, reason)
        if inside:
            return Judged("allow", real, True)
        return Judged("ask", real, False, f"{real} lies outside of {self.root}")

    def resolve(self, path: str, access: Access) -> str:
        """The real path. Raises `PathRefused` for what no tool may touch."""
        judged = self.judge(path, access)
        if judged.level == "deny":
            verb = "read" if access == "read" else "written"
            raise PathRefused(f"{path!r} is not {verb}: {judged.reason}")
        return judged.real

    def is_inside(self, path: str) -> bool:
        """Whether the real path lies in the root. A path that cannot be read as one does not."""
        return not names.fault(path) and is_within(real_path(self.lexical(path)), self.root)

    def lexical(self, path: str) -> str:
        """`path` made absolute by its letters: `~`, the root, `.`; links are not followed."""
        wide = os.path.expanduser(path) if path.startswith("~") else path
        joined = os.path.join(self.root, wide)
        if self.named and self.named != self.root and is_within(joined, self.named):
            return os.path.join(self.root, os.path.relpath(joined, self.named))
        return joined

    def relative(self, real: str) -> str:
        """How a file is called: relative to the root with `/`, or absolute when outside."""
        if is_within(real, self.root):
            return os.path.relpath(real, self.root).replace(os.sep, "/")
        return real.replace(os.sep, "/")

    def _unwritable(self, lexical: str, real: str, inside: bool) -> str:
        if not inside and is_within(os.path.normpath(lexical), self.root):
            return f"it is a link to {real}, outside of {self.root}"
        # The names above the root are the person's own choice of a place, as in ~/.claude/worktrees/x.
        here = [_below(real, self.root) if inside else _parts(real)]
        if is_within(os.path.normpath(lexical), self.root):
            here.append(_below(os.path.normpath(lexical), self.root))
        for parts in here:
            if reason := names.protected(parts):
                return f"{reason}; a person must change it"
        for folder in (*_git_folders(self.root), *_own_folders()):
            if is_within(real, folder):
                return f"{folder} steers programs that run later; a person must change it"
        if not inside and _is_system(real):
            return "it belongs to the system; a person must change it"
        return ""


def real_path(path: str) -> str:
    """`path` without links. One that vanishes between two looks (realpath raises then) is looked at
    again, and in the end is taken for what its letters say: whoever opens it follows no link."""
    for _ in range(3):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
    return os.path.normpath(path)


def is_within(path: str, folder: str) -> bool:
    """Whether absolute `path` is `folder` or below it, compared part by part."""
    one, other = _parts(os.path.normcase(path)), _parts(os.path.normcase(folder))
    return one[: len(other)] == other


def judge_windows(path: str, access: Access, root: str, home: str) -> Judged:
    """`Resolver.judge` for a Windows path by its letters alone, on any platform."""
    if reason := names.fault(path) or windows.fault(path):
        return Judged("deny", "", False, reason)
    whole = windows.absolute(path, root, home)
    inside = windows.inside(whole, root)
    below_home = windows.inside(whole, home)
    if reason := names.sensitive(windows.parts(whole), below_home):
        return Judged("deny", whole, inside, reason)
    if access == "write":
        seen = windows.parts(whole)[len(windows.parts(root)) :] if inside else windows.parts(whole)
        if reason := names.protected(seen):
            return Judged("deny", whole, inside, reason)
        if not inside and windows.is_system(whole):
            return Judged("deny", whole, inside, "it belongs to the system")
    return Judged("allow", whole, True) if inside else Judged("ask", whole, False, "outside of the root")


def _unsafe(lexical: str, real: str) -> str:
    for path in (os.path.normpath(lexical), real):
        if PROCESS_FILES.match(path):
            return "it is the memory or the state of a process"
        if is_within(path, "/dev") and not is_within(path, "/dev/shm"):
            return "it is a device"
    try:
        mode = os.lstat(real).st_mode
    except OSError as error:
        return "its links go round in a circle" if error.errno == errno.ELOOP else ""
    if stat.S_ISLNK(mode):
        return "its links go round in a circle"
    for kind, name in ((stat.S_ISFIFO, "FIFO"), (stat.S_ISSOCK, "socket"), (stat.S_ISBLK, "device")):
        if kind(mode):
            return f"it is a {name}"
    return "it is a device" if stat.S_ISCHR(mode) else ""


def _secret(path: str) -> str:
    path = os.path.normpath(path)
    if SYSTEM_SECRETS.match(path):
        return "it holds the system's secrets"
    home = _real_folder(os.path.expanduser("~"))
    own = _real_folder(str(paths.config()))
    if is_within(path, own):
        below = _below(path, own)
        if below and below[0] not in ("settings.toml", "keys.toml", "themes"):
            return "cockpit keeps its keys there"
    if is_within(path, home):
        return names.sensitive(_below(path, home), in_home=True)
    return names.sensitive(_parts(path))


def _own_folders() -> tuple[str, ...]:
    return tuple(_real_folder(str(folder)) for folder in (paths.config(), paths.state()))


@lru_cache(maxsize=16)
def _real_folder(path: str) -> str:
    """The person's own folders do not move while cockpit runs."""
    return os.path.realpath(path)


def _git_folders(root: str) -> tuple[str, ...]:
    """Where git keeps what belongs to `root`, when `.git` is a file that points elsewhere."""
    try:
        with open(os.path.join(root, ".git"), encoding="utf-8", errors="replace") as file:
            line = file.read(4096)
    except OSError:
        return ()
    if not line.startswith("gitdir:"):
        return ()
    folder = os.path.realpath(os.path.join(root, line[7:].strip()))
    try:
        with open(os.path.join(folder, "commondir"), encoding="utf-8", errors="replace") as file:
            common = os.path.realpath(os.path.join(folder, file.read(4096).strip()))
    except OSError:
        common = folder
    # A pointer at the root itself, or above it, would forbid everything: it protects nothing real.
    return tuple(one for one in (folder, common) if not is_within(root, one))


def _is_system(path: str) -> bool:
    if os.name == "nt":
        return windows.is_system(path)
    if any(is_within(path, folder) for folder in NEVER_SYSTEM):
        return False
    return any(is_within(path, folder) for folder in SYSTEM_FOLDERS)


def _below(path: str, folder: str) -> tuple[str, ...]:
    return _parts(path)[len(_parts(folder)) :]


def _parts(path: str) -> tuple[str, ...]:
    drive, rest = os.path.splitdrive(path)
    split = tuple(part for part in rest.replace(os.sep, "/").split("/") if part)
    return (drive, *split) if drive else split
