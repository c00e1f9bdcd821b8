"""What an operand names: a location inside or outside, secret, protected, of the system or a device.

Judged by the text of the path and, if it exists, by its real path. A pattern counts as the worst it can
match. Also says which folders must never be destroyed or changed as a whole.
"""

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

from cockpit.safety.bash.command_model import (
    BRACKET,
    BRACKET_END,
    GLOB_SIGNS,
    QUESTION,
    SPLIT,
    STAR,
    UNKNOWN,
    UNKNOWN_HARMLESS,
    ShellWord,
    show_signs,
)
from cockpit.safety.values import ExecutionContext
from cockpit.workspace import path_names
from cockpit.workspace.word_set import word_set
from cockpit.workspace.worktrees.values import origin_tree

LocationKind = Literal[
    "quiet", "plain", "unknown", "outside", "project secret", "system", "origin", "protected", "persist",
    "own", "device", "socket", "process", "secret",
]  # fmt: skip
KIND_ORDER: tuple[LocationKind, ...] = get_args(LocationKind)
QUIET_DEVICES = re.compile(
    r"/dev/(null|stdin|stdout|stderr|tty|zero|urandom|random|full|fd/\d+)|/proc/self/fd/\d+"
)
NETWORK_DEVICES = re.compile(r"/dev/(tcp|udp)/")
PROCESS_FILES = re.compile(
    r"/proc/([^/]+/(task/[^/]+/)?(environ|mem|root|cwd|maps|fd|auxv|stack|syscall|pagemap)|kcore|"
    r"kmem|sysrq-trigger)(/|$)"
)
SYSTEM_SECRETS = re.compile(
    r"(/private)?/etc/(shadow|gshadow|sudoers|security/opasswd|krb5\.keytab|wireguard/|openvpn/"
    r"|ppp/.*secrets|ssl/private|ssh/ssh_host_\w+_key$|master\.passwd|letsencrypt/(live|archive)"
    r"|kubernetes/.*\.conf|ipsec\.secrets)|(/var)?/run/secrets(/|$)|/var/lib/(docker/volumes|kubelet/pods"
    r"|sss/secrets)|/var/db/dslocal"
)
HARD_SYSTEM = re.compile(
    r"/(private/)?(etc|usr|bin|sbin|lib|lib32|lib64|libx32|boot|dev|proc|sys|System|Library)(/|$)"
    r"|/var/(spool/(cron|at)|lib/(systemd|dpkg|rpm|apt)|db/sudo)(/|$)|/(vmlinuz|initrd)"
)
SOFT_SYSTEM = re.compile(r"/usr/local(/|$)|/dev/shm(/|$)|/proc/self/fd|/etc/(hosts)\.bak")
HOME_FOLDERS = re.compile(r"(/home/[^/]+|/Users/[^/]+|/root|/var/root)(?=/|$)")
# In a home folder, these are read by programs that start later.
HOME_FILES = word_set(
    ".vimrc .exrc .nanorc .emacs .tmux.conf .screenrc .irbrc .pryrc .gdbinit .lldbinit .pdbrc .curlrc "
    ".wgetrc .npmrc .yarnrc .yarnrc.yml .condarc .xsession .xinitrc .pam_environment .forward .procmailrc "
    ".rhosts .shosts .perltidyrc .Rprofile .octaverc .psqlrc .sqliterc .mailcap .hushlogin .dircolors .envrc "
    ".toprc .k5login .zsh_plugins.txt .p10k.zsh .oh-my-zsh .asdfrc .tool-versions .selected_editor"
)
HOME_STARTUP_PATHS = re.compile(
    r"/(\.config/(systemd|autostart|environment\.d|fish|nvim|pip|git|cockpit|zsh|powershell|i3|sway|hypr"
    r"|plasma-workspace|Code/User|Cursor/User)|\.vim|\.emacs\.d|\.pip|\.local/(share/(systemd|applications"
    r"|cockpit|nautilus/scripts)|state/cockpit|bin)|\.cargo/(config|bin|env)|\.cache/cockpit|\.m2/settings"
    r"|\.gradle/init|\.bashrc\.d|\.profile\.d|\.oh-my-zsh|\.nvm|\.pyenv/shims|Library/LaunchAgents"
    r"|\.docker/cli-plugins)(/|\.|$)"
)
COCKPIT_PATHS = re.compile(
    r"/\.(config|cache|local/state|local/share)/cockpit(/|$)|/\.cockpit(/|$)|/Application "
    r"Support/cockpit(/|$)"
)
# Names that a pattern is matched against, so that a pattern cannot hide them.
SENTINELS = sorted(
    word_set(
        ".git .ssh .aws .gnupg .kube .docker .cockpit .claude .vscode .idea .mcp.json .env .env.local .envrc "
        ".bashrc .bash_profile .profile .zshrc .zshenv .netrc .npmrc .pypirc .git-credentials .gitconfig "
        ".gitmodules .config .local .bash_history .zsh_history .mozilla hooks pre-commit post-merge config "
        "id_rsa id_ed25519 id_ecdsa credentials authorized_keys shadow sudoers sudoers.d passwd environ etc "
        "usr bin sbin lib lib64 boot dev proc sys var opt root home Users System Library sda nvme0n1 vda "
        "cron.d crontab systemd settings.json server.key key.pem self mem secrets private-keys-v1.d"
    )
)
LookupKey = tuple[str, str | None, str, bool]
MAX_CANDIDATES = 48
MAX_PATH = 1024


