"""Judges expressions: .NET types and members, computed code, values only known when they run, and endless
loops.

A removal of a computed value is judged by the literals, variables and paths it is made of.
"""

import itertools
import re
from collections.abc import Iterator

from cockpit.plugin.tools import Capability
from cockpit.safety.findings import SafetyFinding, ask, deny
from cockpit.safety.powershell.cmdlets import resolve_command_name
from cockpit.safety.powershell.locations import PROTECTED_TREES, locate
from cockpit.safety.powershell.native_programs import base_name, judge_inner_text
from cockpit.safety.powershell.scope import PowerShellScope, fold_expression, fold_pieces, fold_word
from cockpit.safety.powershell.syntax_tree import (
    PipelineElement,
    PowerShellCommand,
    PowerShellExpression,
    PowerShellScript,
    PowerShellWord,
    WordPiece,
    list_pieces,
)
from cockpit.workspace.word_set import word_set

# Words with which PowerShell and .NET name a drive, a home folder, the system or the command history.
COMPUTED_PLACES = (
    (re.compile(r"\.root\b|\broot\b$|getpathroot|directoryroot|getlogicaldrives|get-psdrive|get-volume"
                r"|rootdirectory|driveinfo|systemdrive|homedrive"), "a drive"),
    (re.compile(r"getfolderpath|specialfolder|userprofile"), "a folder of the user or the system"),
    (re.compile(r"systemdirectory|systemroot|windir|programfiles"), "the system"),
    (re.compile(r"historysavepath"), "the command history"),
)  # fmt: skip


def find_computed_place(text: str) -> str:
    """The location that `text` names by a property or a function, or an empty string."""
    low = text.lower().replace("`", "")
    return next((name for pattern, name in COMPUTED_PLACES if pattern.search(low)), "")


def judge_computed_removal(word: PowerShellWord, scope: PowerShellScope) -> list[SafetyFinding]:
    """The findings on removing the value of `word`."""
    if name := find_computed_place(word.text):
        return [deny("ps-delete-tree", f"it removes {name}, computed when it runs", "fs.delete")]
    for value in (*_inner_paths(word.pieces, scope), *_known_folder(word.pieces, scope)):
        location = locate(value, "write", scope)
        if location.tree in PROTECTED_TREES or (
            location.level == "deny" and location.sort in ("secret", "protected", "system")
        ):
            return [deny("ps-delete-tree", f"it removes a path computed from {location.real}", "fs.delete")]
    return []


def is_command_output(piece: WordPiece) -> bool:
    """Whether it is the output of commands only, which are judged on their own."""
    elements = piece.script.elements if piece.kind == "group" and piece.script is not None else []
    return bool(elements) and all(isinstance(element, PowerShellCommand) for element in elements)


def _inner_paths(pieces: tuple[WordPiece, ...], scope: PowerShellScope) -> list[str]:
    """The paths in the groups of a word; `Split-Path` gives the parent folder."""
    groups = tuple(piece for piece in pieces if piece.script is not None)
    return [value for value in list_mentioned(groups, scope) if re.search(r"[\\/~:]|^\.\.$", value)]


def _known_folder(pieces: tuple[WordPiece, ...], scope: PowerShellScope) -> list[str]:
    r"""The folder before the first unknown part: `C:\$x` is the drive if $x is empty."""
    known = tuple(itertools.takewhile(lambda piece: fold_pieces((piece,), scope) is not None, pieces))
    if not known or len(known) == len(pieces):
        return []
    heads = (re.match(r"(.*[\\/])[^\\/]*$", text, re.DOTALL) for text in fold_pieces(known, scope) or ())
    return [head[1] for head in heads if head]


def list_mentioned(pieces: tuple[WordPiece, ...], scope: PowerShellScope) -> list[str]:
    """Every literal in `pieces`, groups included, and every known value of a variable."""
    result: list[str] = []
    for piece in pieces:
        if piece.kind == "text":
            result.append(piece.text)
        elif piece.kind == "var" and piece.text not in ("true", "false", "null"):
            result += fold_pieces((piece,), scope) or ()
        elif piece.script is not None and piece.kind != "block":
            for element in piece.script.elements:
                if isinstance(element, PowerShellCommand):
                    result += [value for word in element.words for value in _word_values(word, scope)]
                    continue
                result += list_mentioned(element.pieces, scope)
                if element.assigned is not None:
                    result += list_mentioned((WordPiece("group", "", element.assigned),), scope)
    return result


