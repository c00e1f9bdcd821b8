"""`.git/info/exclude`, the ignore file that is nobody's commit: our folders stay out of a person's status."""

import os
import re

from cockpit.errors import CockpitError
from cockpit.settings import plain

MEANT = re.compile(r"([\\*?\[\]!# ])")


def exclude(store: str, path: str, folder: bool = False) -> None:
    """Have git ignore `path` (from the top of a work tree, with a leading `/`). Raises `CockpitError`."""
    line = MEANT.sub(r"\\\1", path) + ("/" if folder else "")
    file = os.path.join(store, "info", "exclude")
    try:
        text = plain.read_text(file) if os.path.lexists(file) else ""
        if line in text.splitlines():
            return
        if os.path.islink(file) or os.path.islink(os.path.dirname(file)):
            raise OSError(0, "it is a symbolic link", file)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(file, flags, 0o644), "ab") as out:
            gap = "" if not text or text.endswith("\n") else "\n"
            out.write(f"{gap}{line}\n".encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise CockpitError(
            f"{path} cannot be kept out of git's status: {file}: {error.strerror or error}",
            f"add the line {line} to that file",
        ) from error
