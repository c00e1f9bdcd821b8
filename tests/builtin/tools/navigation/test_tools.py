"""The navigation tools, with a real language server on a small project."""

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.support.code import APP, NO_SERVER, SHOP, TY, opened, ready, shop
from tests.support.contexts import previewed_call
from tests.support.session_view import call, context_on, registered

from cockpit.builtin.context import diagnostics_note
from cockpit.builtin.languages.python import PYTHON
from cockpit.builtin.tools import edit
from cockpit.builtin.tools.navigation import (
    code_actions,
    definition,
    diagnostics,
    edit_symbol,
    format,
    hierarchy,
    references,
    rename,
    symbols,
)
from cockpit.core.plugins.toolbox import AgentToolbox
from cockpit.errors import CockpitError
from cockpit.plugin.context import Context
from cockpit.plugin.tools import Tool

MODULES = (
    code_actions,
    definition,
    diagnostics,
    edit,
    edit_symbol,
    format,
    hierarchy,
    references,
    rename,
    symbols,
)
TOOLS: dict[str, Any] = {name: tool for module in MODULES for name, tool in registered(module).items()}


@pytest.fixture
def project(root: Path) -> Path:
    return shop(root)


@pytest.fixture
async def context(project: Path) -> AsyncIterator[Context]:
    """With ty and ruff, and an index."""
    async with opened(project, replace(PYTHON, servers=PYTHON.servers[:2])) as code:
        await ready(code.navigator)
        await code.navigator.symbols("Cart", source="tree-sitter")  # the index is whole
        yield replace(context_on(project), workspace=code.root.workspace, navigator=code.navigator)


async def test_outline_is_nested_and_has_line_numbers(context: Context) -> None:
    done = await call(TOOLS["symbols"], context, path="shop.py")
    assert "\n  4-" in done.text and "\n    10-" in done.text and "def total(self)" in done.text
    found: Any = done.data
    assert {"name", "kind", "path", "line", "column", "source"} <= set(found["results"][0])


async def test_symbols_are_found_by_name_and_kind(context: Context) -> None:
    done = await call(TOOLS["symbols"], context, query="cart", kind="class")
    assert done.text.splitlines()[1:] == ["shop.py", "  4: class Cart:"]


async def test_definition_shows_its_line_and_documentation(context: Context) -> None:
    done = await call(TOOLS["definition"], context, symbol="app.py:7:16")
    assert done.text.splitlines()[:3] == ["1 definition (lsp)", "shop.py", "  10: def total(self) -> int:"]
    assert "The sum." in done.text


async def test_references_are_grouped_by_file_and_name_their_source(context: Context) -> None:
    done = await call(TOOLS["references"], context, symbol="Cart.total")
    assert "(lsp)" in done.text.splitlines()[0]
    assert "\napp.py\n  7: print(cart.total())" in done.text


async def test_callers_are_found(context: Context) -> None:
    done = await call(TOOLS["hierarchy"], context, symbol="Cart.add")
    assert "1 caller" in done.text and "def main() -> None:" in done.text


async def test_problems_name_line_message_and_server(context: Context, project: Path) -> None:
    (project / "app.py").write_text(APP + "    print(unknown)\n")
    done = await call(TOOLS["diagnostics"], context, path="app.py")
    assert "app.py\n  8:11 error: " in done.text and "[ty " in done.text and "[ruff F821]" in done.text
    assert "app.py" in (await call(TOOLS["diagnostics"], context, path=".")).text


async def test_diagnostics_without_a_path_cover_recently_changed_files(
    context: Context, project: Path
) -> None:
    (project / "app.py").write_text(APP + "    print(unknown)\n")
    done = await call(TOOLS["diagnostics"], context)
    assert "2 files checked" in done.text.splitlines()[0] and "app.py\n  8:11 error: " in done.text
    (project / "fine").mkdir()
    (project / "fine" / "one.py").write_text("X = 1\n")
    done = await call(TOOLS["diagnostics"], context, path="fine/")
    assert done.text == "0 problems; 1 file checked"
    (project / "prose").mkdir()
    (project / "prose" / "one.md").write_text("# One\n")
    done = await call(TOOLS["diagnostics"], context, path="prose")
    assert "no file checked: no language server covers these files" in done.text


async def test_diagnostics_of_many_files_cover_the_latest_with_a_note(
    context: Context, project: Path
) -> None:
    for number in range(60):
        file = project / f"m{number:02}.py"
        file.write_text("print(unknown)\n")
        os.utime(file, (1_000_000 + number, 1_000_000 + number))
    done = await call(TOOLS["diagnostics"], context)
    assert "50 files checked of 62; name a path for others" in done.text
    assert "m59.py" in done.text and "m00.py" not in done.text


