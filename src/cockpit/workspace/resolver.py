"""One resolver for every path of every tool. Says what a path really is and whether it can ever be
touched; whether it may be touched now is a decider's part.

`judge` has three levels: allow (inside, plain), ask (outside, or a file that installs things), deny
(secret, protected, a device, a link that leaves the root). `resolve` raises `PathRefused` for deny only.
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
from cockpit.settings import plain
from cockpit.workspace import names, twins, windows
from cockpit.workspace.words import words

Access = Literal["read", "write"]
Level = Literal["allow", "ask", "deny"]
Sort = Literal[
    "plain", "outside", "installs", "secret", "protected", "system", "device", "link", "unreadable"
]
SYSTEM_FOLDERS = tuple(
    words(
        """
    /etc /usr /bin /sbin /lib /lib32 /lib64 /libx32 /boot /dev /proc /sys /run /var /opt /snap /System
    /Library /Applications /private/etc /private/var/db /private/var/root /nix /srv
    """
    )
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
# Who may talk to one of these is root on the machine.
ROOT_SOCKETS = re.compile(r"^/(var/)?run/.*(docker|containerd|podman|crio|libvirt-sock)[^/]*(\.sock)?$")


@dataclass(frozen=True, slots=True)
class Judged:
    """What `path` is: its real path, where it lies, and why it is refused (or asked about)."""

    level: Level
    real: str
    inside: bool
    reason: str = ""
    sort: Sort = "plain"


@dataclass(frozen=True, slots=True)
class Resolver:
    """Paths as seen from one root. `root` is real; `named` is how the caller wrote it. `home` is whose
    secrets and start-up files are meant ("": the user's); `own` are folders of cockpit's besides those
    of `cockpit.paths`; `origin` is the tree that a worktree was made from, which is not written from it."""

    root: str
    named: str = ""
    home: str = ""
    own: tuple[str, ...] = ()
    origin: str = ""

    def judge(self, path: str, access: Access) -> Judged:
        """What touching `path` would mean. Raises nothing."""
        if reason := names.fault(path) or (windows.fault(path) if os.name == "nt" else ""):
            return Judged("deny", "", False, reason, "unreadable")
        lexical = self.lexical(path)
        real = real_path(lexical)
        inside = is_within(real, self.root)
        facts, reason = _facts(real)
        if reason := _unsafe(lexical, real) or reason:
            return Judged("deny", real, inside, reason, "device")
        if reason := self._secret(real) or (self._secret(lexical) if lexical != real else ""):
            return Judged("deny", real, inside, f"{reason}; ask the person for the value you need", "secret")
        if facts is not None and facts.st_nlink > 1 and (found := self._shared(real, facts, access)):
            return found
        if access == "write" and (refused := self._unwritable(lexical, real, inside)):
            return refused
        if not inside:
            return Judged("ask", real, False, f"{real} lies outside of {self.root}", "outside")
        if access == "write" and (reason := names.installs(_below(real, self.root))):
            return Judged("ask", real, True, reason, "installs")
        return Judged("allow", real, True)

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
        wide = path
        if path.startswith("~"):
            own = path == "~" or path.startswith(("~/", f"~{os.sep}"))
            wide = self.house() + path[1:] if own else os.path.expanduser(path)
        joined = os.path.join(self.root, wide)
        if self.named and self.named != self.root and is_within(joined, self.named):
            return os.path.join(self.root, os.path.relpath(joined, self.named))
        return joined

    def relative(self, real: str) -> str:
        """How a file is called: relative to the root with `/`, or absolute when outside."""
        if is_within(real, self.root):
            return os.path.relpath(real, self.root).replace(os.sep, "/")
        return real.replace(os.sep, "/")

    def house(self) -> str:
        """The home folder that is meant."""
        return self.home or os.path.expanduser("~")

    def _unwritable(self, lexical: str, real: str, inside: bool) -> Judged | None:
        named_inside = is_within(os.path.normpath(lexical), self.root)
        if not inside and named_inside:
            reason = f"it is a link to {real}, outside of {self.root}"
            return Judged("deny", real, inside, reason, "link")
        # The names above the root are the person's own choice of a place, as in ~/.claude/worktrees/x.
        here = [_below(real, self.root) if inside else _parts(real)]
        if named_inside:
            here.append(_below(os.path.normpath(lexical), self.root))
        for parts in here:
            # A backslash parts names on other systems: `.git\\config` is git's own file there.
            flat = tuple(one for part in parts for one in part.split("\\"))
            if reason := names.protected(flat):
                return Judged("deny", real, inside, f"{reason}; a person must change it", "protected")
        for folder in (*_git_folders(self.root), *self._own_folders()):
            if is_within(folded_case(real), folded_case(folder)):
                reason = f"{folder} steers programs that run later; a person must change it"
                return Judged("deny", real, inside, reason, "protected")
        if not inside and self.origin and is_within(folded_case(real), folded_case(self.origin)):
            name = os.path.relpath(real, self.origin).replace(os.sep, "/")
            reason = (
                f"you work in a worktree, and it lies in the tree that was made from; name {name} instead"
            )
            return Judged("deny", real, inside, reason, "protected")
        if not inside and _is_system(real):
            reason = "it belongs to the system; a person must change it"
            return Judged("deny", real, inside, reason, "system")
        return None

    def _shared(self, real: str, facts: os.stat_result, access: Access) -> Judged | None:
        """A file with several names: which of them the others are is seen only for secrets."""
        inside = is_within(real, self.root)
        if other := twins.secret(facts, _real_folder(self.house()), self.root):
            reason = f"it is a hard link to {other}; ask the person for the value you need"
            return Judged("deny", real, inside, reason, "secret")
        if access == "read":
            return None
        reason = f"it is a hard link: {facts.st_nlink} names share it; replace it by a copy of its own first"
        return Judged("deny", real, inside, reason, "link")

    def _secret(self, path: str) -> str:
        path = os.path.normpath(path)
        if SYSTEM_SECRETS.match(path):
            return "it holds the system's secrets"
        home = _real_folder(self.house())
        for own in self._own_folders():
            if is_within(path, own) and names.own_secret(_below(path, own)):
                return "cockpit keeps its keys there"
        for own in (home, self.house()):
            if is_within(path, own):
                return names.sensitive(_below(path, own), in_home=True)
        return names.sensitive(_parts(path))

    def _own_folders(self) -> tuple[str, ...]:
        usual = tuple(os.path.join(self.house(), one) for one in OWN_IN_HOME)
        return tuple(map(_real_folder, (str(paths.config()), str(paths.state()), *usual, *self.own)))


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


def folded_case(path: str) -> str:
    """`path` as a file system that ignores case compares it."""
    return path.casefold()


def _facts(real: str) -> tuple[os.stat_result | None, str]:
    """What stands at a real path, and why it can be nothing that is read or written."""
    try:
        facts = os.lstat(real)
    except (OSError, ValueError) as error:
        circle = isinstance(error, OSError) and error.errno == errno.ELOOP
        return None, "its links go round in a circle" if circle else ""
    if stat.S_ISLNK(facts.st_mode):
        return facts, "its links go round in a circle"
    for kind, name in ((stat.S_ISFIFO, "FIFO"), (stat.S_ISSOCK, "socket"), (stat.S_ISBLK, "device")):
        if kind(facts.st_mode):
            return facts, f"it is a {name}"
    if stat.S_ISDIR(facts.st_mode):
        return None, ""
    return facts, "it is a device" if stat.S_ISCHR(facts.st_mode) else ""


def _unsafe(lexical: str, real: str) -> str:
    for path in (os.path.normpath(lexical), real):
        if PROCESS_FILES.match(path):
            return "it is the memory or the state of a process"
        if is_within(path, "/dev") and not is_within(path, "/dev/shm"):
            return "it is a device"
        if ROOT_SOCKETS.match(path):
            return "it is a socket of a program that runs as root"
    return ""


@lru_cache(maxsize=64)
def _real_folder(path: str) -> str:
    """The person's own folders do not move while cockpit runs."""
    return os.path.realpath(path)


def _git_folders(root: str) -> tuple[str, ...]:
    """Where git keeps what belongs to `root`, when `.git` is a file that points elsewhere."""
    try:
        line = plain.read_text(os.path.join(root, ".git"), 4096)
    except OSError:
        return ()
    if not line.startswith("gitdir:"):
        return ()
    folder = os.path.realpath(os.path.join(root, line[7:].strip()))
    try:
        named = plain.read_text(os.path.join(folder, "commondir"), 4096).strip()
        common = os.path.realpath(os.path.join(folder, named))
    except OSError:
        common = folder
    # A pointer at the root itself, or above it, would forbid everything: it protects nothing real.
    return tuple(one for one in (folder, common) if not is_within(root, one))


def _is_system(path: str) -> bool:
    if os.name == "nt":
        return windows.is_system(path)
    folded = folded_case(path)
    if any(is_within(folded, folder) for folder in NEVER_SYSTEM):
        return False
    return any(is_within(folded, folded_case(folder)) for folder in SYSTEM_FOLDERS)


def _below(path: str, folder: str) -> tuple[str, ...]:
    return _parts(path)[len(_parts(folder)) :]


@lru_cache(maxsize=4096)
def _parts(path: str) -> tuple[str, ...]:
    drive, rest = os.path.splitdrive(path)
    split = tuple(part for part in rest.replace(os.sep, "/").split("/") if part)
    return (drive, *split) if drive else split
