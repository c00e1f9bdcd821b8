"""The shape of a parsed file: its scopes, what each binds, its imports, classes and member accesses.

All of it comes from a language's `imports` and `scopes` queries; nothing here knows a language.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.navigation.index.parsed import Parsed

BindingKind = Literal["def", "parameter", "instance", "variable", "import", "attribute"]
ScopeKind = Literal["plain", "class", "members", "unordered"]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import names: `name` of `module`; the module itself when `name` is empty."""

    module: str
    name: str = ""


@dataclass(slots=True, eq=False)
class Binding:
    """A name that gets a meaning at `node`. It holds from `effective` (a byte offset) on.

    `whole` is a definition's node. `value`, `type` and `entered` are evidence of what it is bound to:
    an expression, an annotation, the expression of a `with`.
    """

    name: str
    kind: BindingKind
    node: "Node"
    parsed: "Parsed"
    scope: "Scope"
    effective: int
    whole: "Node | None" = None
    value: "Node | None" = None
    type: "Node | None" = None
    entered: "Node | None" = None
    imported: Imported | None = None


@dataclass(slots=True, eq=False)
class Scope:
    kind: ScopeKind
    node: "Node"
    start: int
    end: int
    parent: "Scope | None" = None
    names: dict[str, list[Binding]] = field(default_factory=dict)
    # What is set on an instance of this class: `self.x = ...`.
    attributes: dict[str, list[Binding]] = field(default_factory=dict)
    bases: "list[Node]" = field(default_factory=list)
    owner: Binding | None = None


@dataclass(slots=True, eq=False)
class Shape:
    """Nodes are found by their first byte, expressions by their id."""

    top: Scope
    scopes: list[Scope]
    starts: list[int]
    bound: dict[int, Binding] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    modules: "dict[int, tuple[Node, str]]" = field(default_factory=dict)
    members: "dict[int, Node]" = field(default_factory=dict)
    accesses: "dict[int, tuple[Node, Node]]" = field(default_factory=dict)
    calls: "dict[int, Node]" = field(default_factory=dict)
    callees: "dict[int, Node]" = field(default_factory=dict)
    keywords: "dict[int, Node]" = field(default_factory=dict)
    returns: "dict[int, Node]" = field(default_factory=dict)
    returned: "list[Node]" = field(default_factory=list)
    references: set[int] = field(default_factory=set)
    this: set[int] = field(default_factory=set)
    # Rust's `impl Trait for Type`: the type, the trait.
    implements: "list[tuple[Node, Node]]" = field(default_factory=list)
    outside: list[tuple[int, int, Scope]] = field(default_factory=list)
    default: Binding | None = None

    def scope_at(self, byte: int) -> Scope:
        """The innermost scope around a byte."""
        scope: Scope | None = self.scopes[max(0, bisect_right(self.starts, byte) - 1)]
        while scope is not None and not scope.start <= byte < scope.end:
            scope = scope.parent
        return scope or self.top

    def class_at(self, byte: int) -> Scope | None:
        """The innermost class around a byte."""
        scope: Scope | None = self.scope_at(byte)
        while scope is not None and scope.kind not in ("class", "members"):
            scope = scope.parent
        return scope

    def visible(self, name: str, byte: int) -> tuple[Scope, list[Binding]] | None:
        """The bindings of `name` in the innermost scope that has any and is seen from `byte`."""
        scope: Scope | None = self.scope_at(byte)
        skipped = {id(owner) for start, end, owner in self.outside if start <= byte < end}
        is_first = True
        while scope is not None:
            seen = id(scope) not in skipped and (scope.kind != "class" or is_first)
            if seen and name in scope.names:
                return scope, scope.names[name]
            is_first = is_first and (scope.kind == "unordered" or id(scope) in skipped)
            scope = scope.parent
        return None


def text_of(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")