@dataclass(frozen=True, slots=True)
class BashLocation:
    """Where an operand is: its real path, the kind of location, and the reason."""

    path: str
    kind: LocationKind
    reason: str = ""

    @property
    def rank(self) -> int:
        return KIND_ORDER.index(self.kind)


# Lookups made while one line is judged, as lines repeat their words.
_LOOKUPS: ContextVar["dict[LookupKey, BashLocation] | None"] = ContextVar("looked", default=None)


@contextmanager
def cache_lookups() -> Iterator[None]:
    """Look up each path only once while one line is judged."""
    token = _LOOKUPS.set({})
    try:
        yield
    finally:
        _LOOKUPS.reset(token)


def locate(word: ShellWord, cwd: str | None, likely_cwd: str, context: ExecutionContext) -> BashLocation:
    """The worst location that `word` can name, seen from `cwd` (None if not known)."""
    text = word.text
    if len(text) > MAX_PATH:
        text = re.sub(r"/(\./|/)+", "/", text)
        if len(text) > MAX_PATH:
            return BashLocation(text[:200], "unknown", "it is not a path that can be checked")
    if UNKNOWN <= max(text, default="") <= SPLIT and (UNKNOWN in text or UNKNOWN_HARMLESS in text):
        return _locate_partly_known(text, likely_cwd, context)
    # Only a pattern's first candidate is looked up on disk; the others are names that it may match.
    spots = [
        _cached_lookup(path, cwd, likely_cwd, context, not at)
        for at, path in enumerate(glob_candidates(text, likely_cwd, context))
    ]
    worst = max(spots, key=lambda item: item.rank)
    if worst.kind in ("plain", "outside") and cwd is None and not text.startswith("/"):
        return BashLocation(worst.path, "unknown", "the folder it runs in is not known")
    if worst.kind == "plain" and not word.sure:
        return BashLocation(worst.path, "unknown", f"{word.guess} is only known when it runs")
    return worst


def _locate_partly_known(text: str, likely_cwd: str, context: ExecutionContext) -> BashLocation:
    """The location of a partly known path, judged by the known part."""
    tail = text.replace(UNKNOWN_HARMLESS, UNKNOWN)
    guess = _cached_lookup(show_signs(tail).replace(UNKNOWN, "x"), likely_cwd, likely_cwd, context)
    if guess.rank > KIND_ORDER.index("project secret") and guess.kind != "system":
        return guess
    if "/" in tail and (result := path_names.secret_reason(_path_parts(tail.rpartition(UNKNOWN)[2]))):
        return BashLocation(show_signs(text), "secret", result)
    shown = show_signs(text).replace(UNKNOWN, "…")
    return BashLocation(shown, "unknown", "the path is only known when it runs")


def _cached_lookup(
    text: str, cwd: str | None, likely_cwd: str, context: ExecutionContext, looked: bool = True
) -> BashLocation:
    known = _LOOKUPS.get()
    if known is None:
        return _look_up(text, cwd, likely_cwd, context, looked)
    key = (text, cwd, likely_cwd, looked)
    if (location := known.get(key)) is None:
        location = known[key] = _look_up(text, cwd, likely_cwd, context, looked)
    return location


