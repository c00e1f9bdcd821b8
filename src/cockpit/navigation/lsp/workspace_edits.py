"""Converts a server's WorkspaceEdit to our edits, in its order. Called in worker threads; writes nothing.

Raises `MalformedMessage` for what the protocol does not define and `LspNotSupported` for what is not allowed.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cockpit.navigation.lsp.documents import NO_STAMP, DocumentText, DocumentTextCache, decode_text
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


@dataclass(slots=True)
class WorkspaceEditPlan:
    """The files as they will be: each edit applies on top of the previous ones, as the protocol requires."""

    root: str
    texts: DocumentTextCache
    encoding: Encoding
    versions: Mapping[str, int]
    name: str = ""
    edits: list[Edit] = field(default_factory=list)
    virtual: dict[str, DocumentText | None] = field(default_factory=dict)

    def path(self, uri: object) -> str:
        """The absolute path of a file that may be edited. Raises `LspNotSupported` if it is outside the
        root."""
        path = Path(uri_to_path(as_text(uri)))
        real = str(path.parent.resolve() / path.name)
        if display_path(self.root, real) == real.replace(os.sep, "/"):
            raise LspNotSupported(
                f"the edit would change {path}, which is outside the project; nothing was changed"
            )
        return real

    def current(self, path: str) -> DocumentText | None:
        return self.virtual[path] if path in self.virtual else self.texts.get(path)

    def write(self, path: str, content: bytes, before: str | None) -> None:
        name = display_path(self.root, path)
        last = self.edits[-1] if self.edits else None
        if isinstance(last, WriteFile) and last.path == name:
            before = last.before
            self.edits.pop()
        self.edits.append(WriteFile(name, content, before))
        self.virtual[path] = decode_text(content, NO_STAMP)


def convert_workspace_edit(
    answer: object,
    root: str,
    texts: DocumentTextCache,
    encoding: Encoding,
    open_documents: tuple[Mapping[str, int], Mapping[str, DocumentText]],
    name: str = "",
) -> tuple[Edit, ...]:
    """The edits of a WorkspaceEdit (null: none).

    `open_documents` are their versions by URI and texts by path: an edit for another version is refused.
    With `name`, each edit must replace text that contains it.
    """
    if answer is None:
        return ()
    versions, open_texts = open_documents
    plan = WorkspaceEditPlan(root, texts, encoding, versions, name, [], dict(open_texts))
    edit = as_object(answer)
    changes = edit.get("documentChanges")
    if changes is not None:
        for change in as_list(changes):
            _apply_change(plan, as_object(change))
        return tuple(plan.edits)
    by_uri = edit.get("changes")
    for uri, text_edits in as_object(by_uri if by_uri is not None else {}).items():
        _edit_text(plan, uri, text_edits)
    return tuple(plan.edits)


def _apply_change(plan: WorkspaceEditPlan, change: JsonObject) -> None:
    options = change.get("options")
    match change.get("kind"):
        case None:
            uri, version = (
                as_text(get_nested(change, "textDocument", "uri")),
                get_nested(change, "textDocument", "version"),
            )
            known_version = plan.versions.get(uri)
            if isinstance(version, int) and known_version is not None and version != known_version:
                raise LspNotSupported("the file changed while the server was working; try again")
            _edit_text(plan, uri, change.get("edits"))
        case "create":
            _create(plan, plan.path(change.get("uri")), options)
        case "rename":
            _rename(plan, change, get_nested(options, "overwrite") is True)
        case "delete":
            path = plan.path(change.get("uri"))
            known_text = plan.current(path)
            if known_text is None and get_nested(options, "ignoreIfNotExists") is True:
                return
            if Path(path).is_dir():
                raise LspNotSupported(
                    f"the edit would delete the folder {display_path(plan.root, path)}; delete it yourself"
                )
            plan.edits.append(
                DeleteFile(
                    display_path(plan.root, path), known_text.digest if known_text is not None else None
                )
            )
            plan.virtual[path] = None
        case other:
            raise MalformedMessage(f"unknown change kind {other!r}")


def _create(plan: WorkspaceEditPlan, path: str, options: object) -> None:
    known = plan.current(path)
    overwrite = get_nested(options, "overwrite") is True
    if known is not None and not overwrite:
        if get_nested(options, "ignoreIfExists") is True:
            return
        raise LspNotSupported(f"{display_path(plan.root, path)} already exists; nothing was changed")
    plan.write(path, b"", known.digest if known is not None else "")


def _rename(plan: WorkspaceEditPlan, change: JsonObject, replace: bool) -> None:
    old, new = plan.path(change.get("oldUri")), plan.path(change.get("newUri"))
    if Path(old).is_dir():
        raise LspNotSupported(
            f"the edit would move the folder {display_path(plan.root, old)}; move it yourself, then try again"
        )
    plan.edits.append(MoveFile(display_path(plan.root, old), display_path(plan.root, new), replace=replace))
    plan.virtual[new], plan.virtual[old] = plan.current(old), None


def _edit_text(plan: WorkspaceEditPlan, uri: object, text_edits: object) -> None:
    path = plan.path(uri)
    known = plan.current(path)
    if known is None:
        raise LspNotSupported(f"{display_path(plan.root, path)} cannot be read; nothing was changed")
    if not known.exact:
        raise LspNotSupported(f"{display_path(plan.root, path)} is not valid UTF-8; edit it by hand")
    changed = apply_text_edits(known, as_list(text_edits), plan.encoding, plan.name)
    if changed != known.text:
        plan.write(path, known.bytes_of(changed), known.digest)


def apply_text_edits(
    known: DocumentText, text_edits: Sequence[object], encoding: Encoding, name: str = ""
) -> str:
    """The text after TextEdits, whose positions all refer to the original text. With `name`, each must
    replace text that contains it. Raises `MalformedMessage` if they overlap and `LspNotSupported` if they
    do not contain it."""
    starts = known.starts
    spans = []
    for index, text_edit in enumerate(text_edits):
        edit = as_object(text_edit)
        start = _offset(known, starts, get_nested(edit, "range", "start"), encoding)
        end = _offset(known, starts, get_nested(edit, "range", "end"), encoding)
        spans.append((start, end, index, as_text(edit.get("newText"))))
    pieces, end_of_last = [], 0
    for start, end, _, new in sorted(spans):
        if start < end_of_last or end < start:
            raise MalformedMessage("overlapping edits")
        if name not in known.text[start:end]:
            # A server that counts columns differently from what it declared would corrupt the text.
            replaced = known.text[start:end][:40]
            raise LspNotSupported(
                f"the edit would change {replaced!r} instead of {name}; nothing was changed"
            )
        pieces += [known.text[end_of_last:start], new]
        end_of_last = end
    return "".join([*pieces, known.text[end_of_last:]])


def _offset(known: DocumentText, starts: Sequence[int], position: object, encoding: Encoding) -> int:
    line = as_count(get_nested(position, "line"))
    if line >= len(starts):
        return len(known.text)
    body = known.line(line + 1)
    return starts[line] + offset_to_column(body, as_count(get_nested(position, "character")), encoding) - 1
