"""Characters that make a command line read differently from what runs. Pure.

Signs in a command line that a person does not see, or takes for others.
"""

import unicodedata
from dataclasses import dataclass

# Bidi controls, invisible and zero-width signs, blanks that no shell splits on, and the private signs
# that a folded word is written with.
UNUSUAL_BLANKS = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
LINE_SEPARATORS = "\u2028\u2029\u0085"


@dataclass(frozen=True, slots=True)
class HiddenCharacters:
    """What was found: its names for a person, and whether no shell line may hold it."""

    names: str
    fatal: bool


def find_hidden_characters(text: str) -> HiddenCharacters | None:
    """The characters of `text` that hide what it says, or None."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return None
    found = sorted({sign for sign in text if is_hidden(sign)})
    if not found:
        return None
    names = ", ".join(f"U+{ord(sign):04X} {_character_name(sign)}".rstrip() for sign in found[:5])
    return HiddenCharacters(names, "\0" in found)


def is_hidden(sign: str) -> bool:
    """A control character, a direction mark, an invisible sign or an unusual blank."""
    if sign in "\n\t" or " " <= sign <= "~":
        return False
    return (
        sign in UNUSUAL_BLANKS
        or sign in LINE_SEPARATORS
        or unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cs", "Cn")
    )


def _character_name(sign: str) -> str:
    known = {"\0": "NUL", "\r": "CARRIAGE RETURN", "\x1b": "ESCAPE", "\x08": "BACKSPACE", "\x7f": "DELETE"}
    return known.get(sign, unicodedata.name(sign, ""))


_VISIBLE_CONTROLS = frozenset("\n\t")


def describe_misleading_character(text: str) -> str:
    """Which sign hides what the line says, or ""."""
    for sign in text if not text.isascii() else [one for one in text if one < " " or one == "\x7f"]:
        if sign in _VISIBLE_CONTROLS or (sign.isascii() and sign.isprintable()):
            continue
        category = unicodedata.category(sign)
        if category in ("Cc", "Cf", "Zl", "Zp", "Cs", "Co") or (category == "Zs" and sign != " "):
            return f"it holds U+{ord(sign):04X}, which does not show"
        if sign in "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u2013\u2014\u2015":
            return f"it holds U+{ord(sign):04X}, which PowerShell takes for a quote or a dash"
    return ""
