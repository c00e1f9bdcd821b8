"""Infers the class of an expression where it is evident (constructors, annotations, `self`, return values),
and the members and bases of classes."""

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from cockpit.navigation.index.name_search import TYPE_KINDS, NameLookup
from cockpit.navigation.index.parsed_file import NameBinding, NameScope, ParsedFile, node_text
from cockpit.navigation.index.reaching_definitions import find_at_scope_end
from cockpit.navigation.index.targets import InferredType, ModuleTarget, Target, TypedValue, find_definition

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_BASES = 60
# Languages in which a class declares what is defined elsewhere.
HEADER_LANGUAGES = ("c", "cpp")
CONSTRUCTORS = ("__init__", "constructor")
MAX_DEPTH = 30
MAX_TYPES = 4
UNION_TYPES = frozenset({"boolean_operator", "conditional_expression", "binary_operator", "union_type"})
WRAPPER_NAMES = frozenset({"Optional", "Union", "Annotated", "Final", "ClassVar", "Type", "type"})


class NameResolution(Protocol):
    """What type inference needs of `resolver.SymbolResolver`, which in turn uses type inference."""

    until: float
    namesakes: NameLookup
    types: "TypeInference"
    classes: "ClassMembers"

    def targets(self, parsed: ParsedFile, node: "Node", depth: int = 0) -> list[Target]: ...
    def members(self, types: Iterable[InferredType], name: str, depth: int = 0) -> list[Target]: ...
    def follow(self, binding: NameBinding, depth: int = 0) -> list[Target]: ...
    def all(self, bindings: Iterable[NameBinding], depth: int) -> list[Target]: ...


class ClassMembers:
    """Members and bases of classes, inherited ones included."""

    def __init__(self, resolver: NameResolution) -> None:
        self.resolver = resolver
        self._bases: dict[tuple[str, int], list[NameBinding]] = {}

    def members(self, owner: NameBinding, name: str, depth: int = 0) -> list[Target]:
        """`name` in a class or its bases: what a body defines before what is set on `self`."""
        for base in self.lineage(owner, depth):
            if base.parsed.language in HEADER_LANGUAGES and (
                targets := self.resolver.namesakes.members(base, name)
            ):
                return targets
            for scope in self._bodies(base):
                if bindings := scope.names.get(name):
                    return self.resolver.all(find_at_scope_end(bindings), depth + 1)
            for scope in self._bodies(base):
                if attributes := scope.attributes.get(name):
                    return constructor_assignments(attributes)
            if targets := self.resolver.namesakes.members(base, name):
                return targets
        return []

    def declared(self, attribute: NameBinding, depth: int) -> list[Target]:
        """Where the class declares what `self.x = ...` sets."""
        owner = attribute.scope.owner
        return self.members(owner, attribute.name, depth + 1) if owner is not None else []

    def lineage(self, owner: NameBinding, depth: int = 0) -> Iterator[NameBinding]:
        """A class and its bases, each once, the nearest first."""
        visited: set[int] = set()
        pending = [owner]
        while pending and len(visited) < MAX_BASES:
            current = pending.pop(0)
            if id(current) in visited:
                continue
            visited.add(id(current))
            yield current
            pending = self.bases(current, depth + 1) + pending

    def bases(self, owner: NameBinding, depth: int = 0) -> list[NameBinding]:
        key = (owner.parsed.path, owner.node.start_byte)
        if key not in self._bases:
            self._bases[key] = []
            self._bases[key] = self._find_bases(owner, depth)
        return self._bases[key]

    def _find_bases(self, owner: NameBinding, depth: int) -> list[NameBinding]:
        nodes = [base for scope in self._bodies(owner) for base in scope.bases]
        nodes += [base for class_, base in owner.parsed.shape.implements if node_text(class_) == owner.name]
        types = (type_ for node in nodes for type_ in self.resolver.types.of(owner.parsed, node, depth + 1))
        return [
            type_.binding for type_ in types if isinstance(type_, TypedValue) and type_.what != "function"
        ]

    def inherited(self, parsed: ParsedFile, node: "Node", depth: int) -> list[Target]:
        """A bare name as a member of the class around it, in languages that allow this."""
        if "@scope.members" not in parsed.reader.language.queries.get("scopes", ""):
            return []
        owner = self.around(parsed, node)
        return self.members(owner, node_text(node), depth + 1) if owner is not None else []

    def around(self, parsed: ParsedFile, node: "Node") -> NameBinding | None:
        """The class around a node: by its body, or named by an `impl` or a receiver."""
        scope = parsed.shape.class_at(node.start_byte)
        if scope is not None and scope.owner is not None:
            return scope.owner
        enclosing = parsed.definition_around(node.start_point[0] + 1)
        if enclosing is None or not enclosing.container:
            return None
        targets = self.resolver.namesakes.tops(parsed, enclosing.container.rpartition(".")[2])
        return next((target for target in targets if isinstance(target, NameBinding)), None)

    def _bodies(self, owner: NameBinding) -> list[NameScope]:
        if owner.whole is None:
            return []
        scopes = owner.parsed.shape.scopes
        return [scope for scope in scopes if scope.kind in ("class", "members") and scope.owner is owner]


