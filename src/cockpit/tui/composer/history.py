"""What a person said before: kept in one file of theirs alone (0600), the newest last, bounded."""

import json
import os
from pathlib import Path

MOST = 1_000


class History:
    """Walks back and forth; the draft that was left stands at the end."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.said: list[str] = _read(path) if path else []
        self._at = len(self.said)
        self._draft = ""

    def step(self, by: int, current: str) -> str | None:
        """The text `by` steps from here, or None at an end."""
        wanted = self._at + by
        if not 0 <= wanted <= len(self.said):
            return None
        if self._at == len(self.said):
            self._draft = current
        self._at = wanted
        return self._draft if wanted == len(self.said) else self.said[wanted]

    def add(self, text: str) -> None:
        """Remember `text`, unless it was just said."""
        if text.strip() and (not self.said or self.said[-1] != text):
            self.said.append(text)
            self._write(text)
        self._at, self._draft = len(self.said), ""

    def _write(self, text: str) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if len(self.said) > 2 * MOST:
                del self.said[:-MOST]
                _replace(self._path, self.said)
                return
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as file:
                file.write(json.dumps(text, ensure_ascii=False) + "\n")
        except OSError:
            self._path = None  # a full or read-only disk: history lives on in memory


def _read(path: Path) -> list[str]:
    """One JSON string a line; a line that is not one (a torn write) is left out."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    found: list[str] = []
    for line in lines[-MOST:]:
        try:
            text = json.loads(line)
        except ValueError:
            continue
        if isinstance(text, str):
            found.append(text)
    return found


def _replace(path: Path, said: list[str]) -> None:
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.writelines(json.dumps(text, ensure_ascii=False) + "\n" for text in said)
    fresh.replace(path)
