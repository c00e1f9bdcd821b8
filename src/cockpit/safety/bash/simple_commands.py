"""Simple commands of a bash line: words, assignments and redirections, and whatever a command runs in turn.

Covers `x=1`, `export`, `[ ]`, calls of functions, wrappers such as `sudo`, nested shells and scripts that an
earlier command of the line wrote.
"""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from cockpit.safety.bash.command_model import (
    NO_OUTPUT,
    UNKNOWN,
    WORD_NODES,
    DataFlow,
    LineReading,
    Redirection,
    ShellScope,
    ShellWord,
    SimpleCommand,
    node_text,
)
from cockpit.safety.bash.data_flow import (
    apply_effects,
    names_descriptor,
    parse_redirect,
    read_herestring,
    record_writes,
    resolve_cd_target,
    resolve_operand,
    trace_output,
    words_after_target,
)
from cockpit.safety.bash.wrappers import SHELLS, InnerCommand, find_inner_commands
from cockpit.workspace.word_set import word_set

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.safety.bash.expansion import WordExpander

MAX_WORDS = 200  # words of one command that are examined
MAX_EXPANDED_WORDS = 2 * MAX_WORDS  # words of one command that are expanded at all
MAX_NESTED_SCRIPTS = 4  # scripts inside scripts
DISTANT_PREFIXES = ("/", "~", "-", "..", ".git", ".cockpit")
SUBSCRIPT_COMMANDS = word_set(
    "read printf test [ [[ unset let declare typeset local export mapfile readarray getopts wait readonly"
)
TEST_OPERATORS = ("-v", "-R", "-eq", "-ne", "-lt", "-gt", "-le", "-ge")


class Walker(Protocol):
    """The walk over a line, as far as a simple command needs it. `stdin` is that of the current command."""

    reading: LineReading
    expander: "WordExpander"
    stdin: DataFlow

    def statement(self, node: "Node", scope: ShellScope, stdin: DataFlow) -> DataFlow: ...
    def script(self, text: str, scope: ShellScope, stdin: DataFlow) -> DataFlow: ...
    def words(self, node: "Node", scope: ShellScope) -> list[ShellWord]: ...


def walk_assignments(walker: Walker, node: "Node", scope: ShellScope) -> DataFlow:
    """`x=1 y=2` without a command: the values hold for the rest of the line."""
    nodes = [node] if node.type == "variable_assignment" else node.named_children
    assigned = tuple(
        parse_assignment(walker, child, scope) for child in nodes if child.type == "variable_assignment"
    )
    scope.variables.update(assigned)
    walker.reading.emit(replace(scope.command(node_text(node)), assignments=assigned))
    return NO_OUTPUT


def parse_assignment(walker: Walker, node: "Node", scope: ShellScope) -> tuple[str, ShellWord]:
    name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    name = node_text(name_node)
    if name_node is not None and name_node.type == "subscript":
        walker.words(name_node, scope)
        walker.reading.note("subscript", name)
    if value is None:
        return name, ShellWord("")
    if value.type == "array":
        items = walker.words(value, scope)
        return name, ShellWord(" ".join(item.text for item in items), False)
    word = walker.expander.expand_single(value, scope)
    if any(child.type == "+=" for child in node.children) and name in scope.variables:
        return name, ShellWord(scope.variables[name].text + word.text, False, word.taints)
    return name, word


def walk_declaration(walker: Walker, node: "Node", scope: ShellScope) -> DataFlow:
    """`export`, `declare`, `local`, `readonly`, `unset`."""
    words, assigned = [ShellWord(node_text(node.children[0]))], []
    if not are_words_separate(node):
        walker.reading.skip("syntax", node_text(node))
    for child in node.named_children:
        if child.type == "variable_assignment":
            assigned.append(parse_assignment(walker, child, scope))
        elif child.type in WORD_NODES:
            words += walker.expander.expand(child, scope)
        else:
            words.append(ShellWord(node_text(child)))
    if any(word.guess == "-n" for word in words):
        # `declare -n`: the variable is another name of the one whose name it holds.
        assigned = [(name, scope.variables.get(word.guess, word)) for name, word in assigned]
    scope.variables.update(assigned)
    command = scope.command(node_text(node), *words)
    run_command(walker, replace(command, assignments=tuple(assigned)), scope)
    return NO_OUTPUT


