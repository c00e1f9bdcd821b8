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
# Where a class declares what is defined elsewhere.
DECLARED = ("c", "cpp")
CONSTRUCTORS = ("__init__", "constructor")


class Classes:
    def __init__(self, resolver: "Resolver") -> None:
        self.resolver = resolver
        self._bases: dict[tuple[str, int], list[Binding]] = {}

    def members(self, owner: Binding, name: str, depth: int = 0) -> list[Target]:
        """`name` in a class or what it inherits from: what its body says before what is set on `self`."""
        for one in self.lineage(owner, depth):
            if one.parsed.language in DECLARED and (found := self.resolver.namesakes.members(one, name)):
                return found
            for scope in self._bodies(one):
                if bindings := scope.names.get(name):
                    return self.resolver.all(at_end(bindings), depth + 1)
            for scope in self._bodies(one):
                if attributes := scope.attributes.get(name):
                    return first_set(attributes)
            if found := self.resolver.namesakes.members(one, name):
                return found
        return []

    def declared(self, attribute: Binding, depth: int) -> list[Target]:
        """Where the class says what `self.x = ...` sets."""
        owner = attribute.scope.owner
        if owner is None:
            return []
        return self.members(owner, attribute.name, depth + 1)

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
        key = (owner.parsed.path, owner.node.start_byte)
        if key not in self._bases:
            self._bases[key] = []
            self._bases[key] = self._found_bases(owner, depth)
        return self._bases[key]

    def _found_bases(self, owner: Binding, depth: int) -> list[Binding]:
        found: list[Binding] = []
        for scope in self._bodies(owner):
            for base in scope.bases:
                for type_ in self.resolver.types.of(owner.parsed, base, depth + 1):
                    if isinstance(type_, Typed) and type_.what != "function":
                        found.append(type_.binding)
        for heir, base in owner.parsed.shape.implements:
            if text_of(heir) == owner.name:
                types = self.resolver.types.of(owner.parsed, base, depth + 1)
                found += [one.binding for one in types if isinstance(one, Typed)]
        return found

    def inherited(self, parsed: Parsed, node: "Node", depth: int) -> list[Target]:
        """A bare name as a member of the class around it, where a language lets one say it so."""
        if "@scope.members" not in parsed.reader.language.queries.get("scopes", ""):
            return []
        owner = self.around(parsed, node)
        return self.members(owner, text_of(node), depth + 1) if owner is not None else []

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


def first_set(attributes: list[Binding]) -> list[Target]:
    """Where `self.x` is set in a constructor; everywhere it is set, when none does."""
    made = [one for one in attributes if _is_in_constructor(one)]
    return list(made or attributes)


def _is_in_constructor(attribute: Binding) -> bool:
    around = attribute.parsed.definition_around(attribute.node.start_point[0] + 1)
    return around is not None and around.name in CONSTRUCTORS
