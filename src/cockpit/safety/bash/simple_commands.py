"""Assignments and tests: `x=1`, `export`, `unset`, `[ ]`, `[[ ]]`.

One simple command in the walk: its words, redirections and assignments, the functions and nested
commands it calls, and what it changes for those behind it.
"""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.safety.bash import data_flow
from cockpit.safety.bash.command_model import (
    NO_OUTPUT,
    UNKNOWN,
    WORD_NODES,
    DataFlow,
    Redirection,
    ShellScope,
    ShellWord,
    SimpleCommand,
)
from cockpit.safety.bash.data_flow import (
    apply_effects,
    names_descriptor,
    parse_redirect,
    read_herestring,
    record_writes,
    resolve_cd_target,
    resolve_operand,
    words_after_target,
)
from cockpit.safety.bash.wrappers import InnerCommand, find_inner_commands
from cockpit.workspace.word_set import word_set

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.safety.bash.line_walker import LineWalker


def walk_assignments(walk: "LineWalker", node: "Node", scope: ShellScope) -> DataFlow:
    """`x=1 y=2` alone: known to all that follows."""
    nodes = [node] if node.type == "variable_assignment" else node.named_children
    given = [parse_assignment(walk, one, scope) for one in nodes if one.type == "variable_assignment"]
    scope.names.update(given)

    emit_command(walk, SimpleCommand(_declared_text(node), (), tuple(given), (), scope.cwd, scope.near))
    return NO_OUTPUT


def parse_assignment(walk: "LineWalker", node: "Node", scope: ShellScope) -> tuple[str, ShellWord]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    left = _declared_text(name)
    if name is not None and name.type == "subscript":
        walk.words(name, scope)
        walk.reading.note("subscript", left)
    if value is None:
        return left, ShellWord("")
    if value.type == "array":
        items = walk.words(value, scope)
        return left, ShellWord(" ".join(item.text for item in items), False)
    word = walk.folder.one(value, scope)
    if any(child.type == "+=" for child in node.children) and left in scope.names:
        return left, ShellWord(scope.names[left].text + word.text, False, word.taints)
    return left, word


def walk_declaration(walk: "LineWalker", node: "Node", scope: ShellScope) -> DataFlow:
    """`export`, `declare`, `local`, `readonly`, `unset`: assignments that a command makes."""

    words, given = [ShellWord(_declared_text(node.children[0]))], []
    if not are_words_separate(node):
        walk.reading.note("syntax", _declared_text(node))
        walk.reading.unread.append(_declared_text(node))
    for child in node.named_children:
        if child.type == "variable_assignment":
            given.append(parse_assignment(walk, child, scope))
        elif child.type in WORD_NODES:
            words += walk.folder.fold(child, scope)
        else:
            words.append(ShellWord(_declared_text(child)))
    if any(word.guess == "-n" for word in words):
        # A second name: what it shows is what the first one holds.
        given = [(name, scope.names.get(word.guess, word)) for name, word in given]
    scope.names.update(given)
    run_command(
        walk,
        SimpleCommand(
            _declared_text(node), tuple(words), tuple(given), (), scope.cwd, scope.near, DataFlow()
        ),
        scope,
    )
    return NO_OUTPUT


def walk_test(walk: "LineWalker", node: "Node", scope: ShellScope) -> DataFlow:
    """`[ ... ]` and `[[ ... ]]`: their words as those of `test`."""
    words = [ShellWord("test"), *walk.words(node, scope)]
    operators = re.findall(r"\s(-[a-z]{1,2})\s", _declared_text(node))
    words += [
        ShellWord(one) for one in operators if one in ("-v", "-R", "-eq", "-ne", "-lt", "-gt", "-le", "-ge")
    ]

    run_command(
        walk,
        SimpleCommand(_declared_text(node), tuple(words), (), (), scope.cwd, scope.near, DataFlow()),
        scope,
    )
    return NO_OUTPUT


def _declared_text(node: "Node | None") -> str:
    return ((node.text if node else b"") or b"").decode("utf-8", "replace")


MAX_WORDS = 200  # of one command that are looked at one by one
DISTANT_PREFIXES = ("/", "~", "-", "..", ".git", ".cockpit")
MAX_FOLDED_WORDS = 2 * MAX_WORDS  # of one command that are folded at all
MAX_NESTED_SCRIPTS = 4  # scripts inside scripts
SUBSCRIPT_COMMANDS = word_set(
    """
    read printf test [ [[ unset let declare typeset local export mapfile readarray getopts wait readonly
    """
)