def walk_test(walker: Walker, node: "Node", scope: ShellScope) -> DataFlow:
    """`[ ... ]` and `[[ ... ]]`, treated as the command `test`."""
    words = [ShellWord("test"), *walker.words(node, scope)]
    operators = re.findall(r"\s(-[a-z]{1,2})\s", node_text(node))
    words += [ShellWord(operator) for operator in operators if operator in TEST_OPERATORS]
    run_command(walker, scope.command(node_text(node), *words), scope)
    return NO_OUTPUT


def walk_command(
    walker: Walker,
    node: "Node",
    scope: ShellScope,
    stdin: DataFlow,
    redirects: tuple[Redirection, ...] = (),
    trailing: "list[ShellWord] | tuple[ShellWord, ...]" = (),
) -> DataFlow:
    """Expand one command node and run it. `trailing` are words that the grammar put into a redirection."""
    reading, expander = walker.reading, walker.expander
    assigned: list[tuple[str, ShellWord]] = []
    words: list[ShellWord] = []
    all_redirects = list(redirects)
    children = node.named_children
    if len(children) > MAX_EXPANDED_WORDS or not are_words_separate(node):
        # The rest of a huge command is left to the fallback scan, and the line is asked about.
        reading.skip("parts" if len(children) > MAX_EXPANDED_WORDS else "syntax", node_text(node))
    walker.stdin = stdin
    for child in children[:MAX_EXPANDED_WORDS]:
        if child.type == "variable_assignment":
            assigned.append(parse_assignment(walker, child, scope))
        elif child.type == "command_name":
            words += expander.expand(child.named_children[0] if child.named_child_count else child, scope)
        elif child.type == "herestring_redirect":
            stdin = read_herestring(expander, child, scope)
        elif child.type == "file_redirect":
            all_redirects.append(parse_redirect(expander, child, scope))
            words += words_after_target(expander, child, scope)
            if names_descriptor(node.text or b"", child.start_byte - node.start_byte):
                reading.note("descriptor", node_text(node))
        elif child.type in WORD_NODES:
            words += expander.expand(child, scope)
        elif child.is_named:
            words += walker.words(child, scope)
    words += trailing
    command = replace(
        scope.command(node_text(node), *words),
        assignments=tuple(assigned),
        redirects=tuple(all_redirects),
        stdin=stdin,
        nested=reading.script_depth > 0,
        wrappers=scope.wrappers,
    )
    flow = run_command(walker, command, scope)
    record_writes(reading, all_redirects, flow, scope)
    to_file = any(item.writes and not item.target.guess.startswith("/dev/") for item in all_redirects)
    return DataFlow(flow.taints, None, flow.piped) if to_file else flow


def are_words_separate(node: "Node") -> bool:
    """Whether blanks separate all words. Where they do not, the grammar split a word that bash reads as a
    whole (seen with `a$b-c$d/`)."""
    source, start, last, before = node.text or b"", node.start_byte, -1, ""
    for child in node.children:
        gap = source[last - start : child.start_byte - start] if last >= 0 else b" "
        if gap.strip(b" \t\n\\") or (not gap and "redirect" not in child.type and "redirect" not in before):
            return False
        if not child.is_named and child.type == "$":
            return False
        last, before = child.end_byte, child.type
    return True


def function_key(name: str, body: "Node") -> str:
    """Identifies a function by name and definition: one that redefines its own name calls another one."""
    return f"{name} {body.id} {body.start_byte}"


def run_command(walker: Walker, command: SimpleCommand, scope: ShellScope) -> DataFlow:
    """Record a command with known words, then everything it runs in turn. Returns its output."""
    reading = walker.reading
    while len(command.words) > 1 and command.words[0].text == "" and command.words[0].sure:
        command = replace(command, words=command.words[1:])
    if len(command.words) > MAX_WORDS:
        reading.note("parts", command.text)
        reading.unread.append(" ".join(word.guess for word in command.words))
        command = replace(command, words=(*command.words[:MAX_WORDS], *_distant_words(command)))
    name = command.program
    if UNKNOWN in name and name.strip(UNKNOWN):
        # `r${x}m`: if the variable is not set, the rest of the word is the program.
        reading.unread.append(" ".join(word.guess.replace(UNKNOWN, "") for word in command.words))
    subscripts = (word.guess for word in command.words if "[" in word.guess)
    if name in SUBSCRIPT_COMMANDS and any(re.search(r"\$\(|`", text) for text in subscripts):
        reading.note("subscript", command.text)
        reading.unread += [word.guess for word in command.words[1:]]
    if (body := scope.functions.get(name)) is not None and "/" not in command.words[0].guess:
        return _call_function(walker, command, body, scope)
    reading.emit(command)
    flow, nested = trace_output(command), find_inner_commands(command)
    if nested:
        # The output of a wrapper is that of the command inside.
        flow = DataFlow(flow.taints - ({"secret"} if name == "env" else frozenset()), "", flow.piped)
    for inner in nested:
        flow = flow.joined(_run_inner(walker, command, inner, scope))
    if command.stdin.text is not None and _runs_stdin(command):
        script = ShellWord(command.stdin.text, False, command.stdin.taints)
        flow = flow.joined(_run_inner(walker, command, InnerCommand(script=script), scope))
    for path in _script_files(command, scope):
        known = reading.files.get(path)
        if known is not None and known.text:
            script = ShellWord(known.text, False, known.taints)
            _run_inner(walker, command, InnerCommand(script=script), scope)
    apply_effects(reading, command, scope)
    return flow


