"""Reading small files that anybody may have put there: a pipe in the place of one would wait for ever, a
device would answer, a sparse file would fill the memory. Each of these reads as an `OSError`.

Small files written whole or not at all. The same on every platform.
"""

import errno
import os
import secrets
import stat
from pathlib import Path

# No file that steers something is larger.
MAX_BYTES = 4_000_000


def read_bytes(path: str | Path, most: int = MAX_BYTES) -> bytes:
    """All of the plain file at `path`, links followed. Raises OSError for what is none, or is larger."""
    content = read_start(path, most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {most:,} bytes", str(path))
    return content


def read_start(path: str | Path, most: int) -> bytes:
    """The first `most` bytes of the plain file at `path`, links followed. Raises OSError for what is none."""
    # Not blocking: a pipe without a writer opens at once, and is seen to be none.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags | getattr(os, "O_NOCTTY", 0)), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "no plain file", str(path))
        return file.read(most)


def read_text(path: str | Path, most: int = MAX_BYTES, encoding: str = "utf-8") -> str:
    """The same as text; what is no text becomes U+FFFD. Line ends are as in text files."""
    text = read_bytes(path, most).decode(encoding, "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


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
