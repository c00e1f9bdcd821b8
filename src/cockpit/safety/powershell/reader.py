"""Reads PowerShell text: statements, pipelines, commands, expressions and words.

It reads any text to its end and reports faults, so that a syntax error cannot hide a command; it judges
nothing. Source of the rules: about_Parsing, about_Quoting_Rules and about_Special_Characters (Microsoft).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from cockpit.safety.powershell.syntax_tree import (
    PieceKind,
    PipelineElement,
    PowerShellCommand,
    PowerShellExpression,
    PowerShellPipeline,
    PowerShellRedirect,
    PowerShellScript,
    PowerShellWord,
    ScriptReading,
    WordPiece,
)
from cockpit.workspace.word_set import word_set as names

MAX_DEPTH = 40
TOO_DEEP = "it is nested too deep"
SINGLE_QUOTES, DOUBLE_QUOTES = "'\u2018\u2019\u201a\u201b", '"\u201c\u201d\u201e'
BLANK = re.compile(r"(?:[^\S\n]|`\r?\n|<#.*?(?:#>|\Z))+", re.DOTALL)
STATEMENT_GAP = re.compile(r"(?:[\s;]|`\n|<#.*?(?:#>|\Z)|#[^\n]*)+", re.DOTALL)


@dataclass(slots=True)
class TextCursor:
    """A position in the text, the nesting depth and the faults so far. `script` reads statements up to a
    closing character and consumes it; "" means the end of the text."""

    text: str
    script: "Callable[[TextCursor, str], PowerShellScript]"
    at: int = 0
    depth: int = 0
    faults: list[str] = field(default_factory=list)

    def look(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def sees(self, signs: str) -> bool:
        """Whether one of `signs` is the next character."""
        return self.at < len(self.text) and self.text[self.at] in signs

    def eat(self, pattern: "re.Pattern[str]") -> "re.Match[str] | None":
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def fault(self, what: str) -> None:
        self.faults.append(what)


BARE_TEXT = re.compile(r"[^\s;|&(){},<>`$@'\"\u2018-\u201e]+")
VARIABLE = re.compile(r"\$(?:\{([^}]*)\}|((?:\w+:)?\w+|[$?^]))")
HERE_STRING = re.compile(r"@(['\"\u2018-\u201e])[^\S\n]*\r?\n(.*?)\r?\n['\"\u2018-\u201e]@", re.DOTALL)
TYPE_LITERAL = re.compile(r"\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*\]")
MEMBER = re.compile(r"(?:\??\.|::)\s*([A-Za-z_]\w*)")
# In `foreach ($file in Get-ChildItem x)` a statement follows `in`.
FOREACH_HEAD = re.compile(r"\s*\$\w+\s+in\s", re.IGNORECASE)
ESCAPES = dict(zip("nt0rabfve", "\n\t\0\r\a\b\f\v\x1b", strict=True))
STRING_PART = re.compile(r"[^`$\"\u201c-\u201e]+")
SINGLE_QUOTE = re.compile(f"[{SINGLE_QUOTES}]")


def read_word(at: TextCursor, joined: bool) -> PowerShellWord:
    """One argument."""
    start = at.at
    pieces: list[WordPiece] = []
    quoted = at.look() in SINGLE_QUOTES + DOUBLE_QUOTES
    ambiguous = False
    while sign := at.look():
        if sign.isspace() or sign in ";|&),}<>":
            break
        if sign in "({" and pieces:
            ambiguous = True
            break
        ambiguous = ambiguous or (quoted and bool(pieces)) or sign == "`"
        read_piece(at, sign, pieces)
        if pieces and pieces[-1].kind == "block":
            break
    if at.at == start:
        at.at += 1
        at.fault(f"{at.text[start]!r} where a word is expected")
    return PowerShellWord(tuple(pieces), at.text[start : at.at], joined, quoted, ambiguous)


def read_piece(at: TextCursor, sign: str, pieces: list[WordPiece]) -> None:
    """Read one piece inside a word."""
    if sign in SINGLE_QUOTES:
        pieces.append(read_single_quoted(at))
    elif sign in DOUBLE_QUOTES:
        at.at += 1
        pieces += read_double_quoted(at, DOUBLE_QUOTES)
    elif sign == "`":
        pieces.append(WordPiece("text", at.text[at.at + 1 : at.at + 2].strip("\n")))
        at.at += 2
    elif sign == "$":
        read_variable(at, pieces)
        read_members(at, pieces)
    elif sign == "@":
        read_at_sign(at, pieces)
    elif sign == "(":
        read_group(at, 1, ")", "group", pieces)
        read_members(at, pieces)
    elif sign == "{":
        read_group(at, 1, "}", "block", pieces)
    elif match := at.eat(BARE_TEXT):
        pieces.append(WordPiece("text", match[0]))
    else:
        pieces.append(WordPiece("text", sign))
        at.at += 1


def read_group(at: TextCursor, skip: int, close: str, kind: PieceKind, pieces: list[WordPiece]) -> None:
    at.at += skip
    if at.depth >= MAX_DEPTH + 8:
        at.fault(TOO_DEEP)
        return
    at.eat(FOREACH_HEAD)
    pieces.append(WordPiece(kind, "", at.script(at, close)))


def read_variable(at: TextCursor, pieces: list[WordPiece]) -> None:
    """`$name`, `${name}`, `$( )`, or a plain dollar sign."""
    if at.text.startswith("$(", at.at):
        read_group(at, 2, ")", "group", pieces)
    elif match := at.eat(VARIABLE):
        pieces.append(WordPiece("var", (match[1] or match[2] or "").lower()))
    else:
        pieces.append(WordPiece("text", "$"))
        at.at += 1


def read_at_sign(at: TextCursor, pieces: list[WordPiece]) -> None:
    """A here-string, an array, a hash table, a splat, or a plain @."""
    if match := at.eat(HERE_STRING):
        if match[1] in SINGLE_QUOTES:
            pieces.append(WordPiece("text", match[2]))
        else:
            inner = TextCursor(match[2], at.script, depth=at.depth + 1)
            pieces += read_double_quoted(inner, "")
            at.faults += inner.faults
    elif at.text.startswith("@(", at.at):
        read_group(at, 2, ")", "group", pieces)
    elif at.text.startswith("@{", at.at):
        read_group(at, 2, "}", "hash", pieces)
    elif not pieces and at.text[at.at + 1 : at.at + 2].isalpha():
        at.at += 1
        name = at.eat(BARE_TEXT)
        pieces.append(WordPiece("var", f"@{name[0] if name else ''}"))
    else:
        pieces.append(WordPiece("text", "@"))
        at.at += 1


def read_members(at: TextCursor, pieces: list[WordPiece]) -> None:
    """`.Name`, `::Name`, `[index]` and `(arguments)` directly after a variable or a group."""
    while True:
        if match := at.eat(MEMBER):
            pieces.append(WordPiece("member", match[1].lower()))
            if at.sees("({"):
                read_group(at, 1, ")" if at.sees("(") else "}", "group", pieces)
        elif at.look() == "[" and (index := TYPE_LITERAL.match(at.text, at.at)):
            at.at = index.end()
            pieces.append(WordPiece("member", "[]"))
        else:
            return


def read_single_quoted(at: TextCursor) -> WordPiece:
    """A string in single quotes."""
    parts: list[str] = []
    at.at += 1
    while stop := SINGLE_QUOTE.search(at.text, at.at):
        parts.append(at.text[at.at : stop.start()])
        at.at = stop.end()
        if not at.sees(SINGLE_QUOTES):
            return WordPiece("text", "".join(parts))
        parts.append("'")
        at.at += 1
    at.fault("a quote is not closed")
    parts.append(at.text[at.at :])
    at.at = len(at.text)
    return WordPiece("text", "".join(parts))


def read_double_quoted(at: TextCursor, close: str) -> list[WordPiece]:
    """Pieces up to a closing quote; "" means the end of the text (here-strings)."""
    pieces: list[WordPiece] = []
    while sign := at.look():
        if close and sign in close:
            at.at += 1
            if not at.sees(close):
                return pieces or [WordPiece("text", "")]
            pieces.append(WordPiece("text", '"'))
            at.at += 1
        elif sign == "`":
            escaped = at.text[at.at + 1 : at.at + 2]
            pieces.append(WordPiece("text", ESCAPES.get(escaped, escaped)))
            at.at += 2
        elif sign == "$":
            read_variable(at, pieces)
        elif match := at.eat(STRING_PART):
            pieces.append(WordPiece("text", match[0]))
        else:
            pieces.append(WordPiece("text", sign))
            at.at += 1
    if close:
        at.fault("a quote is not closed")
    return pieces


# A word of ordinary characters followed by a blank, but not `--%` or the number of a redirection.
PLAIN_WORD = re.compile(r"[A-Za-z_./\\][\w./\\:=-]*(?=[ \t])", re.ASCII)
MAX_WORDS = 400
# The words of these commands are code, so each of them matters.
SHELL_STARTERS = re.compile(r"sh|cmd|wsl|start|saps|ps$|iex|invoke|icm|for|env|sudo|xargs|%", re.IGNORECASE)
COMMENT = re.compile(r"#[^\n]*")
REDIRECT = re.compile(r"[*1-6]?>>?(?:&[12])?|<")
NUMBER = re.compile(r"[0-9][0-9_.]*(?:[kmgtp]b|[dl])?(?=[\s;|)}+*/%,.-]|$)", re.IGNORECASE)
OPERATOR = re.compile(
    r"-(?:[ci]?(?:eq|ne|gt|ge|lt|le|like|notlike|match|notmatch|replace|contains|notcontains|split|in|notin)"
    r"|join|f|and|or|xor|not|is|isnot|as|band|bor|bxor|bnot|shl|shr)\b"
    r"|\?\?=|[-+*/%]=|=|\+\+|--|\.\.|[-+*/%!,]",
    re.IGNORECASE,
)
# Beyond the maximum depth brackets only separate statements; their content is still read.
NESTED_OPENING = re.compile(r"[\s;,]*[$@&.]?[({][\s;]*")
UNARY_OPERATOR = re.compile(r"-(?:not|bnot|join|[ci]?split)\b|!|\+\+|--\$|-\$|-\d|,", re.IGNORECASE)
REST_OF_COMMAND = re.compile(r"[^\n|]*")
# After these words a statement follows; after the block keywords come brackets and blocks.
LEADING_KEYWORD = re.compile(r"(?:return|throw|exit|break|continue)(?=[\s;}$('\"]|$)\s*", re.IGNORECASE)
BLOCK_KEYWORDS = names(
    "if for foreach while do switch try trap function filter workflow class enum begin process end "
    "dynamicparam clean parallel sequence configuration data until catch finally else elseif param"
)
CONTINUATION = re.compile(r"\s*(?:else|elseif|catch|finally|while|until)\b|\s*[{(]|\s*\[", re.IGNORECASE)


# The plain form: words, quotes and groups that every reader of PowerShell splits the same way.
_QUOTED = r"(?:'[^'\n]*'|\"[^\"`$\n]*\")"
_GROUP = "\ue000"
_BARE = r"[\w.\\/*~][\w.\\/*?:+^~=-]*"
_WORD = rf"(?:{_QUOTED}|\$null|{_GROUP}|{_BARE})"
_LIST = rf"{_WORD}(?:, ?{_WORD})*"
_PARAMETER = rf"(?:-[A-Za-z]+(?::{_LIST})?|--[a-z][a-z-]*(?:={_BARE})?|-\d+|--)"
_NAME = r"(?:\?|(?:[A-Za-z][A-Za-z.]*\\)?[A-Za-z][\w-]*(?:\.exe)?)"
_COMMAND = rf"{_NAME}(?: +(?:{_PARAMETER}|{_LIST}))*(?: +2>(?:\$null|&1))?"
_STATEMENT = rf"(?:{_QUOTED}(?:, ?{_QUOTED})*|{_COMMAND})(?: *\| *{_COMMAND})*"
_SEPARATOR = r" *(?:[;\n]|&&|\|\|) *"
_PLAIN_TEXT = re.compile(rf"\s*{_STATEMENT}(?:{_SEPARATOR}{_STATEMENT})* *;?(?: +#[^\n<>]*)?\s*", re.ASCII)
_INNER_GROUP = re.compile(rf"\({_STATEMENT}\)", re.ASCII)


def is_plain(text: str) -> bool:
    """Whether `text` has the plain form. A line in any other form never runs unasked, however harmless its
    commands look, because another reader could split it differently."""
    before = ""
    while before != text:
        before, text = text, _INNER_GROUP.sub(_GROUP, text)
    return _PLAIN_TEXT.fullmatch(text) is not None


def read_script(text: str) -> ScriptReading:
    """Read all of `text`. Raises nothing."""
    at = TextCursor(text, read_statements)
    pipelines: list[PowerShellPipeline] = []
    while at.at < len(text):
        pipelines += read_statements(at, "").pipelines
    return ScriptReading(PowerShellScript(tuple(pipelines)), tuple(dict.fromkeys(at.faults)))


def read_statements(at: TextCursor, close: str) -> PowerShellScript:
    """Statements up to `close`, which is consumed; "" means the end of the text."""
    at.depth += 1
    pipelines: list[PowerShellPipeline] = []
    deeper = 0
    while True:
        at.eat(STATEMENT_GAP)
        while at.depth >= MAX_DEPTH and at.eat(NESTED_OPENING):
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
            at.fault(f"an unmatched {sign}")
            continue
        before = at.at
        pipelines.append(read_pipeline(at))
        if at.at == before:
            at.fault(f"a statement cannot start with {sign!r}")
            at.at += 1
    at.depth -= 1
    return PowerShellScript(tuple(pipelines))


def read_pipeline(at: TextCursor) -> PowerShellPipeline:
    elements: list[PipelineElement] = []
    while True:
        elements.append(read_element(at))
        at.eat(BLANK)
        if at.text.startswith(("&&", "||"), at.at):
            at.at += 2
            return PowerShellPipeline(tuple(elements))
        if not at.sees("|&"):
            return PowerShellPipeline(tuple(elements))
        at.at += 1
        if at.text[at.at - 1] == "&":
            at.fault("it runs in the background")
            return PowerShellPipeline(tuple(elements), background=True)
        at.eat(STATEMENT_GAP)


def read_element(at: TextCursor) -> PipelineElement:
    at.eat(BLANK)
    at.eat(LEADING_KEYWORD)
    start, sign = at.at, at.look()
    after = at.text[at.at + 1 : at.at + 2]
    if sign == "&" and after != "&":
        at.at += 1
        return read_command(at, start, "&")
    if sign == "." and (after.isspace() or (after in f"{SINGLE_QUOTES}{DOUBLE_QUOTES}$({{" and after)):
        at.at += 1
        return read_command(at, start, ".")
    starts = at.sees(f"{SINGLE_QUOTES}{DOUBLE_QUOTES}$([@{{+") or NUMBER.match(at.text, at.at)
    if starts or UNARY_OPERATOR.match(at.text, at.at):
        return read_expression(at, start)
    return read_command(at, start, "")


def read_command(at: TextCursor, start: int, invoked: str) -> PowerShellCommand:
    words: list[PowerShellWord] = []
    redirects: list[PowerShellRedirect] = []
    joined = False
    present: set[str] = set()
    while True:
        if not joined and (plain := _plain(at, words)):
            if len(words) > MAX_WORDS and plain in present and not SHELL_STARTERS.search(words[0].text):
                # A repeated word adds nothing to the command, which is asked about.
                at.fault("it repeats more words than are read")
                continue
            present.add(plain)
            words.append(PowerShellWord((WordPiece("text", plain),), plain))
            continue
        if _is_over(at, words):
            break
        sign = at.look()
        if sign == "#":
            at.eat(COMMENT)
        elif match := at.eat(REDIRECT):
            redirects.append(read_redirect(at, match[0]))
        elif sign == ",":
            at.at += 1
            joined = True
            at.eat(STATEMENT_GAP)
        elif at.text.startswith("--%", at.at) and words:
            words += read_verbatim(at)
        else:
            words.append(read_word(at, joined))
            joined = False
    return PowerShellCommand(tuple(words), tuple(redirects), at.text[start : at.at].strip(), start, invoked)


def _plain(at: TextCursor, words: list[PowerShellWord]) -> str:
    """The next word if it consists of ordinary characters, as most do; "" otherwise."""
    if not words or words[0].text.lower() in BLOCK_KEYWORDS:
        return ""
    at.eat(BLANK)
    match = at.eat(PLAIN_WORD)
    return match[0] if match else ""


def _is_over(at: TextCursor, words: list[PowerShellWord]) -> bool:
    """Whether the command ends here. A keyword's statement ends with its block; what follows on the same line
    is the next statement."""
    at.eat(BLANK)
    if _is_at_end(at):
        return True
    if not words or words[0].text.lower() not in BLOCK_KEYWORDS or len(words) == 1:
        return False
    kinds = {piece.kind for piece in words[-1].pieces}
    ended = "block" in kinds or (words[0].text.lower() == "param" and "group" in kinds)
    return ended and not CONTINUATION.match(at.text, at.at)


def _is_at_end(at: TextCursor) -> bool:
    nested = at.depth >= MAX_DEPTH and NESTED_OPENING.match(at.text, at.at) is not None
    return not at.look() or at.sees(";\n|)}&") or nested


def read_redirect(at: TextCursor, operator: str) -> PowerShellRedirect:
    at.eat(BLANK)
    if "&" in operator or not at.look() or at.sees(";\n|)}&"):
        return PowerShellRedirect(operator, None)
    return PowerShellRedirect(operator, read_word(at, joined=False))


def read_verbatim(at: TextCursor) -> list[PowerShellWord]:
    """Text after `--%` is passed on unchanged, up to the end of the line or a pipe."""
    match = at.eat(REST_OF_COMMAND)
    rest = match[0] if match else ""
    at.fault("it stops parsing (--%)")
    return [PowerShellWord((WordPiece("text", part.replace('"', "")),), part) for part in rest[3:].split()]


def read_expression(at: TextCursor, start: int) -> PowerShellExpression:
    pieces: list[WordPiece] = []
    redirects: list[PowerShellRedirect] = []
    target, assigned = "", None
    while True:
        at.eat(BLANK)
        if _is_at_end(at):
            break
        sign = at.look()
        if sign == "#":
            at.eat(COMMENT)
        elif match := at.eat(REDIRECT):
            redirects.append(read_redirect(at, match[0]))
        elif match := at.eat(NUMBER):
            pieces.append(WordPiece("text", match[0]))
        elif match := at.eat(OPERATOR):
            pieces.append(WordPiece("op", match[0].lower()))
            if match[0].endswith("="):
                target = pieces[0].text if len(pieces) == 2 and pieces[0].kind == "var" else "?"
                at.eat(STATEMENT_GAP)
                assigned = PowerShellScript((read_pipeline(at),))
                break
        elif sign == "[" and (match := at.eat(TYPE_LITERAL)):
            pieces.append(WordPiece("type", match[0].strip("[] ").lower()))
            read_members(at, pieces)
        elif match := at.eat(MEMBER):
            pieces.append(WordPiece("member", match[1].lower()))
        else:
            read_piece(at, sign, pieces)
            read_members(at, pieces)
    text = at.text[start : at.at].strip()
    return PowerShellExpression(tuple(pieces), tuple(redirects), text, start, target, assigned)
