"""What an operand names: inside or outside, secret, protected, the system's, a device. By the letters of
the path and, where it exists, by what it really is. A pattern counts as everything it can match."""

import fnmatch
import itertools
import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from cockpit.safety.bash.words import GLOBS, MILD, ONE, SET, SET_END, STAR, UNKNOWN, Word, shown
from cockpit.safety.values import Ground
from cockpit.workspace import names
from cockpit.workspace.words import words
from cockpit.workspace.worktrees.names import tree_of

Kind = Literal[
    "quiet", "plain", "unknown", "outside", "project secret", "system", "origin", "protected", "persist",
    "own", "device", "socket", "process", "secret",
]  # fmt: skip
ORDER: tuple[Kind, ...] = get_args(Kind)
QUIET = re.compile(r"/dev/(null|stdin|stdout|stderr|tty|zero|urandom|random|full|fd/\d+)|/proc/self/fd/\d+")
NET = re.compile(r"/dev/(tcp|udp)/")
PROCESS = re.compile(
    r"/proc/([^/]+/(task/[^/]+/)?(environ|mem|root|cwd|maps|fd|auxv|stack|syscall|pagemap)|kcore|"
    r"kmem|sysrq-trigger)(/|$)"
)
MORE_SECRETS = re.compile(
    r"(/private)?/etc/(shadow|gshadow|sudoers|security/opasswd|krb5\.keytab|wireguard/|openvpn/|"
    r"ppp/.*secrets|"
    r"ssl/private|ssh/ssh_host_\w+_key$|master\.passwd|letsencrypt/(live|archive)|"
    r"kubernetes/.*\.conf|ipsec\.secrets)"
    r"|(/var)?/run/secrets(/|$)|/var/lib/(docker/volumes|kubelet/pods|sss/secrets)|/var/db/dslocal"
)
HARD_SYSTEM = re.compile(
    r"/(private/)?(etc|usr|bin|sbin|lib|lib32|lib64|libx32|boot|dev|proc|sys|System|Library)(/|$)"
    r"|/var/(spool/(cron|at)|lib/(systemd|dpkg|rpm|apt)|db/sudo)(/|$)|/(vmlinuz|initrd)"
)
SOFT_SYSTEM = re.compile(r"/usr/local(/|$)|/dev/shm(/|$)|/proc/self/fd|/etc/(hosts)\.bak")
HOMES = re.compile(r"(/home/[^/]+|/Users/[^/]+|/root|/var/root)(?=/|$)")
# In a home folder these are read by programs that start later.
HOME_FILES = words(
    """
    .vimrc .exrc .nanorc .emacs .tmux.conf .screenrc .irbrc .pryrc .gdbinit .lldbinit .pdbrc .curlrc
    .wgetrc .npmrc .yarnrc .yarnrc.yml .condarc .xsession .xinitrc .pam_environment .forward .procmailrc
    .rhosts .shosts .perltidyrc .Rprofile .octaverc .psqlrc .sqliterc .mailcap .hushlogin .dircolors
    .envrc .toprc .k5login .zsh_plugins.txt .p10k.zsh .oh-my-zsh .asdfrc .tool-versions .selected_editor
    """
)
HOME_TAILS = re.compile(
    r"/(\.config/(systemd|autostart|environment\.d|fish|nvim|pip|git|cockpit|zsh|powershell|i3|sway|hypr|"
    r"plasma-workspace|Code/User|Cursor/User)|\.vim|\.emacs\.d|\.pip|\.local/(share/(systemd|"
    r"applications|cockpit|"
    r"nautilus/scripts)|state/cockpit|bin)|\.cargo/(config|bin|env)|\.cache/cockpit|\.m2/settings|"
    r"\.gradle/init|"
    r"\.bashrc\.d|\.profile\.d|\.oh-my-zsh|\.nvm|\.pyenv/shims|Library/LaunchAgents|"
    r"\.docker/cli-plugins)(/|\.|$)"
)
OWN = re.compile(
    r"/\.(config|cache|local/state|local/share)/cockpit(/|$)|/\.cockpit(/|$)|/Application "
    r"Support/cockpit(/|$)"
)
# Names that a pattern may stand for, so that a pattern cannot hide them.
SENTINELS = sorted(
    words(
        """
    .git .ssh .aws .gnupg .kube .docker .cockpit .claude .vscode .idea .mcp.json .env .env.local .envrc
    .bashrc .bash_profile .profile .zshrc .zshenv .netrc .npmrc .pypirc .git-credentials .gitconfig
    .gitmodules .config .local .bash_history .zsh_history .mozilla hooks pre-commit post-merge config
    id_rsa id_ed25519 id_ecdsa credentials authorized_keys shadow sudoers sudoers.d passwd environ etc
    usr bin sbin lib lib64 boot dev proc sys var opt root home Users System Library sda nvme0n1 vda
    cron.d crontab systemd settings.json server.key key.pem self mem secrets private-keys-v1.d
    """
    )
)
Asked = tuple[str, str | None, str, bool]
MOST = 48
LONGEST = 1024


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operand lies: the path as it really is, what kind of place that is, and why."""

    path: str
    kind: Kind
    reason: str = ""

    @property
    def rank(self) -> int:
        return ORDER.index(self.kind)


# What was looked up while one line is judged: the same words come again and again.
_LOOKED: ContextVar["dict[Asked, Place] | None"] = ContextVar("looked", default=None)


@contextmanager
def one_line() -> Iterator[None]:
    """While one line is judged each path is looked up once."""
    token = _LOOKED.set({})
    try:
        yield
    finally:
        _LOOKED.reset(token)


def place(word: Word, cwd: str | None, near: str, ground: Ground) -> Place:
    """The worst place that `word` can name, seen from `cwd` (None: not known, then `near` is a guess)."""
    text = word.text
    if len(text) > LONGEST:
        text = re.sub(r"/(\./|/)+", "/", text)
        if len(text) > LONGEST:
            return Place(text[:200], "unknown", "it is no path that can be checked by eye")
    if "\ue000" <= max(text, default="") <= "\ue00a" and any(sign in text for sign in (UNKNOWN, MILD)):
        return _half_known(text, near, ground)
    # Of a pattern the first candidate is looked up; the others are names that it may hide.
    spots = [_spot(path, cwd, near, ground, not at) for at, path in enumerate(candidates(text, near, ground))]
    worst = max(spots, key=lambda spot: spot.rank)
    if worst.kind in ("plain", "outside") and cwd is None and not text.startswith("/"):
        return Place(worst.path, "unknown", "the folder it runs in is not known")
    if worst.kind == "plain" and not word.sure:
        return Place(worst.path, "unknown", f"{word.guess} is only known when it runs")
    return worst


def _half_known(text: str, near: str, ground: Ground) -> Place:
    """A path of which a part is not known: what its known names say still counts."""
    tail = text.replace(MILD, UNKNOWN)
    guess = _spot(shown(tail).replace(UNKNOWN, "x"), near, near, ground)
    if guess.rank > ORDER.index("project secret") and guess.kind != "system":
        return guess
    if "/" in tail and (found := names.sensitive(_parts(tail.rpartition(UNKNOWN)[2]))):
        return Place(shown(text), "secret", found)
    return Place(shown(text).replace(UNKNOWN, "…"), "unknown", "the path is only known when it runs")


def _spot(text: str, cwd: str | None, near: str, ground: Ground, looked: bool = True) -> Place:
    known = _LOOKED.get()
    if known is None:
        return _look_up(text, cwd, near, ground, looked)
    key = (text, cwd, near, looked)
    if (spot := known.get(key)) is None:
        spot = known[key] = _look_up(text, cwd, near, ground, looked)
    return spot


def _look_up(text: str, cwd: str | None, near: str, ground: Ground, looked: bool) -> Place:
    if NET.match(text):
        return Place(text, "socket", "it is a network connection")
    if text == "" or names.fault(text):
        return Place(text, "unknown", "it is no path that can be checked by eye")
    joined = posixpath.join(cwd if cwd is not None else near, text)
    plain = posixpath.normpath(joined)
    plain = plain[1:] if plain.startswith("//") else plain
    if QUIET.fullmatch(plain):
        return Place(plain, "quiet")
    first = _letters(plain, ground)
    # Folders of Windows are written as a Unix program of Windows has them: no disk knows them so.
    real = real_path(joined) if looked and ground.platform == "posix" else plain
    if real == plain:
        return first
    second = _letters(real, ground)
    if first.kind == "plain" and second.kind == "outside":
        return Place(real, "outside", f"it is a link to {real}, outside of the workspace")
    return max(first, second, key=lambda spot: spot.rank)


def real_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return posixpath.normpath(path)


@lru_cache(maxsize=4096)
def _letters(path: str, ground: Ground) -> Place:
    """What a normal absolute path names."""
    if PROCESS.match(path):
        return Place(path, "process", f"{path} shows the inside of a process or of the kernel")
    inside = within(path, ground.root)
    parts = _parts(path[len(ground.root) :]) if inside else _parts(path)
    home = HOMES.match(path)
    in_home = within(path, ground.home) or home is not None
    if MORE_SECRETS.match(path):
        return Place(path, "secret", f"{path} holds secrets of the system")
    below = _parts(path[len(home[0]) :]) if home else _parts(path[len(ground.home) :])
    secret = names.sensitive(parts) or ("" if inside or not in_home else names.sensitive(below, in_home=True))
    if secret and not path.endswith(".pub"):
        soft = inside and not any(
            part.casefold() in names.SECRET_FOLDERS or part.startswith("id_") for part in parts
        )
        return Place(path, "project secret" if soft else "secret", secret)
    # What is called so above a worktree is where it lies: it is the root that is worked in.
    tree = tree_of(ground.root)
    named = path[len(ground.root) :] if tree and inside else path
    if any(within(path, folder) for folder in ground.own) or OWN.search(named):
        return Place(path, "own", f"{path} belongs to cockpit itself")
    if path.startswith("/dev/") and not path.startswith("/dev/shm"):
        return Place(path, "device", f"{path} is a device")
    if protected := names.protected(parts):
        return Place(path, "protected", protected)
    if in_home and not inside and _is_run_later(path, home[0] if home else ground.home):
        return Place(path, "persist", f"{path} is read by programs that start later")
    if HARD_SYSTEM.match(path) and not SOFT_SYSTEM.match(path):
        return Place(path, "system", f"{path} belongs to the system")
    if not inside and tree and within(path, tree):
        return Place(path, "origin", f"{path} lies in the tree that this worktree was made from")
    if not inside:
        return Place(path, "outside", f"{path} lies outside of the workspace")
    return Place(path, "plain")


def _is_run_later(path: str, home: str) -> bool:
    return (posixpath.dirname(path) == home and posixpath.basename(path) in HOME_FILES) or bool(
        HOME_TAILS.match(path[len(home) :])
    )


def within(path: str, folder: str) -> bool:
    """Whether normal `path` is `folder` or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def candidates(text: str, near: str, ground: Ground) -> list[str]:
    """Literal paths that stand for all a pattern can match: one plain one, and each sentinel that fits."""
    if not any(sign in text for sign in GLOBS):
        return [text]
    choices: list[list[str]] = []
    known = "" if text.startswith("/") else near
    for part in text.split("/"):
        if not any(sign in part for sign in GLOBS):
            choices.append([part])
            known = posixpath.join(known, part) if part else known or "/"
            continue
        pattern = _pattern(part)
        plain = re.sub(r"\[.*?\]", "x", shown(part)).replace("*", "x").replace("?", "x")
        bare = part.strip(STAR) == "" and within(posixpath.normpath(known or "/"), ground.root)
        fits = [] if bare else [name for name in SENTINELS if _fits(name, pattern, part)]
        choices.append([plain, *fits])
        known = posixpath.join(known, plain)
    return ["/".join(one) for one in itertools.islice(itertools.product(*choices), MOST)]


