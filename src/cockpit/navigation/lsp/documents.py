"""The files a server has open: their text is that on disk, except while an overlay is staged.

Each asking of a question goes through `refresh`, so that "edit, then ask" holds without any watcher.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from cockpit.navigation.lsp.positions import Encoding, units
from cockpit.navigation.lsp.texts import NEVER, Stamp, Text, Texts, is_same, text_of
from cockpit.navigation.lsp.uris import uri_of

# With more open than this, not every question looks at all of them, but one after this many seconds does.
FEW = 100
APART = 0.25


@dataclass(slots=True)
class Document:
    """An open document. `version` counts its changes, `look` orders the readings it was taken from."""

    path: str
    place: Path
    uri: str
    version: int
    text: Text
    sent: float
    look: int


@dataclass(frozen=True, slots=True)
class Sync:
    """How a server takes documents: see `offers.sync_kind` and `offers.wants_save`."""

    kind: int
    saves: bool
    with_text: bool
    encoding: Encoding


class Documents:
    """The open documents of one server, the ones asked for last. For one loop; files are read in a thread."""

    def __init__(
        self,
        notify: Callable[[str, object], None],
        texts: Texts,
        sync: Sync,
        id_of: Callable[[str], str],
        limit: Callable[[], int],
    ) -> None:
        self._notify = notify
        self._texts = texts
        self._sync = sync
        self._id_of = id_of
        self._limit = limit
        self._open: OrderedDict[str, Document] = OrderedDict()
        self._look = 0
        self._looked = 0.0

    def get(self, path: str) -> Document | None:
        return self._open.get(path)

    def version_of(self, path: str) -> int | None:
        """The version of an open document. Called from any thread."""
        known = self._open.get(path)
        return known.version if known is not None else None

    def paths(self) -> tuple[str, ...]:
        return tuple(self._open)

    async def refresh(self, *paths: str) -> tuple[Document | None, ...]:
        """The documents of `paths` (absolute), opened, and all that are open as they are on disk now; None
        for a path that is no readable file. Without `paths` all are looked at, however many they are."""
        self._look += 1
        look = self._look
        all_of_them = not paths or len(self._open) <= FEW or _now() - self._looked > APART
        if all_of_them:
            self._looked = _now()
        looked_at = [one for one in self._open.values() if all_of_them or one.path in paths]
        opened = [(one.path, one.place, one.text.stamp) for one in looked_at]
        found = await asyncio.to_thread(_differing, self._texts, paths, opened)
        for path, text in found.items():
            self._settle(path, text, look, path in paths)
        for path in paths:
            if path in self._open:
                self._open.move_to_end(path)
        while len(self._open) > max(self._limit(), len(paths)):
            self.close(next(iter(self._open)))
        return tuple(self._open.get(path) for path in paths)

    def differ(self, paths: Iterable[str]) -> bool:
        """Whether one of `paths` is open and not as it is on disk: the next question looks at all then.
        Called from any thread."""
        known = (self._open.get(path) for path in paths)
        found = any(one is not None and not is_same(one.place, one.text.stamp) for one in known)
        if found:
            self._looked = 0.0
        return found

    def _settle(self, path: str, text: Text | None, look: int, wanted: bool) -> None:
        known = self._open.get(path)
        if known is None:
            if text is not None and wanted:
                self._begin(path, text, look)
        elif known.look > look:
            return  # A later reading came first.
        elif text is None:
            self.close(path)
        else:
            known.look = look
            if known.text.digest != text.digest:
                self._change(known, text)
                self._saved(known)
            else:
                known.text = text

    def stage(self, path: str, content: bytes) -> Document:
        """Show the server `content` in place of what is on disk."""
        text = text_of(content, NEVER)
        known = self._open.get(path)
        if known is None:
            return self._begin(path, text, self._look)
        if known.text.digest != text.digest:
            self._change(known, text)
        return known

    def restore(self, path: str, text: Text | None) -> None:
        """Withdraw what was staged: `text` is the document's before, None for one that was not open."""
        known = self._open.get(path)
        if known is None:
            return
        if text is None:
            self.close(path)
        elif known.text.digest != text.digest:
            self._change(known, text)

    def close(self, path: str) -> None:
        known = self._open.pop(path, None)
        if known is not None:
            self._notify("textDocument/didClose", {"textDocument": {"uri": known.uri}})

    def _begin(self, path: str, text: Text, look: int) -> Document:
        document = Document(path, Path(path), uri_of(path), 1, text, _now(), look)
        self._open[path] = document
        opened = {"uri": document.uri, "languageId": self._id_of(path), "version": 1, "text": text.text}
        self._notify("textDocument/didOpen", {"textDocument": opened})
        return document

    def _change(self, known: Document, text: Text) -> None:
        before, known.text, known.sent = known.text, text, _now()
        known.version += 1
        change: dict[str, object] = {"text": text.text}
        if self._sync.kind == 2:
            last = before.line(before.last)
            end = {
                "line": before.last - 1,
                "character": units(last, len(last) + 1, self._sync.encoding),
            }
            change["range"] = {"start": {"line": 0, "character": 0}, "end": end}
        if self._sync.kind:
            named = {"uri": known.uri, "version": known.version}
            self._notify("textDocument/didChange", {"textDocument": named, "contentChanges": [change]})

    def _saved(self, known: Document) -> None:
        if self._sync.saves:
            said: dict[str, object] = {"textDocument": {"uri": known.uri}}
            if self._sync.with_text:
                said["text"] = known.text.text
            self._notify("textDocument/didSave", said)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _differing(
    texts: Texts, paths: tuple[str, ...], opened: list[tuple[str, Path, Stamp]]
) -> dict[str, Text | None]:
    """The texts of those that differ on disk from what is open, and of `paths` that are not open. Every
    question looks at all that is open: hence as little as can be for one that is the same."""
    found: dict[str, Text | None] = {}
    for path, place, stamp in opened:
        if not is_same(place, stamp):
            found[path] = texts.get(path)
    known = {path for path, _, _ in opened}
    for path in paths:
        if path not in known:
            found[path] = texts.get(path)
    return found
