"""Small files written whole or not at all. The same on every platform."""

import os
import secrets
from pathlib import Path


def write_atomically(path: Path, content: bytes, private: bool = False) -> None:
    """Replace `path` by `content`; with `private` only the owner may read it (0600).

    The folder is made. A reader sees the old bytes or the new, never a part. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    # Windows would turn every newline into two bytes without O_BINARY, which only it has.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(beside, flags, 0o600 if private else 0o644)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
