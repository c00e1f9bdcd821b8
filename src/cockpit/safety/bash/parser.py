"""The syntax tree of a bash line, by tree-sitter-bash. Loaded when first needed."""

import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_BYTES = 100_000  # bytes; a longer text is looked over, not parsed
UNTIMED_BYTES = 4_000
MAX_SECONDS = 0.03  # for a text whose errors make the parser search
# The grammar takes what follows it for words. Blanks in its place keep every position.
COPROC = re.compile(r"(?<![\w-])coproc(\s+\w+)??(?=\s+([{(]|(if|while|until|for|case|select)\s|\[\[))")
# `!` turns only the status round, `time` measures; the grammar knows both before plain commands alone.
NEGATED = re.compile(
    r"(?<![^\s;&|({])(?:!|time(?:\s+-p)?)"
    r"(?=\s+([{(]|(if|while|until|for|case|select|function|export|declare|local|readonly|typeset|unset)\s"
    r"|\[\[|[\w-]+\s*\(\s*\)|\w+\+?=))"
)
# A substitution that begins with a subshell: arithmetic ends with both brackets side by side.
SUBSHELL = re.compile(r"\$\(\(([^()]*)\)(\s+\))")


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def parse_bash(source: bytes) -> "Node | None":
    """The root of the tree, or None where the text is too long or takes too long."""
    if len(source) > MAX_BYTES:
        return None
    parser = _parser()
    if len(source) < UNTIMED_BYTES:
        return parser.parse(source).root_node
    limit = time.monotonic() + MAX_SECONDS
    try:
        # Only a text that is read piece by piece can be given up half-way.
        tree = parser.parse(
            lambda at, point: source[at : at + 4096],
            progress_callback=lambda at, errors: time.monotonic() > limit,
        )
    except ValueError:
        tree = None
    if tree is None:
        parser.reset()
        return None
    return tree.root_node


def blank_unsupported_syntax(text: str) -> str:
    """`text` with what the grammar cannot read and no verdict hangs on blanked: `coproc NAME`, `!` and
    `time` before a compound command, the inner brackets of `$((...) )`. Every position stays."""
    if "coproc" in text:
        text = COPROC.sub(lambda found: " " * len(found[0]), text)
    if "!" in text or "time" in text:
        text = NEGATED.sub(lambda found: " " * len(found[0]), text)
    return SUBSHELL.sub(r"$( \1 \2", text) if "$((" in text else text
