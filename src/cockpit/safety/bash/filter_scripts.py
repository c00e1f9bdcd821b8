"""Whether a script of sed, awk or jq only prints. Anything not understood counts as no."""

import re

from cockpit.workspace.word_set import word_set

SED_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?|\\(.)(?:(?!\1).)*\1)"
SED_RANGE = rf"(?:{SED_ADDRESS}(?:\s*[,~]\s*(?:[+~]?\d+|{SED_ADDRESS}))?\s*!?\s*)?"


def sed_only_prints(script: str) -> bool:
    """Whether all commands are p, d, q, =, s without w and e, or similar: no files, no programs."""
    at, depth = 0, 0
    while at < len(script):
        if script[at] in " \t\n;":
            at += 1
            continue
        if script[at] == "#":
            at = script.find("\n", at) if "\n" in script[at:] else len(script)
            continue
        if match := re.compile(SED_RANGE).match(script, at):
            at = match.end()
        if at >= len(script):
            return False
        letter = script[at]
        at += 1
        if letter in "pPdDgGhHnNx=z":
            pass
        elif letter in "qQl":
            at = _skip_pattern(script, at, r"\s*\d*")
        elif letter in "{}":
            depth += 1 if letter == "{" else -1
        elif letter in "aic":
            at = script.find("\n", at) if "\n" in script[at:] else len(script)
        elif letter in ":bt":
            at = _skip_pattern(script, at, r"\s*[\w-]*")
        elif letter in "sy":
            at = _skip_substitution(script, at, letter)
            if at < 0:
                return False
        else:
            return False
    return depth == 0


def _skip_pattern(script: str, at: int, pattern: str) -> int:
    match = re.compile(pattern).match(script, at)
    return match.end() if match else at


def _skip_substitution(script: str, at: int, letter: str) -> int:
    """The index after `s/a/b/flags`, -1 where it is not plain."""
    if at >= len(script) or script[at] in "\\\n":
        return -1
    sign = script[at]
    at += 1
    for _ in range(2):
        while at < len(script) and script[at] != sign:
            if script[at] == "[" and sign != "[":
                closing = script.find("]", at + 2)
                # It is unclear whether a delimiter inside a class ends the part, so the script does not
                # count as plain.
                if closing > 0 and sign in script[at:closing]:
                    return -1
            at += 2 if script[at] == "\\" else 1
        if at >= len(script):
            return -1
        at += 1
    if letter == "y":
        return at
    match = re.compile(r"[gpIiMm0-9]*").match(script, at)
    end = match.end() if match else at
    return end if end >= len(script) or script[end] in " \t\n;}" else -1


def jq_only_reads(program: str) -> bool:
    """Whether the filter uses no environment, no modules and no other input."""
    return not re.search(
        r"\benv\b|\$ENV|\b(import|include|input_filename|debug|stderr|load\w*|eval|envsubst|strenv|system|"
        r"filename|get_search_list)\b",
        program,
    )


def printf_only_prints(form: str) -> bool:
    """Whether the format has no `%n`, which sets a variable."""
    return not re.search(r"%[-+ #0'*.\d]*[hlLqjzt]*n", form)


# Names for programs, files, the environment and other source files.
AWK_FORBIDDEN = word_set(
    "system getline fflush close ENVIRON PROCINFO ARGV ARGC FUNCTAB SYMTAB include load namespace nextfile"
)
# A slash after these words begins a pattern.
AWK_PATTERN_STARTS = word_set("print printf return in case else do exit delete if while")
AWK_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+|\\\r?\n|\#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.|\\\n)*")|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<number>\.?\d[\w.]*)|(?P<sign>\+\+|--|>>|>=|<=|==|!=|\|\||&&|\|&|\*\*|[-+*/%^]=|.|\n)""",
    re.X | re.S,
)
AWK_PATTERN = re.compile(r"/(?:[^/\\\[\n]|\\.|\[\^?\]?(?:[^\]\\\n]|\\.)*\])+/")
MAX_AWK_LENGTH = 20_000


def awk_only_prints(program: str) -> bool:
    """Whether the program uses no programs, files, environment or indirect calls, and prints to stdout
    only."""
    if len(program) > MAX_AWK_LENGTH or re.search(r"\w\\\r?\n\w", program):
        return False
    at, depth, before = 0, 0, ""
    printing = -1  # bracket depth of the current print statement, -1 outside one
    while at < len(program):
        if program[at] == "/" and _starts_pattern(before):
            match = AWK_PATTERN.match(program, at)
            # A slash inside a class ends the pattern in some awks only.
            if match is None or re.search(r"\[[^\]]*/", match[0]):
                return False
            at, before = match.end(), "x"
            continue
        match = AWK_TOKEN.match(program, at)
        if match is None:
            return False
        at = match.end()
        text = match[0]
        if match["blank"]:
            continue
        if text in ("|", "|&", "@", "`", '"', "/=") or text in AWK_FORBIDDEN:
            return False
        if text == "/" and before in ("++", "--", "length"):
            return False
        depth += (text in "([{") - (text in ")]}") if len(text) == 1 else 0
        if text in ("print", "printf"):
            printing = depth
        elif printing >= 0 and (
            text == ";" or (text == "\n" and not _continues_statement(before)) or depth < printing
        ):
            printing = -1
        elif (printing >= 0 and text in (">", ">>") and depth <= printing) or text == ">>":
            return False
        before = text
    return True


def _starts_pattern(before: str) -> bool:
    """Whether a slash after `before` begins a pattern: not after a value."""
    if before in AWK_PATTERN_STARTS or not before:
        return True
    return not (before[0].isalnum() or before[0] in '_".)]$' or before in ("++", "--"))


def _continues_statement(before: str) -> bool:
    return before in (",", "&&", "||", "{", "else", "do")