async def test_rename_is_previewed_and_then_written(context: Context, project: Path) -> None:
    done = await call(TOOLS["rename"], context, symbol="Cart.total", to="sum_up", apply=False)
    assert "nothing is written" in done.text and "+    print(cart.sum_up())" in done.text
    assert (project / "app.py").read_text() == APP
    preview, done = await previewed_call(TOOLS["rename"], context, symbol="Cart.total", to="sum_up")
    assert [change.path for change in preview.changes.files] == ["app.py", "shop.py"]
    assert preview.checked.state == "checked" and not preview.checked.new
    assert "cart.sum_up()" in (project / "app.py").read_text()
    assert "def sum_up(self)" in (project / "shop.py").read_text()


async def test_file_changed_after_the_preview_refuses_the_whole_rename(
    context: Context, project: Path
) -> None:
    tool: Tool = TOOLS["rename"]
    assert tool.preview is not None
    arguments = {"symbol": "Cart.total", "to": "sum_up"}
    preview = await tool.preview(arguments, context)
    (project / "app.py").write_text(APP + "# mine\n")
    running = replace(context.running(), preview=preview)
    with pytest.raises(CockpitError):
        await tool.run(arguments, replace(context, call=running))
    assert (project / "shop.py").read_text() == SHOP
    assert (project / "app.py").read_text() == APP + "# mine\n"


async def test_used_definition_is_not_deleted_without_force(context: Context, project: Path) -> None:
    with pytest.raises(CockpitError, match=r"used in 1 place(.|\n)*7: print\(cart\.total\(\)\)"):
        await call(TOOLS["edit_symbol"], context, symbol="Cart.total", action="delete")
    assert (project / "shop.py").read_text() == SHOP
    await previewed_call(TOOLS["edit_symbol"], context, symbol="Cart.total", action="delete", force=True)
    assert "def total" not in (project / "shop.py").read_text()
    await previewed_call(TOOLS["edit_symbol"], context, symbol="shop.py:unused", action="delete")
    assert (project / "shop.py").read_text().endswith("self.rows.append(price)\n")


async def test_definition_is_replaced_and_extended_by_name(context: Context, project: Path) -> None:
    text = "def total(self) -> int:\n    return 2 * sum(self.rows)"
    await previewed_call(TOOLS["edit_symbol"], context, symbol="Cart.total", action="replace", text=text)
    more = "def empty(self) -> bool:\n    return not self.rows"
    await previewed_call(TOOLS["edit_symbol"], context, symbol="Cart.total", action="after", text=more)
    written = (project / "shop.py").read_text()
    assert (
        "    def total(self) -> int:\n        return 2 * sum(self.rows)\n\n"
        "    def empty(self) -> bool:\n        return not self.rows\n\n    def add(" in written
    )


async def test_edit_reports_its_new_problems_once(context: Context, project: Path) -> None:
    preview, done = await previewed_call(
        TOOLS["edit"], context, path="app.py", old="cart.add(3)", new="cart.ad(3)"
    )
    assert [row.line for row in preview.checked.new] == [6]
    assert "new problems: 1\n  app.py:6: error: " in done.text
    assert await diagnostics_note.collect_problems(context) == ""


async def test_problems_from_other_changes_are_reported_with_the_next_step(
    context: Context, project: Path
) -> None:
    (project / "app.py").write_text(APP + "    print(unknown)\n")
    context.navigator.changed("app.py", APP.encode())
    note = await diagnostics_note.collect_problems(context)
    assert note.startswith("New problems after your edits:\napp.py\n  8:11 error: ")
    assert await diagnostics_note.collect_problems(context) == ""


async def test_actions_are_listed_previewed_and_applied(context: Context, project: Path) -> None:
    (project / "app.py").write_text("import os\n" + APP)
    context.navigator.changed("app.py", APP.encode())
    listed = await call(TOOLS["code_actions"], context, path="app.py", first=1)
    ids = {line.partition(": ")[2]: line.partition(":")[0] for line in listed.text.splitlines()}
    (id,) = [id for title, id in ids.items() if "unused import" in title.lower()]
    shown = await call(TOOLS["code_actions"], context, path="app.py", first=1, action=id, apply=False)
    assert "-import os" in shown.text and "import os" in (project / "app.py").read_text()
    await previewed_call(TOOLS["code_actions"], context, path="app.py", first=1, action=id)
    assert (project / "app.py").read_text() == APP


