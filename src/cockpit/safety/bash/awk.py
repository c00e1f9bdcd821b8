"""Whether an awk program only prints. Reads it sign by sign, as awk does; what it does not know is a no."""

import re

from cockpit.workspace.words import words

# Programs, files, the environment, other files of code, and names that stand for them.
FORBIDDEN = words(
    """
    system getline fflush close ENVIRON PROCINFO ARGV ARGC FUNCTAB SYMTAB include load namespace nextfile
    """
)
# Behind these a slash begins a pattern, although they are words.
OPENING = words("print printf return in case else do exit delete if while")
TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+|\\\r?\n|\#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.|\\\n)*")|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<number>\.?\d[\w.]*)|(?P<sign>\+\+|--|>>|>=|<=|==|!=|\|\||&&|\|&|\*\*|[-+*/%^]=|.|\n)""",
    re.X | re.S,
)
PATTERN = re.compile(r"/(?:[^/\\\[\n]|\\.|\[\^?\]?(?:[^\]\\\n]|\\.)*\])+/")
LONGEST = 20_000


def awk_prints(program: str) -> bool:
    """No programs, files, environment or indirect calls; output goes to stdout alone."""
    if len(program) > LONGEST or re.search(r"\w\\\r?\n\w", program):
        return False
    at, depth, before = 0, 0, ""
    printing = -1  # the depth of brackets at which a print statement stands, -1 outside of one
    while at < len(program):
        if program[at] == "/" and _opens(before):
            found = PATTERN.match(program, at)
            # A slash inside of a class ends the pattern for some awks and not for others.
            if found is None or re.search(r"\[[^\]]*/", found[0]):
                return False
            at, before = found.end(), "x"
            continue
        found = TOKEN.match(program, at)
        if found is None:
            return False
        at = found.end()
        text = found[0]
        if found["blank"]:
            continue
        if text in ("|", "|&", "@", "`", '"', "/=") or text in FORBIDDEN:
            return False
        if text == "/" and before in ("++", "--", "length"):
            return False
        depth += (text in "([{") - (text in ")]}") if len(text) == 1 else 0
        if text in ("print", "printf"):
            printing = depth
        elif printing >= 0 and (text == ";" or (text == "\n" and not _goes_on(before)) or depth < printing):
            printing = -1
        elif (printing >= 0 and text in (">", ">>") and depth <= printing) or text == ">>":
            return False
        before = text
    return True


def _opens(before: str) -> bool:
    """Whether a slash behind `before` begins a pattern: not behind what is a value."""
    if before in OPENING or not before:
        return True
    return not (before[0].isalnum() or before[0] in '_".)]$' or before in ("++", "--"))


def _goes_on(before: str) -> bool:
    return before in (",", "&&", "||", "{", "else", "do")
