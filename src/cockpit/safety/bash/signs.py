"""Characters that make a command line read differently from what runs. Pure."""

import unicodedata
from dataclasses import dataclass

# Bidi controls, invisible and zero-width signs, blanks that no shell splits on, and the private signs
# that a folded word is written with.
BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
SEPARATORS = "\u2028\u2029\u0085"


@dataclass(frozen=True, slots=True)
class Strange:
    """What was found: its names for a person, and whether no shell line may hold it."""

    names: str
    fatal: bool


def strange(text: str) -> Strange | None:
    """The characters of `text` that hide what it says, or None."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return None
    found = sorted({sign for sign in text if is_strange(sign)})
    if not found:
        return None
    names = ", ".join(f"U+{ord(sign):04X} {_name(sign)}".rstrip() for sign in found[:5])
    return Strange(names, "\0" in found)


def is_strange(sign: str) -> bool:
    """A control character, a direction mark, an invisible sign or an unusual blank."""
    if sign in "\n\t" or " " <= sign <= "~":
        return False
    return (
        sign in BLANKS or sign in SEPARATORS or unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cs", "Cn")
    )


def _name(sign: str) -> str:
    known = {"\0": "NUL", "\r": "CARRIAGE RETURN", "\x1b": "ESCAPE", "\x08": "BACKSPACE", "\x7f": "DELETE"}
    return known.get(sign, unicodedata.name(sign, ""))
