"""Targets of name resolution (definitions, bindings, modules), and their rows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from cockpit.navigation.index.definitions import IndexedDefinition
from cockpit.navigation.index.parsed_file import NameBinding
from cockpit.protocol.code import SymbolRow

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.navigation.index.parsed_file import ParsedFile


@dataclass(frozen=True, slots=True)
class ModuleTarget:
    """A file as a whole."""

    path: str


@dataclass(frozen=True, slots=True)
class TypedValue:
    """What an expression evaluates to: an instance of a class, the class itself, a function."""

    what: Literal["instance", "class", "function"]
    binding: NameBinding


Target: TypeAlias = NameBinding | ModuleTarget
InferredType: TypeAlias = TypedValue | ModuleTarget


def target_row(target: Target) -> SymbolRow:
    if isinstance(target, ModuleTarget):
        name = target.path.rsplit("/", 1)[-1]
        return SymbolRow(name, "module", target.path, 1, 1, "", "tree-sitter", 1, 1, 1, 1)
    parsed, node = target.parsed, target.node
    known = find_definition(target)
    if known is not None:
        return known.row(parsed.path)
    kind = {"parameter": "parameter", "instance": "parameter", "attribute": "field", "def": "function"}
    return use_row(parsed, node, kind.get(target.kind, "variable"), is_definition=True)


def find_definition(target: NameBinding) -> IndexedDefinition | None:
    """The definition at which a name is bound; None for a local variable."""
    row, byte = target.node.start_point
    return target.parsed.definitions_by_position.get((row + 1, target.parsed.lines.column(row, byte)))


def use_row(parsed: "ParsedFile", node: "Node", kind: str, is_definition: bool = False) -> SymbolRow:
    """The row of a name that is not a definition itself."""
    row, byte = node.start_point
    enclosing = parsed.definition_around(row + 1)
    line = row + 1 if is_definition else 0
    return SymbolRow(
        (node.text or b"").decode("utf-8", "replace"),
        kind,
        parsed.path,
        row + 1,
        parsed.lines.column(row, byte),
        parsed.lines.text(row),
        "tree-sitter",
        node.end_point[0] + 1,
        parsed.lines.column(*node.end_point),
        line,
        line,
        enclosing.qualified if enclosing is not None else "",
    )