def _look_up(
    text: str, cwd: str | None, likely_cwd: str, context: ExecutionContext, looked: bool
) -> BashLocation:
    if NETWORK_DEVICES.match(text):
        return BashLocation(text, "socket", "it is a network connection")
    if text == "" or path_names.find_path_problem(text):
        return BashLocation(text, "unknown", "it is not a path that can be checked")
    joined = posixpath.join(cwd if cwd is not None else likely_cwd, text)
    plain = posixpath.normpath(joined)
    plain = plain[1:] if plain.startswith("//") else plain
    if QUIET_DEVICES.fullmatch(plain):
        return BashLocation(plain, "quiet")
    first = _classify_letters(plain, context)
    # On Windows, paths are in the form that a Unix program sees, which does not exist on disk.
    real = resolve_real_path(joined) if looked and context.platform == "posix" else plain
    if real == plain:
        return first
    second = _classify_letters(real, context)
    if first.kind == "plain" and second.kind == "outside":
        return BashLocation(real, "outside", f"it is a link to {real}, outside the workspace")
    return max(first, second, key=lambda item: item.rank)


def resolve_real_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return posixpath.normpath(path)


@lru_cache(maxsize=4096)
def _classify_letters(path: str, context: ExecutionContext) -> BashLocation:
    """Classify a normal absolute path by its text."""
    if PROCESS_FILES.match(path):
        return BashLocation(path, "process", f"{path} exposes a process or the kernel")
    inside = is_within(path, context.root)
    parts = _path_parts(path[len(context.root) :]) if inside else _path_parts(path)
    home = HOME_FOLDERS.match(path)
    in_home = is_within(path, context.home) or home is not None
    if SYSTEM_SECRETS.match(path):
        return BashLocation(path, "secret", f"{path} contains secrets of the system")
    below = _path_parts(path[len(home[0]) :]) if home else _path_parts(path[len(context.home) :])
    secret = path_names.secret_reason(parts) or (
        "" if inside or not in_home else path_names.secret_reason(below, in_home=True)
    )
    if secret and not path.endswith(".pub"):
        folders = path_names.SECRET_FOLDERS
        hard = any(part.casefold() in folders or part.startswith("id_") for part in parts)
        return BashLocation(path, "project secret" if inside and not hard else "secret", secret)
    # Above the root of a worktree, protected names do not count: the root is what is worked in.
    tree = origin_tree(context.root)
    operands = path[len(context.root) :] if tree and inside else path
    if any(is_within(path, folder) for folder in context.own) or COCKPIT_PATHS.search(operands):
        return BashLocation(path, "own", f"{path} belongs to cockpit itself")
    if path.startswith("/dev/") and not path.startswith("/dev/shm"):
        return BashLocation(path, "device", f"{path} is a device")
    if protected := path_names.protected_reason(parts):
        return BashLocation(path, "protected", protected)
    if in_home and not inside and _is_run_later(path, home[0] if home else context.home):
        return BashLocation(path, "persist", f"{path} is read by programs that start later")
    if HARD_SYSTEM.match(path) and not SOFT_SYSTEM.match(path):
        return BashLocation(path, "system", f"{path} belongs to the system")
    if not inside and tree and is_within(path, tree):
        return BashLocation(path, "origin", f"{path} is in the tree that this worktree was made from")
    if not inside:
        return BashLocation(path, "outside", f"{path} is outside the workspace")
    return BashLocation(path, "plain")


def _is_run_later(path: str, home: str) -> bool:
    is_home_file = posixpath.dirname(path) == home and posixpath.basename(path) in HOME_FILES
    return is_home_file or HOME_STARTUP_PATHS.match(path[len(home) :]) is not None


