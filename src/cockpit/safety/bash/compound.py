"""Loops over words and functions in the walk."""

from typing import TYPE_CHECKING

from cockpit.safety.bash import words as letters
from cockpit.safety.bash.commands import SILENT, Command, Flow, Scope
from cockpit.safety.bash.words import UNKNOWN, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.safety.bash.walk import Walk

LOOPS = 16  # values of a loop that are tried one by one


def loop(walk: "Walk", node: "Node", scope: Scope, stdin: Flow) -> Flow:
    """`for name in values`: the body once with each value, with all of them where there are many."""
    from cockpit.safety.bash.simple import emit

    name = _text(node.child_by_field_name("variable"))
    values = [
        word for child in node.children_by_field_name("value") for word in walk.folder.fold(child, scope)
    ]
    body = node.child_by_field_name("body")
    if body is None:
        return walk.block(node, scope, stdin)
    if not values and scope.arguments is None:
        values = [Word(UNKNOWN, False)]
    if len(values) > LOOPS:
        # All of them at once: as operands of one command they are each looked at.
        text = letters.SPLIT.join(word.text for word in values)
        values = [*values[: LOOPS // 2], Word(text, False)]
    flow, before = SILENT, scope.cwd
    if values:
        emit(walk, Command(f"for {name}", (), ((name, values[0]),), (), scope.cwd, scope.near))
    for value in values:
        scope.names[name] = value
        flow = flow.joined(walk.statement(body, scope, stdin))
    if scope.cwd != before:
        scope.cwd = None
    return flow


def function(walk: "Walk", node: "Node", scope: Scope, stdin: Flow) -> Flow:
    """A function is kept for its calls, and looked at once as if nobody knew its arguments."""
    name, body = _text(node.child_by_field_name("name")), node.child_by_field_name("body")
    if body is None:
        return SILENT
    scope.functions[name] = body
    inner = scope.copy()
    inner.arguments, inner.calling = None, (*scope.calling, called(name, body))
    flow = walk.statement(body, inner, stdin)
    walk.reading.marks.append(f"function {name}")
    return Flow(flow.taints)


def called(name: str, body: "Node") -> str:
    """The function a call runs: one that defines its own name anew calls another one by it."""
    return f"{name} {body.id} {body.start_byte}"


def _text(node: "Node | None") -> str:
    return ((node.text if node else b"") or b"").decode("utf-8", "replace")
