"""The class of an expression, where it is evident: constructors, annotations, `self`, what is returned."""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cockpit.navigation.index.namesakes import TYPE_KINDS
from cockpit.navigation.index.parsed import Parsed
from cockpit.navigation.index.shape import Binding, Scope, text_of
from cockpit.navigation.index.targets import Module, Target, Type, Typed, definition_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.navigation.index.resolving import Resolver

DEPTH = 30
MOST = 4
ALTERNATIVES = frozenset({"boolean_operator", "conditional_expression", "binary_operator", "union_type"})
WRAPPED = frozenset({"Optional", "Union", "Annotated", "Final", "ClassVar", "Type", "type"})


class Types:
    """The half of the resolver that knows classes."""

    def __init__(self, resolver: "Resolver") -> None:
        self.resolver = resolver
        self._known: dict[tuple[str, int], list[Type]] = {}

    def of(self, parsed: Parsed, node: "Node", depth: int = 0) -> list[Type]:
        """What `node` may evaluate to; nothing when that is not evident."""
        if depth > DEPTH or time.monotonic() > self.resolver.until:
            return []
        key = (parsed.path, node.id)
        if key not in self._known:
            # What is asked for again while it is being found out depends on itself.
            self._known[key] = []
            self._known[key] = self._found(parsed, node, depth)
        return self._known[key]

    def _found(self, parsed: Parsed, node: "Node", depth: int) -> list[Type]:
        shape = parsed.shape
        if node.id in shape.this:
            owner = self.resolver.classes.around(parsed, node)
            return [Typed("instance", owner)] if owner else []
        if node.id in shape.calls:
            return self._called(parsed, shape.calls[node.id], node, depth + 1)
        if node.id in shape.accesses:
            of, member = shape.accesses[node.id]
            return self._member_types(parsed, of, member, depth + 1)
        if parsed.is_name(node):
            return self._targets(self.resolver.targets(parsed, node, depth + 1), depth + 1)
        if text_of(node) == "super":
            return self._above(parsed, node, depth)
        inner = node.named_children
        if node.type in ALTERNATIVES:
            return any_of(self.of(parsed, one, depth + 1) for one in inner)
        return self.of(parsed, inner[0], depth + 1) if len(inner) == 1 else []

    def parameters(self, parsed: Parsed, callee: "Node", name: str, depth: int) -> list[Target]:
        """The parameter `name` of what is called; for a class of its constructor, or the field."""
        found: list[Target] = []
        for type_ in self.of(parsed, callee, depth + 1):
            if isinstance(type_, Module):
                continue
            if type_.what == "function":
                found += self._parameter(type_.binding, name)
                continue
            for one in self.resolver.classes.members(type_.binding, "__init__", depth + 1):
                if isinstance(one, Binding):
                    found += self._parameter(one, name)
            found = found or self.resolver.classes.members(type_.binding, name, depth + 1)
        return found

    def _above(self, parsed: Parsed, node: "Node", depth: int, arguments: "Node | None" = None) -> list[Type]:
        """`super()` is what the class around inherits from, `super(C, self)` what `C` does."""
        owner = self.resolver.classes.around(parsed, node)
        if arguments is not None and arguments.named_child_count == 2:
            named = self.of(parsed, arguments.named_children[0], depth + 1)
            owner = next((one.binding for one in named if isinstance(one, Typed)), owner)
        return (
            [Typed("instance", one) for one in self.resolver.classes.bases(owner, depth + 1)] if owner else []
        )

    def _called(self, parsed: Parsed, callee: "Node", call: "Node", depth: int) -> list[Type]:
        name = text_of(callee)
        if name == "super":
            return self._above(parsed, callee, depth, call.named_children[-1])
        if name in ("cls", "self.__class__", "type(self)"):
            return self.of(parsed, callee, depth + 1)
        if name in ("type", "copy", "copy.copy", "copy.deepcopy", "deepcopy"):
            arguments = call.named_children[-1].named_children
            return self.of(parsed, arguments[0], depth + 1) if len(arguments) == 1 else []
        found: list[Type] = []
        for type_ in self.of(parsed, callee, depth + 1):
            if isinstance(type_, Module):
                continue
            if type_.what == "class":
                found.append(Typed("instance", type_.binding))
            elif type_.what == "function":
                found += self._returned(type_.binding, depth + 1)
        return found

    def _returned(self, function: Binding, depth: int) -> list[Type]:
        if function.whole is None or depth > DEPTH:
            return []
        shape = function.parsed.shape
        annotation = shape.returns.get(function.whole.id)
        if annotation is not None:
            return self.annotated(function.parsed, annotation, depth + 1)
        start, end = function.whole.start_byte, function.whole.end_byte
        own = [
            one
            for one in shape.returned
            if start <= one.start_byte < end and self._function_at(function.parsed, one) == start
        ]
        return any_of(self.of(function.parsed, one, depth + 1) for one in own[:MOST])

    def _function_at(self, parsed: Parsed, node: "Node") -> int:
        scope: Scope | None = parsed.shape.scope_at(node.start_byte)
        while scope is not None and ("block" in scope.node.type or scope.kind == "unordered"):
            scope = scope.parent
        return scope.start if scope is not None else -1

    def annotated(self, parsed: Parsed, node: "Node", depth: int = 0) -> list[Type]:
        """The instances an annotation allows. In `Optional[X]` and `X | None` that is `X`."""
        if depth > DEPTH:
            return []
        found: list[Type] = []
        for type_ in self._annotation(parsed, node, depth):
            if isinstance(type_, Typed) and type_.what == "class":
                found.append(Typed("instance", type_.binding))
        return found

    def _annotation(self, parsed: Parsed, node: "Node", depth: int) -> list[Type]:
        if parsed.is_name(node) or node.id in parsed.shape.accesses:
            return self.of(parsed, node, depth + 1)
        inner = node.named_children
        if node.type in ALTERNATIVES:
            return any_of(self._annotation(parsed, one, depth + 1) for one in inner)
        if not inner:
            return []
        if text_of(inner[0]) in WRAPPED and len(inner) > 1:
            return any_of(self._annotation(parsed, one, depth + 1) for one in inner[1:])
        return self._annotation(parsed, inner[0], depth + 1)

    def _parameter(self, function: Binding, name: str) -> list[Target]:
        if function.whole is None:
            return []
        for scope in function.parsed.shape.scopes:
            if scope.start == function.whole.start_byte and scope.kind == "plain":
                found = [one for one in scope.names.get(name, ()) if one.kind in ("parameter", "instance")]
                if found:
                    return [found[0]]
        return []

    def _member_types(self, parsed: Parsed, of: "Node", member: "Node", depth: int) -> list[Type]:
        name = text_of(member)
        owners = self.of(parsed, of, depth + 1)
        if name == "__class__":
            return owners
        targets = self.resolver.members(owners, name, depth + 1)
        found: list[Type] = []
        for one in targets:
            types = self._targets([one], depth + 1)
            if isinstance(one, Binding) and is_property(one):
                types = self._returned(one, depth + 1)
            found += types
        return found

    def _targets(self, targets: Iterable[Target], depth: int) -> list[Type]:
        return any_of(self._target(one, depth) for one in targets)

    def _target(self, target: Target, depth: int) -> list[Type]:
        """What a binding is bound to."""
        if isinstance(target, Module) or depth > DEPTH:
            return [target] if isinstance(target, Module) else []
        parsed = target.parsed
        match target.kind:
            case "def":
                return [Typed("class" if is_class(target) else "function", target)]
            case "instance":
                around = parsed.shape.class_at(target.node.start_byte)
                owner = around.owner if around is not None else None
                return [Typed("instance", owner)] if owner is not None else []
            case "import":
                return self._targets(self.resolver.follow(target, depth + 1), depth + 1)
            case _:
                pass
        if target.type is not None and (found := self.annotated(parsed, target.type, depth + 1)):
            return found
        if target.entered is not None:
            return self._entered(parsed, target.entered, depth + 1)
        return self.of(parsed, target.value, depth + 1) if target.value is not None else []

    def _entered(self, parsed: Parsed, node: "Node", depth: int) -> list[Type]:
        """What `with X() as y` binds: what `__enter__` returns, `X` itself as a rule; a caught exception."""
        found: list[Type] = []
        for type_ in self.of(parsed, node, depth + 1):
            if isinstance(type_, Typed) and type_.what == "instance":
                enters = self.resolver.classes.members(type_.binding, "__enter__", depth + 1)
                entered = [
                    one
                    for enter in enters
                    if isinstance(enter, Binding)
                    for one in self._returned(enter, depth)
                ]
                found += entered or [type_]
            elif isinstance(type_, Typed) and type_.what == "class":
                found.append(Typed("instance", type_.binding))
        return found


def is_property(binding: Binding) -> bool:
    """Whether reading a member calls it."""
    whole = binding.whole
    if whole is None:
        return False
    above = whole.parent
    if above is not None and above.type == "decorated_definition":
        return any("property" in text_of(one) for one in above.children if one.type == "decorator")
    return any(child.type == "get" for child in whole.children)


def is_class(binding: Binding) -> bool:
    known = definition_of(binding)
    if known is not None:
        return known.kind in TYPE_KINDS
    return binding.whole is not None and "class" in binding.whole.type


def any_of(found: Iterable[list[Type]]) -> list[Type]:
    """All of them, each once."""
    kept: dict[tuple[str, int | str], Type] = {}
    for types in found:
        for one in types:
            key = ("", one.path) if isinstance(one, Module) else (one.what, id(one.binding))
            kept.setdefault(key, one)
    return list(kept.values())[:MOST]