def iter_inner_pieces(pieces: tuple[WordPiece, ...]) -> Iterator[WordPiece]:
    """Every piece in the groups and blocks of `pieces`."""
    for piece in pieces:
        for element in piece.script.elements if piece.script is not None else ():
            yield from list_pieces(element)
            yield from iter_inner_pieces(list_pieces(element))


def _word_values(word: PowerShellWord, scope: PowerShellScope) -> list[str]:
    folded = fold_word(word, scope)
    return list_mentioned(word.pieces, scope) if folded is None else list(folded)


def list_literals(pieces: tuple[WordPiece, ...]) -> list[str]:
    """Every literal in `pieces`, groups included."""
    result: list[str] = []
    for piece in pieces:
        if piece.kind == "text":
            result.append(piece.text)
        elif piece.script is not None and piece.kind != "block":
            for element in piece.script.elements:
                result += list_literals(_own_pieces(element))
    return result


def _own_pieces(element: PipelineElement) -> tuple[WordPiece, ...]:
    """The pieces of an element without its redirections."""
    if isinstance(element, PowerShellExpression):
        return element.pieces
    return tuple(piece for word in element.words for piece in word.pieces)


PROCESS_STARTERS = frozenset(
    {"start-process", "start-job", "start-threadjob", "invoke-item", "powershell", "pwsh", "cmd", "wt",
     "conhost", "start", "explorer", "bash", "wsl"}
)  # fmt: skip
TRUE_CONDITIONS = frozenset({"$true", "1", "!$false", "!0", "-not$false", "$true-eq$true", "1-eq1"})
FALSE_CONDITIONS = frozenset({"$false", "0", "!$true"})


def check_fork_bomb(command: PowerShellCommand, scope: PowerShellScope) -> list[SafetyFinding]:
    """Find blocks that start processes endlessly: `while (1) { start x }`, `function f { f; f }`."""
    keyword = command.words[0].text.lower()
    inner = _inner_command_names(_own_pieces(command))
    names = [resolve_command_name(name, scope.aliases) for name in inner]
    what = ""
    if keyword == "function" and len(command.words) > 1:
        calls = names.count(command.words[1].text.lower())
        if calls > 1 or (calls and PROCESS_STARTERS & set(names)):
            what = "a function that starts itself repeatedly"
    elif _never_ends(command, keyword) and (
        started := next((name for name in names if name in PROCESS_STARTERS), "")
    ):
        what = f"an endless loop that starts {started}"
    return [deny("ps-fork-bomb", f"it contains {what}", "host.mutate")] if what else []


def _never_ends(command: PowerShellCommand, keyword: str) -> bool:
    flat = "".join(command.text.lower().split())
    if keyword == "for":
        condition = flat[flat.find("(") + 1 :].partition(";")[2]
        return condition.startswith((";", *TRUE_CONDITIONS))
    if keyword not in ("while", "do"):
        return False
    groups = (
        word.text.lower() for word in command.words if word.pieces[:1] and word.pieces[0].kind == "group"
    )
    value = "".join("".join(groups).split()).strip("()")
    if "until(" in flat:
        return value in FALSE_CONDITIONS
    return value in TRUE_CONDITIONS or (value.isdigit() and value != "0")


def _inner_command_names(pieces: tuple[WordPiece, ...]) -> Iterator[str]:
    for piece in pieces:
        if piece.script is not None:
            yield from _script_command_names(piece.script)


def _script_command_names(script: PowerShellScript) -> Iterator[str]:
    for element in script.elements:
        if isinstance(element, PowerShellCommand) and element.words:
            yield element.words[0].text.strip("'\"`")
        yield from _inner_command_names(_own_pieces(element))
        if isinstance(element, PowerShellExpression) and element.assigned is not None:
            yield from _script_command_names(element.assigned)


