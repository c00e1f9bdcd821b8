"""What an expression does: .NET types and members, computed code, the variables it shows."""

import re

from cockpit.safety.powershell.findings import Finding, ask, deny
from cockpit.safety.powershell.nested import base_name, reread
from cockpit.safety.powershell.places import place
from cockpit.safety.powershell.scope import Scope, fold_expression
from cockpit.safety.powershell.values import Command, Expression, Piece, Script

DOWNLOADS = re.compile(
    r"^(download(string|file|data)(async|taskasync)?|openread|uploadstring|uploaddata|uploadfile"
    r"|getstringasync"
    r"|getasync|postasync|getresponse|getstream|connect)$"
)
NET_TYPES = re.compile(r"(^|\.)(net\.(webclient|http|sockets|webrequest|httpwebrequest|dns|mail"
    r"|ftpwebrequest)"
                       r"|msxml2|winhttp|xmlhttp|internetexplorer\.application|bitstransfer)")  # fmt: skip
CODE = re.compile(
    r"^(invokescript|invokecommand|create|newscriptblock|expandstring|invoke|start"
    r"|invokereturnasis|addscript)$"
)
CODE_TYPES = re.compile(r"scriptblock|powershell|runspace|diagnostics\.process|activator|csharpcodeprovider")
HIDDEN = re.compile(
    r"amsi(utils|initfailed|context|scanbuffer)|virtualalloc|virtualprotect|createthread|writeprocessmemory"
    r"|getdelegateforfunctionpointer|minidumpwritedump|sekurlsa|getprocaddress"
)
CHANGES = re.compile(
    r"^(delete|move|moveto|copyto|copy|replace|create|createtext|createdirectory|write\w*|append\w*|open"
    r"|openwrite"
    r"|setaccesscontrol|encrypt|setattributes)$"
)
KEYS = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)


def judge_expression(expression: Expression, scope: Scope) -> list[Finding]:
    """The findings on an expression itself; what stands in its groups is walked elsewhere."""
    if expression.assigned is not None:
        _assign(expression, scope)
        return [ask("ps-assign", "it sets a variable", "shell.opaque", risk=20)]
    kinds = {piece.kind for piece in expression.pieces}
    if kinds <= {"text", "op"}:
        return []
    return judge_pieces(expression.pieces, scope)


def judge_pieces(pieces: tuple[Piece, ...], scope: Scope) -> list[Finding]:
    """The findings on types, members and variables, wherever they stand."""
    found: list[Finding] = []
    types = " ".join(piece.text for piece in pieces if piece.kind == "type")
    members = [piece.text for piece in pieces if piece.kind == "member"]
    values = literals(pieces)
    flat = " ".join((types, *members, *values)).lower().replace("`", "")
    if HIDDEN.search(re.sub(r"['\"+ ]", "", flat)):
        found.append(deny("ps-hidden-code", "it works around protection or into other programs", "code.exec"))
    if "reflection" in types and any(one.startswith("load") for one in members):
        found.append(deny("ps-hidden-code", "it loads a program into memory", "code.remote"))
    if NET_TYPES.search(flat) or any(DOWNLOADS.match(one) for one in members):
        scope.seen.has_network = True
        scope.seen.saved |= {base_name(value) for value in values if "." in base_name(value)}
        found.append(ask("ps-net", "it speaks to the network", "net.egress", risk=55, forgets=True))
    found += _code(types, members, values, pieces, scope)
    if "shadowcopy" in flat and ("delete" in members or "remove" in members):
        found.append(deny("ps-shadow", "it removes backups", "host.mutate"))
    if {"win32shutdown", "reboot"} & set(members):
        found.append(deny("ps-power", "it turns the machine off", "host.mutate"))
    if "win32_shadowcopy" in flat:
        scope.seen.marks.add("shadow")
    if {"delete", "remove"} & set(members):
        scope.seen.marks.add("delete")
    found += _files(types, members, values, scope)
    found += judge_variables(pieces, scope)
    return found or [ask("ps-dynamic", "its value is known only when it runs", "shell.opaque", risk=30)]


def judge_variables(pieces: tuple[Piece, ...], scope: Scope) -> list[Finding]:
    """Keys in the environment that are handed on."""
    found: list[Finding] = []
    for piece in pieces:
        if piece.kind == "var" and piece.text.startswith("env:") and KEYS.search(piece.text):
            scope.seen.reads_secret = True
            found.append(ask("ps-secret", f"it uses ${piece.text}", "secret.read", forgets=True))
    return found


def _code(
    types: str, members: list[str], values: list[str], pieces: tuple[Piece, ...], scope: Scope
) -> list[Finding]:
    runs = [one for one in members if CODE.match(one)]
    if not runs or not (
        CODE_TYPES.search(types)
        or set(runs) & {"invoke", "invokescript", "invokecommand", "addscript", "newscriptblock"}
    ):
        return []
    scope.seen.runs_computed = "it runs text as code"
    for value in values:
        reread(value, scope)
    return [ask("ps-code", "it runs text as code", "code.exec", risk=75, forgets=True)]


def _files(types: str, members: list[str], values: list[str], scope: Scope) -> list[Finding]:
    found: list[Finding] = []
    changes = any(CHANGES.match(one) for one in members)
    reads = any(one.startswith(("read", "open")) for one in members)
    if not changes and not reads:
        return found
    for value in values:
        seen = place(value, "write" if changes else "read", scope)
        if seen.level == "deny" and seen.sort in ("secret", "protected", "system", "network"):
            found.append(deny(f"ps-{seen.sort}", seen.reason, "fs.write" if changes else "secret.read"))
        elif changes and "delete" in members and seen.tree in ("root", "home", "system", "above"):
            found.append(deny("ps-delete-tree", f"it removes {seen.real}", "fs.delete"))
    if "registry" in types and changes:
        found.append(ask("ps-registry", "it changes the registry", "host.mutate", risk=60))
    return found


def _assign(expression: Expression, scope: Scope) -> None:
    script = expression.assigned
    if script is None or not script.pipelines or len(script.pipelines[0].elements) != 1:
        return
    element = script.pipelines[0].elements[0]
    value = fold_expression(element, scope) if isinstance(element, Expression) else None
    if value is None or expression.target in ("", "?"):
        return
    operator = next((piece.text for piece in expression.pieces if piece.kind == "op"), "=")
    before = scope.variables.get(expression.target, ())
    if operator == "+=":
        value = tuple(one + more for one in before or ("",) for more in value)
    scope.variables[expression.target] = tuple(dict.fromkeys((*value, *before)))[:8]


def literals(pieces: tuple[Piece, ...]) -> list[str]:
    """Every literal in `pieces`, also in groups."""
    found: list[str] = []
    for piece in pieces:
        if piece.kind == "text":
            found.append(piece.text)
        elif piece.script is not None and piece.kind != "block":
            found += literals_of(piece.script)
    return found


def literals_of(script: Script) -> list[str]:
    """Every literal of a script's commands and expressions."""
    found: list[str] = []
    for pipeline in script.pipelines:
        for element in pipeline.elements:
            if isinstance(element, Command):
                for word in element.words:
                    found += literals(word.pieces)
            else:
                found += literals(element.pieces)
    return found
