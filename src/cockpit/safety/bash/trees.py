"""Which folders must never be destroyed or changed as a whole."""

import posixpath
import re

from cockpit.safety.bash.places import HARD_SYSTEM, HOMES, LONGEST, candidates, real_path, within
from cockpit.safety.bash.words import MILD, STAR, UNKNOWN, Word, shown
from cockpit.safety.values import Ground
from cockpit.workspace.words import words

TOP = re.compile(
    r"/|/(\.\.?)?|/(etc|usr|bin|sbin|lib|lib32|lib64|libx32|boot|dev|proc|sys|System|Library|"
    r"Applications|private|Volumes|"
    r"home|Users|root|var|opt|srv|mnt|media|nix|snap|run|tmp|cores|data|vol)"
    r"|/(etc|usr|bin|sbin|lib|lib32|lib64|boot|dev|proc|sys|System|Library)/.*"
    r"|/(var|opt|srv|nix|run|private|Volumes)/[^/]+|/(home|Users)/[^/]+"
)
LOCAL = re.compile(r"/usr/local/[^/]+/.+|/dev/shm/.+|/var/tmp.*|/private/tmp/.+|/usr/src/.+")
PERSONAL = words(
    """
    Documents Desktop Downloads Pictures Music Videos Movies Library Public Projects projects src work
    code dev repos .config .local .ssh .gnupg .aws .kube .mozilla .thunderbird snap
    """
)


def tree(word: Word, cwd: str | None, near: str, ground: Ground) -> str:
    """Why doing something to everything below `word` would be a catastrophe, or ""."""
    text = word.text
    if len(text) > LONGEST:
        return ""
    if UNKNOWN in text or MILD in text:
        # Only what stands before it is known: `/etc/$x` is the system's whatever x is.
        guess = posixpath.normpath(
            posixpath.join(near, shown(text.replace(MILD, UNKNOWN)).replace(UNKNOWN, "x"))
        )
        return _catastrophe(guess, ground, False) if HARD_SYSTEM.match(guess) else ""
    for path in candidates(text, near, ground):
        everything = text.endswith((STAR, STAR + "/"))
        joined = posixpath.join(near, path)
        whole = {posixpath.normpath(joined), real_path(joined)}
        if everything:
            whole |= {posixpath.dirname(posixpath.normpath(joined).rstrip("/"))}
            whole -= {posixpath.normpath(joined)} if posixpath.dirname(joined.rstrip("/")) in whole else set()
        for one in whole:
            if reason := _catastrophe(one[1:] if one.startswith("//") else one, ground, everything):
                return reason
    return ""


def _catastrophe(path: str, ground: Ground, everything: bool) -> str:
    if path == ground.root or (within(path, ground.root) and path != ground.root):
        return ""
    if within(ground.root, path):
        return f"{path} holds the workspace and more"
    if within(ground.home, path):
        return f"{path} is the home folder or holds it"
    if path == "/tmp" and everything:
        return ""
    if TOP.fullmatch(path) and not LOCAL.fullmatch(path):
        return f"{path} belongs to the system or to a person"
    home = HOMES.match(path)
    base = home[0] if home else ground.home
    if posixpath.dirname(path) == base and posixpath.basename(path) in PERSONAL:
        return f"{path} is a person's own data"
    return ""
