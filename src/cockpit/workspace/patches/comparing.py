"""When two lines are equal to a patch, in four ways, the strictest first: to the letter; but for a CR
and a byte order mark; but for space at the end; and, for context alone, but for space around and
typographic signs. What would be removed must be there: the last way is never used on it."""

import unicodedata

from cockpit.workspace.patches.values import Sign

BOM = "\ufeff"
SIGNS = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
)


def same(line: str, text: str, sign: Sign, level: int) -> bool:
    if line == text:
        return True
    match level if sign == " " else min(level, 2):
        case 0:
            return False
        case 1:
            return bare(line) == bare(text)
        case 2:
            return bare(line).rstrip() == bare(text).rstrip()
        case _:
            return plain(line) == plain(text)


def bare(line: str) -> str:
    return line.removesuffix("\r").removeprefix(BOM)


def plain(line: str) -> str:
    return unicodedata.normalize("NFC", bare(line)).translate(SIGNS).strip()
