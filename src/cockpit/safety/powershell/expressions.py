"""What an expression does: .NET types and members, computed code, the variables it shows."""

import re

from cockpit.safety.powershell.computed import computed_place, inside, mentioned
from cockpit.safety.powershell.findings import Finding, ask, deny
from cockpit.safety.powershell.nested import base_name, reread
from cockpit.safety.powershell.places import TREES, place
from cockpit.safety.powershell.scope import Scope, fold_expression
from cockpit.safety.powershell.values import Expression, Piece

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
    r"^(delete(file|folder)?|move(to|file|folder)?|copy(to|file|folder)?|replace|create|createtext"
    r"|createdirectory|write\w*|append\w*|open|createtextfile|opentextfile"
    r"|openwrite"
    r"|setaccesscontrol|encrypt|setattributes)$"
)
STARTS = frozenset({"run", "exec", "shellexecute"})
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
    values = mentioned(pieces, scope)
    if "foreach" in members:
        members += [piece.text for piece in inside(pieces) if piece.kind == "member"]
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
    starting = next((at for at, piece in enumerate(pieces) if piece.text in STARTS), None)
    if set(members) & STARTS and starting is not None:
        # A program and its arguments, as a COM object is given them.
        reread(" ".join(mentioned(pieces[starting + 1 :], scope)), scope)
        return [ask("ps-run", "it starts a program", "code.exec", risk=70, forgets=True)]
    runs = [one for one in members if CODE.match(one)]
    if not runs or not (
        CODE_TYPES.search(types)
        or set(runs) & {"invoke", "invokescript", "invokecommand", "addscript", "newscriptblock"}
    ):
        return []
    scope.seen.runs_computed = "it runs text as code"
    for value in values:
        reread(value, scope)
    if "diagnostics.process" in types and len(values) > 1:
        reread(" ".join(values), scope)
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
        elif seen.tree in TREES and any(one.startswith(("delete", "move")) for one in members):
            found.append(deny("ps-delete-tree", f"it removes {seen.real}", "fs.delete"))
    if "delete" in " ".join(members) and (known := computed_place(" ".join((types, *members, *values)))):
        found.append(deny("ps-delete-tree", f"it removes {known}", "fs.delete"))
    if "registry" in types and changes:
        found.append(ask("ps-registry", "it changes the registry", "host.mutate", risk=60))
    return found


def _assign(expression: Expression, scope: Scope) -> None:
    script = expression.assigned
    if script is None or not script.pipelines or len(script.pipelines[0].elements) != 1:
        return
    element = script.pipelines[0].elements[0]
    value = fold_expression(element, scope) if isinstance(element, Expression) else None
    if value is None and expression.target and isinstance(element, Expression):
        _assign_mentioned(expression.target, element, scope)
    if value is None or expression.target in ("", "?"):
        return
    operator = next((piece.text for piece in expression.pieces if piece.kind == "op"), "=")
    before = scope.variables.get(expression.target, ())
    if operator == "+=":
        value = tuple(one + more for one in before or ("",) for more in value)
    scope.variables[expression.target] = tuple(dict.fromkeys((*value, *before)))[:64]


def _assign_mentioned(target: str, element: Expression, scope: Scope) -> None:
    """What a table for splatting holds, and the path behind a cast: `[IO.DirectoryInfo]'C:\\'`."""
    kinds = {piece.kind for piece in element.pieces}
    if kinds == {"hash"}:
        scope.variables[f"@{target}"] = tuple(
            one.rpartition("=")[2] for one in mentioned(element.pieces, scope)
        )
    elif kinds == {"type", "text"} and element.pieces[0].text.startswith(("io.", "system.io.")):
        scope.variables[target] = tuple(piece.text for piece in element.pieces if piece.kind == "text")
