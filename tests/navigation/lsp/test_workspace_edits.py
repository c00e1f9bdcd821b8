"""Conversion of a server's edits: positions, permitted files and order."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from cockpit.navigation.lsp.documents import DocumentText, DocumentTextCache, decode_text
from cockpit.navigation.lsp.protocol import LspNotSupported, MalformedMessage
from cockpit.navigation.lsp.workspace_edits import convert_workspace_edit
from cockpit.plugin.changes import DeleteFile, Edit, MoveFile, WriteFile


def edit(line: int, start: int, end: int, text: str, last: int | None = None) -> dict[str, object]:
    span = {
        "start": {"line": line, "character": start},
        "end": {"line": line if last is None else last, "character": end},
    }
    return {"range": span, "newText": text}


def read(
    root: Path, answer: object, open_texts: Mapping[str, tuple[int, DocumentText]] | None = None
) -> tuple[Edit, ...]:
    return convert_workspace_edit(
        answer, str(root.resolve()), DocumentTextCache(), "utf-16", open_texts or {}
    )


def uri(root: Path, name: str) -> str:
    return (root.resolve() / name).as_uri()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_edits_count_in_the_text_before_in_utf_16_and_keep_line_ends(root: Path) -> None:
    before = "x = '😀'; y = 1\r\nz = 2\r\n".encode()
    (root / "a.py").write_bytes(before)
    changes = {uri(root, "a.py"): [edit(1, 0, 1, "zz"), edit(0, 10, 11, "yy"), edit(0, 0, 1, "xx")]}
    (found,) = read(root, {"changes": changes})
    after = "xx = '😀'; yy = 1\r\nzz = 2\r\n".encode()
    assert found == WriteFile("a.py", after, digest(before))


def test_insertions_at_one_place_keep_their_order(root: Path) -> None:
    (root / "a.py").write_text("c")
    changes = {uri(root, "a.py"): [edit(0, 0, 0, "a"), edit(0, 0, 0, "b")]}
    (found,) = read(root, {"changes": changes})
    assert isinstance(found, WriteFile) and found.content == b"abc"


def test_an_edit_past_the_end_is_at_the_end(root: Path) -> None:
    (root / "a.py").write_text("a\n")
    (found,) = read(root, {"changes": {uri(root, "a.py"): [edit(0, 0, 0, "b\n", last=99)]}})
    assert isinstance(found, WriteFile) and found.content == b"b\n"


def test_a_byte_order_mark_stays(root: Path) -> None:
    (root / "a.py").write_bytes(b"\xef\xbb\xbfold = 1\n")
    (found,) = read(root, {"changes": {uri(root, "a.py"): [edit(0, 0, 3, "new")]}})
    assert isinstance(found, WriteFile) and found.content == b"\xef\xbb\xbfnew = 1\n"


def test_overlapping_edits_are_refused(root: Path) -> None:
    (root / "a.py").write_text("abcdef")
    with pytest.raises(MalformedMessage, match="overlap"):
        read(root, {"changes": {uri(root, "a.py"): [edit(0, 0, 3, "x"), edit(0, 2, 4, "y")]}})


@pytest.mark.parametrize("name", ["../outside.py", "/etc/hosts", "link/inner.py"])
def test_edits_that_leave_the_root_are_refused(root: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "outside.py").write_text("a")
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "inner.py").write_text("a")
    (root / "link").symlink_to(tmp_path / "far")
    with pytest.raises(LspNotSupported, match="outside the project"):
        read(root, {"changes": {Path(root, name).as_uri(): [edit(0, 0, 1, "x")]}})


def test_files_are_created_moved_edited_and_deleted_in_order(root: Path) -> None:
    (root / "old.py").write_text("one\n")
    (root / "gone.py").write_text("gone\n")
    found = read(
        root,
        {
            "documentChanges": [
                {"kind": "create", "uri": uri(root, "new.py")},
                {
                    "textDocument": {"uri": uri(root, "new.py"), "version": None},
                    "edits": [edit(0, 0, 0, "made\n")],
                },
                {"kind": "rename", "oldUri": uri(root, "old.py"), "newUri": uri(root, "moved.py")},
                {
                    "textDocument": {"uri": uri(root, "moved.py"), "version": None},
                    "edits": [edit(0, 0, 3, "two")],
                },
                {"kind": "delete", "uri": uri(root, "gone.py")},
            ]
        },
    )
    assert found == (
        WriteFile("new.py", b"made\n", ""),
        MoveFile("old.py", "moved.py"),
        WriteFile("moved.py", b"two\n", digest(b"one\n")),
        DeleteFile("gone.py", digest(b"gone\n")),
    )


def test_creating_an_existing_file_is_refused_unless_ignored(root: Path) -> None:
    (root / "a.py").write_text("a")
    change = {"kind": "create", "uri": uri(root, "a.py")}
    with pytest.raises(LspNotSupported, match="already exists"):
        read(root, {"documentChanges": [change]})
    assert read(root, {"documentChanges": [{**change, "options": {"ignoreIfExists": True}}]}) == ()
    (found,) = read(root, {"documentChanges": [{**change, "options": {"overwrite": True}}]})
    assert found == WriteFile("a.py", b"", digest(b"a"))


def test_an_edit_of_another_version_is_refused(root: Path) -> None:
    (root / "a.py").write_text("a")
    path = str(root.resolve() / "a.py")
    document = {"uri": uri(root, "a.py"), "version": 3}
    answer = {"documentChanges": [{"textDocument": document, "edits": [edit(0, 0, 1, "b")]}]}
    with pytest.raises(LspNotSupported, match="changed while"):
        read(root, answer, {path: (4, decode_text(b"a"))})
    assert read(root, answer, {path: (3, decode_text(b"a"))})


def test_a_file_that_is_not_utf_8_is_not_changed(root: Path) -> None:
    (root / "a.py").write_bytes(b"\xff = 1\n")
    with pytest.raises(LspNotSupported, match="UTF-8"):
        read(root, {"changes": {uri(root, "a.py"): [edit(0, 0, 1, "b")]}})


@pytest.mark.parametrize("answer", [5, [], {"changes": 5}, {"documentChanges": [{"kind": "burn"}]}])
def test_what_the_protocol_does_not_define_is_malformed(root: Path, answer: object) -> None:
    with pytest.raises(MalformedMessage):
        read(root, answer)


def test_a_null_edit_changes_nothing(root: Path) -> None:
    assert read(root, None) == read(root, {}) == ()


def test_a_rename_at_wrong_columns_is_refused(root: Path) -> None:
    (root / "a.py").write_text("'é😀'; old = 1\n")
    answer = {"changes": {uri(root, "a.py"): [edit(0, 6, 9, "new")]}}
    with pytest.raises(LspNotSupported, match="instead of old"):
        convert_workspace_edit(answer, str(root.resolve()), DocumentTextCache(), "utf-16", {}, "old")
    (found,) = convert_workspace_edit(answer, str(root.resolve()), DocumentTextCache(), "utf-32", {}, "old")
    assert isinstance(found, WriteFile) and found.content.decode() == "'é😀'; new = 1\n"