async def test_formatted_file_is_not_formatted_again(context: Context, project: Path) -> None:
    (project / "app.py").write_text(APP.replace("cart.add(3)", "cart.add( 3 )"))
    context.navigator.changed("app.py", APP.encode())
    await previewed_call(TOOLS["format"], context, path="app.py")
    assert (project / "app.py").read_text() == APP
    _, done = await previewed_call(TOOLS["format"], context, path="app.py")
    assert done.text == "app.py is already formatted"


async def test_file_with_a_syntax_error_is_not_called_formatted(context: Context, project: Path) -> None:
    (project / "bad.py").write_text("x = 1\ndef f(:\n    pass\n")
    done = await call(TOOLS["format"], context, path="bad.py")
    assert "bad.py was not formatted: syntax error at line 2" in done.text and done.is_error
    with pytest.raises(CockpitError, match=r"nope\.py does not exist"):
        await call(TOOLS["format"], context, path="nope.py")


async def test_actions_for_invalid_lines_are_refused(context: Context) -> None:
    for first, last, message in ((0, 0, "count from 1"), (3, 2, "not before"), (90, 0, "has no line 90")):
        with pytest.raises(CockpitError, match=message):
            await call(TOOLS["code_actions"], context, path="app.py", first=first, last=last)
    with pytest.raises(CockpitError, match=r"nope\.py does not exist"):
        await call(TOOLS["code_actions"], context, path="nope.py", first=1)


async def test_stale_action_says_what_to_do(context: Context) -> None:
    with pytest.raises(CockpitError, match=r"list the actions again$"):
        await call(TOOLS["code_actions"], context, path="app.py", first=1, action="ruff-99")


async def test_ambiguous_name_lists_the_candidates(context: Context, project: Path) -> None:
    (project / "other.py").write_text("class Basket:\n    def total(self): ...\n")
    context.navigator.changed("other.py")
    with pytest.raises(CockpitError, match=r"defined 2 times: .*shop\.py:10.*; name one of them"):
        await call(TOOLS["references"], context, symbol="total")


async def test_rename_without_a_server_says_what_to_do(project: Path) -> None:
    async with opened(project, NO_SERVER) as code:
        context = replace(context_on(project), workspace=code.root.workspace, navigator=code.navigator)
        with pytest.raises(CockpitError, match="cockpit doctor"):
            await call(TOOLS["rename"], context, symbol="Cart.total", to="sum_up")


async def test_edit_is_not_blocked_by_a_starting_server(project: Path) -> None:
    async with opened(project, TY) as code:
        context = replace(context_on(project), workspace=code.root.workspace, navigator=code.navigator)
        preview, done = await previewed_call(
            TOOLS["edit"], context, path="app.py", old="cart.add(3)", new="cart.ad(3)"
        )
        assert preview.checked is None and "new problems" not in done.text


@cache
def toolbox() -> AgentToolbox:
    from cockpit.cli.command import load_catalog

    return AgentToolbox(load_catalog("."))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        (
            "lsp_definition",
            {"path": "a.py", "line": 3, "character": 4},
            ("definition", {"symbol": "a.py:3:5"}),
        ),
        ("lsp_references", {"path": "a.py", "line": 3}, ("references", {"symbol": "a.py:3"})),
        (
            "lsp_references",
            {"file_path": "a.py", "line": 3, "character": 4},
            ("references", {"symbol": "a.py:3:5"}),
        ),
        ("lsp_hover", {"file_path": "a.py", "line": 3}, ("definition", {"symbol": "a.py:3"})),
        ("lsp_definition", {"file_path": "a.py", "line": 3}, ("definition", {"symbol": "a.py:3"})),
        (
            "lsp_rename",
            {"file_path": "a.py", "line": 3, "character": 0, "new_name": "b"},
            ("rename", {"symbol": "a.py:3:1", "to": "b"}),
        ),
        ("lsp_symbols", {"path": "a.py"}, ("symbols", {"path": "a.py"})),
        ("lsp_workspace_symbols", {"query": "Cart"}, ("symbols", {"query": "Cart"})),
        ("lsp_diagnostics", {"path": "a.py"}, ("diagnostics", {"path": "a.py"})),
        (
            "lsp_rename_preview",
            {"path": "a.py", "line": 3, "character": 0, "new_name": "b"},
            ("rename", {"symbol": "a.py:3:1", "to": "b", "apply": False}),
        ),
    ],
)
def test_other_agents_lsp_names_are_understood(
    name: str, arguments: dict[str, Any], expected: tuple[str, dict[str, Any]]
) -> None:
    found = toolbox().find(name, arguments)
    assert found is not None and (found[0].name, dict(found[1])) == expected
