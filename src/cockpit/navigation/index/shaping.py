"""The shape of a file out of what a language's `imports` and `scopes` queries matched in it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cockpit.navigation.index.shape import (
    Binding,
    BindingKind,
    Imported,
    Scope,
    ScopeKind,
    Shape,
    text_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from cockpit.navigation.index.parsed import Parsed

Captures = Mapping[str, "list[Node]"]
SCOPES: dict[str, ScopeKind] = {
    "scope": "plain",
    "scope.class": "class",
    "scope.members": "members",
    "scope.unordered": "unordered",
}
BINDINGS: dict[str, BindingKind] = {
    "binding.instance": "instance",
    "binding.def": "def",
    "binding.parameter": "parameter",
    "binding.outer": "variable",
    "binding": "variable",
}
ORDER: tuple[BindingKind, ...] = ("instance", "def", "import", "parameter", "variable", "attribute")


def shaped(parsed: "Parsed", root: "Node", scopes: Sequence[Captures], imports: Sequence[Captures]) -> Shape:
    """The shape of a file out of what its queries matched."""
    shape = _scopes(root, scopes)
    globals_: list[tuple[Scope, str]] = []
    later: list[Captures] = []
    for captures in scopes:
        _facts(shape, captures)
        for node in captures.get("global", ()):
            globals_.append((shape.scope_at(node.start_byte), text_of(node)))
        if "attribute" in captures:
            later.append(captures)
            continue
        for capture, kind in BINDINGS.items():
            for node in captures.get(capture, ()):
                _bind(shape, parsed, capture, kind, node, captures)
    for captures in imports:
        _import(shape, parsed, captures)
    _own(shape, scopes)
    for captures in later:
        _attribute(shape, parsed, captures)
    for scope, name in globals_:
        shape.top.names.setdefault(name, []).extend(scope.names.pop(name, ()))
    return shape


def _scopes(root: "Node", matches: Sequence[Captures]) -> Shape:
    top = Scope("plain", root, 0, max(root.end_byte, 1) + 1)
    found = [top]
    seen = {root.id}
    for captures in matches:
        for capture, kind in SCOPES.items():
            for node in captures.get(capture, ()):
                if node.id not in seen and node.parent is not None:
                    seen.add(node.id)
                    found.append(Scope(kind, node, node.start_byte, node.end_byte))
    # A body of one statement has its span: the outer of the two has more below it.
    found.sort(key=lambda scope: (scope.start, -scope.end, -scope.node.descendant_count))
    stack = [top]
    for scope in found:
        if scope is top:
            continue
        while len(stack) > 1 and stack[-1].end < scope.end:
            stack.pop()
        scope.parent = stack[-1]
        stack.append(scope)
    return Shape(top, found, [scope.start for scope in found])


def _facts(shape: Shape, captures: Captures) -> None:
    for capture, nodes in captures.items():
        match capture:
            case "member":
                shape.members[nodes[0].start_byte] = captures["of"][0]
                if nodes[0].parent is not None:
                    shape.accesses[nodes[0].parent.id] = (captures["of"][0], nodes[0])
            case "call":
                shape.calls[nodes[0].id] = captures["callee"][0]
            case "keyword":
                for node in nodes:
                    shape.keywords[node.start_byte] = captures["callee"][0]
            case "returns":
                shape.returns[captures["function"][0].id] = nodes[0]
            case "return":
                shape.returned += nodes
            case "reference":
                shape.references |= {node.start_byte for node in nodes}
            case "this":
                shape.this |= {node.id for node in nodes}
            case "outside":
                node = nodes[0]
                shape.outside.append((node.start_byte, node.end_byte, shape.scope_at(node.start_byte)))


def _bind(
    shape: Shape, parsed: "Parsed", capture: str, kind: BindingKind, node: "Node", captures: Captures
) -> None:
    known = shape.bound.get(node.start_byte)
    whole = captures["def"][0] if kind == "def" and "def" in captures else None
    scope = shape.scope_at(node.start_byte)
    if whole is not None:
        while scope.parent is not None and _holds(whole, scope):
            scope = scope.parent
    elif capture == "binding.outer":
        scope = scope.parent if scope.kind == "class" and scope.parent is not None else scope
    after = captures["after"][0].end_byte if "after" in captures else node.end_byte
    if known is not None:
        known.effective = max(known.effective, after)
        known.value = known.value or _first(captures, "value")
        known.type = known.type or _first(captures, "type")
        if ORDER.index(kind) < ORDER.index(known.kind):
            known.kind = kind
        return
    value, type_ = _first(captures, "value"), _first(captures, "type")
    entered = _first(captures, "entered")
    fresh = Binding(text_of(node), kind, node, parsed, scope, after, whole, value, type_, entered)
    shape.bound[node.start_byte] = fresh
    scope.names.setdefault(fresh.name, []).append(fresh)
    if "default" in captures and captures["default"][0].start_byte == node.start_byte:
        shape.default = fresh


def _holds(whole: "Node", scope: Scope) -> bool:
    """Whether a scope is a definition's own."""
    inside = whole.start_byte <= scope.start and scope.end <= whole.end_byte
    return inside and scope.node.descendant_count <= whole.descendant_count


