"""Classes: their bodies, their bases, what they and those they inherit from define."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cockpit.navigation.index.parsed import Parsed
from cockpit.navigation.index.reaching import at_end
from cockpit.navigation.index.shape import Binding, Scope, text_of
from cockpit.navigation.index.targets import Target, Typed

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.navigation.index.resolving import Resolver

MOST_BASES = 60


class Classes:
    def __init__(self, resolver: "Resolver") -> None:
        self.resolver = resolver

    def members(self, owner: Binding, name: str, depth: int = 0) -> list[Target]:
        """`name` in a class or what it inherits from: what its body says before what is set on `self`."""
        for one in self.lineage(owner, depth):
            for scope in self._bodies(one):
                if bindings := scope.names.get(name):
                    return self.resolver.all(at_end(bindings), depth + 1)
            for scope in self._bodies(one):
                if attributes := scope.attributes.get(name):
                    return list(attributes)
            if found := self.resolver.namesakes.members(one, name):
                return found
        return []

    def declared(self, attribute: Binding, depth: int) -> list[Target]:
        """Where the class says what `self.x = ...` sets."""
        owner = attribute.scope.owner
        if owner is None:
            return []
        found = self.members(owner, attribute.name, depth + 1)
        others = [one for one in found if isinstance(one, Binding) and one.kind == "attribute"]
        return [attribute] if attribute in others else found

    def lineage(self, owner: Binding, depth: int = 0) -> Iterator[Binding]:
        """A class and its bases, each once, the nearest first."""
        seen: set[int] = set()
        waiting = [owner]
        while waiting and len(seen) < MOST_BASES:
            one = waiting.pop(0)
            if id(one) in seen:
                continue
            seen.add(id(one))
            yield one
            waiting = self.bases(one, depth + 1) + waiting

    def bases(self, owner: Binding, depth: int = 0) -> list[Binding]:
        found: list[Binding] = []
        for scope in self._bodies(owner):
            for base in scope.bases:
                for type_ in self.resolver.types.of(owner.parsed, base, depth + 1):
                    if isinstance(type_, Typed) and type_.what != "function":
                        found.append(type_.binding)
        return found

    def inherited(self, parsed: Parsed, node: "Node", depth: int) -> list[Target]:
        """A bare name as a member of the class around it, where a language lets one say it so."""
        scope = parsed.shape.class_at(node.start_byte)
        if scope is None or scope.kind != "members" or scope.owner is None:
            return []
        return self.members(scope.owner, text_of(node), depth + 1)

    def around(self, parsed: Parsed, node: "Node") -> Binding | None:
        """The class around a node: its definition, or the one an `impl` or a receiver names."""
        scope = parsed.shape.class_at(node.start_byte)
        if scope is not None and scope.owner is not None:
            return scope.owner
        enclosing = parsed.definition_around(node.start_point[0] + 1)
        if enclosing is None or not enclosing.container:
            return None
        for one in self.resolver.namesakes.tops(parsed, enclosing.container.rpartition(".")[2]):
            if isinstance(one, Binding):
                return one
        return None

    def _bodies(self, owner: Binding) -> list[Scope]:
        if owner.whole is None:
            return []
        shape = owner.parsed.shape
        return [one for one in shape.scopes if one.kind in ("class", "members") and one.owner is owner]
