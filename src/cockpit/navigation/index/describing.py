"""A definition as a reader wants it: its whole extent, its signature, its documentation."""

import re
import textwrap
from typing import TYPE_CHECKING

from cockpit.navigation.index.definitions import Definition, widened
from cockpit.navigation.index.parsed import Parsed

if TYPE_CHECKING:
    from tree_sitter import Node

SIGNATURE_LINES = 12
DOC_CHARS = 3_000
# What some grammars put beside a definition, though it is part of it.
ADORNING = frozenset({"decorator", "attribute_item"})
MARKS = re.compile(r"^\s*(/\*\*?|\*/|\*(?!\*)|///?!?|//!|#+!?|--+)\s?|\s*\*/\s*$")


def extent(parsed: Parsed, node: "Node") -> tuple[int, int]:
    """First and end byte of a definition, with decorators and the comment that documents it."""
    whole = first = widened(node)
    while True:
        comments = _comments(first)
        above = (comments[0] if comments else first).prev_sibling
        if above is None or above.type not in ADORNING:
            return (comments[0] if comments else first).start_byte, whole.end_byte
        first = above


def hover(parsed: Parsed, row: Definition, node: "Node") -> str:
    """Its signature as a block of code, and its documentation."""
    body = _body(node)
    until = body.start_byte if body is not None else node.end_byte
    start = node.start_byte
    # Decorators are no part of a signature.
    inner = node.child_by_field_name("definition")
    if inner is not None:
        start = inner.start_byte
    indent = " " * (inner or node).start_point[1]
    lines = textwrap.dedent(indent + parsed.text[start:until].decode("utf-8", "replace")).strip().split("\n")
    signature = "\n".join(lines[:SIGNATURE_LINES]).rstrip(" {:=")
    documented = _docstring(body) or _comment_text(_comments(node))
    shown = f"```{parsed.language}\n{signature}\n```"
    return f"{shown}\n\n{documented[:DOC_CHARS]}" if documented else shown


def _body(node: "Node") -> "Node | None":
    """The body of the definition in `node`, which may be wrapped."""
    waiting = [node]
    for _ in range(4):
        below: list[Node] = []
        for one in waiting:
            body = one.child_by_field_name("body")
            if body is not None:
                return body
            below += one.named_children[:6]
        waiting = below
    return None


def _docstring(body: "Node | None") -> str:
    """The string a body begins with (Python)."""
    first = body.named_children[0] if body is not None and body.named_child_count else None
    if first is None or first.type != "expression_statement" or not first.named_child_count:
        return ""
    string = first.named_children[0]
    if string.type != "string":
        return ""
    text = (string.text or b"").decode("utf-8", "replace")
    text = re.sub(r'^[rRuUbBfF]*("""|\'\'\'|"|\')|("""|\'\'\'|"|\')$', "", text)
    first_line, _, rest = text.partition("\n")
    return f"{first_line.strip()}\n{textwrap.dedent(rest)}".strip()


def _comments(node: "Node") -> "list[Node]":
    """The comments that stand right above a node, with no line between."""
    found: list[Node] = []
    below, above = node, node.prev_sibling
    if above is None and node.parent is not None and node.parent.type == "block":
        # The comment a Python body begins with stands before the body.
        above = node.parent.prev_sibling
    while above is not None and "comment" in above.type:
        gap = below.start_point[0] - above.end_point[0]
        if gap > 1 or (above.prev_sibling is not None and _same_line(above.prev_sibling, above)):
            break
        found.insert(0, above)
        below, above = above, above.prev_sibling
    return found


def _same_line(before: "Node", comment: "Node") -> bool:
    """Whether a comment ends somebody else's line."""
    return before.end_point[0] == comment.start_point[0] and before.end_point[1] > 0


def _comment_text(comments: "list[Node]") -> str:
    text = "\n".join((one.text or b"").decode("utf-8", "replace").rstrip("\n") for one in comments)
    return "\n".join(MARKS.sub("", line).rstrip() for line in text.split("\n")).strip()
