"""Outputs over their cap are set aside in files, not lost: a preview and a handle stay in sight."""

import secrets
from collections.abc import Callable
from pathlib import Path

from cockpit.plugin.tools import Cap

SMALL_WINDOW = 32_000


class StoredResults:
    """The set-aside outputs of one session, a file each in `folder`."""

    def __init__(self, folder: Path, redact: Callable[[str], str] = lambda text: text) -> None:
        self._folder = folder
        self._redact = redact

    def keep(self, text: str) -> str:
        """Set `text` aside; its handle."""
        self._folder.mkdir(parents=True, exist_ok=True)
        handle = f"r{secrets.token_hex(4)}"
        kept = self._redact(text)
        (self._folder / f"{handle}.txt").write_text(kept, encoding="utf-8", errors="replace", newline="")
        return handle

    def page(self, handle: str, cursor: int, size: int) -> tuple[str, int, int]:
        """Text from character `cursor`, the next cursor (-1 at the end), the total."""
        if not handle.isalnum():
            raise KeyError(handle)
        try:
            text = (self._folder / f"{handle}.txt").read_bytes().decode("utf-8", "replace")
        except OSError as error:
            raise KeyError(handle) from error
        end = min(len(text), max(0, cursor) + size)
        return text[max(0, cursor) : end], -1 if end >= len(text) else end, len(text)


def capped(text: str, cap: Cap, window: int, results: StoredResults) -> tuple[str, str]:
    """`text` within its cap, and the handle of the whole ("" when nothing was set aside).

    Under a window of 32k tokens the cap is half. Cuts lie between lines where there are lines.
    """
    scale = 2 if window < SMALL_WINDOW else 1
    size, entries = cap.size // scale, max(1, cap.entries // scale)
    lines = text.split("\n")
    if len(text.encode("utf-8", "replace")) <= size and len(lines) <= entries:
        return text, ""
    handle = results.keep(text)
    if cap.shape == "head":
        head, tail = _head(lines, size, entries), ""
    else:
        head = _head(lines, size // 2, entries // 2)
        tail = _tail(text[len(head) :], size // 2, entries // 2)
    left_out = len(text) - len(head) - len(tail)
    note = f"[{left_out} of {len(text)} characters are set aside: read_result(handle={handle!r}) has all]"
    return f"{head}\n{note}\n{tail}" if tail else f"{head}\n{note}", handle


def _head(lines: list[str], size: int, entries: int) -> str:
    kept: list[str] = []
    left = size
    for line in lines[:entries]:
        cost = len(line.encode("utf-8", "replace")) + 1
        if cost > left:
            if not kept:
                kept.append(line.encode("utf-8", "replace")[:left].decode("utf-8", "ignore"))
            break
        kept.append(line)
        left -= cost
    return "\n".join(kept)


def _tail(text: str, size: int, entries: int) -> str:
    tail = _head(text.split("\n")[::-1], size, entries).split("\n")[::-1]
    joined = "\n".join(tail)
    if text.endswith(joined):
        return joined
    # One line that is longer than the cap: its end, not its beginning.
    return text.encode("utf-8", "replace")[-size:].decode("utf-8", "ignore")
