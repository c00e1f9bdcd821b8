"""Reading PowerShell text as PowerShell splits it: a reader that never gives up, so that a syntax error
cannot hide a command. It says what stands there; what is dangerous is told elsewhere."""

import re

from cockpit.safety.powershell.cursor import BETWEEN, BLANK, DEPTH, DOUBLE, SINGLE, TOO_DEEP, Cursor
from cockpit.safety.powershell.values import (
    Command,
    Element,
    Expression,
    Piece,
    Pipeline,
    Reading,
    Redirect,
    Script,
    Word,
)
from cockpit.safety.powershell.words import MEMBER, TYPE, members, piece, word
from cockpit.workspace.words import words as names

# A word of plain letters with a blank behind it; `--%` and what could be a number's redirection is none.
PLAIN = re.compile(r"[A-Za-z_./\\][\w./\\:=-]*(?=[ \t])", re.ASCII)
MANY = 400
# Of what opens its words as code each word counts where it stands.
OPENED = re.compile(r"sh|cmd|wsl|start|saps|ps$|iex|invoke|icm|for|env|sudo|xargs|%", re.IGNORECASE)
COMMENT = re.compile(r"#[^\n]*")
REDIRECT = re.compile(r"[*1-6]?>>?(?:&[12])?|<")
NUMBER = re.compile(r"[0-9][0-9_.]*(?:[kmgtp]b|[dl])?(?=[\s;|)}+*/%,.-]|$)", re.IGNORECASE)
OPERATOR = re.compile(
    r"-(?:[ci]?(?:eq|ne|gt|ge|lt|le|like|notlike|match|notmatch|replace|contains|notcontains|split|in|notin)"
    r"|join|f|and|or|xor|not|is|isnot|as|band|bor|bxor|bnot|shl|shr)\b"
    r"|\?\?=|[-+*/%]=|=|\+\+|--|\.\.|[-+*/%!,]",
    re.IGNORECASE,
)
# Below the deepest level brackets part statements: what stands in them is still looked at.
DEEPER = re.compile(r"[\s;,]*[$@&.]?[({][\s;]*")
UNARY = re.compile(r"-(?:not|bnot|join|[ci]?split)\b|!|\+\+|--\$|-\$|-\d|,", re.IGNORECASE)
REST = re.compile(r"[^\n|]*")
# After these a statement follows in the same place; after the others come brackets and blocks.
LEADING = re.compile(r"(?:return|throw|exit|break|continue)(?=[\s;}$('\"]|$)\s*", re.IGNORECASE)
BLOCKS = names(
    """
    if for foreach while do switch try trap function filter workflow class enum begin process end
    dynamicparam clean parallel sequence configuration data until catch finally else elseif param
    """
)
GO_ON = re.compile(r"\s*(?:else|elseif|catch|finally|while|until)\b|\s*[{(]|\s*\[", re.IGNORECASE)


def read(text: str) -> Reading:
    """What stands in `text`. Raises nothing."""
    at = Cursor(text, script)
    pipelines: list[Pipeline] = []
    while at.at < len(text):
        pipelines += script(at, "").pipelines
    return Reading(Script(tuple(pipelines)), tuple(dict.fromkeys(at.faults)), tuple(at.commas))


def script(at: Cursor, close: str) -> Script:
    """Statements up to `close`, which is eaten; "" is the end of the text."""
    at.depth += 1
    pipelines: list[Pipeline] = []
    deeper = 0
    while True:
        at.eat(BETWEEN)
        while at.depth >= DEPTH and at.eat(DEEPER):
            at.fault(TOO_DEEP)
            deeper += 1
        sign = at.look()
        if not sign:
            if close:
                at.fault(f"a {close} is missing")
            break
        if sign in ")}":
            at.at += 1
            if deeper:
                deeper -= 1
                continue
            if sign == close:
                break
            at.fault(f"a {sign} too many")
            continue
        before = at.at
        pipelines.append(pipeline(at))
        if at.at == before:
            at.fault(f"{sign!r} at the start of a statement")
            at.at += 1
    at.depth -= 1
    return Script(tuple(pipelines))


def pipeline(at: Cursor) -> Pipeline:
    elements: list[Element] = []
    while True:
        elements.append(element(at))
        at.eat(BLANK)
        if at.text.startswith(("&&", "||"), at.at):
            at.at += 2
            return Pipeline(tuple(elements))
        if at.look() == "|":
            at.at += 1
            at.eat(BETWEEN)
            continue
        if at.look() == "&":
            at.at += 1
            at.fault("it runs in the background")
            return Pipeline(tuple(elements), background=True)
        return Pipeline(tuple(elements))


