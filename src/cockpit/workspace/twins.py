"""Whether a file with several names is a secret by one of the others: a hard link is no link that can be
seen, only two names with one inode. Looks at the usual places of secrets, and nowhere else."""

import os
from collections.abc import Iterator

from cockpit.workspace import names

SECRET_PLACES = (
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".azure",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".config/cockpit",
)
MOST = 256


def secret(facts: os.stat_result, home: str, root: str) -> str:
    """The secret file that shares its inode with `facts`, or ""."""
    for entry in _candidates(home, root):
        try:
            other = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if (other.st_dev, other.st_ino) == (facts.st_dev, facts.st_ino):
            return entry.path
    return ""


def _candidates(home: str, root: str) -> Iterator["os.DirEntry[str]"]:
    for place in SECRET_PLACES:
        yield from _entries(os.path.join(home, place))
    for folder, in_home in ((home, True), (root, False), ("/etc", False)):
        for entry in _entries(folder):
            if names.sensitive((entry.name,), in_home) or entry.path in ("/etc/shadow", "/etc/gshadow"):
                yield entry


def _entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            return [entry for _, entry in zip(range(MOST * 4), found, strict=False)]
    except OSError:
        return []