def _import(shape: Shape, parsed: "Parsed", captures: Captures) -> None:
    node = captures["module"][0]
    module = text_of(node).strip("\"'<>")
    shape.modules[node.start_byte] = (node, module)
    if "star" in captures:
        shape.stars.append(module)
        return
    names = captures.get("name")
    named = names[0] if names else None
    name = "default" if "default" in captures else text_of(named) if named is not None else ""
    alias = captures["alias"][0] if "alias" in captures else None
    at = alias or named or node
    label = text_of(alias) if alias is not None else name or parsed.bound_by_import(module)
    imported = Imported(module, name)
    if alias is None and not name:
        # `import a.b` binds `a`, and that is what `a` means.
        imported = Imported(parsed.first_of_module(module))
    scope = shape.scope_at(at.start_byte)
    bound = Binding(label, "import", at, parsed, scope, at.end_byte, imported=imported)
    known = shape.bound.get(at.start_byte)
    if known is not None and known in known.scope.names.get(known.name, ()):
        known.scope.names[known.name].remove(known)
    if alias is not None or name:
        shape.bound[at.start_byte] = bound
        if alias is not None and named is not None:
            shape.bound[named.start_byte] = bound
    scope.names.setdefault(label, []).append(bound)


def _own(shape: Shape, matches: Sequence[Captures]) -> None:
    """Give every class scope its owner and its bases."""
    owners = {one.whole.id: one for one in shape.bound.values() if one.whole is not None}
    by_class: dict[int, Scope] = {}
    for scope in shape.scopes:
        if scope.kind not in ("class", "members"):
            continue
        node = scope.node
        while node.parent is not None and node.id not in owners and node.parent.id != shape.top.node.id:
            node = node.parent
        scope.owner = owners.get(node.id)
        by_class.setdefault(node.id, scope)
    for captures in matches:
        if "base" in captures and "class" in captures:
            scope_ = by_class.get(captures["class"][0].id)
            if scope_ is not None:
                scope_.bases += captures["base"]
        if "implements" in captures:
            shape.implements.append((captures["implements"][0], captures["base"][0]))
        if "default" in captures:
            for node in captures["default"]:
                named = shape.top.names.get(text_of(node))
                shape.default = named[-1] if named else shape.default
        for node in captures.get("promoted", ()):
            around = shape.class_at(node.start_byte)
            if around is not None and node.start_byte in shape.bound:
                around.attributes.setdefault(text_of(node), []).append(shape.bound[node.start_byte])


def _attribute(shape: Shape, parsed: "Parsed", captures: Captures) -> None:
    """`self.x = value` sets `x` on the class around it, where the receiver is its instance."""
    node, receiver = captures["attribute"][0], captures["receiver"][0]
    scope = shape.class_at(node.start_byte)
    if scope is None:
        return
    if receiver.id not in shape.this:
        seen = shape.visible(text_of(receiver), receiver.start_byte)
        if seen is None or all(one.kind != "instance" for one in seen[1]):
            return
        holder = seen[0].parent
        scope = holder if holder is not None and holder.kind in ("class", "members") else scope
    known = shape.bound.get(node.start_byte)
    if known is not None:
        known.type = known.type or _first(captures, "type")
        return
    value, type_ = _first(captures, "value"), _first(captures, "type")
    fresh = Binding(text_of(node), "attribute", node, parsed, scope, node.end_byte, value=value, type=type_)
    shape.bound[node.start_byte] = fresh
    scope.attributes.setdefault(fresh.name, []).append(fresh)


def _first(captures: Captures, name: str) -> "Node | None":
    nodes = captures.get(name)
    return nodes[0] if nodes else None
