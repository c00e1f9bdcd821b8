"""One simple command in the walk: its words, redirections and assignments, the functions and nested
commands it calls, and what it changes for those behind it."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.safety.bash import flows
from cockpit.safety.bash.commands import Command, Flow, Redirect, Scope
from cockpit.safety.bash.declared import assigned
from cockpit.safety.bash.effects import effects, located, moved
from cockpit.safety.bash.redirects import behind_target, herestring, names_descriptor, redirect, remember
from cockpit.safety.bash.unwrap import Inner, unwrap
from cockpit.safety.bash.words import ARGUMENT, UNKNOWN, Word
from cockpit.workspace.words import words

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.safety.bash.walk import Walk

WORDS = 200  # of one command that are looked at one by one
FAR = ("/", "~", "-", "..", ".git", ".cockpit")
MOST_WORDS = 2 * WORDS  # of one command that are folded at all
STRINGS = 4  # scripts inside scripts
SUBSCRIPTS = words(
    """
    read printf test [ [[ unset let declare typeset local export mapfile readarray getopts wait readonly
    """
)


def command(
    walk: "Walk",
    node: "Node",
    scope: Scope,
    stdin: Flow,
    redirects: tuple[Redirect, ...],
    behind: "list[Word] | tuple[Word, ...]" = (),
) -> Flow:
    """One command node: folded, then run. `behind` are words that the grammar left with a redirection."""
    given: list[tuple[str, Word]] = []
    words: list[Word] = []
    extra = list(redirects)
    children = _looked_at(walk, node)
    walk.incoming = stdin
    for child in children:
        if child.type == "variable_assignment":
            given.append(assigned(walk, child, scope))
        elif child.type == "command_name":
            words += walk.folder.fold(child.named_children[0] if child.named_child_count else child, scope)
        elif child.type == "herestring_redirect":
            stdin = herestring(walk, child, scope)
        elif child.type == "file_redirect":
            extra.append(redirect(walk, child, scope))
            words += behind_target(walk, child, scope)
            if names_descriptor(node.text or b"", child.start_byte - node.start_byte):
                walk.reading.note("descriptor", _text(node))
        elif child.type in ARGUMENT:
            words += walk.folder.fold(child, scope)
        elif child.is_named:
            words += walk.words(child, scope)
    words += behind
    made = Command(
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
    flow = run(walk, made, scope)
    remember(walk, extra, flow, scope)
    away = any(item.writes and not item.target.guess.startswith("/dev/") for item in extra)
    return Flow(flow.taints, None, flow.piped) if away else flow


def _looked_at(walk: "Walk", node: "Node") -> "list[Node]":
    """The children that are folded: not all of a giant, which asks, and the pass that only refuses looks
    over all of it."""
    children = node.named_children
    if len(children) > MOST_WORDS or not is_apart(node):
        walk.reading.note("parts" if len(children) > MOST_WORDS else "syntax", _text(node))
        walk.reading.unread.append(_text(node))
    return children[:MOST_WORDS]


def is_apart(node: "Node") -> bool:
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


def emit(walk: "Walk", made: Command) -> None:
    walk.reading.left -= 1
    walk.reading.commands.append(made)


def _far(made: Command) -> list[Word]:
    """Of the words beyond the measure those that could name more than a file of the workspace."""
    far = [word for word in made.words[WORDS:] if word.guess.startswith(FAR) or UNKNOWN in word.guess]
    return far[: 10 * WORDS]


def run(walk: "Walk", made: Command, scope: Scope) -> Flow:
    """A command whose words are known: itself, then all that it runs in turn."""
    reading = walk.reading
    while made.words and made.words[0].text == "" and made.words[0].sure and len(made.words) > 1:
        made = replace(made, words=made.words[1:])
    if len(made.words) > WORDS:
        reading.note("parts", made.text)
        reading.unread.append(" ".join(word.guess for word in made.words))
        made = replace(made, words=(*made.words[:WORDS], *_far(made)))
    name = made.program
    if UNKNOWN in name and name.strip(UNKNOWN):
        # `r${x}m`: a variable that is not set leaves what stands around it.
        reading.unread.append(" ".join(word.guess.replace(UNKNOWN, "") for word in made.words))
    if name in SUBSCRIPTS and any(
        "[" in word.guess and re.search(r"\$\(|`", word.guess) for word in made.words
    ):
        reading.note("subscript", made.text)
        reading.unread += [word.guess for word in made.words[1:]]
    if (body := scope.functions.get(name)) is not None and "/" not in made.words[0].guess:
        return _call(walk, made, body, scope)
    emit(walk, made)
    flow, nested = flows.output(made), unwrap(made)
    if nested:
        # What a wrapper writes is what the command inside writes.
        flow = Flow(flow.taints - ({"secret"} if name == "env" else frozenset()), "", flow.piped)
    for inner in nested:
        flow = flow.joined(_inside(walk, made, inner, scope))
    if made.stdin.text is not None and (script := _fed(made)) is not None:
        flow = flow.joined(_inside(walk, made, Inner(script=Word(script, False, made.stdin.taints)), scope))
    for path in _scripts(made, scope):
        known = reading.files.get(path)
        if known is not None and known.text:
            _inside(walk, made, Inner(script=Word(known.text, False, known.taints)), scope)
    effects(walk, made, scope)
    return flow


def _fed(made: Command) -> str | None:
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


def _scripts(made: Command, scope: Scope) -> list[str]:
    """The files that `made` runs: itself, or the operand of a shell."""
    from cockpit.safety.bash.wrappers import SHELLS

    if not made.words:
        return []
    if "/" in made.words[0].guess:
        return [located(made.words[0].guess, scope)]
    if made.program in SHELLS or made.program in ("source", "."):
        return [located(one, scope) for one in made.arguments if not one.startswith("-")][:1]
    return []


def _call(walk: "Walk", made: Command, body: "Node", scope: Scope) -> Flow:
    from cockpit.safety.bash.compound import called

    name, own = made.program, called(made.program, body)
    if own in scope.calling or len(scope.calling) >= STRINGS:
        forks = re.search(r"[|&]", _text(body))
        walk.reading.note("fork bomb" if forks and own in scope.calling else "recursion", name)
        return Flow()
    kept, kept_calling = scope.arguments, scope.calling
    scope.arguments, scope.calling = made.words[1:], (*scope.calling, own)
    flow = walk.statement(body, scope, made.stdin)
    scope.arguments, scope.calling = kept, kept_calling
    return flow


def _inside(walk: "Walk", made: Command, inner: Inner, scope: Scope) -> Flow:
    """What a wrapper or a nested shell runs, in a copy of the scope (eval and builtins: in the scope)."""
    reading = walk.reading
    same = made.program in ("eval", "command", "builtin", "time", "exec")
    if reading.strings >= STRINGS or len(scope.under) >= 2 * STRINGS or reading.left <= 0:
        reading.note("depth", made.text)
        text = inner.script.guess if inner.script else " ".join(word.guess for word in inner.words)
        reading.unread.append(text)
        return Flow()
    there = scope if same else scope.copy()
    kept, there.under = there.under, (*scope.under, made.program)
    if inner.cwd is not None:
        there.move(moved(inner.cwd, there))
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
        flow = run(walk, nested, there)
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