def walk_command(
    walk: "LineWalker",
    node: "Node",
    scope: ShellScope,
    stdin: DataFlow,
    redirects: tuple[Redirection, ...],
    behind: "list[ShellWord] | tuple[ShellWord, ...]" = (),
) -> DataFlow:
    """One command node: folded, then run. `behind` are words that the grammar left with a redirection."""
    given: list[tuple[str, ShellWord]] = []
    words: list[ShellWord] = []
    extra = list(redirects)
    children = _examined_children(walk, node)
    walk.incoming = stdin
    for child in children:
        if child.type == "variable_assignment":
            given.append(parse_assignment(walk, child, scope))
        elif child.type == "command_name":
            words += walk.folder.fold(child.named_children[0] if child.named_child_count else child, scope)
        elif child.type == "herestring_redirect":
            stdin = read_herestring(walk, child, scope)
        elif child.type == "file_redirect":
            extra.append(parse_redirect(walk, child, scope))
            words += words_after_target(walk, child, scope)
            if names_descriptor(node.text or b"", child.start_byte - node.start_byte):
                walk.reading.note("descriptor", _text(node))
        elif child.type in WORD_NODES:
            words += walk.folder.fold(child, scope)
        elif child.is_named:
            words += walk.words(child, scope)
    words += behind
    made = SimpleCommand(
        _text(node),
        tuple(words),
        tuple(given),
        tuple(extra),
        scope.cwd,
        scope.near,
        stdin,
        nested=walk.reading.strings > 0,
        under=scope.under,
    )
    flow = run_command(walk, made, scope)
    record_writes(walk, extra, flow, scope)
    away = any(item.writes and not item.target.guess.startswith("/dev/") for item in extra)
    return DataFlow(flow.taints, None, flow.piped) if away else flow


def _examined_children(walk: "LineWalker", node: "Node") -> "list[Node]":
    """The children that are folded: not all of a giant, which asks, and the pass that only refuses looks
    over all of it."""
    children = node.named_children
    if len(children) > MAX_FOLDED_WORDS or not are_words_separate(node):
        walk.reading.note("parts" if len(children) > MAX_FOLDED_WORDS else "syntax", _text(node))
        walk.reading.unread.append(_text(node))
    return children[:MAX_FOLDED_WORDS]


def are_words_separate(node: "Node") -> bool:
    """Whether blanks stand between all words. Where they do not, the grammar cut a word in two: bash
    would read another one (`a$b-c$d/` did that)."""
    source, start, last, before = node.text or b"", node.start_byte, -1, ""
    for child in node.children:
        gap = source[last - start : child.start_byte - start] if last >= 0 else b" "
        if gap.strip(b" \t\n\\") or (not gap and "redirect" not in child.type and "redirect" not in before):
            return False
        if not child.is_named and child.type == "$":
            return False
        last, before = child.end_byte, child.type
    return True


def emit_command(walk: "LineWalker", made: SimpleCommand) -> None:
    walk.reading.left -= 1
    walk.reading.commands.append(made)


def _distant_words(made: SimpleCommand) -> list[ShellWord]:
    """Of the words beyond the measure those that could name more than a file of the workspace."""
    far = [
        word
        for word in made.words[MAX_WORDS:]
        if word.guess.startswith(DISTANT_PREFIXES) or UNKNOWN in word.guess
    ]
    return far[: 10 * MAX_WORDS]


