"""From a name in a file to what it means: scopes, imports, members, and only then namesakes."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cockpit.navigation.index.catalog import Catalog
from cockpit.navigation.index.classes import Classes
from cockpit.navigation.index.modules import Modules
from cockpit.navigation.index.namesakes import Namesakes
from cockpit.navigation.index.parsed import Files, Parsed
from cockpit.navigation.index.reaching import at_end, reaching
from cockpit.navigation.index.shape import Binding, Imported, Scope, text_of
from cockpit.navigation.index.targets import Module, Target, Type
from cockpit.navigation.index.types import Types

if TYPE_CHECKING:
    from tree_sitter import Node

DEPTH = 30
MOST = 3


class Resolver:
    """Made anew for each question: files may have changed in between.

    After `until` (monotonic) no more classes of expressions are found out.
    """

    def __init__(self, files: Files, catalog: Catalog, until: float = math.inf) -> None:
        self.until = until
        self.files = files
        self.catalog = catalog
        self.modules = Modules(files.root, catalog)
        self.types = Types(self)
        self.classes = Classes(self)
        self.namesakes = Namesakes(files, catalog)

    def targets(self, parsed: Parsed, node: "Node", depth: int = 0) -> list[Target]:
        """What the name at `node` means, the likeliest first; nothing when that is not known."""
        if depth > DEPTH:
            return []
        shape = parsed.shape
        start = node.start_byte
        bound = shape.bound.get(start)
        if bound is not None and start not in shape.keywords:
            return self._bound(bound, depth)
        if (module := self._module_part(parsed, node)) is not None:
            return module
        if start in shape.members or _after_dot(node) is not None:
            return self._member(parsed, node, depth)
        if start in shape.keywords:
            return self._keyword(parsed, node, depth)
        return self.named(parsed, node, depth)

    def named(self, parsed: Parsed, node: "Node", depth: int = 0) -> list[Target]:
        """A bare name, by the scopes around it."""
        name = text_of(node)
        seen = parsed.shape.visible(name, node.start_byte)
        if seen is None:
            starred = self.starred(parsed, name, depth)
            return starred or self.classes.inherited(parsed, node, depth) or self._namesakes(parsed, node)
        scope, bindings = seen
        here = parsed.shape.scope_at(node.start_byte)
        is_order_kept = scope.kind != "unordered" and (here is scope or _is_straight(here, scope))
        held = reaching(bindings, node) if is_order_kept else at_end(bindings)
        return self.all(held, depth)

    def exported(self, path: str, name: str, depth: int = 0) -> list[Target]:
        """What `name` is in the module at `path`."""
        parsed = self.files.get(path)
        if parsed is not None and depth <= DEPTH:
            if name == "default" and parsed.shape.default is not None:
                return [parsed.shape.default]
            if bindings := parsed.shape.top.names.get(name):
                return self.all(at_end(bindings), depth + 1)
            if starred := self.starred(parsed, name, depth + 1):
                return starred
        submodule = self.modules.submodule(path, name)
        return [Module(submodule)] if submodule else []

    def starred(self, parsed: Parsed, name: str, depth: int) -> list[Target]:
        """`name` as `from x import *` and `#include` bring it in."""
        for module in parsed.shape.stars if depth <= DEPTH else ():
            for path in self.modules.files(parsed, module):
                if path != parsed.path and (found := self.exported(path, name, depth + 1)):
                    return found
        return []

    def imported(self, parsed: Parsed, imported: Imported, depth: int = 0) -> list[Target]:
        """What an import brings in; nothing when it comes from outside of the root."""
        paths = self.modules.files(parsed, imported.module)
        if not imported.name:
            return [Module(path) for path in paths]
        for path in paths:
            if found := self.exported(path, imported.name, depth + 1):
                return found
        # Java's `import a.b.C`: the file is the name.
        if parsed.language != "python":
            for path in self.modules.files(parsed, f"{imported.module}.{imported.name}"):
                if found := self.exported(path, imported.name, depth + 1):
                    return found
        return self._anywhere_in(parsed, imported.name) if paths else []

    def follow(self, binding: Binding, depth: int = 0) -> list[Target]:
        """`binding`, or what it imports."""
        if binding.imported is None:
            return [binding]
        return self.imported(binding.parsed, binding.imported, depth + 1) if depth <= DEPTH else []

    def all(self, bindings: Iterable[Binding], depth: int) -> list[Target]:
        found: dict[int | str, Target] = {}
        for binding in bindings:
            for one in self.follow(binding, depth):
                found.setdefault(one.path if isinstance(one, Module) else id(one), one)
        return list(found.values())

    def _bound(self, bound: Binding, depth: int) -> list[Target]:
        if bound.imported is not None:
            return self.follow(bound, depth)
        if bound.kind == "attribute":
            return self.classes.declared(bound, depth) or [bound]
        return [bound]

    def _module_part(self, parsed: Parsed, node: "Node") -> list[Target] | None:
        """A step in the module of an import: `django` and `db` in `from django.db import x`."""
        above = node.parent
        for _ in range(3):
            if above is None:
                return None
            known = parsed.shape.modules.get(above.start_byte)
            if known is not None and known[0].start_byte <= node.start_byte < known[0].end_byte:
                whole, _ = known
                prefix = parsed.text[whole.start_byte : node.end_byte].decode("utf-8", "replace")
                return [Module(path) for path in self.modules.files(parsed, prefix.strip("\"'"))[:MOST]]
            above = above.parent
        return None

    def _member(self, parsed: Parsed, node: "Node", depth: int) -> list[Target]:
        name = text_of(node)
        of = parsed.shape.members.get(node.start_byte) or _after_dot(node)
        types = self.types.of(parsed, of, depth + 1) if of is not None else []
        found = self.members(types, name, depth)
        return found or ([] if types else self.namesakes.sole(parsed, name))

    def members(self, types: Iterable[Type], name: str, depth: int = 0) -> list[Target]:
        """`name` in any of `types`."""
        found: dict[int | str, Target] = {}
        for type_ in types:
            members = (
                self.exported(type_.path, name, depth + 1)
                if isinstance(type_, Module)
                else self.classes.members(type_.binding, name, depth + 1)
            )
            for one in members:
                found.setdefault(one.path if isinstance(one, Module) else id(one), one)
        return list(found.values())

    def _keyword(self, parsed: Parsed, node: "Node", depth: int) -> list[Target]:
        """The parameter that a keyword argument names."""
        name = text_of(node)
        callee = parsed.shape.keywords[node.start_byte]
        return self.types.parameters(parsed, callee, name, depth + 1)

    def _namesakes(self, parsed: Parsed, node: "Node") -> list[Target]:
        """Definitions at the top of other files, in languages where no import need say so."""
        if is_closed(parsed):
            return []
        return self._anywhere_in(parsed, text_of(node))

    def _anywhere_in(self, parsed: Parsed, name: str) -> list[Target]:
        if is_closed(parsed):
            return []
        return self.namesakes.tops(parsed, name)[:MOST]


def is_closed(parsed: Parsed) -> bool:
    """Whether a name must be bound or imported in the file that uses it."""
    return parsed.language in ("python", "javascript", "typescript", "tsx")


def _is_straight(here: Scope | None, scope: Scope) -> bool:
    """Whether only blocks and comprehensions lie between a use's scope and the one that binds: they run
    where they stand, a function runs later."""
    while here is not None and here is not scope:
        runs = here.kind == "unordered" or "block" in here.node.type or "statement" in here.node.type
        if not runs and here.kind != "class":
            return False
        here = here.parent
    return True


def _after_dot(node: "Node") -> "Node | None":
    """What stands before the dot in a macro's tokens, which no grammar reads (Rust)."""
    if node.parent is None or node.parent.type != "token_tree":
        return None
    dot = node.prev_sibling
    return dot.prev_sibling if dot is not None and dot.type == "." else None
