"""What is known while a PowerShell line is judged: literal values of variables, the folder, aliases, pipeline
input, and the facts collected about the whole line."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from cockpit.plugin.safety import CommandPart, Level
from cockpit.safety.powershell.syntax_tree import (
    PowerShellCommand,
    PowerShellExpression,
    PowerShellScript,
    PowerShellWord,
    WordPiece,
)
from cockpit.safety.rules.rule import RuleSet
from cockpit.safety.values import ExecutionContext, JudgedLine
from cockpit.workspace.resolver import Access
from cockpit.workspace.word_set import word_set

MAX_VALUES = 8
Values = tuple[str, ...]
# Members that are the path itself, or a path with the same protection.
PATH_MEMBERS = frozenset(
    {"fullname", "path", "pspath", "providerpath", "allusersallhosts", "alluserscurrenthost",
     "currentuserallhosts", "currentusercurrenthost", "trim", "tostring"}
)  # fmt: skip
PLAIN_CASTS = word_set("string char char[] string[] int array")


PathSort = Literal[
    "plain", "outside", "temp", "secret", "env-file", "protected", "system", "device", "network", "registry",
    "environment", "provider", "url", "unknown", "odd",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class PowerShellLocation:
    """Where a path is. `tree` says what would be lost if everything below it were removed: root, system,
    home, above, workspace."""

    level: Level
    sort: PathSort
    real: str
    reason: str = ""
    tree: str = ""


@dataclass(slots=True)
class LineFacts:
    """What the whole line does, for findings that depend on several commands. `read` judges further text."""

    read: "Callable[[str, PowerShellScope], None]"
    parts: list[CommandPart] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    saved: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    has_network: bool = False
    runs_computed: str = ""
    reads_secret: bool = False
    overdeep: bool = False
    overlong: bool = False
    judged: set[tuple[object, ...]] = field(default_factory=set)
    hardened: tuple[tuple[int, tuple[str, ...]], ...] = ()
    marks: set[str] = field(default_factory=set)
    environment: tuple[tuple[str, str], ...] = ()
    touched: "list[tuple[Access, str]]" = field(default_factory=list)
    programs: dict[tuple[str | None, ...], JudgedLine] = field(default_factory=dict)
    places: "dict[tuple[str, str, str | None], PowerShellLocation]" = field(default_factory=dict)
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class PowerShellScope:
    """What is known at one point. `cwd` is None if unknown; `upstream` are the possible values of `$_`;
    `depth` counts nested shells."""

    context: ExecutionContext
    rules: RuleSet
    facts: LineFacts
    cwd: str | None = ""
    variables: dict[str, Values] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    upstream: Values = ()
    depth: int = 0

    def below(self, upstream: Values) -> "PowerShellScope":
        """The scope of a block that gets `upstream` from the pipeline."""
        return replace(self, upstream=upstream)


def fold_pieces(pieces: tuple[WordPiece, ...], scope: PowerShellScope) -> Values | None:
    """The possible values of a word, None if it is only known when it runs."""
    if len(pieces) == 1 and pieces[0].kind == "text":
        return (pieces[0].text,)
    options: list[Values] = []
    skip = False
    for piece in pieces:
        match piece.kind:
            case "text":
                options.append((piece.text,))
            case "var" if (known := _fold_variable(piece.text, scope)) is not None:
                options.append(known)
            case "group" if (
                piece.script is not None and (inner := fold_script(piece.script, scope)) is not None
            ):
                options.append(inner)
            case "member" if piece.text in PATH_MEMBERS:
                continue
            case _:
                skip = True
    if skip:
        return None
    if len(options) == 1:
        return tuple(_drop_home_drive(option, scope) for option in options[0])
    joined = ("".join(parts) for parts in itertools.islice(itertools.product(*options), MAX_VALUES))
    return tuple(_drop_home_drive(text, scope) for text in joined)


def _drop_home_drive(value: str, scope: PowerShellScope) -> str:
    """Drop the drive of `$env:HOMEDRIVE$env:HOMEPATH`, as the path is complete without it."""
    home = scope.context.home
    return value[2:] if home and value[2:].startswith(home) and value[1:2] == ":" else value


def _fold_variable(name: str, scope: PowerShellScope) -> Values | None:
    home = scope.context.home.rstrip("/\\")
    local = name.removeprefix("global:").removeprefix("script:").removeprefix("variable:")
    if local in scope.variables:
        return scope.variables[local]
    if local in ("_", "psitem"):
        return scope.upstream or None
    if local in ("pwd", "env:pwd"):
        return None if scope.cwd is None else (scope.cwd or scope.context.root,)
    temp = f"{home}\\AppData\\Local\\Temp" if scope.context.platform == "windows" else "/tmp"
    known = {
        "null": "", "true": "true", "false": "false", "home": home, "env:home": home,
        "env:userprofile": home, "env:homepath": home, "env:homedrive": "C:", "env:systemdrive": "C:",
        "env:systemroot": "C:\\Windows", "env:windir": "C:\\Windows", "env:comspec": "cmd.exe",
        "env:programfiles": "C:\\Program Files", "env:programfiles(x86)": "C:\\Program Files (x86)",
        "env:programdata": "C:\\ProgramData", "env:allusersprofile": "C:\\ProgramData",
        "env:public": "C:\\Users\\Public", "env:appdata": f"{home}/AppData/Roaming",
        "env:localappdata": f"{home}/AppData/Local", "env:temp": temp,
        "env:tmp": temp, "env:tmpdir": temp,
        "profile": f"{home}/Documents/PowerShell/profile.ps1", "env:onedrive": f"{home}/OneDrive",
        "pshome": "C:\\Windows\\System32\\WindowsPowerShell",
    }  # fmt: skip
    return (known[local],) if local in known else None


def fold_word(word: PowerShellWord, scope: PowerShellScope) -> Values | None:
    """The possible values of a word; a member of a variable makes it unknown."""
    return fold_pieces(word.pieces, scope)


def fold_script(script: PowerShellScript | None, scope: PowerShellScope) -> Values | None:
    """The value of a group that is one literal, a sum of literals, a format or a Join-Path."""
    if script is None or len(script.pipelines) != 1 or len(script.elements) != 1:
        return None
    element = script.elements[0]
    if isinstance(element, PowerShellExpression):
        return fold_expression(element, scope)
    return _fold_path_command(element, scope)


def _fold_path_command(command: PowerShellCommand, scope: PowerShellScope) -> Values | None:
    folded = [fold_word(word, scope) for word in command.words]
    if not folded or any(value is None for value in folded):
        return None
    values = [value[0] for value in folded if value]
    name = values[0].lower() if values else ""
    rest = [value for value in values[1:] if not value.startswith("-")]
    if name == "join-path" and len(rest) > 1:
        return ("/".join([rest[0].rstrip("/\\"), *(word.strip("/\\") for word in rest[1:])]),)
    if name in ("resolve-path", "convert-path", "get-item", "gi", "rvpa") and len(rest) == 1:
        return (rest[0],)
    if name in ("get-location", "pwd", "gl") and scope.cwd is not None:
        return (scope.cwd or scope.context.root,)
    return None


def fold_expression(expression: PowerShellExpression, scope: PowerShellScope) -> Values | None:
    """The value of a plain expression: literals, `+`, `-f`, `-join`, `[char]n`."""
    if expression.assigned is not None or not expression.pieces:
        return None
    pieces = _apply_casts(expression.pieces)
    if pieces is None:
        return None
    if pieces and pieces[0].kind == "op" and pieces[0].text == "-join":
        items = _fold_list(pieces[1:], scope)
        return ("".join(items),) if items is not None else None
    for at, piece in enumerate(pieces):
        if piece.kind == "op" and piece.text in ("-f", "-join", "-replace", "-creplace", "-ireplace"):
            return _fold_operator(pieces[:at], piece.text, pieces[at + 1 :], scope)
    signs = {piece.text for piece in pieces if piece.kind == "op"}
    if "," in signs and signs <= {",", "+"}:
        items = _fold_list(pieces, scope)
        return None if items is None else tuple(items)
    if not signs <= {"+"}:
        return None
    return fold_pieces(tuple(piece for piece in pieces if piece.kind != "op"), scope)


def _fold_operator(
    left: tuple[WordPiece, ...], operator: str, right: tuple[WordPiece, ...], scope: PowerShellScope
) -> Values | None:
    first = _fold_list(left, scope)
    second = _fold_list(right, scope)
    if first is None or second is None or not first:
        return None
    if operator == "-join":
        return ((second[0] if second else "").join(first),)
    if operator == "-f":
        filled = first[0]
        for at, value in enumerate(second):
            filled = re.sub(rf"\{{{at}(?::[^}}]*)?\}}", value.replace("\\", r"\\"), filled)
        return (filled,)
    plain = re.fullmatch(r"[\w ~!@#%&=:;\"',<>/-]+", second[0]) if second else None
    changed = first[0].replace(second[0], second[1] if len(second) > 1 else "") if plain else None
    return None if changed is None else (changed,)


def _fold_list(pieces: tuple[WordPiece, ...], scope: PowerShellScope) -> list[str] | None:
    """The items of a list of literals, with or without a group around it."""
    if len(pieces) == 1 and pieces[0].kind == "group" and (script := pieces[0].script) is not None:
        inner = script.elements[0] if len(script.pipelines) == len(script.elements) == 1 else None
        if isinstance(inner, PowerShellExpression) and inner.assigned is None:
            changed = _apply_casts(inner.pieces)
            return None if changed is None else _fold_list(changed, scope)
        return None
    items: list[str] = []
    current: list[WordPiece] = []
    for piece in (*pieces, WordPiece("op", ",")):
        if piece.kind == "op" and piece.text == ",":
            value = fold_pieces(tuple(current), scope)
            if value is None:
                return None
            items.append(value[0])
            current = []
        elif piece.kind != "op" or piece.text != "+":
            current.append(piece)
    return items


def _apply_casts(pieces: tuple[WordPiece, ...]) -> tuple[WordPiece, ...] | None:
    """Apply `[string]` and `[char]105`; None for a type that does anything else."""
    changed: list[WordPiece] = []
    cast = ""
    for piece in pieces:
        if piece.kind == "type" and piece.text not in PLAIN_CASTS:
            return None
        if piece.kind == "type":
            cast = piece.text
            continue
        if cast == "char" and piece.kind == "text" and piece.text[:7].isdecimal():
            piece = WordPiece("text", chr(int(piece.text[:7]) % 0x10FFFF))
        changed.append(piece)
        cast = ""
    return tuple(changed)
