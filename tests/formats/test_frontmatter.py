"""Frontmatter as people write it: what is understood, and what is told of the rest."""

import pytest

from cockpit.formats.frontmatter import parse_frontmatter, strip_frontmatter

BOMB = "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))])


def test_a_byte_order_mark_and_crlf_change_nothing() -> None:
    document = parse_frontmatter("\ufeff---\r\nname: a\r\ntools:\r\n  - Read\r\n---\r\nBody\r\n", "f")
    assert document.fields == {"name": "a", "tools": ["Read"]}
    assert document.lines == {"name": 2, "tools": 3}
    assert (document.body, document.body_line, document.faults) == ("Body\n", 6, ())
    assert strip_frontmatter("\ufeff---\r\nname: a\r\n---\r\nBody\r\n") == "Body\n"


def test_colon_in_a_value_is_literal() -> None:
    document = parse_frontmatter("---\nname: a\ndescription: Use when: the tests fail\n---\n", "f")
    assert document.fields["description"] == "Use when: the tests fail" and not document.faults


def test_hint_in_brackets_leaves_other_fields_intact() -> None:
    head = "argument-hint: [issue] [stage]\nmetadata:\n  author: me\ntools:\n  - Read\n  - 'Edit'"
    document = parse_frontmatter(f"---\n{head}\n---\n", "f")
    assert document.fields == {
        "argument-hint": "[issue] [stage]",
        "metadata": {"author": "me"},
        "tools": ["Read", "Edit"],
    }
    assert document.lines == {"argument-hint": 2, "metadata": 3, "tools": 5} and not document.faults


def test_invalid_yaml_is_reported_with_its_line_and_the_rest_is_read() -> None:
    document = parse_frontmatter("---\nname: a\n!!! what\ntools: [Read\n---\nBody", "f")
    assert document.fields["name"] == "a" and document.body == "Body"
    [fault] = document.faults
    assert (fault.file, fault.line) == ("f", 3) and fault.remedy


def test_unclosed_frontmatter_is_reported() -> None:
    document = parse_frontmatter("---\nname: a\nBody", "f")
    assert document.faults[0].line == 1 and "close it" in document.faults[0].remedy
    assert strip_frontmatter("---\nname: a\nBody") == "---\nname: a\nBody"


def test_without_frontmatter_everything_is_body() -> None:
    assert parse_frontmatter("Body\n---\nx\n---\n", "f").body == "Body\n---\nx\n---\n"
    assert strip_frontmatter("Body") == "Body"


@pytest.mark.parametrize("text", [BOMB, "a: &a [*a]", "a: &a {b: *a}", BOMB + "\nb: {<<: *a39}"])
def test_yaml_alias_bomb_is_refused(text: str) -> None:
    document = parse_frontmatter(f"---\nname: x\n{text}\n---\nBody", "f")
    assert document.fields["name"] == "x" and document.body == "Body"
    assert len(repr(document)) < 10_000


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('description: "never ends', True),
        ("paths: [src, web", True),
        ("description: {a: [1}", False),
        ("hint: [issue] [stage]", False),
        ('hint: [FILE=<p>] [TITLE="<t>"]', False),
        ("description: 'it''s' ours", False),
        ("description: Use when: asked", False),
    ],
)
def test_unclosed_value_is_reported_and_used_as_written(line: str, told: bool) -> None:
    document = parse_frontmatter(f"---\nname: a\n{line}\nmodel: b\n---\ntext", "f.md")
    assert document.fields["name"] == "a" and document.fields["model"] == "b"
    assert [item.line for item in document.faults] == ([3] if told else [])
    key, _, value = line.partition(": ")
    assert document.fields[key] == value
