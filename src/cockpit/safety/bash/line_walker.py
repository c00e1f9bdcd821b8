"""Walks the syntax tree of a bash line and lists the commands it runs: where each runs and what it reads.

Judges nothing. Text that cannot be walked is noted and left to the fallback scan of `line_verdict`.
"""

import posixpath
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.safety.bash.command_model import (
    NO_OUTPUT,
    SPLIT,
    UNKNOWN,
    WORD_NODES,
    DataFlow,
    LineReading,
    Redirection,
    ShellScope,
    ShellWord,
    node_text,
)
from cockpit.safety.bash.data_flow import (
    names_descriptor,
    parse_redirect,
    read_file,
    read_heredoc,
    read_herestring,
    record_writes,
    words_after_target,
)
from cockpit.safety.bash.expansion import WordExpander, WordPart
from cockpit.safety.bash.parser import blank_unsupported_syntax, parse_bash
from cockpit.safety.bash.simple_commands import (
    function_key,
    walk_assignments,
    walk_command,
    walk_declaration,
    walk_test,
)
from cockpit.safety.values import ExecutionContext
from cockpit.workspace.word_set import word_set

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 28  # nested substitutions and groups
MAX_LOOP_VALUES = 16  # values of a loop that are tried one by one
EXPANDED_NODES = WORD_NODES | {"test_operator"}
IGNORED_NODES = word_set("comment heredoc_body heredoc_start heredoc_end variable_name")


