"""What a cmdlet of the tables does with the operands it is given."""

from cockpit.plugin.tools import Capability
from cockpit.safety.powershell.cmdlets import Bound, Operand, table
from cockpit.safety.powershell.computed import is_output, judge_removed
from cockpit.safety.powershell.families import family
from cockpit.safety.powershell.findings import Finding, ask
from cockpit.safety.powershell.operands import judge_operand
from cockpit.safety.powershell.scope import Scope, Values
from cockpit.safety.powershell.values import Command


def judge_cmdlet(
    name: str, bound: Bound, command: Command, scope: Scope, fed: Values | None, is_fed: bool
) -> list[Finding]:
    found: list[Finding] = []
    recursive = bool(bound.switches & {"recurse", "rf", "r", "fr", "s"}) or "recurse" in bound.strange
    reads = name in table("readers")
    for operand in bound.operands:
        found += judge_operand(name, operand, recursive, scope)
    if name in ("remove-item", "clear-item") and not any(one.kind == "d" for one in bound.operands):
        found += _fed_delete(name, fed, scope)
    if name in ("get-content", "copy-item") and not any(one.kind == "r" for one in bound.operands):
        for value in fed or ():
            found += judge_operand(name, Operand("path", "r", (value,), None), False, scope)
    if name == "new-item":
        found += _named_item(bound, scope)
    if bound.strange:
        found.append(
            ask("ps-parameter", f"-{bound.strange[0]} is not known to be harmless", "shell.opaque", risk=35)
        )
    if any(word.odd for word in command.words):
        found.append(
            ask("ps-odd", "shells could disagree about where its words end", "shell.opaque", risk=30)
        )
    for operand in bound.operands:
        removes = operand.kind == "d" or (name == "clear-content" and operand.kind == "w")
        if removes and operand.word is not None and operand.values is None:
            found += judge_removed(operand.word, scope)
    if any(_is_dynamic(operand) for operand in bound.operands):
        found.append(ask("ps-dynamic", "a part of it is known only when it runs", "shell.opaque", risk=30))
    if not reads:
        capability: Capability = (
            "fs.delete" if name in ("remove-item", "move-item", "clear-item") else "fs.write"
        )
        better = "use the delete tool" if name == "remove-item" else ""
        if family(name) is None:
            found.append(ask(f"ps-{name}", "it changes files", capability, risk=40, alternative=better))
    return found


def _fed_delete(name: str, fed: Values | None, scope: Scope) -> list[Finding]:
    found = [ask("ps-fed", "what it removes comes down the pipeline", "fs.delete", risk=60, forgets=True)]
    for value in fed or ():
        found += judge_operand(name, Operand("path", "d", (value,), None), True, scope)
    return found


def _named_item(bound: Bound, scope: Scope) -> list[Finding]:
    folders = [value for one in bound.operands if one.parameter == "path" for value in one.values or ()]
    names = [value for one in bound.operands if one.parameter == "name" for value in one.values or ()]
    both = [f"{folder.rstrip('/')}/{name}" for folder in folders or ["."] for name in names]
    return [
        one
        for value in both
        for one in judge_operand("new-item", Operand("path", "w", (value,), None), False, scope)
    ]


def _is_dynamic(operand: Operand) -> bool:
    if operand.word is None:
        return False
    harmless = ("true", "false", "null")
    if operand.kind == "v" and all(piece.kind == "text" or is_output(piece) for piece in operand.word.pieces):
        return False
    return operand.values is None or any(
        piece.kind != "text" and not (piece.kind == "var" and piece.text in harmless)
        for piece in operand.word.pieces
    )
