"""The second reader: tree-sitter's grammar of PowerShell. It can only say that a line is not plain."""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from cockpit.safety.powershell.syntax_tree import (
    PowerShellCommand,
    PowerShellScript,
    ScriptReading,
    list_pieces,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

PLAIN = frozenset(
    [
        "program",
        "statement_list",
        "pipeline",
        "pipeline_chain",
        "pipeline_chain_tail",
        "command",
        "command_name",
        "command_elements",
        "command_argument_sep",
        "generic_token",
        "command_parameter",
        "array_literal_expression",
        "unary_expression",
        "string_literal",
        "expandable_string_literal",
        "verbatim_string_characters",
        "integer_literal",
        "real_literal",
        "decimal_integer_literal",
        "hexadecimal_integer_literal",
        "redirection",
        "merging_redirection_operator",
        "file_redirection_operator",
        "redirected_file_name",
        "comment",
        "empty_statement",
        "variable",
        "logical_expression",
        "bitwise_expression",
        "comparison_expression",
        "additive_expression",
        "multiplicative_expression",
        "format_expression",
        "range_expression",
        "expandable_here_string_literal",
        "verbatim_here_string_characters",
        "path_command_name",
        "path_command_name_token",
        "parenthesized_expression",
        "command_token_separator",
    ]
)


@cache
def _parser() -> "Parser":
    import tree_sitter
    import tree_sitter_powershell

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))


def agrees(text: str, reading: ScriptReading) -> str:
    """ "" where the grammar reads `text` without a fault and sees the same commands; else why not."""
    # The grammar has no lists of bare words (`Name, Length`): it is shown them with a blank between.
    signs = list(text)
    for comma in reading.commas:
        signs[comma] = " "
    tree = _parser().parse("".join(signs).encode("utf-8", "surrogatepass"))
    if tree.root_node.has_error:
        return "the grammar of PowerShell cannot read it"
    said: list[str] = []
    waiting: list[Node] = [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.is_named and node.type not in PLAIN:
            return f"it holds a {node.type.replace('_', ' ')}"
        if node.type == "command":
            name = node.child_by_field_name("command_name")
            said.append((name.text or b"").decode("utf-8", "replace") if name is not None else "")
        waiting += reversed(node.children)
    return "" if said == list(_names(reading.script)) else "two readers see different commands in it"


def _names(script: PowerShellScript) -> Iterator[str]:
    """The names of all commands as our reader sees them, the outer one first."""
    for pipeline in script.pipelines:
        for element in pipeline.elements:
            if isinstance(element, PowerShellCommand) and element.words:
                yield element.words[0].text
            for piece in list_pieces(element):
                if piece.script is not None:
                    yield from _names(piece.script)
