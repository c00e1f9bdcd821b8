"""The walk over every node of a line's tree: what runs, in which folder, fed by what. Judges nothing."""

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cockpit.safety.bash import parsing
from cockpit.safety.bash.commands import SILENT, Command, Flow, Scope
from cockpit.safety.bash.folding import Folder, Piece
from cockpit.safety.bash.words import Word
from cockpit.safety.values import Ground
from cockpit.workspace.words import words

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST = 28  # substitutions and groups in one another
MOST = 300  # simple commands that are looked at one by one
WORDS = words(
    """
    word string raw_string ansi_c_string translated_string concatenation simple_expansion expansion
    command_substitution process_substitution arithmetic_expansion number brace_expression regex
    extglob_pattern test_operator
    """
)


@dataclass(slots=True)
class Reading:
    """What one line brought out. `notes` are (rule, piece) of what nobody can read; `files` what earlier
    commands of the line wrote; `unread` are pieces that were not walked."""

    ground: Ground
    commands: list[Command] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    files: dict[str, Flow] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    depth: int = 0
    left: int = MOST
    strings: int = 0
    marks: list[str] = field(default_factory=list)

    def note(self, rule: str, piece: str) -> None:
        self.notes.append((rule, piece[:200]))


class Walk:
    """One walk over one line."""

    def __init__(self, ground: Ground) -> None:
        self.reading = Reading(ground)
        user = posixpath.basename(ground.home.rstrip("/"))
        self.user = user
        self.incoming = Flow()
        # Redirections that the grammar hung on a list, by the statement that bash gives them to.
        self.hung: dict[tuple[int, int, int], tuple[Node, list[Node]]] = {}
        self.folder = Folder(
            ground.home, user, self.substituted, self.process, self.reading.note, self._deeper
        )

    def start(self) -> Scope:
        ground = self.reading.ground
        names = {
            "HOME": Word(ground.home),
            "IFS": Word(" "),
            "USER": Word(self.user),
            "LOGNAME": Word(self.user),
        }
        cwd = ground.cwd or ground.root
        return Scope(cwd, cwd, names, {})

    def script(self, text: str, scope: Scope, stdin: Flow) -> Flow:
        """A whole script: the line itself, or the string that a nested shell is given."""
        plain = parsing.readable(text)
        if plain != text:
            self.reading.note("coproc", text)
        root = parsing.parse(plain.encode("utf-8", "replace"))
        if root is None:
            self.reading.note("unparsed", text)
            self.reading.unread.append(text)
            return Flow()
        if root.has_error:
            self.reading.note("syntax", text)
            self.reading.unread.append(text)
        return self.block(root, scope, stdin)

    def block(self, node: "Node", scope: Scope, stdin: Flow) -> Flow:
        """Statements one after the other. What a later one reads is the same stdin."""
        flow = SILENT
        for child in node.named_children:
            flow = flow.joined(self.statement(child, scope, stdin))
            if self.reading.left <= 0:
                # One piece for all that is left: what was read already is in it again, which harms nobody.
                self.reading.note("parts", _text(node))
                self.reading.unread.append(_text(node))
                break
            if scope.doubtful:
                scope.doubtful = False
                scope.cwd = None
        return flow

    def statement(self, node: "Node", scope: Scope, stdin: Flow) -> Flow:
        """Any node that stands where a command may stand."""
        reading = self.reading
        if reading.depth >= DEEPEST or reading.left <= 0:
            reading.note("depth" if reading.left > 0 else "parts", _text(node))
            reading.unread.append(_text(node))
            return Flow()
        reading.depth += 1
        try:
            return self._statement(node, scope, stdin)
        finally:
            reading.depth -= 1

    def _statement(self, node: "Node", scope: Scope, stdin: Flow) -> Flow:
        from cockpit.safety.bash import compound, declared, redirects, simple

        if (flow := redirects.hung_on(self, node, scope, stdin)) is not None:
            return flow
        match node.type:
            case "command":
                return simple.command(self, node, scope, stdin, ())
            case "redirected_statement":
                return redirects.redirected(self, node, scope, stdin)
            case "pipeline":
                return self._pipeline(node, scope, stdin)
            case "list":
                return self._list(node, scope, stdin)
            case "subshell":
                return self.block(node, scope.copy(), stdin)
            case "variable_assignment" | "variable_assignments":
                return declared.assignments(self, node, scope)
            case "declaration_command" | "unset_command":
                return declared.declaration(self, node, scope)
            case "test_command":
                return declared.test(self, node, scope)
            case "for_statement":
                return compound.loop(self, node, scope, stdin)
            case "function_definition":
                return compound.function(self, node, scope, stdin)
            case "comment" | "heredoc_body" | "heredoc_start" | "heredoc_end" | "variable_name":
                return SILENT
            case "compound_statement" if (node.text or b"").startswith(b"(("):
                self.words(node, scope)
                self.reading.note("arithmetic", _text(node))
                self.reading.unread.append(_text(node))
                return SILENT
            case "c_style_for_statement":
                self.reading.note("arithmetic", _text(node))
                return self._branches(node, scope, stdin)
            case "if_statement" | "while_statement" | "case_statement" | "case_item":
                return self._branches(node, scope, stdin)
            case _ if node.type in WORDS or node.type.endswith("_expression"):
                self.words(node, scope)
                return SILENT
            case _:
                return self.block(node, scope, stdin)

    def words(self, node: "Node", scope: Scope) -> list[Word]:
        """All words below a node that is no command: what their substitutions run is seen."""
        found: list[Word] = []
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if one.type in WORDS:
                found += self.folder.fold(one, scope)
            else:
                waiting.extend(reversed(one.named_children))
        return found

    def _pipeline(self, node: "Node", scope: Scope, stdin: Flow) -> Flow:
        flow = stdin
        for at, child in enumerate(node.named_children):
            before = scope.cwd
            # `cd x && a 2>&1 | b` is a list in a pipeline only to the grammar: bash moves for good.
            listed = not at and _body(child).type == "list"
            flow = self.statement(child, scope if listed else scope.copy(), flow)
            flow = Flow(flow.taints, flow.text, True)
            scope.doubtful = scope.doubtful or scope.cwd != before
        return flow

    def _list(self, node: "Node", scope: Scope, stdin: Flow) -> Flow:
        # `a && b && c` is a list in a list to the grammar: walked as one row, it is not deep.
        row: list[tuple[str, Node]] = []
        while node.type == "list" and node.named_child_count:
            sign = next((child.type for child in node.children if child.type in ("&&", "||")), "&&")
            row += [(sign, child) for child in reversed(node.named_children[1:])]
            node = node.named_children[0]
        flow = self.statement(node, scope, stdin)
        for sign, child in reversed(row):
            before = scope.cwd
            flow = flow.joined(self.statement(child, scope, stdin))
            if self.reading.left <= 0:
                break
            if scope.cwd != before:
                # It may not have run: whoever comes after the list does not know where it is.
                scope.doubtful = True
                if sign == "||":
                    scope.cwd = None
        return flow

    def _branches(self, node: "Node", scope: Scope, stdin: Flow) -> Flow:
        flow, before = SILENT, scope.cwd
        for child in node.named_children:
            flow = flow.joined(self.statement(child, scope, stdin))
        if scope.cwd != before:
            scope.cwd = None
        return flow

    def substituted(self, node: "Node", scope: Scope) -> Flow:
        """`$( )` and backticks: judged in a copy of the scope; what they write, as far as it is known."""
        text = _text(node)
        inner, count = scope.copy(), len(self.reading.commands)
        if text.startswith("`") and "\\" in text:
            plain = text[1:-1].replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\")
            return self._deeper(plain, inner)
        first = node.named_children[0] if node.named_child_count else None
        if first is not None and first.type == "file_redirect":
            from cockpit.safety.bash import redirects

            return redirects.read_file(self, first, inner)
        if self.reading.depth >= DEEPEST:
            self.reading.note("depth", text)
            self.reading.unread.append(text)
            return Flow()
        self.reading.depth += 1
        flow = self.block(node, inner, Flow())
        self.reading.depth -= 1
        done = self.reading.commands[count:]
        return Flow(flow.taints | ({"mild"} if done else frozenset()), flow.text, True)

    def _deeper(self, text: str, scope: Scope) -> Flow:
        if self.reading.depth >= DEEPEST:
            self.reading.note("depth", text)
            self.reading.unread.append(text)
            return Flow()
        self.reading.depth += 2
        flow = self.script(text, scope, Flow())
        self.reading.depth -= 2
        return flow

    def process(self, node: "Node", scope: Scope) -> Piece:
        """`<( )` and `>( )`: a file that only this line knows."""
        outward = (node.text or b"").startswith(b">")
        flow = self.statement_of(
            node,
            scope,
            Flow(self.incoming.taints | {"unknown"}, self.incoming.text, True) if outward else Flow(),
        )
        path = f"/dev/fd/{len(self.reading.files) + 63}"
        self.reading.files[path] = Flow(frozenset(), None, True) if outward else flow
        if outward:
            self.reading.note("process output", _text(node))
        return Piece(path, not outward, flow.taints - {"mild"})

    def statement_of(self, node: "Node", scope: Scope, stdin: Flow) -> Flow:
        """The statements inside a node, in a copy of the scope."""
        self.reading.depth += 1
        try:
            if self.reading.depth > DEEPEST:
                self.reading.note("depth", _text(node))
                self.reading.unread.append(_text(node))
                return Flow()
            return self.block(node, scope.copy(), stdin)
        finally:
            self.reading.depth -= 1


def _body(node: "Node") -> "Node":
    inner = node.child_by_field_name("body") if node.type == "redirected_statement" else None
    return inner or node


def _text(node: "Node | None") -> str:
    return ((node.text if node else b"") or b"").decode("utf-8", "replace")
