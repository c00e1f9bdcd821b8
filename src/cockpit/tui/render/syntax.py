"""Highlights source code with Pygments, which is imported with the first code that is drawn.

Long texts and unknown languages stay plain.
"""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Protocol

from cockpit.tui.render.layout import Piece

_MAX_CHARACTERS = 60_000
_TOKEN_STYLES = (  # prefix of a Pygments token's name, style key; the first match counts
    ("Token.Comment", "muted+i"),
    ("Token.Literal.String.Doc", "muted+i"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Function", "function"),
    ("Token.Name.Class", "heading"),
    ("Token.Name.Decorator", "number"),
    ("Token.Name.Builtin", "code"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Name.Attribute", "function"),
    ("Token.Name.Exception", "heading"),
    ("Token.Generic.Deleted", "bad"),
    ("Token.Generic.Inserted", "good"),
    ("Token.Generic.Heading", "heading+b"),
    ("Token.Generic.Subheading", "heading"),
    ("Token.Punctuation", "muted"),
)
_LANGUAGE_ALIASES = {
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "sh": "bash",
    "shell": "bash",
    "yml": "yaml",
}
_LANGUAGES_BY_SUFFIX = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "jsx": "jsx",
    "ts": "typescript", "tsx": "tsx", "go": "go", "rs": "rust", "java": "java", "c": "c", "h": "c",
    "cc": "cpp", "cpp": "cpp",
    "hpp": "cpp", "sh": "bash", "bash": "bash", "zsh": "bash", "json": "json", "toml": "toml", "yaml": "yaml",
    "yml": "yaml", "md": "markdown", "html": "html", "css": "css", "sql": "sql", "rb": "ruby", "php": "php",
    "kt": "kotlin", "swift": "swift", "lua": "lua", "ps1": "powershell", "xml": "xml", "ini": "ini",
}  # fmt: skip


def detect_language(path: str) -> str:
    """The language of a file, from its name; empty where it is unknown."""
    name = path.rsplit("/", 1)[-1].lower()
    if name in ("makefile", "dockerfile"):
        return {"makefile": "make", "dockerfile": "docker"}[name]
    return _LANGUAGES_BY_SUFFIX.get(name.rsplit(".", 1)[-1], "") if "." in name else ""


def highlight(text: str, language: str, plain: str = "body") -> list[list[Piece]]:
    """The lines of `text` as styled pieces; `plain` is the key of text that has no colour."""
    lexer = _find_lexer(_LANGUAGE_ALIASES.get(language.lower(), language.lower())) if language else None
    if lexer is None or len(text) > _MAX_CHARACTERS:
        return [[(line, plain)] for line in text.split("\n")]
    lines: list[list[Piece]] = [[]]
    for token, value in lexer.get_tokens(text):
        key = _style_key(str(token)) or plain
        first, *others = value.split("\n")
        if first:
            lines[-1].append((first, key))
        for other in others:
            lines.append([(other, key)] if other else [])
    del lines[text.count("\n") + 1 :]
    return [line or [("", plain)] for line in lines]


@cache
def _style_key(token: str) -> str:
    return next((key for prefix, key in _TOKEN_STYLES if token.startswith(prefix)), "")


class _PygmentsLexer(Protocol):
    def get_tokens(self, text: str) -> Iterable[tuple[object, str]]: ...


@cache
def _find_lexer(language: str) -> _PygmentsLexer | None:
    lexers = import_module("pygments.lexers")
    try:
        lexer: _PygmentsLexer = lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ValueError:  # pygments.util.ClassNotFound
        return None
    return lexer


def preload_lexers() -> None:
    """Import what the first code block needs; called in a thread after the first paint."""
    for language in ("python", "bash", "json"):
        highlight("x", language)