class LineWalker:
    """One walk over one line."""

    def __init__(self, context: ExecutionContext) -> None:
        self.reading = LineReading()
        self.stdin = DataFlow()
        self._context = context
        self._user = posixpath.basename(context.home.rstrip("/"))
        # Redirections that the grammar attached to a list, by the statement that bash gives them to.
        self._deferred: dict[tuple[int, int, int], tuple[Node, list[Node]]] = {}
        self.expander = WordExpander(
            context.home,
            self._user,
            self._substitution,
            self._process_substitution,
            self.reading.note,
            self._nested_text,
        )

    def start(self) -> ShellScope:
        """The scope at the beginning of the line."""
        context = self._context
        user = ShellWord(self._user)
        variables = {"HOME": ShellWord(context.home), "IFS": ShellWord(" "), "USER": user, "LOGNAME": user}
        cwd = context.cwd or context.root
        return ShellScope(cwd, cwd, context.home, variables, {})

    def script(self, text: str, scope: ShellScope, stdin: DataFlow) -> DataFlow:
        """Walk a whole script: the line itself, or the text given to a nested shell."""
        plain = blank_unsupported_syntax(text)
        if plain != text:
            self.reading.note("coproc", text)
        root = parse_bash(plain.encode("utf-8", "replace"))
        if root is None:
            self.reading.skip("unparsed", text)
            return DataFlow()
        if root.has_error:
            self.reading.skip("syntax", text)
        return self._block(root, scope, stdin)

    def statement(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        """Walk any node that stands where a command may stand."""
        if self.reading.commands_left <= 0:
            self.reading.skip("parts", node_text(node))
            return DataFlow()
        return self._deeper(node_text(node), lambda: self._statement(node, scope, stdin))

    def _deeper(self, text: str, walk: Callable[[], DataFlow], levels: int = 1) -> DataFlow:
        """`walk()` so many levels deeper, unless that is too deep to read `text`."""
        if self.reading.depth >= MAX_DEPTH:
            self.reading.skip("depth", text)
            return DataFlow()
        self.reading.depth += levels
        try:
            return walk()
        finally:
            self.reading.depth -= levels

    def words(self, node: "Node", scope: ShellScope) -> list[ShellWord]:
        """All words below a node that is not a command. Their substitutions are walked."""
        words: list[ShellWord] = []
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.type in EXPANDED_NODES:
                words += self.expander.expand(current, scope)
            else:
                waiting.extend(reversed(current.named_children))
        return words

    def _block(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        """Statements one after the other, which all read the same stdin."""
        flow = NO_OUTPUT
        for child in node.named_children:
            flow = flow.joined(self.statement(child, scope, stdin))
            if self.reading.commands_left <= 0:
                # The whole block goes to the fallback scan; scanning its first commands again is harmless.
                self.reading.skip("parts", node_text(node))
                break
            if scope.cwd_uncertain:
                scope.cwd_uncertain = False
                scope.cwd = None
        return flow

    def _statement(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        if self._deferred and (deferred := self._deferred.pop(_node_key(node), None)) is not None:
            return self._with_redirects(deferred[0], node, deferred[1], scope, stdin)
        match node.type:
            case "command":
                return walk_command(self, node, scope, stdin)
            case "redirected_statement":
                return self._redirected(node, scope, stdin)
            case "pipeline":
                return self._pipeline(node, scope, stdin)
            case "list":
                return self._list(node, scope, stdin)
            case "subshell":
                return self._block(node, scope.copy(), stdin)
            case "variable_assignment" | "variable_assignments":
                return walk_assignments(self, node, scope)
            case "declaration_command" | "unset_command":
                return walk_declaration(self, node, scope)
            case "test_command":
                return walk_test(self, node, scope)
            case "for_statement":
                return self._loop(node, scope, stdin)
            case "function_definition":
                return self._function(node, scope, stdin)
            case _ if node.type in IGNORED_NODES:
                return NO_OUTPUT
            case "compound_statement" if (node.text or b"").startswith(b"(("):
                self.words(node, scope)
                self.reading.skip("arithmetic", node_text(node))
                return NO_OUTPUT
            case "c_style_for_statement":
                self.reading.note("arithmetic", node_text(node))
                return self._branches(node, scope, stdin)
            case "if_statement" | "while_statement" | "case_statement" | "case_item":
                return self._branches(node, scope, stdin)
            case _ if node.type in EXPANDED_NODES or node.type.endswith("_expression"):
                self.words(node, scope)
                return NO_OUTPUT
            case _:
                return self._block(node, scope, stdin)

    def _pipeline(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        flow = stdin
        for index, child in enumerate(node.named_children):
            before = scope.cwd
            # The grammar reads `cd x && a 2>&1 | b` as a list inside a pipeline; in bash the `cd` lasts.
            inner = child.child_by_field_name("body") if child.type == "redirected_statement" else None
            is_list = index == 0 and (inner or child).type == "list"
            flow = self.statement(child, scope if is_list else scope.copy(), flow)
            flow = DataFlow(flow.taints, flow.text, True)
            scope.cwd_uncertain = scope.cwd_uncertain or scope.cwd != before
        return flow

    def _list(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        # The grammar nests `a && b && c`; walked as one row, a long list is not deep.
        row: list[tuple[str, Node]] = []
        while node.type == "list" and node.named_child_count:
            operator = next((child.type for child in node.children if child.type in ("&&", "||")), "&&")
            row += [(operator, child) for child in reversed(node.named_children[1:])]
            node = node.named_children[0]
        flow = self.statement(node, scope, stdin)
        for operator, child in reversed(row):
            before = scope.cwd
            flow = flow.joined(self.statement(child, scope, stdin))
            if self.reading.commands_left <= 0:
                break
            if scope.cwd != before:
                # The `cd` may not have run, so after the list the folder is not known.
                scope.cwd_uncertain = True
                if operator == "||":
                    scope.cwd = None
        return flow

    def _branches(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        flow, before = NO_OUTPUT, scope.cwd
        for child in node.named_children:
            flow = flow.joined(self.statement(child, scope, stdin))
        if scope.cwd != before:
            scope.cwd = None
        return flow

    def _loop(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        """`for name in values`: walk the body once per value, or once for all where there are many."""
        name = node_text(node.child_by_field_name("variable"))
        values = [
            word
            for child in node.children_by_field_name("value")
            for word in self.expander.expand(child, scope)
        ]
        body = node.child_by_field_name("body")
        if body is None:
            return self._block(node, scope, stdin)
        if not values and scope.arguments is None:
            values = [ShellWord(UNKNOWN, False)]
        if len(values) > MAX_LOOP_VALUES:
            # Joined into the operands of one command, the values are still examined one by one.
            joined = SPLIT.join(word.text for word in values)
            values = [*values[: MAX_LOOP_VALUES // 2], ShellWord(joined, False)]
        flow, before = NO_OUTPUT, scope.cwd
        if values:
            assigned = ((name, values[0]),)
            self.reading.emit(replace(scope.command(f"for {name}"), assignments=assigned))
        for value in values:
            scope.variables[name] = value
            flow = flow.joined(self.statement(body, scope, stdin))
        if scope.cwd != before:
            scope.cwd = None
        return flow

    def _function(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        """Store a function for its calls, and walk it once with unknown arguments."""
        name, body = node_text(node.child_by_field_name("name")), node.child_by_field_name("body")
        if body is None:
            return NO_OUTPUT
        scope.functions[name] = body
        inner = scope.copy()
        inner.arguments, inner.call_stack = None, (*scope.call_stack, function_key(name, body))
        return DataFlow(self.statement(body, inner, stdin).taints)

    def _redirected(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if body is None or child.id != body.id]
        last = body
        while last is not None and last.type in ("list", "pipeline", "negated_command"):
            last = last.named_children[-1]
        if body is not None and last is not None and last.id != body.id:
            # In `a && b > x` the grammar gives the redirection to the list, bash to `b`.
            self._deferred[_node_key(last)] = (node, redirects)
            return self.statement(body, scope, stdin)
        return self._with_redirects(node, body, redirects, scope, stdin)

    def _with_redirects(
        self,
        node: "Node",
        body: "Node | None",
        redirect_nodes: "list[Node]",
        scope: ShellScope,
        stdin: DataFlow,
    ) -> DataFlow:
        """Walk `body` with its redirections; `node` is both together."""
        redirects: list[Redirection] = []
        following: list[Node] = []
        words: list[ShellWord] = []
        for child in redirect_nodes:
            if names_descriptor(node.text or b"", child.start_byte - node.start_byte):
                self.reading.note("descriptor", node_text(node))
            if child.type == "heredoc_redirect":
                stdin, more, after = read_heredoc(self.expander, child, scope)
                redirects += more
                following += after
            elif child.type == "herestring_redirect":
                stdin = read_herestring(self.expander, child, scope)
            elif child.type == "file_redirect":
                redirects.append(parse_redirect(self.expander, child, scope))
                words += words_after_target(self.expander, child, scope)
        for redirect in redirects:
            if redirect.reads:
                stdin = read_file(self.reading, redirect.target, scope)
        if body is not None and body.type == "command":
            flow = walk_command(self, body, scope, stdin, tuple(redirects), words)
        else:
            if words:
                self.reading.skip("syntax", node_text(node))
            command = scope.command(node_text(node))
            self.reading.emit(replace(command, redirects=tuple(redirects), stdin=stdin))
            flow = self.statement(body, scope, stdin) if body is not None else NO_OUTPUT
            record_writes(self.reading, redirects, flow, scope)
        for child in following:
            self.statement(child, scope, DataFlow(flow.taints, flow.text, True))
        return flow

    def _substitution(self, node: "Node", scope: ShellScope) -> DataFlow:
        """`$( )` and backticks, walked in a copy of the scope. Returns the output as far as it is known."""
        text = node_text(node)
        inner, count = scope.copy(), len(self.reading.commands)
        if text.startswith("`") and "\\" in text:
            plain = text[1:-1].replace("\\`", "`").replace("\\$", "$").replace("\\\\", "\\")
            return self._nested_text(plain, inner)
        first = node.named_children[0] if node.named_child_count else None
        if first is not None and first.type == "file_redirect":
            return self._file_substitution(first, inner)
        if self.reading.depth >= MAX_DEPTH:
            self.reading.skip("depth", text)
            return DataFlow()
        flow = self._deeper(text, lambda: self._block(node, inner, DataFlow()))
        ran_commands = len(self.reading.commands) > count
        return DataFlow(flow.taints | ({"mild"} if ran_commands else frozenset()), flow.text, True)

    def _file_substitution(self, node: "Node", scope: ShellScope) -> DataFlow:
        """`$(<file)`."""
        target = parse_redirect(self.expander, node, scope).target
        self.reading.emit(scope.command(node_text(node), ShellWord("cat"), target))
        flow = read_file(self.reading, target, scope)
        return DataFlow(flow.taints | {"mild"}, flow.text, True)

    def _nested_text(self, text: str, scope: ShellScope) -> DataFlow:
        return self._deeper(text, lambda: self.script(text, scope, DataFlow()), levels=2)

    def _process_substitution(self, node: "Node", scope: ShellScope) -> WordPart:
        """`<( )` and `>( )`: a file that only this line knows."""
        is_output = (node.text or b"").startswith(b">")
        stdin = DataFlow()
        if is_output:
            stdin = DataFlow(self.stdin.taints | {"unknown"}, self.stdin.text, True)
        inner = scope.copy()
        flow = self._deeper(node_text(node), lambda: self._block(node, inner, stdin))
        path = f"/dev/fd/{len(self.reading.files) + 63}"
        self.reading.files[path] = DataFlow(frozenset(), None, True) if is_output else flow
        if is_output:
            self.reading.note("process output", node_text(node))
        return WordPart(path, not is_output, flow.taints - {"mild"})


def _node_key(node: "Node") -> tuple[int, int, int]:
    return (node.id, node.start_byte, node.end_byte)
