"""Assignments and tests: `x=1`, `export`, `unset`, `[ ]`, `[[ ]]`."""

import re
from typing import TYPE_CHECKING

from cockpit.safety.bash.commands import SILENT, Command, Flow, Scope
from cockpit.safety.bash.words import ARGUMENT, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.safety.bash.walk import Walk


def assignments(walk: "Walk", node: "Node", scope: Scope) -> Flow:
    """`x=1 y=2` alone: known to all that follows."""
    nodes = [node] if node.type == "variable_assignment" else node.named_children
    given = [assigned(walk, one, scope) for one in nodes if one.type == "variable_assignment"]
    scope.names.update(given)
    from cockpit.safety.bash.simple import emit

    emit(walk, Command(_text(node), (), tuple(given), (), scope.cwd, scope.near))
    return SILENT


def assigned(walk: "Walk", node: "Node", scope: Scope) -> tuple[str, Word]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    left = _text(name)
    if name is not None and name.type == "subscript":
        walk.words(name, scope)
        walk.reading.note("subscript", left)
    if value is None:
        return left, Word("")
    if value.type == "array":
        items = walk.words(value, scope)
        return left, Word(" ".join(item.text for item in items), False)
    word = walk.folder.one(value, scope)
    if any(child.type == "+=" for child in node.children) and left in scope.names:
        return left, Word(scope.names[left].text + word.text, False, word.taints)
    return left, word


def declaration(walk: "Walk", node: "Node", scope: Scope) -> Flow:
    """`export`, `declare`, `local`, `readonly`, `unset`: assignments that a command makes."""
    from cockpit.safety.bash.simple import is_apart, run

    words, given = [Word(_text(node.children[0]))], []
    if not is_apart(node):
        walk.reading.note("syntax", _text(node))
        walk.reading.unread.append(_text(node))
    for child in node.named_children:
        if child.type == "variable_assignment":
            given.append(assigned(walk, child, scope))
        elif child.type in ARGUMENT:
            words += walk.folder.fold(child, scope)
        else:
            words.append(Word(_text(child)))
    if any(word.guess == "-n" for word in words):
        # A second name: what it shows is what the first one holds.
        given = [(name, scope.names.get(word.guess, word)) for name, word in given]
    scope.names.update(given)
    run(walk, Command(_text(node), tuple(words), tuple(given), (), scope.cwd, scope.near, Flow()), scope)
    return SILENT


def test(walk: "Walk", node: "Node", scope: Scope) -> Flow:
    """`[ ... ]` and `[[ ... ]]`: their words as those of `test`."""
    words = [Word("test"), *walk.words(node, scope)]
    operators = re.findall(r"\s(-[a-z]{1,2})\s", _text(node))
    words += [Word(one) for one in operators if one in ("-v", "-R", "-eq", "-ne", "-lt", "-gt", "-le", "-ge")]
    from cockpit.safety.bash.simple import run

    run(walk, Command(_text(node), tuple(words), (), (), scope.cwd, scope.near, Flow()), scope)
    return SILENT


def _text(node: "Node | None") -> str:
    return ((node.text if node else b"") or b"").decode("utf-8", "replace")