def constructor_assignments(attributes: list[NameBinding]) -> list[Target]:
    """Where a constructor sets `self.x`; every assignment if no constructor does."""

    def is_in_constructor(attribute: NameBinding) -> bool:
        around = attribute.parsed.definition_around(attribute.node.start_point[0] + 1)
        return around is not None and around.name in CONSTRUCTORS

    return [attribute for attribute in attributes if is_in_constructor(attribute)] or [*attributes]


class TypeInference:
    """Infers what expressions evaluate to."""

    def __init__(self, resolver: NameResolution) -> None:
        self.resolver = resolver
        self._known: dict[tuple[str, int], list[InferredType]] = {}

    def of(self, parsed: ParsedFile, node: "Node", depth: int = 0) -> list[InferredType]:
        """The types that `node` may evaluate to; empty if that is not evident."""
        if depth > MAX_DEPTH or time.monotonic() > self.resolver.until:
            return []
        key = (parsed.path, node.id)
        if key not in self._known:
            # A recursive question about the same node finds this empty entry.
            self._known[key] = []
            self._known[key] = self._infer(parsed, node, depth)
        return self._known[key]

    def _infer(self, parsed: ParsedFile, node: "Node", depth: int) -> list[InferredType]:
        shape = parsed.shape
        if node.id in shape.this:
            owner = self.resolver.classes.around(parsed, node)
            return [TypedValue("instance", owner)] if owner else []
        if node.id in shape.calls:
            return self._called(parsed, shape.calls[node.id], node, depth + 1)
        if node.id in shape.accesses:
            of, member = shape.accesses[node.id]
            return self._member_types(parsed, of, member, depth + 1)
        if parsed.is_name(node):
            return self._targets(self.resolver.targets(parsed, node, depth + 1), depth + 1)
        if node_text(node) == "super":
            return self._super_types(parsed, node, depth)
        children = node.named_children
        if node.type in UNION_TYPES:
            return merge_types(self.of(parsed, child, depth + 1) for child in children)
        return self.of(parsed, children[0], depth + 1) if len(children) == 1 else []

    def parameters(self, parsed: ParsedFile, callee: "Node", name: str, depth: int) -> list[Target]:
        """The parameter `name` of the called function; for a class, of its constructor, or the field."""
        targets: list[Target] = []
        for type_ in self.of(parsed, callee, depth + 1):
            if isinstance(type_, ModuleTarget):
                continue
            if type_.what == "function":
                targets += self._parameter(type_.binding, name)
                continue
            for member in self.resolver.classes.members(type_.binding, "__init__", depth + 1):
                if isinstance(member, NameBinding):
                    targets += self._parameter(member, name)
            targets = targets or self.resolver.classes.members(type_.binding, name, depth + 1)
        return targets

    def _super_types(
        self, parsed: ParsedFile, node: "Node", depth: int, arguments: "Node | None" = None
    ) -> list[InferredType]:
        """`super()` is what the surrounding class inherits from; `super(C, self)` what `C` does."""
        owner = self.resolver.classes.around(parsed, node)
        if arguments is not None and arguments.named_child_count == 2:
            named = self.of(parsed, arguments.named_children[0], depth + 1)
            owner = next((type_.binding for type_ in named if isinstance(type_, TypedValue)), owner)
        bases = self.resolver.classes.bases(owner, depth + 1) if owner is not None else []
        return [TypedValue("instance", base) for base in bases]

    def _called(self, parsed: ParsedFile, callee: "Node", call: "Node", depth: int) -> list[InferredType]:
        name = node_text(callee)
        if name == "super":
            return self._super_types(parsed, callee, depth, call.named_children[-1])
        if name in ("cls", "self.__class__", "type(self)"):
            return self.of(parsed, callee, depth + 1)
        if name in ("type", "copy", "copy.copy", "copy.deepcopy", "deepcopy"):
            arguments = call.named_children[-1].named_children
            return self.of(parsed, arguments[0], depth + 1) if len(arguments) == 1 else []
        types: list[InferredType] = []
        for type_ in self.of(parsed, callee, depth + 1):
            if isinstance(type_, TypedValue) and type_.what == "function":
                types += self._returned(type_.binding, depth + 1)
            else:
                types += instances([type_])
        return types

    def _returned(self, function: NameBinding, depth: int) -> list[InferredType]:
        if function.whole is None or depth > MAX_DEPTH:
            return []
        shape = function.parsed.shape
        annotation = shape.returns.get(function.whole.id)
        if annotation is not None:
            return self.annotated(function.parsed, annotation, depth + 1)
        start, end = function.whole.start_byte, function.whole.end_byte
        statements = [
            statement
            for statement in shape.returned
            if start <= statement.start_byte < end and self._function_at(function.parsed, statement) == start
        ]
        return merge_types(
            self.of(function.parsed, statement, depth + 1) for statement in statements[:MAX_TYPES]
        )

    def _function_at(self, parsed: ParsedFile, node: "Node") -> int:
        scope: NameScope | None = parsed.shape.scope_at(node.start_byte)
        while scope is not None and ("block" in scope.node.type or scope.kind == "unordered"):
            scope = scope.parent
        return scope.start if scope is not None else -1

    def annotated(self, parsed: ParsedFile, node: "Node", depth: int = 0) -> list[InferredType]:
        """The instances that an annotation allows. In `Optional[X]` and `X | None` that is `X`."""
        return instances(self._annotation(parsed, node, depth)) if depth <= MAX_DEPTH else []

    def _annotation(self, parsed: ParsedFile, node: "Node", depth: int) -> list[InferredType]:
        if parsed.is_name(node) or node.id in parsed.shape.accesses:
            return self.of(parsed, node, depth + 1)
        children = node.named_children
        if node.type in UNION_TYPES:
            return merge_types(self._annotation(parsed, child, depth + 1) for child in children)
        if not children:
            return []
        if node_text(children[0]) in WRAPPER_NAMES and len(children) > 1:
            return merge_types(self._annotation(parsed, child, depth + 1) for child in children[1:])
        return self._annotation(parsed, children[0], depth + 1)

    def _parameter(self, function: NameBinding, name: str) -> list[Target]:
        if function.whole is None:
            return []
        for scope in function.parsed.shape.scopes:
            if scope.start == function.whole.start_byte and scope.kind == "plain":
                for binding in scope.names.get(name, ()):
                    if binding.kind in ("parameter", "instance"):
                        return [binding]
        return []

    def _member_types(self, parsed: ParsedFile, of: "Node", member: "Node", depth: int) -> list[InferredType]:
        name = node_text(member)
        owners = self.of(parsed, of, depth + 1)
        if name == "__class__":
            return owners
        types: list[InferredType] = []
        for target in self.resolver.members(owners, name, depth + 1):
            if isinstance(target, NameBinding) and is_property(target):
                types += self._returned(target, depth + 1)
            else:
                types += self._targets([target], depth + 1)
        return types

    def _targets(self, targets: Iterable[Target], depth: int) -> list[InferredType]:
        return merge_types(self._target(target, depth) for target in targets)

    def _target(self, target: Target, depth: int) -> list[InferredType]:
        """The types of the value that a name is bound to."""
        if isinstance(target, ModuleTarget):
            return [target]
        if depth > MAX_DEPTH:
            return []
        parsed = target.parsed
        match target.kind:
            case "def":
                return [TypedValue("class" if is_class_binding(target) else "function", target)]
            case "instance":
                around = parsed.shape.class_at(target.node.start_byte)
                owner = around.owner if around is not None else None
                return [TypedValue("instance", owner)] if owner is not None else []
            case "import":
                return self._targets(self.resolver.follow(target, depth + 1), depth + 1)
            case _:
                pass
        if target.type is not None and (types := self.annotated(parsed, target.type, depth + 1)):
            return types
        if target.entered is not None:
            return self._entered(parsed, target.entered, depth + 1)
        return self.of(parsed, target.value, depth + 1) if target.value is not None else []

    def _entered(self, parsed: ParsedFile, node: "Node", depth: int) -> list[InferredType]:
        """What `with X() as y` binds: what `__enter__` returns, usually `X` itself; or a caught exception."""
        types: list[InferredType] = []
        for type_ in self.of(parsed, node, depth + 1):
            if isinstance(type_, TypedValue) and type_.what == "instance":
                enters = self.resolver.classes.members(type_.binding, "__enter__", depth + 1)
                methods = [enter for enter in enters if isinstance(enter, NameBinding)]
                types += [value for enter in methods for value in self._returned(enter, depth)] or [type_]
            else:
                types += instances([type_])
        return types


def instances(types: Iterable[InferredType]) -> list[InferredType]:
    """An instance of each class among `types`; others are left out."""
    classes = [type_ for type_ in types if isinstance(type_, TypedValue) and type_.what == "class"]
    return [TypedValue("instance", type_.binding) for type_ in classes]


def is_property(binding: NameBinding) -> bool:
    """Whether reading this member calls it."""
    whole = binding.whole
    if whole is None:
        return False
    above = whole.parent
    if above is not None and above.type == "decorated_definition":
        return any("property" in node_text(child) for child in above.children if child.type == "decorator")
    return any(child.type == "get" for child in whole.children)


def is_class_binding(binding: NameBinding) -> bool:
    known = find_definition(binding)
    if known is not None:
        return known.kind in TYPE_KINDS
    return binding.whole is not None and "class" in binding.whole.type


def merge_types(lists: Iterable[list[InferredType]]) -> list[InferredType]:
    """All types, each once."""
    unique: dict[tuple[str, int | str], InferredType] = {}
    for types in lists:
        for type_ in types:
            key = ("", type_.path) if isinstance(type_, ModuleTarget) else (type_.what, id(type_.binding))
            unique.setdefault(key, type_)
    return list(unique.values())[:MAX_TYPES]
