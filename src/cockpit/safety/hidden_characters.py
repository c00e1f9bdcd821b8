"""Finds characters that hide what a command line says or look like others."""

import unicodedata
from dataclasses import dataclass

# Direction marks, invisible and zero-width characters, blanks that no shell splits on, and the private-use
# characters with which words are expanded.
UNUSUAL_BLANKS = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)


@dataclass(frozen=True, slots=True)
class HiddenCharacters:
    """The hidden characters of a text: `names` for the user, and whether no shell line may contain them."""

    names: str
    fatal: bool


def find_hidden_characters(text: str) -> HiddenCharacters | None:
    """The hidden characters of `text`, or None."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return None
    hidden = sorted(set(filter(is_hidden, text)))
    names = (f"U+{ord(sign):04X} {_character_name(sign)}".rstrip() for sign in hidden[:5])
    return HiddenCharacters(", ".join(names), "\0" in hidden) if hidden else None


def is_hidden(sign: str) -> bool:
    """Whether it is a control character, a direction mark, an invisible character or an unusual blank."""
    if sign in "\n\t" or " " <= sign <= "~":
        return False
    return sign in UNUSUAL_BLANKS or unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp")


def _character_name(sign: str) -> str:
    known = {"\0": "NUL", "\r": "CARRIAGE RETURN", "\x1b": "ESCAPE", "\x08": "BACKSPACE", "\x7f": "DELETE"}
    return known.get(sign, unicodedata.name(sign, ""))


def describe_misleading_character(text: str) -> str:
    """Says which character hides what a PowerShell line says, or returns an empty string."""
    for sign in text:
        if " " <= sign <= "~" or sign in "\n\t":
            continue
        category = unicodedata.category(sign)
        if category in ("Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Zs"):
            return f"it contains U+{ord(sign):04X}, which is not visible"
        if sign in "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u2013\u2014\u2015":
            return f"it contains U+{ord(sign):04X}, which PowerShell reads as a quote or a dash"
    return ""
