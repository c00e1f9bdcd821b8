"""Converts a server's WorkspaceEdit to our edits, in its order. Called in worker threads; writes nothing.

Raises `MalformedMessage` for what the protocol does not define and `LspNotSupported` for what is not allowed.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from cockpit.navigation.lsp.documents import DocumentText, DocumentTextCache, decode_text
from cockpit.navigation.lsp.protocol import (
    Encoding,
    JsonObject,
    LspNotSupported,
    MalformedMessage,
    as_count,
    as_list,
    as_object,
    as_text,
    display_path,
    get_nested,
    offset_to_column,
    uri_to_path,
)
from cockpit.plugin.changes import DeleteFile, Edit, MoveFile, WriteFile


def convert_workspace_edit(
    answer: object,
    root: str,
    texts: DocumentTextCache,
    encoding: Encoding,
    open_texts: Mapping[str, tuple[int, DocumentText]],
    name: str = "",
) -> tuple[Edit, ...]:
    """The edits of a WorkspaceEdit (null: none).

    `open_texts` are version and text of the documents that are open in the server, by path: an edit of
    another version is refused. With `name`, each edit must replace text that contains it.
    """
    if answer is None:
        return ()
    workspace_edit = as_object(answer)
    converter = WorkspaceEditConverter(root, texts, encoding, open_texts, name)
    changes = workspace_edit.get("documentChanges")
    if changes is not None:
        for change in as_list(changes):
            converter.apply(as_object(change))
    else:
        edits_by_uri = workspace_edit.get("changes")
        for uri, text_edits in as_object({} if edits_by_uri is None else edits_by_uri).items():
            converter.edit_text(converter.resolve(uri), text_edits)
    return tuple(converter.edits)


class WorkspaceEditConverter:
    """Applies the changes of one WorkspaceEdit to texts in memory, each on top of the previous ones, as the
    protocol requires, and collects our `edits`."""

    def __init__(
        self,
        root: str,
        texts: DocumentTextCache,
        encoding: Encoding,
        open_texts: Mapping[str, tuple[int, DocumentText]],
        name: str,
    ) -> None:
        self.edits: list[Edit] = []
        self._root = root
        self._texts = texts
        self._encoding = encoding
        self._name = name
        self._versions = {path: version for path, (version, _) in open_texts.items()}
        # The texts that differ from the disk; None for a file that is deleted or moved away.
        self._pending: dict[str, DocumentText | None] = {path: text for path, (_, text) in open_texts.items()}

    def resolve(self, uri: object) -> str:
        """The absolute path of a file to edit. Raises `LspNotSupported` if it is outside the root."""
        path = Path(uri_to_path(as_text(uri)))
        real = str(path.parent.resolve() / path.name)
        if self._shown(real) == real.replace(os.sep, "/"):
            raise LspNotSupported(
                f"the edit would change {path}, which is outside the project; nothing was changed"
            )
        return real

    def apply(self, change: JsonObject) -> None:
        """Apply one of the `documentChanges`."""
        options = change.get("options")
        match change.get("kind"):
            case None:
                uri = get_nested(change, "textDocument", "uri")
                version = get_nested(change, "textDocument", "version")
                known_version = self._versions.get(uri_to_path(as_text(uri)))
                if isinstance(version, int) and known_version not in (None, version):
                    raise LspNotSupported("the file changed while the server was working; try again")
                self.edit_text(self.resolve(uri), change.get("edits"))
            case "create":
                self._create(self.resolve(change.get("uri")), options)
            case "rename":
                old, new = self.resolve(change.get("oldUri")), self.resolve(change.get("newUri"))
                self._move(old, new, get_nested(options, "overwrite") is True)
            case "delete":
                self._delete(self.resolve(change.get("uri")), options)
            case other:
                raise MalformedMessage(f"unknown change kind {other!r}")

    def edit_text(self, path: str, text_edits: object) -> None:
        """Apply a list of TextEdits to the file at `path`."""
        document = self._current(path)
        if document is None:
            raise LspNotSupported(f"{self._shown(path)} cannot be read; nothing was changed")
        if not document.exact:
            raise LspNotSupported(f"{self._shown(path)} is not valid UTF-8; edit it by hand")
        changed = apply_text_edits(document, as_list(text_edits), self._encoding, self._name)
        if changed != document.text:
            self._write(path, document.encode(changed), document.digest)

    def _create(self, path: str, options: object) -> None:
        existing = self._current(path)
        if existing is not None and get_nested(options, "overwrite") is not True:
            if get_nested(options, "ignoreIfExists") is True:
                return
            raise LspNotSupported(f"{self._shown(path)} already exists; nothing was changed")
        self._write(path, b"", existing.digest if existing is not None else "")

    def _move(self, old: str, new: str, replace: bool) -> None:
        if Path(old).is_dir():
            raise LspNotSupported(
                f"the edit would move the folder {self._shown(old)}; move it yourself, then try again"
            )
        self.edits.append(MoveFile(self._shown(old), self._shown(new), replace=replace))
        self._pending[new], self._pending[old] = self._current(old), None

    def _delete(self, path: str, options: object) -> None:
        existing = self._current(path)
        if existing is None and get_nested(options, "ignoreIfNotExists") is True:
            return
        if Path(path).is_dir():
            raise LspNotSupported(f"the edit would delete the folder {self._shown(path)}; delete it yourself")
        self.edits.append(DeleteFile(self._shown(path), existing.digest if existing is not None else None))
        self._pending[path] = None

    def _write(self, path: str, content: bytes, before: str | None) -> None:
        """Record a new content. Several writes of a file in a row become a single edit."""
        name = self._shown(path)
        last = self.edits[-1] if self.edits else None
        if isinstance(last, WriteFile) and last.path == name:
            before = last.before
            self.edits.pop()
        self.edits.append(WriteFile(name, content, before))
        self._pending[path] = decode_text(content)

    def _current(self, path: str) -> DocumentText | None:
        return self._pending[path] if path in self._pending else self._texts.get(path)

    def _shown(self, path: str) -> str:
        return display_path(self._root, path)


def apply_text_edits(
    document: DocumentText, text_edits: Sequence[object], encoding: Encoding, name: str
) -> str:
    """The text after TextEdits, whose positions all refer to the original text.

    Each must replace text that contains `name` (which may be empty). Raises `MalformedMessage` if they
    overlap and `LspNotSupported` if they do not contain the name.
    """
    replacements = []
    for index, text_edit in enumerate(text_edits):
        edit = as_object(text_edit)
        start = _offset(document, get_nested(edit, "range", "start"), encoding)
        end = _offset(document, get_nested(edit, "range", "end"), encoding)
        replacements.append((start, end, index, as_text(edit.get("newText"))))
    pieces, end_of_last = [], 0
    for start, end, _, new_text in sorted(replacements):
        if start < end_of_last or end < start:
            raise MalformedMessage("overlapping edits")
        replaced = document.text[start:end]
        if name not in replaced:
            # A server that counts columns differently from what it declared would corrupt the text.
            raise LspNotSupported(
                f"the edit would change {replaced[:40]!r} instead of {name}; nothing was changed"
            )
        pieces += [document.text[end_of_last:start], new_text]
        end_of_last = end
    return "".join([*pieces, document.text[end_of_last:]])


def _offset(document: DocumentText, position: object, encoding: Encoding) -> int:
    """The index in the text of a server's position; past the last line it is the end."""
    line = as_count(get_nested(position, "line"))
    if line >= document.last:
        return len(document.text)
    character = as_count(get_nested(position, "character"))
    return document.starts[line] + offset_to_column(document.line(line + 1), character, encoding) - 1
