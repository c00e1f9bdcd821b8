"""Reads small regular files safely and writes small files atomically.

Reading anything but a regular file raises `OSError`: a pipe would block for ever, a device would answer, a
sparse file could fill the memory.
"""

import errno
import os
import secrets
import stat
from pathlib import Path

# No configuration file is larger.
MAX_BYTES = 4_000_000


def read_bytes(path: str | Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The content of the regular file at `path`; links are followed. Raises OSError if it is not one, or is
    larger."""
    content = read_start(path, max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"more than {max_bytes:,} bytes", str(path))
    return content


def read_start(path: str | Path, max_bytes: int) -> bytes:
    """The first `max_bytes` bytes of the regular file at `path`, links followed. Raises OSError."""
    # Non-blocking: opening a pipe without a writer returns at once, and `fstat` tells what it is.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags | getattr(os, "O_NOCTTY", 0)), "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read(max_bytes)


def read_text(path: str | Path, max_bytes: int = MAX_BYTES, encoding: str = "utf-8") -> str:
    """The content as text, with line ends as in text files. Invalid bytes become U+FFFD."""
    text = read_bytes(path, max_bytes).decode(encoding, "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_atomically(path: Path, content: bytes, private: bool = False) -> None:
    """Replace the content of `path`; with `private` only the owner may read it (mode 0600).

    Creates the folder. A reader sees the old content or the new, never a part. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    # O_BINARY exists on Windows only, where newlines would be translated without it.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o600 if private else 0o644)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
