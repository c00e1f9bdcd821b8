"""A place in a PowerShell text and what was found wrong so far; the patterns both readers share."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from cockpit.safety.powershell.values import Script

DEPTH = 40
TOO_DEEP = "it is nested too deep"
SINGLE, DOUBLE = "'\u2018\u2019\u201a\u201b", '"\u201c\u201d\u201e'
BLANK = re.compile(r"(?:[^\S\n]|`\r?\n|<#.*?(?:#>|\Z))+", re.DOTALL)
BETWEEN = re.compile(r"(?:[\s;]|`\n|<#.*?(?:#>|\Z)|#[^\n]*)+", re.DOTALL)


@dataclass(slots=True)
class Cursor:
    """`at` is the place. `script` reads statements up to a closing sign, which it eats; "" is the end
    of the text."""

    text: str
    script: "Callable[[Cursor, str], Script]"
    at: int = 0
    depth: int = 0
    faults: list[str] = field(default_factory=list)
    commas: list[int] = field(default_factory=list)

    def look(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def sees(self, signs: str) -> bool:
        """Whether one of `signs` is next."""
        return self.at < len(self.text) and self.text[self.at] in signs

    def eat(self, pattern: "re.Pattern[str]") -> "re.Match[str] | None":
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def fault(self, what: str) -> None:
        self.faults.append(what)