def _distant_words(command: SimpleCommand) -> list[ShellWord]:
    """The words beyond the limit that could name something outside of the workspace."""
    words = command.words[MAX_WORDS:]
    distant = [word for word in words if word.guess.startswith(DISTANT_PREFIXES) or UNKNOWN in word.guess]
    return distant[: 10 * MAX_WORDS]


def _runs_stdin(command: SimpleCommand) -> bool:
    """Whether the program runs its stdin as a shell script."""
    if command.program in SHELLS:
        options = [argument for argument in command.arguments if argument != "/dev/stdin"]
        only_options = all(option.startswith("-") and "c" not in option for option in options)
        if only_options or "-s" in options:
            return True
    if command.program in ("source", "."):
        return command.arguments[:1] == ("/dev/stdin",)
    return command.program in ("at", "batch", "crontab", "parallel", "busybox")


def _script_files(command: SimpleCommand, scope: ShellScope) -> list[str]:
    """The files that a command runs: the program itself, or the operand of a shell."""
    if not command.words:
        return []
    if "/" in command.words[0].guess:
        return [resolve_operand(command.words[0].guess, scope)]
    if command.program in SHELLS or command.program in ("source", "."):
        operands = [argument for argument in command.arguments if not argument.startswith("-")]
        return [resolve_operand(operand, scope) for operand in operands[:1]]
    return []


def _call_function(walker: Walker, command: SimpleCommand, body: "Node", scope: ShellScope) -> DataFlow:
    key = function_key(command.program, body)
    if key in scope.call_stack or len(scope.call_stack) >= MAX_NESTED_SCRIPTS:
        forks = re.search(r"[|&]", node_text(body))
        rule = "fork bomb" if forks and key in scope.call_stack else "recursion"
        walker.reading.note(rule, command.program)
        return DataFlow()
    arguments, call_stack = scope.arguments, scope.call_stack
    scope.arguments, scope.call_stack = command.words[1:], (*scope.call_stack, key)
    flow = walker.statement(body, scope, command.stdin)
    scope.arguments, scope.call_stack = arguments, call_stack
    return flow


def _run_inner(walker: Walker, command: SimpleCommand, inner: InnerCommand, scope: ShellScope) -> DataFlow:
    """Run what a wrapper or a nested shell runs: in a copy of the scope, or in the scope for builtins."""
    reading = walker.reading
    is_deep = reading.script_depth >= MAX_NESTED_SCRIPTS or len(scope.wrappers) >= 2 * MAX_NESTED_SCRIPTS
    if is_deep or reading.commands_left <= 0:
        reading.note("depth", command.text)
        text = inner.script.guess if inner.script else " ".join(word.guess for word in inner.words)
        reading.unread.append(text)
        return DataFlow()
    same_shell = command.program in ("eval", "command", "builtin", "time", "exec")
    inner_scope = scope if same_shell else scope.copy()
    wrappers, inner_scope.wrappers = inner_scope.wrappers, (*scope.wrappers, command.program)
    if inner.cwd is not None:
        inner_scope.move(resolve_cd_target(inner.cwd, inner_scope))
    if inner.script is None:
        nested = replace(
            command,
            words=inner.words,
            assignments=inner.assignments,
            redirects=(),
            cwd=inner_scope.cwd,
            likely_cwd=inner_scope.likely_cwd,
            wrappers=inner_scope.wrappers,
        )
        flow = run_command(walker, nested, inner_scope)
    else:
        if command.program not in ("eval", "trap"):
            inner_scope.arguments = inner.arguments
            inner_scope.functions = {} if command.program != "alias" else inner_scope.functions
        reading.script_depth += 1
        flow = walker.script(inner.script.guess, inner_scope, command.stdin)
        reading.script_depth -= 1
    inner_scope.wrappers = wrappers
    return flow
