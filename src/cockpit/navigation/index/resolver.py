"""Resolves a name in a file: by scopes, imports and members, and only then by name alone."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cockpit.navigation.index.file_facts import FileCatalog
from cockpit.navigation.index.import_resolver import ImportResolver
from cockpit.navigation.index.name_search import NameLookup
from cockpit.navigation.index.parsed_file import (
    ImportedName,
    NameBinding,
    NameScope,
    ParsedFile,
    ParsedFiles,
    node_text,
)
from cockpit.navigation.index.reaching_definitions import find_at_scope_end, find_reaching
from cockpit.navigation.index.targets import InferredType, ModuleTarget, Target
from cockpit.navigation.index.type_inference import ClassMembers, TypeInference

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 30
MAX_TARGETS = 3


class SymbolResolver:
    """Created for each question, because files may change in between.

    After `until` (monotonic) no more expression types are inferred.
    """

    def __init__(self, files: ParsedFiles, catalog: FileCatalog, until: float = math.inf) -> None:
        self.until = until
        self.files = files
        self.catalog = catalog
        self.modules = ImportResolver(files.root, catalog)
        self.types = TypeInference(self)
        self.classes = ClassMembers(self)
        self.namesakes = NameLookup(files, catalog)

    def targets(self, parsed: ParsedFile, node: "Node", depth: int = 0) -> list[Target]:
        """What the name at `node` refers to, the likeliest first; empty if it is not known."""
        if depth > MAX_DEPTH:
            return []
        shape = parsed.shape
        start = node.start_byte
        bound = shape.bound.get(start)
        if bound is not None and start not in shape.keywords:
            return self._bound(bound, depth)
        if (module := self._module_part(parsed, node)) is not None:
            return module
        if start in shape.members or _object_before_dot(node) is not None:
            return self._member(parsed, node, depth)
        if start in shape.keywords:
            # A keyword argument names a parameter.
            return self.types.parameters(parsed, shape.keywords[start], node_text(node), depth + 1)
        return self.named(parsed, node, depth)

    def named(self, parsed: ParsedFile, node: "Node", depth: int = 0) -> list[Target]:
        """Resolve a bare name by the scopes around it."""
        name = node_text(node)
        visible = parsed.shape.visible(name, node.start_byte)
        if visible is None:
            starred = self.starred(parsed, name, depth)
            return starred or self.classes.inherited(parsed, node, depth) or self._namesakes_of(parsed, name)
        scope, bindings = visible
        here = parsed.shape.scope_at(node.start_byte)
        is_order_kept = scope.kind != "unordered" and (here is scope or _runs_in_order(here, scope))
        reaching = find_reaching(bindings, node) if is_order_kept else find_at_scope_end(bindings)
        return self.all(reaching, depth)

    def exported(self, path: str, name: str, depth: int = 0) -> list[Target]:
        """What `name` refers to in the module at `path`."""
        parsed = self.files.get(path)
        if parsed is not None and depth <= MAX_DEPTH:
            if name == "default" and parsed.shape.default is not None:
                return [parsed.shape.default]
            if bindings := parsed.shape.top.names.get(name):
                return self.all(find_at_scope_end(bindings), depth + 1)
            if starred := self.starred(parsed, name, depth + 1):
                return starred
        submodule = self.modules.submodule(path, name)
        return [ModuleTarget(submodule)] if submodule else []

    def starred(self, parsed: ParsedFile, name: str, depth: int) -> list[Target]:
        """Resolve `name` through `from x import *` and `#include`."""
        for module in parsed.shape.stars if depth <= MAX_DEPTH else ():
            for path in self.modules.files(parsed, module):
                if path != parsed.path and (targets := self.exported(path, name, depth + 1)):
                    return targets
        return []

    def imported(self, parsed: ParsedFile, imported: ImportedName, depth: int = 0) -> list[Target]:
        """What an import refers to; empty if it comes from outside the root."""
        paths = self.modules.files(parsed, imported.module)
        if not imported.name:
            return [ModuleTarget(path) for path in paths]
        for path in paths:
            if targets := self.exported(path, imported.name, depth + 1):
                return targets
        # Java's `import a.b.C`: the name is a file.
        if parsed.language != "python":
            for path in self.modules.files(parsed, f"{imported.module}.{imported.name}"):
                if targets := self.exported(path, imported.name, depth + 1):
                    return targets
        return self._namesakes_of(parsed, imported.name) if paths else []

    def follow(self, binding: NameBinding, depth: int = 0) -> list[Target]:
        """`binding` itself, or what it imports."""
        if binding.imported is None:
            return [binding]
        return self.imported(binding.parsed, binding.imported, depth + 1) if depth <= MAX_DEPTH else []

    def all(self, bindings: Iterable[NameBinding], depth: int) -> list[Target]:
        return _unique(target for binding in bindings for target in self.follow(binding, depth))

    def _bound(self, bound: NameBinding, depth: int) -> list[Target]:
        if bound.imported is not None:
            return self.follow(bound, depth)
        if bound.kind == "attribute":
            return self.classes.declared(bound, depth) or [bound]
        return [bound]

    def _module_part(self, parsed: ParsedFile, node: "Node") -> list[Target] | None:
        """A part of an import's module path: `django` and `db` in `from django.db import x`."""
        above = node.parent
        for _ in range(3):
            if above is None:
                return None
            known = parsed.shape.modules.get(above.start_byte)
            if known is not None and known[0].start_byte <= node.start_byte < known[0].end_byte:
                whole, _ = known
                prefix = parsed.text[whole.start_byte : node.end_byte].decode("utf-8", "replace")
                return [
                    ModuleTarget(path)
                    for path in self.modules.files(parsed, prefix.strip("\"'"))[:MAX_TARGETS]
                ]
            above = above.parent
        return None

    def _member(self, parsed: ParsedFile, node: "Node", depth: int) -> list[Target]:
        name = node_text(node)
        owner = parsed.shape.members.get(node.start_byte) or _object_before_dot(node)
        types = self.types.of(parsed, owner, depth + 1) if owner is not None else []
        targets = self.members(types, name, depth)
        return targets or ([] if types else self.namesakes.sole(parsed, name))

    def members(self, types: Iterable[InferredType], name: str, depth: int = 0) -> list[Target]:
        """`name` in any of `types`."""
        return _unique(
            member
            for type_ in types
            for member in (
                self.exported(type_.path, name, depth + 1)
                if isinstance(type_, ModuleTarget)
                else self.classes.members(type_.binding, name, depth + 1)
            )
        )

    def _namesakes_of(self, parsed: ParsedFile, name: str) -> list[Target]:
        """Top-level definitions of other files, in languages that do not require an import."""
        return [] if requires_imports(parsed) else self.namesakes.tops(parsed, name)


def _unique(targets: Iterable[Target]) -> list[Target]:
    unique: dict[int | str, Target] = {}
    for target in targets:
        unique.setdefault(target.path if isinstance(target, ModuleTarget) else id(target), target)
    return list(unique.values())


def requires_imports(parsed: ParsedFile) -> bool:
    """Whether a name must be bound or imported in the file that uses it."""
    return parsed.language in ("python", "javascript", "typescript", "tsx")


def _runs_in_order(here: NameScope | None, scope: NameScope) -> bool:
    """Whether only blocks and comprehensions separate the scope of the use from the binding scope: they run
    in place, a function runs later."""
    while here is not None and here is not scope:
        runs = here.kind == "unordered" or "block" in here.node.type or "statement" in here.node.type
        if not runs and here.kind != "class":
            return False
        here = here.parent
    return True


def _object_before_dot(node: "Node") -> "Node | None":
    """The expression before the dot in the tokens of a macro, which the grammar does not parse (Rust)."""
    if node.parent is None or node.parent.type != "token_tree":
        return None
    dot = node.prev_sibling
    return dot.prev_sibling if dot is not None and dot.type == "." else None
