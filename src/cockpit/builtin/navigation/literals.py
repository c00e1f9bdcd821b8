"""Which lines of a source text begin inside a string: to indent those would change what the string says.

Reads by the shape of a language's strings and comments, so that a part of a file can be read, too. Pure.
"""

import re
from functools import cache

LINE_COMMENT = r"//[^\n]*"
BLOCK_COMMENT = r"/\*.*?(?:\*/|\Z)"
SHARP_COMMENT = r"(?:(?<=\s)|(?<![^\n]))\#[^\n]*"
SHORT = r'"(?:\\.|[^"\\\n])*"?' + r"|'(?:\\.|[^'\\\n])*'?"
TRIPLE = r'"""(?:\\.|.)*?(?:"""|\Z)'
TRIPLES = TRIPLE + r"|'''(?:\\.|.)*?(?:'''|\Z)"
TEMPLATE = r"`(?:\\.|\$\{(?:[^{}`]|\{[^{}]*\}|`(?:\\.|[^`\\])*`)*\}|[^`\\])*(?:`|\Z)"
# A slash after one of these begins a regular expression; its quotes begin no string.
PATTERN = r"[(,=:\[!&|?{};]\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/"
HEREDOC = r"<<-?[ \t]*(['\"]?)(?P<end>\w+)\1[^\n]*\n.*?(?:^[ \t]*(?P=end)$|\Z)"
RUST = r"r(?P<rust>\#+)\".*?(?:\"(?P=rust)|\Z)|'(?:\\[^'\n]+|[^'\\\n])'" + r'|"(?:\\.|[^"\\])*(?:"|\Z)'
CPP = r"R\"(?P<cpp>[^\s()\\]{0,16})\(.*?(?:\)(?P=cpp)\"|\Z)"
SHELL = r'"(?:\\.|[^"\\])*(?:"|\Z)' + r"|'[^']*(?:'|\Z)"

C_LIKE = (LINE_COMMENT, BLOCK_COMMENT)
SHAPES = {
    "py pyi pyw": ("#[^\n]*", TRIPLES, SHORT),
    "js jsx mjs cjs ts mts cts tsx": (*C_LIKE, PATTERN, TEMPLATE, SHORT),
    "go": (*C_LIKE, r"`[^`]*(?:`|\Z)", SHORT),
    "rs": (*C_LIKE, RUST),
    "java kt kts scala swift cs": (*C_LIKE, TRIPLE, SHORT),
    "c h cc cpp cxx hh hpp hxx m mm": (*C_LIKE, CPP, SHORT),
    "sh bash zsh": (HEREDOC, SHARP_COMMENT, SHELL),
    "lua": (r"--(?!\[)[^\n]*", r"\[\[.*?(?:\]\]|\Z)", SHORT),
    "": (TRIPLES, TEMPLATE),
}


def held(text: str, path: str) -> frozenset[int]:
    """The lines (from 0) of `text` that begin inside a string, as the file's language has them.

    What documents a Python definition moves with it: whoever reads that takes its indentation off.
    """
    found: set[int] = set()
    for match in _strings(path).finditer(text):
        if match[0].startswith(("//", "/*", "#")) or "\n" not in match[0]:
            continue
        if path.endswith((".py", ".pyi")) and _documents(text, match.start()):
            continue
        first = text.count("\n", 0, match.start())
        found.update(range(first + 1, first + 1 + match[0].count("\n")))
    return frozenset(found)


def _documents(text: str, at: int) -> bool:
    """Whether the string at an offset is the first statement of a body."""
    before, _, lead = text[:at].rpartition("\n")
    return not lead.strip() and before.rstrip().endswith(":")


def _strings(path: str) -> re.Pattern[str]:
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    return _pattern(next((names for names in SHAPES if suffix in names.split()), ""))


@cache
def _pattern(names: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in SHAPES[names]), re.DOTALL | re.MULTILINE)
