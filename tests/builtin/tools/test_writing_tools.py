"""write, edit, apply_patch, delete, move: a preview first, then exactly that change."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.contexts import previewed_call, writing_context
from tests.support.session_view import call, registered
from tests.workspace.trees import grow, tree

from cockpit.builtin.tools import apply_patch, delete, edit, move, write
from cockpit.errors import CockpitError
from cockpit.plugin.context import ChangeRefused, Context
from cockpit.protocol.content import Diff
from cockpit.protocol.events import FileChanged

MODULES = (write, edit, apply_patch, delete, move)
TOOLS: dict[str, Any] = {name: tool for module in MODULES for name, tool in registered(module).items()}


@pytest.fixture
def context(tmp_path: Path) -> Context:
    grow(tmp_path, {"src/a.py": "one\ntwo\nthree\n", "win.txt": "a\r\nb\r\n", "b.txt": "b\n"})
    return writing_context(tmp_path)


def emitted(context: Context) -> list[Any]:
    session: Any = context.session
    return list(session.emitted)


async def refused(context: Context, tool: str, **arguments: Any) -> str:
    root = Path(context.workspace.root)
    before = tree(root)
    with pytest.raises(CockpitError) as raised:
        await call(TOOLS[tool], context, **arguments)
    assert tree(root) == before
    return str(raised.value)


async def test_preview_writes_nothing_and_the_run_applies_exactly_it(
    context: Context, tmp_path: Path
) -> None:
    before = tree(tmp_path)
    preview = await TOOLS["edit"].preview({"path": "src/a.py", "old": "two", "new": "zwei"}, context)
    assert tree(tmp_path) == before
    assert preview.lift == "src/**"
    assert preview.paths == (str(tmp_path / "src/a.py"),)
    assert [part.id for part in preview.parts] == ["src/a.py"]
    _, done = await previewed_call(TOOLS["edit"], context, path="src/a.py", old="two", new="zwei")
    assert (tmp_path / "src/a.py").read_text() == "one\nzwei\nthree\n"
    assert done.text == "modified src/a.py (+1 -1)"
    (block,) = done.blocks
    assert isinstance(block, Diff) and (block.added, block.removed) == (1, 1)
    assert emitted(context) == [FileChanged("src/a.py", "modified", 1, 1)]


async def test_file_changed_between_approval_and_run_is_not_written(context: Context, tmp_path: Path) -> None:
    tool = TOOLS["write"]
    preview = await tool.preview({"path": "b.txt", "content": "ours"}, context)
    (tmp_path / "b.txt").write_text("theirs")
    running = replace(context.running(), preview=preview)
    with pytest.raises(ChangeRefused, match="has changed"):
        await tool.run({"path": "b.txt", "content": "ours"}, replace(context, call=running))
    assert (tmp_path / "b.txt").read_text() == "theirs"


async def test_write_creates_and_replaces(context: Context, tmp_path: Path) -> None:
    _, done = await previewed_call(TOOLS["write"], context, path="新/文件.md", content="# 标题\n")
    assert done.text == "created 新/文件.md (+1 -0)"
    assert (tmp_path / "新/文件.md").read_text() == "# 标题\n"
    assert (await call(TOOLS["write"], context, path="b.txt", content="B\n")).text == "modified b.txt (+1 -1)"
    assert "changes nothing" in await refused(context, "write", path="b.txt", content="B\n")
    assert "run later" in await refused(context, "write", path=".git/hooks/x", content="")


async def test_edit_needs_a_unique_text_or_replace_all(context: Context, tmp_path: Path) -> None:
    grow(tmp_path, {"c.py": "x = 1\ny = 1\n"})
    assert "occurs 2 times in c.py, at lines 1, 2" in await refused(
        context, "edit", path="c.py", old="1", new="2"
    )
    await call(TOOLS["edit"], context, path="c.py", old="1", new="2", replace_all=True)
    assert (tmp_path / "c.py").read_text() == "x = 2\ny = 2\n"
    assert "are equal" in await refused(context, "edit", path="c.py", old="2", new="2")
    assert "use `write`" in await refused(context, "edit", path="c.py", old="", new="2")
    assert "does not exist" in await refused(context, "edit", path="d.py", old="x", new="2")


async def test_edit_shows_the_nearest_lines_when_nothing_matches(context: Context) -> None:
    message = await refused(context, "edit", path="src/a.py", old="two\nfour\n", new="x")
    assert "its first line is at line 2" in message and "2\ttwo\n3\tthree" in message
    assert "the nearest lines are:\n3\tthree" in await refused(
        context, "edit", path="src/a.py", old="threee", new="x"
    )
    assert "contains the line numbers" in await refused(
        context, "edit", path="src/a.py", old="1\tone\n2\ttwo", new="x"
    )


async def test_edit_preserves_crlf_for_any_line_ends_of_the_text(context: Context, tmp_path: Path) -> None:
    await call(TOOLS["edit"], context, path="win.txt", old="a\nb\n", new="a\nB\nc\n")
    assert (tmp_path / "win.txt").read_bytes() == b"a\r\nB\r\nc\r\n"
    await call(TOOLS["edit"], context, path="win.txt", old="B", new="x\ny")
    assert (tmp_path / "win.txt").read_bytes() == b"a\r\nx\r\ny\r\nc\r\n"


async def test_edit_through_a_link_changes_its_target(context: Context, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("b.txt")
    assert (await call(TOOLS["edit"], context, path="link", old="b", new="B")).text.startswith(
        "modified b.txt"
    )
    assert (tmp_path / "link").is_symlink()


async def test_apply_patch_notes_lines_that_matched_only_loosely(context: Context, tmp_path: Path) -> None:
    update = "*** Update File: src/a.py\n@@\n   one\n-two\n+2\n"
    patch = f"*** Begin Patch\n{update}*** Add File: n.txt\n+n\n*** End Patch"
    done = await call(TOOLS["apply_patch"], context, patch=patch)
    assert done.text.splitlines()[:2] == ["created n.txt (+1 -0)", "modified src/a.py (+1 -1)"]
    assert "note: src/a.py: part 1 matched context" in done.text
    assert (tmp_path / "src/a.py").read_text() == "one\n2\nthree\n"


async def test_patch_refused_in_one_file_changes_no_file(context: Context) -> None:
    patch = "*** Begin Patch\n*** Update File: b.txt\n@@\n-b\n+B\n*** Delete File: nowhere\n*** End Patch"
    assert "nowhere does not exist" in await refused(context, "apply_patch", patch=patch)
    through = patch.replace("b.txt", "link").replace("*** Delete File: nowhere\n", "")
    (Path(context.workspace.root) / "link").symlink_to("b.txt")
    assert "symbolic link" in await refused(context, "apply_patch", patch=through)


async def test_delete_removes_files_and_refuses_folders(context: Context, tmp_path: Path) -> None:
    assert "use shell: rm -r src" in await refused(context, "delete", path="src")
    (tmp_path / "void").mkdir()
    assert "with shell: rmdir void" in await refused(context, "delete", path="void")
    assert "does not exist" in await refused(context, "delete", path="nowhere")
    await call(TOOLS["delete"], context, path="b.txt")
    assert not (tmp_path / "b.txt").exists()
    assert emitted(context) == [FileChanged("b.txt", "deleted", 0, 1)]


async def test_move_renames_into_folders_and_overwrites_nothing(context: Context, tmp_path: Path) -> None:
    done = await call(TOOLS["move"], context, path="b.txt", to="src")
    assert done.text == "moved b.txt -> src/b.txt (+0 -0)"
    assert emitted(context) == [FileChanged("src/b.txt", "moved", 0, 0, "b.txt")]
    assert "exists already" in await refused(context, "move", path="src/b.txt", to="src/a.py")
    assert "use shell: git mv" in await refused(context, "move", path="src", to="lib")


async def test_multi_edit_applies_the_edits_in_order(context: Context, tmp_path: Path) -> None:
    edits = [{"old": "one", "new": "two"}, {"old": "two", "new": "zwei", "replace_all": True}]
    _, done = await previewed_call(TOOLS["multi_edit"], context, path="src/a.py", edits=edits)
    assert (tmp_path / "src/a.py").read_text() == "zwei\nzwei\nthree\n"
    assert done.text == "modified src/a.py (+2 -2)"
    made = [{"old": "", "new": "a\n"}, {"old": "a", "new": "b"}]
    await previewed_call(TOOLS["multi_edit"], context, path="new.txt", edits=made)
    assert (tmp_path / "new.txt").read_text() == "b\n"


async def test_multi_edit_with_one_mismatch_changes_nothing(context: Context) -> None:
    edits = [{"old": "one", "new": "eins"}, {"old": "seven", "new": "sieben"}]
    message = await refused(context, "multi_edit", path="src/a.py", edits=edits)
    assert message.startswith("edits[1]: `old` is not in src/a.py")
    edits = [{"old": "one", "new": "eins"}, {"old": "two", "new": "two"}]
    assert "edits[1]: `old` and `new` are equal" in await refused(
        context, "multi_edit", path="src/a.py", edits=edits
    )
    assert "`edits` is empty" in await refused(context, "multi_edit", path="src/a.py", edits=[])