DOWNLOAD_MEMBERS = re.compile(
    r"^(download(string|file|data)(async|taskasync)?|openread|uploadstring|uploaddata|uploadfile"
    r"|getstringasync|getasync|postasync|getresponse|getstream|connect)$"
)
NET_TYPES = re.compile(
    r"(^|\.)(net\.(webclient|http|sockets|webrequest|httpwebrequest|dns|mail|ftpwebrequest)"
    r"|msxml2|winhttp|xmlhttp|internetexplorer\.application|bitstransfer)"
)
CODE_MEMBERS = re.compile(
    r"^(invokescript|invokecommand|create|newscriptblock|expandstring|invoke|start"
    r"|invokereturnasis|addscript)$"
)
CERTAIN_CODE_MEMBERS = word_set("invoke invokescript invokecommand addscript newscriptblock")
CODE_TYPES = re.compile(r"scriptblock|powershell|runspace|diagnostics\.process|activator|csharpcodeprovider")
HIDDEN_CODE = re.compile(
    r"amsi(utils|initfailed|context|scanbuffer)|virtualalloc|virtualprotect|createthread|writeprocessmemory"
    r"|getdelegateforfunctionpointer|minidumpwritedump|sekurlsa|getprocaddress"
)
CHANGE_MEMBERS = re.compile(
    r"^(delete(file|folder)?|move(to|file|folder)?|copy(to|file|folder)?|replace|create|createtext"
    r"|createdirectory|write\w*|append\w*|open|createtextfile|opentextfile|openwrite|setaccesscontrol"
    r"|encrypt|setattributes)$"
)
START_MEMBERS = frozenset({"run", "exec", "shellexecute"})
SECRET_NAMES = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)


def judge_expression(expression: PowerShellExpression, scope: PowerShellScope) -> list[SafetyFinding]:
    """The findings on an expression itself. The content of its groups is judged separately."""
    if expression.assigned is not None:
        _assign(expression, expression.assigned, scope)
        return [ask("ps-assign", "it sets a variable", "shell.opaque", risk=20)]
    if all(piece.kind in ("text", "op") for piece in expression.pieces):
        return []
    return judge_pieces(expression.pieces, scope)


def judge_pieces(pieces: tuple[WordPiece, ...], scope: PowerShellScope) -> list[SafetyFinding]:
    """The findings on types, members and variables."""
    findings: list[SafetyFinding] = []
    types = " ".join(piece.text for piece in pieces if piece.kind == "type")
    members = [piece.text for piece in pieces if piece.kind == "member"]
    values = list_mentioned(pieces, scope)
    if "foreach" in members:
        members += [piece.text for piece in iter_inner_pieces(pieces) if piece.kind == "member"]
    flat = " ".join((types, *members, *values)).lower().replace("`", "")
    if HIDDEN_CODE.search(re.sub(r"['\"+ ]", "", flat)):
        reason = "it bypasses protection or changes other processes"
        findings.append(deny("ps-hidden-code", reason, "code.exec"))
    if "reflection" in types and any(member.startswith("load") for member in members):
        findings.append(deny("ps-hidden-code", "it loads a program into memory", "code.remote"))
    if NET_TYPES.search(flat) or any(DOWNLOAD_MEMBERS.match(member) for member in members):
        scope.facts.has_network = True
        scope.facts.saved |= {base_name(value) for value in values if "." in base_name(value)}
        findings.append(ask("ps-net", "it connects to the network", "net.egress", risk=55, remember=False))
    findings += _check_code(types, members, values, pieces, scope)
    if "shadowcopy" in flat and ("delete" in members or "remove" in members):
        findings.append(deny("ps-shadow", "it deletes backups", "host.mutate"))
    if {"win32shutdown", "reboot"} & set(members):
        findings.append(deny("ps-power", "it shuts the machine down", "host.mutate"))
    if "win32_shadowcopy" in flat:
        scope.facts.marks.add("shadow")
    if {"delete", "remove"} & set(members):
        scope.facts.marks.add("delete")
    findings += _check_files(types, members, values, scope)
    findings += judge_variables(pieces, scope)
    return findings or [ask("ps-dynamic", "its value is only known when it runs", "shell.opaque", risk=30)]


