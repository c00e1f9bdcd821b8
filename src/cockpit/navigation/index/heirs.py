"""Who inherits from a class, in files that name it."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cockpit.navigation.index.parsed import Parsed
from cockpit.navigation.index.resolving import Resolver
from cockpit.navigation.index.shape import Binding, text_of
from cockpit.navigation.index.targets import Module, Target, Typed

if TYPE_CHECKING:
    from tree_sitter import Node

Key = tuple[str, int]


def key_of(target: Target) -> Key:
    return (target.path, -1) if isinstance(target, Module) else (target.parsed.path, target.node.start_byte)


class Heirs:
    """Looks until `until` (monotonic), then answers what it has."""

    def __init__(self, resolver: Resolver, until: float) -> None:
        self.resolver = resolver
        self._until = until

    def of(self, owner: Binding) -> list[Binding]:
        """The classes that name `owner` among their bases."""
        found: dict[Key, Binding] = {}
        for parsed in files_using(self.resolver, self._until, owner.name):
            for scope in parsed.shape.scopes:
                if scope.owner is None or key_of(scope.owner) in found:
                    continue
                names = (base for base in scope.bases if owner.name in text_of(base))
                if any(key_of(owner) in self._bases(parsed, base) for base in names):
                    found[key_of(scope.owner)] = scope.owner
            for heir, base in parsed.shape.implements:
                if key_of(owner) in self._bases(parsed, base):
                    types = self.resolver.types.of(parsed, heir)
                    found |= {key_of(one.binding): one.binding for one in types if isinstance(one, Typed)}
        return list(found.values())

    def all(self, owner: Binding) -> Iterator[Binding]:
        seen = {key_of(owner)}
        waiting = [owner]
        while waiting and time.monotonic() < self._until:
            for heir in self.of(waiting.pop(0)):
                if key_of(heir) not in seen:
                    seen.add(key_of(heir))
                    waiting.append(heir)
                    yield heir

    def _bases(self, parsed: Parsed, base: "Node") -> set[Key]:
        types = self.resolver.types.of(parsed, base)
        return {key_of(one.binding) for one in types if not isinstance(one, Module)}


def own_members(owner: Binding, name: str) -> list[Binding]:
    scopes = [one for one in owner.parsed.shape.scopes if one.owner is owner]
    return [one for scope in scopes for one in scope.names.get(name, ()) if one.imported is None]


def files_using(resolver: Resolver, until: float, name: str) -> Iterator[Parsed]:
    for facts in sorted(resolver.catalog.using(name), key=lambda one: one.path):
        if time.monotonic() > until:
            return
        if (parsed := resolver.files.get(facts.path)) is not None:
            yield parsed