def _fits(name: str, pattern: str, part: str) -> bool:
    if name.startswith(".") and not part.startswith(".") and part[0] != SET:
        return False
    return fnmatch.fnmatchcase(name, pattern)


def _pattern(part: str) -> str:
    text = part.replace("[", "[[]").replace("*", "[*]").replace("?", "[?]")
    text = text.replace(STAR, "*").replace(ONE, "?").replace(SET, "[").replace(SET_END, "]")
    # What a class holds may be a range or a name of signs: anything it could be.
    return re.sub(r"\[\[:.*?:\]\]", "?", text).replace("[^", "[!")


def matches(word: Word, cwd: str | None) -> list[str] | None:
    """The names that a pattern really matches in the last folder it names, None when too many to look at."""
    text = word.text
    if cwd is None or not any(sign in text for sign in GLOBS):
        return []
    folder, _, last = text.rpartition("/")
    if any(sign in folder for sign in GLOBS):
        return []
    try:
        with os.scandir(posixpath.join(cwd, folder)) as entries:
            found = list(itertools.islice((entry.name for entry in entries), 2000))
    except (OSError, ValueError):
        return []
    pattern = _pattern(last)
    fitting = [f"{folder}/{name}" if folder else name for name in found if fnmatch.fnmatchcase(name, pattern)]
    return None if len(found) >= 2000 else fitting