def judge_variables(pieces: tuple[WordPiece, ...], scope: PowerShellScope) -> list[SafetyFinding]:
    """Secrets of the environment that are used."""
    used = [piece.text for piece in pieces if piece.kind == "var" and piece.text.startswith("env:")]
    secret = [name for name in used if SECRET_NAMES.search(name)]
    scope.facts.reads_secret = scope.facts.reads_secret or bool(secret)
    return [ask("ps-secret", f"it uses ${name}", "secret.read", risk=45, remember=False) for name in secret]


def _check_code(
    types: str, members: list[str], values: list[str], pieces: tuple[WordPiece, ...], scope: PowerShellScope
) -> list[SafetyFinding]:
    starting = next((at for at, piece in enumerate(pieces) if piece.text in START_MEMBERS), None)
    if set(members) & START_MEMBERS and starting is not None:
        # A program and its arguments, as they are given to a COM object.
        judge_inner_text(" ".join(list_mentioned(pieces[starting + 1 :], scope)), scope)
        return [ask("ps-run", "it starts a program", "code.exec", risk=70, remember=False)]
    runs = {member for member in members if CODE_MEMBERS.match(member)}
    if not runs or not (CODE_TYPES.search(types) or runs & CERTAIN_CODE_MEMBERS):
        return []
    scope.facts.runs_computed = "it runs text as code"
    for value in values:
        judge_inner_text(value, scope)
    if "diagnostics.process" in types and len(values) > 1:
        judge_inner_text(" ".join(values), scope)
    return [ask("ps-code", "it runs text as code", "code.exec", risk=75, remember=False)]


def _check_files(
    types: str, members: list[str], values: list[str], scope: PowerShellScope
) -> list[SafetyFinding]:
    findings: list[SafetyFinding] = []
    changes = any(CHANGE_MEMBERS.match(member) for member in members)
    if not changes and not any(member.startswith(("read", "open")) for member in members):
        return findings
    removes = any(member.startswith(("delete", "move")) for member in members)
    for value in values:
        location = locate(value, "write" if changes else "read", scope)
        if location.level == "deny" and location.sort in ("secret", "protected", "system", "network"):
            capability: Capability = "fs.write" if changes else "secret.read"
            findings.append(deny(f"ps-{location.sort}", location.reason, capability))
        elif location.tree in PROTECTED_TREES and removes:
            findings.append(deny("ps-delete-tree", f"it removes {location.real}", "fs.delete"))
    if "delete" in " ".join(members) and (known := find_computed_place(" ".join((types, *members, *values)))):
        findings.append(deny("ps-delete-tree", f"it removes {known}", "fs.delete"))
    if "registry" in types and changes:
        findings.append(ask("ps-registry", "it changes the registry", "host.mutate", risk=60))
    return findings


def _assign(expression: PowerShellExpression, script: PowerShellScript, scope: PowerShellScope) -> None:
    target = expression.target
    first = script.pipelines[0].elements if script.pipelines else ()
    if len(first) != 1 or not isinstance(first[0], PowerShellExpression):
        return
    value = fold_expression(first[0], scope)
    if value is None and target:
        _assign_mentioned(target, first[0], scope)
    if value is None or target in ("", "?"):
        return
    operator = next((piece.text for piece in expression.pieces if piece.kind == "op"), "=")
    before = scope.variables.get(target, ())
    if operator == "+=":
        value = tuple(word + more for word in before or ("",) for more in value)
    scope.variables[target] = tuple(dict.fromkeys((*value, *before)))[:64]


def _assign_mentioned(target: str, element: PowerShellExpression, scope: PowerShellScope) -> None:
    """Store what a table for splatting contains, and the path in a cast such as `[IO.DirectoryInfo]'C:\'`."""
    kinds = {piece.kind for piece in element.pieces}
    if kinds == {"hash"}:
        mentioned = list_mentioned(element.pieces, scope)
        scope.variables[f"@{target}"] = tuple(text.rpartition("=")[2] for text in mentioned)
    elif kinds == {"type", "text"} and element.pieces[0].text.startswith(("io.", "system.io.")):
        scope.variables[target] = tuple(piece.text for piece in element.pieces if piece.kind == "text")
