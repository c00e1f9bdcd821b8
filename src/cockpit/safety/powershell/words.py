"""Words of PowerShell: quotes, escapes, variables, groups, blocks, here-strings.

Source of the rules: about_Parsing, about_Quoting_Rules and about_Special_Characters (Microsoft).
"""

import re

from cockpit.safety.powershell.cursor import DEPTH, DOUBLE, SINGLE, TOO_DEEP, Cursor
from cockpit.safety.powershell.values import Piece, PieceKind, Word

BARE = re.compile(r"[^\s;|&(){},<>`$@'\"\u2018-\u201e]+")
VARIABLE = re.compile(r"\$(?:\{([^}]*)\}|((?:\w+:)?\w+|[$?^]))")
HERE = re.compile(r"@(['\"\u2018-\u201e])[^\S\n]*\r?\n(.*?)\r?\n['\"\u2018-\u201e]@", re.DOTALL)
TYPE = re.compile(r"\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*\]")
MEMBER = re.compile(r"(?:\??\.|::)\s*([A-Za-z_]\w*)")
# `foreach ($file in Get-ChildItem x)`: what follows `in` is a statement.
EACH = re.compile(r"\s*\$\w+\s+in\s", re.IGNORECASE)
ESCAPES = {
    "n": "\n",
    "t": "\t",
    "0": "\0",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
}
STRING_PART = re.compile(r"[^`$\"\u201c-\u201e]+")
SINGLE_QUOTE = re.compile(f"[{SINGLE}]")


def word(at: Cursor, joined: bool) -> Word:
    """One argument."""
    start = at.at
    pieces: list[Piece] = []
    quoted = at.look() in SINGLE + DOUBLE
    odd = False
    while sign := at.look():
        if sign.isspace() or sign in ";|&),}<>":
            break
        if sign in "({" and pieces:
            odd = True
            break
        odd = odd or (quoted and bool(pieces)) or sign == "`"
        piece(at, sign, pieces)
        if pieces and pieces[-1].kind == "block":
            break
    if at.at == start:
        at.at += 1
        at.fault(f"{at.text[start]!r} where a word should be")
    return Word(tuple(pieces), at.text[start : at.at], joined, quoted, odd)


def piece(at: Cursor, sign: str, pieces: list[Piece]) -> None:
    """Eat one piece in the middle of a word."""
    if sign in SINGLE:
        pieces.append(single(at))
    elif sign in DOUBLE:
        at.at += 1
        pieces += inside_double(at, DOUBLE)
    elif sign == "`":
        pieces.append(Piece("text", at.text[at.at + 1 : at.at + 2].strip("\n")))
        at.at += 2
    elif sign == "$":
        variable(at, pieces)
        members(at, pieces)
    elif sign == "@":
        at_sign(at, pieces)
    elif sign == "(":
        group(at, 1, ")", "group", pieces)
        members(at, pieces)
    elif sign == "{":
        group(at, 1, "}", "block", pieces)
    elif found := at.eat(BARE):
        pieces.append(Piece("text", found[0]))
    else:
        pieces.append(Piece("text", sign))
        at.at += 1


def group(at: Cursor, skip: int, close: str, kind: PieceKind, pieces: list[Piece]) -> None:
    at.at += skip
    if at.depth >= DEPTH + 8:
        at.fault(TOO_DEEP)
        return
    at.eat(EACH)
    pieces.append(Piece(kind, "", at.script(at, close)))


def variable(at: Cursor, pieces: list[Piece]) -> None:
    """`$name`, `${name}`, `$( )`, or a plain dollar sign."""
    if at.text.startswith("$(", at.at):
        group(at, 2, ")", "group", pieces)
    elif found := at.eat(VARIABLE):
        pieces.append(Piece("var", (found[1] or found[2] or "").lower()))
    else:
        pieces.append(Piece("text", "$"))
        at.at += 1


def at_sign(at: Cursor, pieces: list[Piece]) -> None:
    """A here-string, an array, a hash table, a splat, or a plain @."""
    if found := at.eat(HERE):
        if found[1] in SINGLE:
            pieces.append(Piece("text", found[2]))
        else:
            inner = Cursor(found[2], at.script, depth=at.depth + 1)
            pieces += inside_double(inner, "")
            at.faults += inner.faults
    elif at.text.startswith("@(", at.at):
        group(at, 2, ")", "group", pieces)
    elif at.text.startswith("@{", at.at):
        group(at, 2, "}", "hash", pieces)
    elif not pieces and at.text[at.at + 1 : at.at + 2].isalpha():
        at.at += 1
        name = at.eat(BARE)
        pieces.append(Piece("var", f"@{name[0] if name else ''}"))
    else:
        pieces.append(Piece("text", "@"))
        at.at += 1


def members(at: Cursor, pieces: list[Piece]) -> None:
    """`.Name`, `::Name`, `[index]` and `(arguments)` directly behind a variable or a group."""
    while True:
        if found := at.eat(MEMBER):
            pieces.append(Piece("member", found[1].lower()))
            if at.sees("({"):
                group(at, 1, ")" if at.sees("(") else "}", "group", pieces)
        elif at.look() == "[" and (index := TYPE.match(at.text, at.at)):
            at.at = index.end()
            pieces.append(Piece("member", "[]"))
        else:
            return


def single(at: Cursor) -> Piece:
    """A string in single quotes."""
    end = at.at + 1
    parts: list[str] = []
    while True:
        stop = SINGLE_QUOTE.search(at.text, end)
        if stop is None:
            at.fault("a quote is not closed")
            parts.append(at.text[end:])
            at.at = len(at.text)
            return Piece("text", "".join(parts))
        parts.append(at.text[end : stop.start()])
        if at.text[stop.end() : stop.end() + 1] in SINGLE and stop.end() < len(at.text):
            parts.append("'")
            end = stop.end() + 1
            continue
        at.at = stop.end()
        return Piece("text", "".join(parts))


def inside_double(at: Cursor, close: str) -> list[Piece]:
    """Pieces up to a closing quote; "" is the end of the text (here-strings)."""
    pieces: list[Piece] = []
    while sign := at.look():
        if close and sign in close:
            at.at += 1
            if not at.sees(close):
                return pieces or [Piece("text", "")]
            pieces.append(Piece("text", '"'))
            at.at += 1
        elif sign == "`":
            escaped = at.text[at.at + 1 : at.at + 2]
            pieces.append(Piece("text", ESCAPES.get(escaped, escaped)))
            at.at += 2
        elif sign == "$":
            variable(at, pieces)
        elif found := at.eat(STRING_PART):
            pieces.append(Piece("text", found[0]))
        else:
            pieces.append(Piece("text", sign))
            at.at += 1
    if close:
        at.fault("a quote is not closed")
    return pieces
