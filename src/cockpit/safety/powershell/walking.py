"""Walking a PowerShell script: every command and expression, whatever it stands in, becomes a part."""

from cockpit.plugin.safety import CommandPart
from cockpit.safety.powershell import shapes
from cockpit.safety.powershell.commands import judge_command
from cockpit.safety.powershell.computed import is_output, literals
from cockpit.safety.powershell.expressions import judge_expression
from cockpit.safety.powershell.findings import Finding, ask, strictest
from cockpit.safety.powershell.operands import judge_redirect
from cockpit.safety.powershell.scope import Scope, Values, fold_expression, fold_word
from cockpit.safety.powershell.values import Command, Element, Expression, Piece, Script, pieces_of
from cockpit.workspace.resolver import Access

# So many commands are judged each by itself.
MANY = 300
GIVES_PATHS = frozenset({"get-childitem", "get-item", "resolve-path", "convert-path"})
PASSES_ON = frozenset(
    [
        "where-object",
        "select-object",
        "sort-object",
        "get-unique",
        "tee-object",
        "get-item",
        "get-childitem",
        "foreach-object",
    ]
)
GROUPED = {
    "group": ask("ps-group", "a part of it is worked out when it runs", "shell.opaque", risk=30),
    "block": ask("ps-block", "it holds a block of code", "shell.opaque", risk=30),
    "hash": ask("ps-hash", "it holds a table", "shell.opaque", risk=25),
}


def walk(script: Script, scope: Scope) -> None:
    """Judge everything in `script`; the parts are added to `scope.seen`."""
    for pipeline in script.pipelines:
        fed: Values | None = ()
        for at, element in enumerate(pipeline.elements):
            if len(scope.seen.parts) > MANY and _is_told(element, fed, at > 0, scope):
                continue
            before = len(scope.seen.touched)
            name, findings = _judge(element, scope, fed, at > 0)
            if pipeline.background:
                findings.append(ask("ps-background", "it goes on in the background", "code.exec", risk=40))
            scope.seen.parts.append(_part(name, element, findings, scope, scope.seen.touched[before:]))
            fed = _passed(name, element, fed, scope)


def _is_told(element: Element, fed: Values | None, is_fed: bool, scope: Scope) -> bool:
    """Whether the same plain words were judged before, in the same place: of a very long line those are
    not judged again, and the line is asked about."""
    if not isinstance(element, Command) or fed:
        return False
    if any(piece.kind != "text" for piece in pieces_of(element)):
        return False
    key = (element.text, is_fed, scope.cwd, scope.depth, tuple(scope.aliases.items()))
    if key in scope.seen.told:
        scope.seen.overlong = True
        return True
    scope.seen.told.add(key)
    return False


def _judge(element: Element, scope: Scope, fed: Values | None, is_fed: bool) -> tuple[str, list[Finding]]:
    inner = scope.below(fed or ())
    pieces = pieces_of(element)
    found = [
        GROUPED[piece.kind]
        for piece in pieces
        if piece.kind in GROUPED and not (isinstance(element, Command) and is_output(piece))
    ]
    if isinstance(element, Command):
        _walk_pieces(pieces, inner, scope)
        name, more = judge_command(element, scope, fed, is_fed)
        scope.seen.names.append(name)
        return name, found + more
    if element.assigned is not None:
        walk(element.assigned, scope)
    _walk_pieces(pieces, inner, scope)
    found += [one for redirect in element.redirects for one in judge_redirect(redirect, scope)]
    return "", found + judge_expression(element, scope)


def _walk_pieces(pieces: tuple[Piece, ...], inner: Scope, scope: Scope) -> None:
    before = inner.cwd
    for piece in pieces:
        if piece.script is not None:
            walk(piece.script, inner if piece.kind == "block" else scope)
    # A block may change the folder: whether it ran is not known.
    if inner.cwd != before:
        scope.cwd = None


def _part(
    name: str,
    element: Element,
    findings: list[Finding],
    scope: Scope,
    touched: list[tuple[Access, str]],
) -> CommandPart:
    argv: tuple[str | None, ...] = ()
    if isinstance(element, Command):
        folded = [fold_word(word, scope) for word in element.words]
        argv = tuple(None if one is None or len(one) != 1 else one[0] for one in folded)
    reads, writes = (
        tuple(dict.fromkeys(real for access, real in touched if access == one)) for one in ("read", "write")
    )
    if not findings:
        return CommandPart(
            element.text, argv, "allow", rules=("ps-reader",), reason="it only reads", reads=reads
        )
    worst = strictest(findings)
    capabilities = frozenset(one for found in findings for one in found.capabilities)
    rules = tuple(dict.fromkeys(found.rule for found in findings if found.level == worst.level))
    return CommandPart(
        element.text, argv, worst.level, worst.risk, capabilities, rules, worst.reason,
        worst.alternative, reads, writes, scope.seen.hosts[-1] if scope.seen.hosts else "",
        shapes.of(name, argv, findings, scope),
    )  # fmt: skip


def _passed(name: str, element: Element, fed: Values | None, scope: Scope) -> Values | None:
    """The paths that an element hands to the next one, as far as they are literal."""
    if isinstance(element, Expression):
        value = fold_expression(element, scope)
        return value if value is not None else tuple(literals(element.pieces))
    if name in GIVES_PATHS:
        values = [one for word in element.words[1:] for one in (fold_word(word, scope) or ())]
        return tuple(one for one in values if not one.startswith("-")) or (fed or (".",))
    return fed if name in PASSES_ON else ()
