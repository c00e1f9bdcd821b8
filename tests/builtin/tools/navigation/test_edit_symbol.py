"""Editing whole definitions by name: what belongs to a definition changes with it, the rest does not."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.code import NO_SERVER, opened
from tests.support.contexts import previewed_call
from tests.support.session_view import context_on, registered

from cockpit.builtin.languages.c import CPP, C
from cockpit.builtin.languages.javascript import TYPESCRIPT
from cockpit.builtin.languages.rust import RUST
from cockpit.builtin.tools.navigation import edit_symbol
from cockpit.errors import CockpitError
from cockpit.plugin.context import Context
from cockpit.protocol.messages import Json
from cockpit.workspace.local import LocalWorkspace

TOOL: Any = registered(edit_symbol)["edit_symbol"]
LANGUAGES = (NO_SERVER, *(replace(one, servers=()) for one in (TYPESCRIPT, RUST, C, CPP)))


@pytest.fixture
async def context(root: Path) -> AsyncIterator[Context]:
    """With an index and no server."""
    async with opened(root, *LANGUAGES) as one:
        yield replace(context_on(root), workspace=LocalWorkspace(str(root)), navigator=one.navigator)


async def edited(context: Context, name: str, before: str, **arguments: Json) -> str:
    """The file after an edit of `name`; it is written anew first."""
    file = Path(context.workspace.root, name)
    file.write_text(before, encoding="utf-8")
    context.navigator.changed(name)
    await previewed_call(TOOL, context, **arguments)
    return file.read_text(encoding="utf-8")


async def test_lines_of_a_multi_line_string_are_not_indented(context: Context) -> None:
    text = 'def sql(self):\n    """Doc.\n\n    More.\n    """\n    return """\nSELECT\n    x\n"""\n'
    before = "class A:\n    def sql(self):\n        return 1\n"
    after = await edited(context, "a.py", before, symbol="A.sql", action="replace", text=text)
    assert '        return """\nSELECT\n    x\n"""\n' in after
    assert '        """Doc.\n\n        More.\n        """\n' in after
    text = "m() {\n  return `\n  ${x}\n`;\n}"
    before = "class A {\n    m() { }\n}\n"
    after = await edited(context, "a.ts", before, symbol="a.ts:A.m", action="replace", text=text)
    assert after == "class A {\n    m() {\n      return `\n  ${x}\n`;\n    }\n}\n"


@pytest.mark.parametrize(
    ("name", "content", "symbol", "message"),
    [
        ("a.ts", "export const a = 1, b = 2;\n", "a", "a and b share one statement; use `edit`"),
        ("a.py", "a = b = 2\n", "a", "a and b share"),
        ("a.py", "c, d = 1, 2\n", "d", "c and d share"),
        ("a.py", "class A:\n    x = y = 3\n", "A.x", "x and y share"),
        ("a.c", "int p, q;\n", "q", "p and q share"),
    ],
)
@pytest.mark.parametrize("action", ["replace", "delete"])
async def test_statement_that_defines_several_names_is_refused(
    context: Context, name: str, content: str, symbol: str, message: str, action: str
) -> None:
    with pytest.raises(CockpitError, match=message):
        await edited(context, name, content, symbol=f"{name}:{symbol}", action=action, text="x = 1")
    assert Path(context.workspace.root, name).read_text() == content


DECORATED = '# Why it is so.\n@cache\n@cap(\n    1\n)\ndef f():\n    """Doc."""\n    return 1\n'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("def f():\n    return 2", "# Why it is so.\n@cache\n@cap(\n    1\n)\ndef f():\n    return 2\n"),
        ("# New.\ndef f(): ...", "# New.\n@cache\n@cap(\n    1\n)\ndef f(): ...\n"),
        ("@other\ndef f(): ...", "# Why it is so.\n@other\ndef f(): ...\n"),
        ("# New.\n@other\ndef f(): ...", "# New.\n@other\ndef f(): ...\n"),
    ],
)
async def test_comments_and_decorators_stay_unless_the_text_has_its_own(
    context: Context, text: str, left: str
) -> None:
    assert await edited(context, "a.py", DECORATED, symbol="a.py:f", action="replace", text=text) == left


async def test_attributes_and_doc_comments_of_other_languages_stay(context: Context) -> None:
    before = "/// Doc.\n#[derive(Debug)]\n#[cfg(test)]\nstruct S { a: i32 }\n"
    text = "struct S { b: i32 }"
    after = await edited(context, "a.rs", before, symbol="a.rs:S", action="replace", text=text)
    assert after == before.replace("a: i32", "b: i32")
    assert await edited(context, "a.rs", before, symbol="a.rs:S", action="delete") == ""
    before = "class A {\n  /** Doc. */\n  @Hear(\n    ')'\n  )\n  m(): void { }\n}\n"
    text = "m(): void {\n  go();\n}"
    after = await edited(context, "a.ts", before, symbol="a.ts:A.m", action="replace", text=text)
    assert after == before.replace("{ }", "{\n    go();\n  }")
    assert await edited(context, "a.ts", before, symbol="a.ts:A.m", action="delete") == "class A {\n}\n"


async def test_comment_at_the_start_of_a_class_belongs_to_its_first_method(context: Context) -> None:
    before = "class A:\n    # First.\n    def m(self): ...\n\n    def n(self): ...\n"
    after = await edited(context, "a.py", before, symbol="A.m", action="before", text="x = 1\n")
    assert after.startswith("class A:\n    x = 1\n\n    # First.\n    def m")
    after = await edited(context, "a.py", before, symbol="A.m", action="delete")
    assert after == "class A:\n    def n(self): ...\n"


PROPERTY = (
    "class A:\n    @property\n    def t(self): ...\n\n    @t.setter\n    def t(self, v): ...\n"
    "\n\nif x:\n    def f(): ...\nelse:\n    def f(): ...\n"
)


async def test_name_with_two_definitions_needs_a_line(context: Context) -> None:
    for symbol, lines in (("A.t", (3, 6)), ("f", (10, 12))):
        listed = ", ".join(f"a.py:{line}" for line in lines)
        with pytest.raises(CockpitError, match=f"defined 2 times: {listed}"):
            await edited(context, "a.py", PROPERTY, symbol=f"a.py:{symbol}", action="delete", force=True)
    after = await edited(context, "a.py", PROPERTY, symbol="a.py:6", action="delete", force=True)
    assert after == PROPERTY.replace("\n    @t.setter\n    def t(self, v): ...\n", "")


async def test_field_is_deleted_with_its_semicolon(context: Context) -> None:
    before = "class A {\n  x = 1;\n  y = 2;\n}\n"
    assert await edited(context, "a.ts", before, symbol="A.x", action="delete") == before.replace(
        "  x = 1;\n", ""
    )
    after = await edited(context, "a.ts", before, symbol="A.x", action="replace", text="x = 3")
    assert after == before.replace("x = 1;", "x = 3;")
    before = "class K {\n  int q;\n};\nint z;\n"
    assert await edited(context, "a.cpp", before, symbol="a.cpp:K", action="delete") == "int z;\n"


async def test_statement_on_a_shared_line_is_deleted_with_its_semicolon(context: Context) -> None:
    after = await edited(context, "a.py", "f = 1; g = 2\n", symbol="a.py:f", action="delete")
    assert after == "g = 2\n"


async def test_indentation_follows_the_tabs_or_spaces_of_the_file(context: Context) -> None:
    before = "class A:\n\tdef m(self):\n\t\treturn 1\n"
    text = "def m(self):\n    if self:\n        return 2"
    after = await edited(context, "a.py", before, symbol="A.m", action="replace", text=text)
    assert after == "class A:\n\tdef m(self):\n\t\tif self:\n\t\t\treturn 2\n"
    text = "def m(self):\n\tif self:\n\t\treturn 2"
    after = await edited(
        context, "a.py", before.replace("\t", "  "), symbol="A.m", action="replace", text=text
    )
    assert after == "class A:\n  def m(self):\n    if self:\n      return 2\n"
