"""Loops over words and functions in the walk.

The walk over every node of a line's tree: what runs, in which folder, fed by what. Judges nothing.
"""

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cockpit.safety.bash import command_model as letters
from cockpit.safety.bash import parser
from cockpit.safety.bash.command_model import (
    NO_OUTPUT,
    UNKNOWN,
    DataFlow,
    ShellScope,
    ShellWord,
    SimpleCommand,
)
from cockpit.safety.bash.expansion import WordExpander, WordPart
from cockpit.safety.values import ExecutionContext
from cockpit.workspace.word_set import word_set

if TYPE_CHECKING:
    from tree_sitter import Node


MAX_LOOP_VALUES = 16  # values of a loop that are tried one by one


def walk_loop(walk: "LineWalker", node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
    """`for name in values`: the body once with each value, with all of them where there are many."""
    from cockpit.safety.bash.simple_commands import emit_command

    name = _compound_text(node.child_by_field_name("variable"))
    values = [
        word for child in node.children_by_field_name("value") for word in walk.folder.fold(child, scope)
    ]
    body = node.child_by_field_name("body")
    if body is None:
        return walk.block(node, scope, stdin)
    if not values and scope.arguments is None:
        values = [ShellWord(UNKNOWN, False)]
    if len(values) > MAX_LOOP_VALUES:
        # All of them at once: as operands of one command they are each looked at.
        text = letters.SPLIT.join(word.text for word in values)
        values = [*values[: MAX_LOOP_VALUES // 2], ShellWord(text, False)]
    flow, before = NO_OUTPUT, scope.cwd
    if values:
        emit_command(walk, SimpleCommand(f"for {name}", (), ((name, values[0]),), (), scope.cwd, scope.near))
    for value in values:
        scope.names[name] = value
        flow = flow.joined(walk.statement(body, scope, stdin))
    if scope.cwd != before:
        scope.cwd = None
    return flow


def walk_function(walk: "LineWalker", node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
    """A function is kept for its calls, and looked at once as if nobody knew its arguments."""
    name, body = _compound_text(node.child_by_field_name("name")), node.child_by_field_name("body")
    if body is None:
        return NO_OUTPUT
    scope.functions[name] = body
    inner = scope.copy()
    inner.arguments, inner.calling = None, (*scope.calling, function_key(name, body))
    flow = walk.statement(body, inner, stdin)
    walk.reading.marks.append(f"function {name}")
    return DataFlow(flow.taints)


def function_key(name: str, body: "Node") -> str:
    """The function a call runs: one that defines its own name anew calls another one by it."""
    return f"{name} {body.id} {body.start_byte}"


def _compound_text(node: "Node | None") -> str:
    return ((node.text if node else b"") or b"").decode("utf-8", "replace")


MAX_DEPTH = 28  # substitutions and groups in one another
MAX_COMMANDS = 300  # simple commands that are looked at one by one
EXPANDED_NODES = word_set(
    """
    word string raw_string ansi_c_string translated_string concatenation simple_expansion expansion
    command_substitution process_substitution arithmetic_expansion number brace_expression regex
    extglob_pattern test_operator
    """
)


@dataclass(slots=True)
class LineReading:
    """What one line brought out. `notes` are (rule, piece) of what nobody can read; `files` what earlier
    commands of the line wrote; `unread` are pieces that were not walked."""

    ground: ExecutionContext
    commands: list[SimpleCommand] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    files: dict[str, DataFlow] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    depth: int = 0
    left: int = MAX_COMMANDS
    strings: int = 0
    marks: list[str] = field(default_factory=list)

    def note(self, rule: str, piece: str) -> None:
        self.notes.append((rule, piece[:200]))


class LineWalker:
    """One walk over one line."""

    def __init__(self, ground: ExecutionContext) -> None:
        self.reading = LineReading(ground)
        user = posixpath.basename(ground.home.rstrip("/"))
        self.user = user
        self.incoming = DataFlow()
        # Redirections that the grammar hung on a list, by the statement that bash gives them to.
        self.hung: dict[tuple[int, int, int], tuple[Node, list[Node]]] = {}
        self.folder = WordExpander(
            ground.home, user, self.substituted, self.process, self.reading.note, self._deeper
        )

    def start(self) -> ShellScope:
        ground = self.reading.ground
        names = {
            "HOME": ShellWord(ground.home),
            "IFS": ShellWord(" "),
            "USER": ShellWord(self.user),
            "LOGNAME": ShellWord(self.user),
        }
        cwd = ground.cwd or ground.root
        return ShellScope(cwd, cwd, names, {})

    def script(self, text: str, scope: ShellScope, stdin: DataFlow) -> DataFlow:
        """A whole script: the line itself, or the string that a nested shell is given."""
        plain = parser.blank_unsupported_syntax(text)
        if plain != text:
            self.reading.note("coproc", text)
        root = parser.parse_bash(plain.encode("utf-8", "replace"))
        if root is None:
            self.reading.note("unparsed", text)
            self.reading.unread.append(text)
            return DataFlow()
        if root.has_error:
            self.reading.note("syntax", text)
            self.reading.unread.append(text)
        return self.block(root, scope, stdin)

    def block(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        """Statements one after the other. What a later one reads is the same stdin."""
        flow = NO_OUTPUT
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

    def statement(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        """Any node that stands where a command may stand."""
        reading = self.reading
        if reading.depth >= MAX_DEPTH or reading.left <= 0:
            reading.note("depth" if reading.left > 0 else "parts", _text(node))
            reading.unread.append(_text(node))
            return DataFlow()
        reading.depth += 1
        try:
            return self._statement(node, scope, stdin)
        finally:
            reading.depth -= 1

    def _statement(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        from cockpit.safety.bash import data_flow, simple_commands

        if (flow := data_flow.walk_deferred_redirects(self, node, scope, stdin)) is not None:
            return flow
        match node.type:
            case "command":
                return simple_commands.walk_command(self, node, scope, stdin, ())
            case "redirected_statement":
                return data_flow.walk_redirected(self, node, scope, stdin)
            case "pipeline":
                return self._pipeline(node, scope, stdin)
            case "list":
                return self._list(node, scope, stdin)
            case "subshell":
                return self.block(node, scope.copy(), stdin)
            case "variable_assignment" | "variable_assignments":
                return simple_commands.walk_assignments(self, node, scope)
            case "declaration_command" | "unset_command":
                return simple_commands.walk_declaration(self, node, scope)
            case "test_command":
                return simple_commands.walk_test(self, node, scope)
            case "for_statement":
                return walk_loop(self, node, scope, stdin)
            case "function_definition":
                return walk_function(self, node, scope, stdin)
            case "comment" | "heredoc_body" | "heredoc_start" | "heredoc_end" | "variable_name":
                return NO_OUTPUT
            case "compound_statement" if (node.text or b"").startswith(b"(("):
                self.words(node, scope)
                self.reading.note("arithmetic", _text(node))
                self.reading.unread.append(_text(node))
                return NO_OUTPUT
            case "c_style_for_statement":
                self.reading.note("arithmetic", _text(node))
                return self._branches(node, scope, stdin)
            case "if_statement" | "while_statement" | "case_statement" | "case_item":
                return self._branches(node, scope, stdin)
            case _ if node.type in EXPANDED_NODES or node.type.endswith("_expression"):
                self.words(node, scope)
                return NO_OUTPUT
            case _:
                return self.block(node, scope, stdin)

    def words(self, node: "Node", scope: ShellScope) -> list[ShellWord]:
        """All words below a node that is no command: what their substitutions run is seen."""
        found: list[ShellWord] = []
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if one.type in EXPANDED_NODES:
                found += self.folder.fold(one, scope)
            else:
                waiting.extend(reversed(one.named_children))
        return found

    def _pipeline(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        flow = stdin
        for at, child in enumerate(node.named_children):
            before = scope.cwd
            # `cd x && a 2>&1 | b` is a list in a pipeline only to the grammar: bash moves for good.
            listed = not at and _body(child).type == "list"
            flow = self.statement(child, scope if listed else scope.copy(), flow)
            flow = DataFlow(flow.taints, flow.text, True)
            scope.doubtful = scope.doubtful or scope.cwd != before
        return flow

    def _list(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
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

    def _branches(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        flow, before = NO_OUTPUT, scope.cwd
        for child in node.named_children:
            flow = flow.joined(self.statement(child, scope, stdin))
        if scope.cwd != before:
            scope.cwd = None
        return flow

    def substituted(self, node: "Node", scope: ShellScope) -> DataFlow:
        """`$( )` and backticks: judged in a copy of the scope; what they write, as far as it is known."""
        text = _text(node)
        inner, count = scope.copy(), len(self.reading.commands)
        if text.startswith("`") and "\\" in text:
            plain = text[1:-1].replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\")
            return self._deeper(plain, inner)
        first = node.named_children[0] if node.named_child_count else None
        if first is not None and first.type == "file_redirect":
            from cockpit.safety.bash import data_flow

            return data_flow.walk_file_substitution(self, first, inner)
        if self.reading.depth >= MAX_DEPTH:
            self.reading.note("depth", text)
            self.reading.unread.append(text)
            return DataFlow()
        self.reading.depth += 1
        flow = self.block(node, inner, DataFlow())
        self.reading.depth -= 1
        done = self.reading.commands[count:]
        return DataFlow(flow.taints | ({"mild"} if done else frozenset()), flow.text, True)

    def _deeper(self, text: str, scope: ShellScope) -> DataFlow:
        if self.reading.depth >= MAX_DEPTH:
            self.reading.note("depth", text)
            self.reading.unread.append(text)
            return DataFlow()
        self.reading.depth += 2
        flow = self.script(text, scope, DataFlow())
        self.reading.depth -= 2
        return flow

    def process(self, node: "Node", scope: ShellScope) -> WordPart:
        """`<( )` and `>( )`: a file that only this line knows."""
        outward = (node.text or b"").startswith(b">")
        flow = self.statement_of(
            node,
            scope,
            DataFlow(self.incoming.taints | {"unknown"}, self.incoming.text, True) if outward else DataFlow(),
        )
        path = f"/dev/fd/{len(self.reading.files) + 63}"
        self.reading.files[path] = DataFlow(frozenset(), None, True) if outward else flow
        if outward:
            self.reading.note("process output", _text(node))
        return WordPart(path, not outward, flow.taints - {"mild"})

    def statement_of(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        """The statements inside a node, in a copy of the scope."""
        self.reading.depth += 1
        try:
            if self.reading.depth > MAX_DEPTH:
                self.reading.note("depth", _text(node))
                self.reading.unread.append(_text(node))
                return DataFlow()
            return self.block(node, scope.copy(), stdin)
        finally:
            self.reading.depth -= 1


def _body(node: "Node") -> "Node":
    inner = node.child_by_field_name("body") if node.type == "redirected_statement" else None
    return inner or node


def _text(node: "Node | None") -> str:
    return ((node.text if node else b"") or b"").decode("utf-8", "replace")
