"""What a symbol may be called in its language. Checks names only; asks no backend."""

import keyword
import re
from collections.abc import Sequence

from cockpit.navigation.text_search import word_at
from cockpit.plugin.navigation import NotPossible, Position

IDENTIFIER = re.compile(r"[^\W\d]\w*")
DOLLAR_IDENTIFIER = re.compile(r"#?(?:[^\W\d]|\$)[\w$]*")
# In other languages (prose, shells, Lisps) names may contain anything but spaces.
LOOSE_NAME = re.compile(r"[^\s\d]\S*")

C_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline "
    "int long register restrict return short signed sizeof static struct switch typedef union unsigned "
    "void volatile while"
)
CPP_KEYWORDS = (
    f"{C_KEYWORDS} alignas alignof bool catch class concept consteval constexpr constinit const_cast "
    "co_await co_return co_yield decltype delete dynamic_cast explicit export false friend mutable "
    "namespace new noexcept nullptr operator private protected public reinterpret_cast requires "
    "static_assert static_cast template this thread_local throw true try typeid typename using "
    "virtual and or not xor"
)
JAVASCRIPT_KEYWORDS = (
    "await break case catch class const continue debugger default delete do else enum export extends "
    "false finally for function if implements import in instanceof interface let new null package "
    "private protected public return static super switch this throw true try typeof var void while with "
    "yield"
)
GO_KEYWORDS = (
    "break case chan const continue default defer else fallthrough for func go goto if import interface "
    "map package range return select struct switch type var"
)
RUST_KEYWORDS = (
    "Self abstract as async await become box break const continue crate do dyn else enum extern false "
    "final fn for if impl in let loop macro match mod move mut override priv pub ref return self static "
    "struct super trait true try type typeof unsafe unsized use virtual where while yield"
)
JAVA_KEYWORDS = (
    "_ abstract assert boolean break byte case catch char class const continue default do double else "
    "enum extends false final finally float for goto if implements import instanceof int interface long "
    "native new null package private protected public return short static strictfp super switch "
    "synchronized this throw throws transient true try void volatile while"
)

LANGUAGE_RULES = {
    "py pyi pyw": ("Python", IDENTIFIER, frozenset(keyword.kwlist)),
    "js jsx mjs cjs": ("JavaScript", DOLLAR_IDENTIFIER, frozenset(JAVASCRIPT_KEYWORDS.split())),
    "ts mts cts tsx": ("TypeScript", DOLLAR_IDENTIFIER, frozenset(JAVASCRIPT_KEYWORDS.split())),
    "go": ("Go", IDENTIFIER, frozenset(GO_KEYWORDS.split())),
    "rs": ("Rust", re.compile(rf"(?:r#)?{IDENTIFIER.pattern}"), frozenset(RUST_KEYWORDS.split())),
    "c": ("C", IDENTIFIER, frozenset(C_KEYWORDS.split())),
    "h cc cpp cxx hh hpp hxx ipp tpp c++ h++": (
        "C++",
        re.compile(rf"~?{IDENTIFIER.pattern}"),
        frozenset(CPP_KEYWORDS.split()),
    ),
    "java": ("Java", DOLLAR_IDENTIFIER, frozenset(JAVA_KEYWORDS.split())),
}
DEFAULT_RULES = ("a file like this", LOOSE_NAME, frozenset[str]())
PROSE_SUFFIXES = ("md", "markdown", "txt", "rst", "json", "toml", "yaml", "yml")


def check_new_name(to: str, at: Position, lines: Sequence[str]) -> None:
    """Raise `NotPossible` if the symbol at `at`, in a file with these lines, cannot be renamed to `to`: not a
    valid name, a keyword, or its name already."""
    suffix = at.path.rpartition(".")[2].lower()
    language, shape, keywords = next(
        (rules for suffixes, rules in LANGUAGE_RULES.items() if suffix in suffixes.split()), DEFAULT_RULES
    )
    if not to.strip():
        raise NotPossible("the new name is empty", "give the new name of the symbol")
    if suffix not in PROSE_SUFFIXES and shape.fullmatch(to) is None:
        raise NotPossible(
            f"{to!r} is not a valid name in {language}", "use letters, digits and _, starting with a letter"
        )
    if to in keywords:
        raise NotPossible(f"{to} is a keyword of {language}", "choose another name")
    old = word_at(lines[at.line - 1], at.column) if 0 < at.line <= len(lines) else ""
    if to == old:
        raise NotPossible(f"the symbol is already called {to}", "choose another name")
