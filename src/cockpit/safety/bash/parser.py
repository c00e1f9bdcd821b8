"""The syntax tree of a bash line, by tree-sitter-bash, which is loaded when first needed."""

import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_BYTES = 100_000  # a longer text is not parsed
UNTIMED_BYTES = 4_000
MAX_SECONDS = 0.03  # time limit for a text whose errors make the parser search
# The grammar reads a coprocess as words. Replacing `coproc` by blanks keeps all positions.
COPROC = re.compile(r"(?<![\w-])coproc(\s+\w+)??(?=\s+([{(]|(if|while|until|for|case|select)\s|\[\[))")
# `!` negates the status and `time` measures; the grammar accepts both only before simple commands.
NEGATED = re.compile(
    r"(?<![^\s;&|({])(?:!|time(?:\s+-p)?)(?=\s+([{(]|(if|while|until|for|case|select|function|export|declare"
    r"|local|readonly|typeset|unset)\s|\[\[|[\w-]+\s*\(\s*\)|\w+\+?=))"
)
# A substitution that begins with a subshell, unlike arithmetic, has a blank between its closing brackets.
SUBSHELL = re.compile(r"\$\(\(([^()]*)\)(\s+\))")


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def parse_bash(source: bytes) -> "Node | None":
    """The root of the syntax tree, or None if the text is too long or takes too long."""
    if len(source) > MAX_BYTES:
        return None
    parser = _parser()
    if len(source) < UNTIMED_BYTES:
        return parser.parse(source).root_node
    limit = time.monotonic() + MAX_SECONDS
    try:
        # Parsing can only be aborted when the text is read in pieces.
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
    """`text` with syntax that the grammar cannot read replaced by blanks, where no verdict depends on it.

    Covers `coproc NAME`, `!` and `time` before a compound command and the inner brackets of `$((...) )`. All
    positions stay the same.
    """
    if "coproc" in text:
        text = COPROC.sub(lambda match: " " * len(match[0]), text)
    if "!" in text or "time" in text:
        text = NEGATED.sub(lambda match: " " * len(match[0]), text)
    return SUBSHELL.sub(r"$( \1 \2", text) if "$((" in text else text
