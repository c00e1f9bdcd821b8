"""A server's WorkspaceEdit as edits of ours, in its order. Called in worker threads; writes nothing.

Raises `Misshapen` for what the protocol does not know and `Unable` for what may not be done.
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
    """The files as they would be: the edits are laid on each other, as the protocol orders them."""

    root: str
    texts: DocumentTextCache
    encoding: Encoding
    versions: Mapping[str, int]
    name: str = ""
    edits: list[Edit] = field(default_factory=list)
    virtual: dict[str, DocumentText | None] = field(default_factory=dict)

    def path(self, uri: object) -> str:
        """The absolute path of a file that may be edited. Raises `Unable` outside of the root."""
        path = Path(uri_to_path(as_text(uri)))
        real = str(path.parent.resolve() / path.name)
        if display_path(self.root, real) == real.replace(os.sep, "/"):
            raise LspNotSupported(f"it would change {path}, outside of the folder; nothing was changed")
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
    seen: tuple[Mapping[str, int], Mapping[str, DocumentText]],
    name: str = "",
) -> tuple[Edit, ...]:
    """The edits of a WorkspaceEdit (null: none). `seen` are the open documents' versions by URI
    and texts by path: an edit made for another version is refused. With `name`, each edit must replace text
    that holds it."""
    if answer is None:
        return ()
    versions, open_texts = seen
    plan = WorkspaceEditPlan(root, texts, encoding, versions, name, [], dict(open_texts))
    whole = as_object(answer)
    changes = whole.get("documentChanges")
    if changes is not None:
        for one in as_list(changes):
            _apply_change(plan, as_object(one))
        return tuple(plan.edits)
    by_uri = whole.get("changes")
    for uri, text_edits in as_object(by_uri if by_uri is not None else {}).items():
        _edit_text(plan, uri, text_edits)
    return tuple(plan.edits)


def _apply_change(plan: WorkspaceEditPlan, one: JsonObject) -> None:
    options = one.get("options")
    match one.get("kind"):
        case None:
            uri, version = (
                as_text(get_nested(one, "textDocument", "uri")),
                get_nested(one, "textDocument", "version"),
            )
            known = plan.versions.get(uri)
            if isinstance(version, int) and known is not None and version != known:
                raise LspNotSupported("the file changed while the server was thinking; try again")
            _edit_text(plan, uri, one.get("edits"))
        case "create":
            _create(plan, plan.path(one.get("uri")), options)
        case "rename":
            _rename(plan, one, get_nested(options, "overwrite") is True)
        case "delete":
            path = plan.path(one.get("uri"))
            known_text = plan.current(path)
            if known_text is None and get_nested(options, "ignoreIfNotExists") is True:
                return
            if Path(path).is_dir():
                raise LspNotSupported(
                    f"it would delete the folder {display_path(plan.root, path)}; delete it yourself"
                )
            plan.edits.append(
                DeleteFile(
                    display_path(plan.root, path), known_text.digest if known_text is not None else None
                )
            )
            plan.virtual[path] = None
        case other:
            raise MalformedMessage(f"a change of kind {other!r}")


def _create(plan: WorkspaceEditPlan, path: str, options: object) -> None:
    known = plan.current(path)
    overwrite = get_nested(options, "overwrite") is True
    if known is not None and not overwrite:
        if get_nested(options, "ignoreIfExists") is True:
            return
        raise LspNotSupported(f"{display_path(plan.root, path)} is there already; nothing was changed")
    plan.write(path, b"", known.digest if known is not None else "")


def _rename(plan: WorkspaceEditPlan, one: JsonObject, replace: bool) -> None:
    old, new = plan.path(one.get("oldUri")), plan.path(one.get("newUri"))
    if Path(old).is_dir():
        raise LspNotSupported(
            f"it would move the folder {display_path(plan.root, old)}; move it yourself, then ask again"
        )
    plan.edits.append(MoveFile(display_path(plan.root, old), display_path(plan.root, new), replace=replace))
    plan.virtual[new], plan.virtual[old] = plan.current(old), None


def _edit_text(plan: WorkspaceEditPlan, uri: object, text_edits: object) -> None:
    path = plan.path(uri)
    known = plan.current(path)
    if known is None:
        raise LspNotSupported(f"{display_path(plan.root, path)} cannot be read; nothing was changed")
    if not known.exact:
        raise LspNotSupported(f"{display_path(plan.root, path)} is no UTF-8; edit it by hand")
    changed = apply_text_edits(known, as_list(text_edits), plan.encoding, plan.name)
    if changed != known.text:
        plan.write(path, known.bytes_of(changed), known.digest)


def apply_text_edits(
    known: DocumentText, text_edits: Sequence[object], encoding: Encoding, name: str = ""
) -> str:
    """The text after TextEdits, which all count in the text before; each must replace text that holds `name`.
    Raises `Misshapen` where they overlap and `Unable` where they do not."""
    starts = known.starts
    spans = []
    for place, one in enumerate(text_edits):
        edit = as_object(one)
        start = _offset(known, starts, get_nested(edit, "range", "start"), encoding)
        end = _offset(known, starts, get_nested(edit, "range", "end"), encoding)
        spans.append((start, end, place, as_text(edit.get("newText"))))
    pieces, at = [], 0
    for start, end, _, new in sorted(spans):
        if start < at or end < start:
            raise MalformedMessage("edits that overlap")
        if name not in known.text[start:end]:
            # A server that counts columns another way than it said would tear the text apart.
            torn = known.text[start:end][:40]
            raise LspNotSupported(
                f"it would change {torn!r} where {name} was to be renamed; nothing was changed"
            )
        pieces += [known.text[at:start], new]
        at = end
    return "".join([*pieces, known.text[at:]])


def _offset(known: DocumentText, starts: Sequence[int], position: object, encoding: Encoding) -> int:
    line = as_count(get_nested(position, "line"))
    if line >= len(starts):
        return len(known.text)
    body = known.line(line + 1)
    return starts[line] + offset_to_column(body, as_count(get_nested(position, "character")), encoding) - 1
