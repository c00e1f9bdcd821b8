"""What cannot be mounted over is looked at before and after: links among the protected names, and names
that git itself would stumble over as stubs. What a program put there is taken away, and said.
"""

import contextlib
import os
import secrets
from pathlib import Path

NAMED = 10
Before = tuple[tuple[str, str], ...]


def before(links: tuple[str, ...], unwelcome: tuple[str, ...]) -> Before:
    """Each path with where its link leads; "" for one that is not there and must not come."""
    found = []
    for path in links:
        with contextlib.suppress(OSError):
            found.append((path, os.readlink(path)))
    return (*found, *((path, "") for path in unwelcome if not os.path.lexists(path)))


def after(seen: Before, aside: str) -> tuple[str, ...]:
    """Put back what was changed; what stood in its place goes to the folder `aside`. The paths."""
    mended = []
    for path, target in seen:
        if _is_as_before(path, target):
            continue
        with contextlib.suppress(OSError):
            if os.path.lexists(path):
                Path(aside).mkdir(parents=True, exist_ok=True, mode=0o700)
                _move(path, os.path.join(aside, f"{os.path.basename(path)}-{secrets.token_hex(4)}"))
            if target:
                os.symlink(target, path)
            mended.append(path)
    return tuple(mended)


def said(mended: tuple[str, ...], came: tuple[str, ...], root: str) -> str:
    """What the output of a command says of it, or nothing."""
    lines = []
    if mended:
        lines.append(f"put back what the command had changed, and must not: {_names(mended, root)}")
    if came:
        lines.append(f"came while it ran, and programs obey it, look before you use it: {_names(came, root)}")
    return "".join(f"\n[{line}]\n" for line in lines)


def _names(paths: tuple[str, ...], root: str) -> str:
    """A few of them; a name with odd letters cannot pass for a line of ours."""
    names = [os.path.relpath(one, root) for one in paths[:NAMED]]
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(one if one.isprintable() else ascii(one) for one in names) + more


def _is_as_before(path: str, target: str) -> bool:
    try:
        return os.readlink(path) == target
    except OSError:
        return not target and not os.path.lexists(path)


def _move(path: str, to: str) -> None:
    try:
        os.rename(path, to)
    except OSError:
        # Another disk: out of the way beside its place, under a name that nothing reads.
        os.rename(path, f"{path}.put-aside-{secrets.token_hex(4)}")
