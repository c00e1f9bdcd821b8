"""Redirections and here-documents in the walk: what they feed a command and what it writes, hung on the
command that bash gives them to."""

import re
from typing import TYPE_CHECKING

from cockpit.safety.bash.commands import SILENT, Command, Flow, Redirect, Scope
from cockpit.safety.bash.effects import located
from cockpit.safety.bash.words import ARGUMENT, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.safety.bash.walk import Walk


def redirected(walk: "Walk", node: "Node", scope: Scope, stdin: Flow) -> Flow:
    """A statement with redirections."""
    body = node.child_by_field_name("body")
    hung = [child for child in node.named_children if body is None or child.id != body.id]
    last = body
    while last is not None and last.type in ("list", "pipeline", "negated_command"):
        last = last.named_children[-1]
    if body is not None and last is not None and last.id != body.id:
        # The grammar hangs them on all of `a && b > x`; bash gives them to b, where b runs.
        walk.hung[_key(last)] = (node, hung)
        return walk.statement(body, scope, stdin)
    return with_redirects(walk, node, body, hung, scope, stdin)


def hung_on(walk: "Walk", node: "Node", scope: Scope, stdin: Flow) -> Flow | None:
    """`node` with the redirections that the grammar hung on a list around it; None where there are none."""
    found = walk.hung.pop(_key(node), None) if walk.hung else None
    return with_redirects(walk, found[0], node, found[1], scope, stdin) if found else None


def _key(node: "Node") -> tuple[int, int, int]:
    return (node.id, node.start_byte, node.end_byte)


def with_redirects(
    walk: "Walk", node: "Node", body: "Node | None", hung: "list[Node]", scope: Scope, stdin: Flow
) -> Flow:
    """`body` with what is `hung` on it; `node` is all of it."""
    from cockpit.safety.bash.simple import command, emit

    redirects: list[Redirect] = []
    behind: list[Node] = []
    words: list[Word] = []
    whole = node.text or b""
    for child in hung:
        if names_descriptor(whole, child.start_byte - node.start_byte):
            walk.reading.note("descriptor", _text(node))
        if child.type == "heredoc_redirect":
            stdin = _heredoc(walk, child, scope, redirects, behind)
        elif child.type == "herestring_redirect":
            stdin = herestring(walk, child, scope)
        elif child.type == "file_redirect":
            redirects.append(redirect(walk, child, scope))
            words += behind_target(walk, child, scope)
    for item in redirects:
        if item.reads:
            stdin = _file(walk, item.target, scope)
    if body is not None and body.type == "command":
        flow = command(walk, body, scope, stdin, tuple(redirects), words)
    else:
        if words:
            walk.reading.note("syntax", _text(node))
            walk.reading.unread.append(_text(node))
        emit(walk, Command(_text(node), (), (), tuple(redirects), scope.cwd, scope.near, stdin))
        flow = walk.statement(body, scope, stdin) if body is not None else SILENT
        remember(walk, redirects, flow, scope)
    for child in behind:
        walk.statement(child, scope, Flow(flow.taints, flow.text, True))
    return flow


def names_descriptor(source: bytes, at: int) -> bool:
    """Whether the redirection at `at` is `{name}>file`: bash keeps the number of the file in a variable,
    which may be `PATH`."""
    return re.search(rb"\{[A-Za-z_][^\s{}]*\}$", source[max(0, at - 200) : max(0, at)]) is not None


def behind_target(walk: "Walk", redirect: "Node", scope: Scope) -> list[Word]:
    """What stands behind the file of a redirection: words of the command, which the grammar keeps there."""
    targets = redirect.children_by_field_name("destination")
    return [word for child in targets[1:] for word in walk.folder.fold(child, scope)]


def _heredoc(
    walk: "Walk", node: "Node", scope: Scope, redirects: list[Redirect], behind: "list[Node]"
) -> Flow:
    start = next((_text(child) for child in node.named_children if child.type == "heredoc_start"), "")
    text, taints = "", frozenset[str]()
    for child in node.named_children:
        if child.type == "heredoc_body":
            if re.search(r"['\"\\]", start):
                text += _text(child)
            else:
                piece = walk.folder.heredoc(child, scope)
                text, taints = text + piece.text, taints | piece.taints
        elif child.type == "file_redirect":
            redirects.append(redirect(walk, child, scope))
        elif child.type not in ("heredoc_start", "heredoc_end", "file_descriptor"):
            behind.append(child)
    return Flow(taints, text, True)


def herestring(walk: "Walk", node: "Node", scope: Scope) -> Flow:
    pieces = [walk.folder.one(child, scope) for child in node.named_children if child.type in ARGUMENT]
    text = "".join(piece.text for piece in pieces)
    return Flow(frozenset().union(*(piece.taints for piece in pieces)), text + "\n", True)


def _file(walk: "Walk", target: Word, scope: Scope) -> Flow:
    known = walk.reading.files.get(located(target.guess, scope))
    return Flow(known.taints, known.text, True) if known else Flow(target.taints, None, True)


def read_file(walk: "Walk", node: "Node", scope: Scope) -> Flow:
    """`$(<file)`."""
    from cockpit.safety.bash.simple import emit

    item = redirect(walk, node, scope)
    words = (Word("cat"), item.target)
    emit(walk, Command(_text(node), words, (), (), scope.cwd, scope.near, Flow()))
    known = _file(walk, item.target, scope)
    return Flow(known.taints | {"mild"}, known.text, True)


def remember(
    walk: "Walk", redirects: "list[Redirect] | tuple[Redirect, ...]", flow: Flow, scope: Scope
) -> None:
    """What a redirection wrote, so that running it later in the line is judged by it."""
    from cockpit.safety.bash.simple import emit

    for item in redirects:
        if item.writes:
            known = walk.reading.files.get(item.target.guess)
            if known is not None and known.piped and flow.taints:
                emit(
                    walk, Command("> >( )", (Word("sh"),), stdin=Flow(flow.taints, flow.text, True), near="/")
                )
            walk.reading.files[located(item.target.guess, scope)] = Flow(flow.taints, flow.text)


def redirect(walk: "Walk", node: "Node", scope: Scope) -> Redirect:
    """One `> file`, `2>&1`, `< file`."""
    target = node.child_by_field_name("destination")
    signs = "".join(_text(child) for child in node.children if not child.is_named or child.type == "ERROR")
    operator = signs.replace("\\", "").strip() or ">"
    if target is None:
        return Redirect(operator.rstrip("-"), Word("-"))
    return Redirect(operator, walk.folder.one(target, scope))


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")
