"""Signs in a command line that a person does not see, or takes for others."""

import unicodedata

HARMLESS = frozenset("\n\t")


def strange(text: str) -> str:
    """Which sign hides what the line says, or ""."""
    for sign in text if not text.isascii() else [one for one in text if one < " " or one == "\x7f"]:
        if sign in HARMLESS or (sign.isascii() and sign.isprintable()):
            continue
        category = unicodedata.category(sign)
        if category in ("Cc", "Cf", "Zl", "Zp", "Cs", "Co") or (category == "Zs" and sign != " "):
            return f"it holds U+{ord(sign):04X}, which does not show"
        if sign in "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u2013\u2014\u2015":
            return f"it holds U+{ord(sign):04X}, which PowerShell takes for a quote or a dash"
    return ""