def run_command(walk: "LineWalker", made: SimpleCommand, scope: ShellScope) -> DataFlow:
    """A command whose words are known: itself, then all that it runs in turn."""
    reading = walk.reading
    while made.words and made.words[0].text == "" and made.words[0].sure and len(made.words) > 1:
        made = replace(made, words=made.words[1:])
    if len(made.words) > MAX_WORDS:
        reading.note("parts", made.text)
        reading.unread.append(" ".join(word.guess for word in made.words))
        made = replace(made, words=(*made.words[:MAX_WORDS], *_distant_words(made)))
    name = made.program
    if UNKNOWN in name and name.strip(UNKNOWN):
        # `r${x}m`: a variable that is not set leaves what stands around it.
        reading.unread.append(" ".join(word.guess.replace(UNKNOWN, "") for word in made.words))
    if name in SUBSCRIPT_COMMANDS and any(
        "[" in word.guess and re.search(r"\$\(|`", word.guess) for word in made.words
    ):
        reading.note("subscript", made.text)
        reading.unread += [word.guess for word in made.words[1:]]
    if (body := scope.functions.get(name)) is not None and "/" not in made.words[0].guess:
        return _call_function(walk, made, body, scope)
    emit_command(walk, made)
    flow, nested = data_flow.trace_output(made), find_inner_commands(made)
    if nested:
        # What a wrapper writes is what the command inside writes.
        flow = DataFlow(flow.taints - ({"secret"} if name == "env" else frozenset()), "", flow.piped)
    for inner in nested:
        flow = flow.joined(_run_inner(walk, made, inner, scope))
    if made.stdin.text is not None and (script := _script_from_stdin(made)) is not None:
        flow = flow.joined(
            _run_inner(walk, made, InnerCommand(script=ShellWord(script, False, made.stdin.taints)), scope)
        )
    for path in _script_files(made, scope):
        known = reading.files.get(path)
        if known is not None and known.text:
            _run_inner(walk, made, InnerCommand(script=ShellWord(known.text, False, known.taints)), scope)
    apply_effects(walk, made, scope)
    return flow


def _script_from_stdin(made: SimpleCommand) -> str | None:
    """The script a shell reads from its stdin."""
    from cockpit.safety.bash.wrappers import SHELLS

    reads = all(one.startswith("-") and "c" not in one for one in made.arguments if one != "/dev/stdin")
    if made.program in SHELLS and (reads or "-s" in made.arguments):
        return made.stdin.text
    if made.program in ("source", ".") and made.arguments[:1] == ("/dev/stdin",):
        return made.stdin.text
    if made.program in ("at", "batch", "crontab", "parallel", "busybox"):
        return made.stdin.text
    return None


def _script_files(made: SimpleCommand, scope: ShellScope) -> list[str]:
    """The files that `made` runs: itself, or the operand of a shell."""
    from cockpit.safety.bash.wrappers import SHELLS

    if not made.words:
        return []
    if "/" in made.words[0].guess:
        return [resolve_operand(made.words[0].guess, scope)]
    if made.program in SHELLS or made.program in ("source", "."):
        return [resolve_operand(one, scope) for one in made.arguments if not one.startswith("-")][:1]
    return []


def _call_function(walk: "LineWalker", made: SimpleCommand, body: "Node", scope: ShellScope) -> DataFlow:
    from cockpit.safety.bash.line_walker import function_key

    name, own = made.program, function_key(made.program, body)
    if own in scope.calling or len(scope.calling) >= MAX_NESTED_SCRIPTS:
        forks = re.search(r"[|&]", _text(body))
        walk.reading.note("fork bomb" if forks and own in scope.calling else "recursion", name)
        return DataFlow()
    kept, kept_calling = scope.arguments, scope.calling
    scope.arguments, scope.calling = made.words[1:], (*scope.calling, own)
    flow = walk.statement(body, scope, made.stdin)
    scope.arguments, scope.calling = kept, kept_calling
    return flow


def _run_inner(walk: "LineWalker", made: SimpleCommand, inner: InnerCommand, scope: ShellScope) -> DataFlow:
    """What a wrapper or a nested shell runs, in a copy of the scope (eval and builtins: in the scope)."""
    reading = walk.reading
    same = made.program in ("eval", "command", "builtin", "time", "exec")
    if (
        reading.strings >= MAX_NESTED_SCRIPTS
        or len(scope.under) >= 2 * MAX_NESTED_SCRIPTS
        or reading.left <= 0
    ):
        reading.note("depth", made.text)
        text = inner.script.guess if inner.script else " ".join(word.guess for word in inner.words)
        reading.unread.append(text)
        return DataFlow()
    there = scope if same else scope.copy()
    kept, there.under = there.under, (*scope.under, made.program)
    if inner.cwd is not None:
        there.move(resolve_cd_target(inner.cwd, there))
    if inner.script is None:
        nested = replace(
            made,
            words=inner.words,
            assignments=inner.assignments,
            redirects=(),
            cwd=there.cwd,
            near=there.near,
            under=there.under,
        )
        flow = run_command(walk, nested, there)
    else:
        if made.program not in ("eval", "trap"):
            there.arguments = inner.arguments
            there.functions = {} if made.program != "alias" else there.functions
        reading.strings += 1
        flow = walk.script(inner.script.guess, there, made.stdin)
        reading.strings -= 1
    there.under = kept
    return flow


def _text(node: "Node | None") -> str:
    return ((node.text if node else b"") or b"").decode("utf-8", "replace")