def element(at: Cursor) -> Element:
    at.eat(BLANK)
    at.eat(LEADING)
    start, sign = at.at, at.look()
    after = at.text[at.at + 1 : at.at + 2]
    if sign == "&" and after != "&":
        at.at += 1
        return command(at, start, "&")
    if sign == "." and (after.isspace() or (after in f"{SINGLE}{DOUBLE}$({{" and after)):
        at.at += 1
        return command(at, start, ".")
    if at.sees(f"{SINGLE}{DOUBLE}$([@{{+") or NUMBER.match(at.text, at.at) or UNARY.match(at.text, at.at):
        return expression(at, start)
    return command(at, start, "")


def command(at: Cursor, start: int, invoked: str) -> Command:
    words: list[Word] = []
    redirects: list[Redirect] = []
    joined = False
    told: set[str] = set()
    while True:
        if not joined and (plain := _plain(at, words)):
            if len(words) > MANY and plain in told and not OPENED.search(words[0].text):
                # Said already: what it means is the same, and the command is asked about.
                at.fault("it repeats its words more often than is read")
                continue
            told.add(plain)
            words.append(Word((Piece("text", plain),), plain))
            continue
        if _is_over(at, words):
            break
        sign = at.look()
        if sign == "#":
            at.eat(COMMENT)
        elif found := at.eat(REDIRECT):
            redirects.append(redirect(at, found[0]))
        elif sign == ",":
            at.commas.append(at.at)
            at.at += 1
            joined = True
            at.eat(BETWEEN)
        elif at.text.startswith("--%", at.at) and words:
            words += verbatim(at)
        else:
            words.append(word(at, joined))
            joined = False
    return Command(tuple(words), tuple(redirects), at.text[start : at.at].strip(), start, invoked)


def _plain(at: Cursor, words: list[Word]) -> str:
    """The next word where it has nothing but plain letters, which most have; "" otherwise."""
    if not words or words[0].text.lower() in BLOCKS:
        return ""
    at.eat(BLANK)
    found = at.eat(PLAIN)
    return found[0] if found else ""


def _is_over(at: Cursor, words: list[Word]) -> bool:
    """Whether the command ends here. A block that belongs to a keyword ends its statement: what follows
    on the same line is the next one."""
    at.eat(BLANK)
    if not at.look() or at.sees(";\n|)}&") or (at.depth >= DEPTH and DEEPER.match(at.text, at.at)):
        return True
    if not words or words[0].text.lower() not in BLOCKS or len(words) == 1:
        return False
    kinds = {piece.kind for piece in words[-1].pieces}
    ended = "block" in kinds or (words[0].text.lower() == "param" and "group" in kinds)
    return ended and not GO_ON.match(at.text, at.at)


def redirect(at: Cursor, operator: str) -> Redirect:
    at.eat(BLANK)
    if "&" in operator or not at.look() or at.sees(";\n|)}&"):
        return Redirect(operator, None)
    return Redirect(operator, word(at, joined=False))


def verbatim(at: Cursor) -> list[Word]:
    """What follows `--%` is passed on as it stands, up to the end of the line or a pipe."""
    found = at.eat(REST)
    rest = found[0] if found else ""
    at.fault("it stops parsing (--%)")
    return [Word((Piece("text", one.replace('"', "")),), one) for one in rest[3:].split()]


def expression(at: Cursor, start: int) -> Expression:
    pieces: list[Piece] = []
    redirects: list[Redirect] = []
    target, assigned = "", None
    while True:
        at.eat(BLANK)
        sign = at.look()
        if not sign or sign in ";\n|)}&" or (at.depth >= DEPTH and DEEPER.match(at.text, at.at)):
            break
        if sign == "#":
            at.eat(COMMENT)
        elif found := at.eat(REDIRECT):
            redirects.append(redirect(at, found[0]))
        elif found := at.eat(NUMBER):
            pieces.append(Piece("text", found[0]))
        elif found := at.eat(OPERATOR):
            pieces.append(Piece("op", found[0].lower()))
            if found[0].endswith("="):
                target = pieces[0].text if len(pieces) == 2 and pieces[0].kind == "var" else "?"
                at.eat(BETWEEN)
                assigned = Script((pipeline(at),))
                break
        elif sign == "[" and (found := at.eat(TYPE)):
            pieces.append(Piece("type", found[0].strip("[] ").lower()))
            members(at, pieces)
        elif found := at.eat(MEMBER):
            pieces.append(Piece("member", found[1].lower()))
        else:
            piece(at, sign, pieces)
            members(at, pieces)
    text = at.text[start : at.at].strip()
    return Expression(tuple(pieces), tuple(redirects), text, start, target, assigned)