def is_within(path: str, folder: str) -> bool:
    """Whether the normal path `path` is `folder` or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _path_parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def glob_candidates(text: str, likely_cwd: str, context: ExecutionContext) -> list[str]:
    """Literal paths for what a pattern can match: a plain one, and one for each sensitive name that
    matches."""
    if not any(sign in text for sign in GLOB_SIGNS):
        return [text]
    choices: list[list[str]] = []
    known = "" if text.startswith("/") else likely_cwd
    for part in text.split("/"):
        if not any(sign in part for sign in GLOB_SIGNS):
            choices.append([part])
            known = posixpath.join(known, part) if part else known or "/"
            continue
        pattern = _fnmatch_pattern(part)
        plain = re.sub(r"\[.*?\]", "x", show_signs(part)).replace("*", "x").replace("?", "x")
        bare = part.strip(STAR) == "" and is_within(posixpath.normpath(known or "/"), context.root)
        fits = [] if bare else [name for name in SENTINELS if _matches_sentinel(name, pattern, part)]
        choices.append([plain, *fits])
        known = posixpath.join(known, plain)
    return ["/".join(name) for name in itertools.islice(itertools.product(*choices), MAX_CANDIDATES)]


def _matches_sentinel(name: str, pattern: str, part: str) -> bool:
    if name.startswith(".") and not part.startswith(".") and part[0] != BRACKET:
        return False
    return fnmatch.fnmatchcase(name, pattern)


def _fnmatch_pattern(part: str) -> str:
    text = part.replace("[", "[[]").replace("*", "[*]").replace("?", "[?]")
    text = text.replace(STAR, "*").replace(QUESTION, "?").replace(BRACKET, "[").replace(BRACKET_END, "]")
    # The content of a class may be a range or a named class, so it matches any character.
    return re.sub(r"\[\[:.*?:\]\]", "?", text).replace("[^", "[!")


def match_glob(word: ShellWord, cwd: str | None) -> list[str] | None:
    """The names that a pattern matches in its last folder, None if there are too many to list."""
    text = word.text
    if cwd is None or not any(sign in text for sign in GLOB_SIGNS):
        return []
    folder, _, last = text.rpartition("/")
    if any(sign in folder for sign in GLOB_SIGNS):
        return []
    try:
        with os.scandir(posixpath.join(cwd, folder)) as entries:
            result = list(itertools.islice((entry.name for entry in entries), 2000))
    except (OSError, ValueError):
        return []
    pattern = _fnmatch_pattern(last)
    fitting = [
        f"{folder}/{name}" if folder else name for name in result if fnmatch.fnmatchcase(name, pattern)
    ]
    return None if len(result) >= 2000 else fitting


TOP_FOLDERS = re.compile(
    r"/|/(\.\.?)?|/(etc|usr|bin|sbin|lib|lib32|lib64|libx32|boot|dev|proc|sys|System|Library|Applications"
    r"|private|Volumes|home|Users|root|var|opt|srv|mnt|media|nix|snap|run|tmp|cores|data|vol)|/(etc|usr|bin"
    r"|sbin|lib|lib32|lib64|boot|dev|proc|sys|System|Library)/.*|/(var|opt|srv|nix|run|private"
    r"|Volumes)/[^/]+|/(home|Users)/[^/]+"
)
LOCAL_FOLDERS = re.compile(r"/usr/local/[^/]+/.+|/dev/shm/.+|/var/tmp.*|/private/tmp/.+|/usr/src/.+")
PERSONAL_FOLDERS = word_set(
    "Documents Desktop Downloads Pictures Music Videos Movies Library Public Projects projects src work code "
    "dev repos .config .local .ssh .gnupg .aws .kube .mozilla .thunderbird snap"
)


def explain_tree_loss(word: ShellWord, cwd: str | None, likely_cwd: str, context: ExecutionContext) -> str:
    """Why changing everything below `word` would be a catastrophe, or an empty string."""
    text = word.text
    if len(text) > MAX_PATH:
        return ""
    if UNKNOWN in text or UNKNOWN_HARMLESS in text:
        # Only the part before it is known: `/etc/$x` belongs to the system whatever x is.
        filled = show_signs(text).replace(UNKNOWN_HARMLESS, "x").replace(UNKNOWN, "x")
        guess = posixpath.normpath(posixpath.join(likely_cwd, filled))
        return _explain_path_loss(guess, context, False) if HARD_SYSTEM.match(guess) else ""
    for path in glob_candidates(text, likely_cwd, context):
        everything = text.endswith((STAR, STAR + "/"))
        joined = posixpath.join(likely_cwd, path)
        whole = {posixpath.normpath(joined), resolve_real_path(joined)}
        if everything:
            whole |= {posixpath.dirname(posixpath.normpath(joined).rstrip("/"))}
            whole -= {posixpath.normpath(joined)} if posixpath.dirname(joined.rstrip("/")) in whole else set()
        for item in whole:
            if reason := _explain_path_loss(item[1:] if item.startswith("//") else item, context, everything):
                return reason
    return ""


def _explain_path_loss(path: str, context: ExecutionContext, everything: bool) -> str:
    if is_within(path, context.root):
        return ""
    if is_within(context.root, path):
        return f"{path} contains the workspace and more"
    if is_within(context.home, path):
        return f"{path} is the home folder or contains it"
    if path == "/tmp" and everything:
        return ""
    if TOP_FOLDERS.fullmatch(path) and not LOCAL_FOLDERS.fullmatch(path):
        return f"{path} belongs to the system or to a user"
    home = HOME_FOLDERS.match(path)
    base = home[0] if home else context.home
    if posixpath.dirname(path) == base and posixpath.basename(path) in PERSONAL_FOLDERS:
        return f"{path} contains a user's own data"
    return ""
