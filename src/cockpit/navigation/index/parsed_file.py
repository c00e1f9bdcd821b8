"""A parsed source file: text, tree, definitions, and its scopes with what each binds.

Scopes, imports, classes and member accesses come from the `imports` and `scopes` queries of a language;
nothing here knows a particular language.
"""

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cockpit.navigation.index.definitions import IndexedDefinition, SourceLines, find_definition_nodes
from cockpit.navigation.index.file_facts import MAX_FILE_BYTES, is_generated
from cockpit.navigation.index.grammars import LanguageParser, LanguageParsers
from cockpit.settings import file_io

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


BindingKind = Literal["def", "parameter", "instance", "variable", "import", "attribute"]
ScopeKind = Literal["plain", "class", "members", "unordered"]
SCOPE_KINDS: dict[str, ScopeKind] = {
    "scope": "plain",
    "scope.class": "class",
    "scope.members": "members",
    "scope.unordered": "unordered",
}
BINDING_KINDS: dict[str, BindingKind] = {
    "binding.instance": "instance",
    "binding.def": "def",
    "binding.parameter": "parameter",
    "binding.outer": "variable",
    "binding": "variable",
}
KIND_ORDER: tuple[BindingKind, ...] = ("instance", "def", "import", "parameter", "variable", "attribute")
MAX_CACHED_FILES = 96
NAME_NODE = re.compile(r"identifier|^constant$|^type_identifier$")


@dataclass(frozen=True, slots=True)
class ImportedName:
    """What an import names: `name` of `module`; the module itself if `name` is empty."""

    module: str
    name: str = ""


@dataclass(slots=True, eq=False)
class NameBinding:
    """A name that is bound at `node`, in effect from `effective` (a byte offset) on.

    `whole` is the node of a definition. `value`, `type` and `entered` are evidence of what it is bound to: an
    expression, an annotation, the expression of a `with`.
    """

    name: str
    kind: BindingKind
    node: "Node"
    parsed: "ParsedFile"
    scope: "NameScope"
    effective: int
    whole: "Node | None" = None
    value: "Node | None" = None
    type: "Node | None" = None
    entered: "Node | None" = None
    imported: ImportedName | None = None


@dataclass(slots=True, eq=False)
class NameScope:
    kind: ScopeKind
    node: "Node"
    start: int
    end: int
    parent: "NameScope | None" = None
    names: dict[str, list[NameBinding]] = field(default_factory=dict)
    # Set on an instance of this class: `self.x = ...`.
    attributes: dict[str, list[NameBinding]] = field(default_factory=dict)
    bases: "list[Node]" = field(default_factory=list)
    owner: NameBinding | None = None


@dataclass(slots=True, eq=False)
class FileScopes:
    """Scopes and syntax facts of a file. Nodes are looked up by their first byte, expressions by their id."""

    top: NameScope
    scopes: list[NameScope]
    starts: list[int]
    bound: dict[int, NameBinding] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    modules: "dict[int, tuple[Node, str]]" = field(default_factory=dict)
    members: "dict[int, Node]" = field(default_factory=dict)
    accesses: "dict[int, tuple[Node, Node]]" = field(default_factory=dict)
    calls: "dict[int, Node]" = field(default_factory=dict)
    keywords: "dict[int, Node]" = field(default_factory=dict)
    returns: "dict[int, Node]" = field(default_factory=dict)
    returned: "list[Node]" = field(default_factory=list)
    references: set[int] = field(default_factory=set)
    this: set[int] = field(default_factory=set)
    # Rust's `impl Trait for Type`: the type, the trait.
    implements: "list[tuple[Node, Node]]" = field(default_factory=list)
    outside: list[tuple[int, int, NameScope]] = field(default_factory=list)
    default: NameBinding | None = None

    def scope_at(self, byte: int) -> NameScope:
        """The innermost scope around a byte."""
        scope: NameScope | None = self.scopes[max(0, bisect_right(self.starts, byte) - 1)]
        while scope is not None and not scope.start <= byte < scope.end:
            scope = scope.parent
        return scope or self.top

    def class_at(self, byte: int) -> NameScope | None:
        """The innermost class around a byte."""
        scope: NameScope | None = self.scope_at(byte)
        while scope is not None and scope.kind not in ("class", "members"):
            scope = scope.parent
        return scope

    def visible(self, name: str, byte: int) -> tuple[NameScope, list[NameBinding]] | None:
        """The bindings of `name` in the innermost scope that has any and is visible from `byte`."""
        scope: NameScope | None = self.scope_at(byte)
        skipped = {id(owner) for start, end, owner in self.outside if start <= byte < end}
        is_first = True
        while scope is not None:
            is_visible = id(scope) not in skipped and (scope.kind != "class" or is_first)
            if is_visible and name in scope.names:
                return scope, scope.names[name]
            is_first = is_first and (scope.kind == "unordered" or id(scope) in skipped)
            scope = scope.parent
        return None


def node_text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


Captures = Mapping[str, "list[Node]"]


def build_scopes(
    parsed: "ParsedFile", root: "Node", scopes: Sequence[Captures], imports: Sequence[Captures]
) -> FileScopes:
    """The scopes of a file, built from the matches of its queries."""
    shape = _build_scope_tree(root, scopes)
    globals_: list[tuple[NameScope, str]] = []
    later: list[Captures] = []
    for captures in scopes:
        _record_facts(shape, captures)
        for node in captures.get("global", ()):
            globals_.append((shape.scope_at(node.start_byte), node_text(node)))
        if "attribute" in captures:
            later.append(captures)
            continue
        for capture, kind in BINDING_KINDS.items():
            for node in captures.get(capture, ()):
                _add_binding(shape, parsed, capture, kind, node, captures)
    for captures in imports:
        _add_import(shape, parsed, captures)
    _assign_owners(shape, scopes)
    for captures in later:
        _add_attribute(shape, parsed, captures)
    for scope, name in globals_:
        shape.top.names.setdefault(name, []).extend(scope.names.pop(name, ()))
    return shape


def _build_scope_tree(root: "Node", matches: Sequence[Captures]) -> FileScopes:
    top = NameScope("plain", root, 0, max(root.end_byte, 1) + 1)
    scopes = [top]
    seen_ids = {root.id}
    for captures in matches:
        for capture, kind in SCOPE_KINDS.items():
            for node in captures.get(capture, ()):
                if node.id not in seen_ids and node.parent is not None:
                    seen_ids.add(node.id)
                    scopes.append(NameScope(kind, node, node.start_byte, node.end_byte))
    # A body of one statement has the same span as the statement: the outer node has more descendants.
    scopes.sort(key=lambda scope: (scope.start, -scope.end, -scope.node.descendant_count))
    stack = [top]
    for scope in scopes:
        if scope is top:
            continue
        while len(stack) > 1 and stack[-1].end < scope.end:
            stack.pop()
        scope.parent = stack[-1]
        stack.append(scope)
    return FileScopes(top, scopes, [scope.start for scope in scopes])


def _record_facts(shape: FileScopes, captures: Captures) -> None:
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


def _add_binding(
    shape: FileScopes, parsed: "ParsedFile", capture: str, kind: BindingKind, node: "Node", captures: Captures
) -> None:
    known = shape.bound.get(node.start_byte)
    whole = captures["def"][0] if kind == "def" and "def" in captures else None
    scope = shape.scope_at(node.start_byte)
    if whole is not None:
        while scope.parent is not None and _contains_scope(whole, scope):
            scope = scope.parent
    elif capture == "binding.outer":
        scope = scope.parent if scope.kind == "class" and scope.parent is not None else scope
    after = captures["after"][0].end_byte if "after" in captures else node.end_byte
    if known is not None:
        known.effective = max(known.effective, after)
        known.value = known.value or _first_node(captures, "value")
        known.type = known.type or _first_node(captures, "type")
        if KIND_ORDER.index(kind) < KIND_ORDER.index(known.kind):
            known.kind = kind
        return
    fresh = NameBinding(node_text(node), kind, node, parsed, scope, after, whole)
    fresh.value, fresh.type, fresh.entered = (
        _first_node(captures, name) for name in ("value", "type", "entered")
    )
    shape.bound[node.start_byte] = fresh
    scope.names.setdefault(fresh.name, []).append(fresh)
    if "default" in captures and captures["default"][0].start_byte == node.start_byte:
        shape.default = fresh


def _contains_scope(whole: "Node", scope: NameScope) -> bool:
    inside = whole.start_byte <= scope.start and scope.end <= whole.end_byte
    return inside and scope.node.descendant_count <= whole.descendant_count


def _add_import(shape: FileScopes, parsed: "ParsedFile", captures: Captures) -> None:
    node = captures["module"][0]
    module = node_text(node).strip("\"'<>")
    shape.modules[node.start_byte] = (node, module)
    if "star" in captures:
        shape.stars.append(module)
        return
    names = captures.get("name")
    named = names[0] if names else None
    name = "default" if "default" in captures else node_text(named) if named is not None else ""
    alias = captures["alias"][0] if "alias" in captures else None
    at = alias or named or node
    label = node_text(alias) if alias is not None else name
    imported = ImportedName(module, name)
    if not label and parsed.language == "python":
        # `import a.b` binds `a`, the module `a`.
        label = module.split(".")[0]
        imported = ImportedName(label)
    elif not label:
        # Go's `import "x.y/sub"` binds `sub`.
        label = re.split(r"[./:]+", module)[-1]
    scope = shape.scope_at(at.start_byte)
    bound = NameBinding(label, "import", at, parsed, scope, at.end_byte, imported=imported)
    known = shape.bound.get(at.start_byte)
    if known is not None and known in known.scope.names.get(known.name, ()):
        known.scope.names[known.name].remove(known)
    if alias is not None or name:
        shape.bound[at.start_byte] = bound
        if alias is not None and named is not None:
            shape.bound[named.start_byte] = bound
    scope.names.setdefault(label, []).append(bound)


def _assign_owners(shape: FileScopes, matches: Sequence[Captures]) -> None:
    """Give every class scope its owner and its bases."""
    owners = {binding.whole.id: binding for binding in shape.bound.values() if binding.whole is not None}
    by_class: dict[int, NameScope] = {}
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
            class_scope = by_class.get(captures["class"][0].id)
            if class_scope is not None:
                class_scope.bases += captures["base"]
        if "implements" in captures:
            shape.implements.append((captures["implements"][0], captures["base"][0]))
        if "default" in captures:
            for node in captures["default"]:
                named = shape.top.names.get(node_text(node))
                shape.default = named[-1] if named else shape.default
        for node in captures.get("promoted", ()):
            around = shape.class_at(node.start_byte)
            if around is not None and node.start_byte in shape.bound:
                around.attributes.setdefault(node_text(node), []).append(shape.bound[node.start_byte])


def _add_attribute(shape: FileScopes, parsed: "ParsedFile", captures: Captures) -> None:
    """`self.x = value` sets `x` on the class around it if the receiver is an instance of it."""
    node, receiver = captures["attribute"][0], captures["receiver"][0]
    scope = shape.class_at(node.start_byte)
    if scope is None:
        return
    if receiver.id not in shape.this:
        visible = shape.visible(node_text(receiver), receiver.start_byte)
        if visible is None or all(binding.kind != "instance" for binding in visible[1]):
            return
        holder = visible[0].parent
        scope = holder if holder is not None and holder.kind in ("class", "members") else scope
    known = shape.bound.get(node.start_byte)
    if known is not None:
        known.type = known.type or _first_node(captures, "type")
        return
    value, type_ = _first_node(captures, "value"), _first_node(captures, "type")
    fresh = NameBinding(
        node_text(node), "attribute", node, parsed, scope, node.end_byte, value=value, type=type_
    )
    shape.bound[node.start_byte] = fresh
    scope.attributes.setdefault(fresh.name, []).append(fresh)


def _first_node(captures: Captures, name: str) -> "Node | None":
    nodes = captures.get(name)
    return nodes[0] if nodes else None


class ParsedFile:
    """One version of one file. `path` is relative to the root."""

    def __init__(self, path: str, text: bytes, reader: LanguageParser, tree: "Tree") -> None:
        self.path = path
        self.text = text
        self.reader = reader
        self.tree = tree

    @cached_property
    def lines(self) -> SourceLines:
        return SourceLines(self.text)

    @cached_property
    def definition_nodes(self) -> "list[tuple[IndexedDefinition, Node]]":
        return find_definition_nodes(self.reader, self.tree, self.text)

    @cached_property
    def definitions(self) -> list[IndexedDefinition]:
        return [row for row, _ in self.definition_nodes]

    @cached_property
    def definitions_by_position(self) -> dict[tuple[int, int], IndexedDefinition]:
        return {(definition.line, definition.column): definition for definition in self.definitions}

    @cached_property
    def shape(self) -> FileScopes:
        return build_scopes(self, self.tree.root_node, self._matches("scopes"), self._matches("imports"))

    @property
    def language(self) -> str:
        return self.reader.name

    def _matches(self, name: str) -> "list[dict[str, list[Node]]]":
        from tree_sitter import QueryCursor

        query = self.reader.query(name)
        if query is None:
            return []
        return [captures for _, captures in QueryCursor(query).matches(self.tree.root_node)]

    def node_at(self, line: int, column: int) -> "Node | None":
        """The name at a position, or the name that ends just before it. Both numbers count from 1."""
        if not 1 <= line <= len(self.lines.lines):
            return None
        row, byte = line - 1, self.lines.byte(line, column)
        for at in (byte, byte - 1):
            if at < 0:
                continue
            node = self.tree.root_node.descendant_for_point_range((row, at), (row, at + 1))
            if node is not None and self.is_name(node):
                return node
        return None

    def is_name(self, node: "Node") -> bool:
        if node.child_count:
            return False
        return bool(NAME_NODE.search(node.type)) or node.start_byte in self.shape.references

    def names_of(self, word: str) -> "Iterator[Node]":
        """Every identifier equal to `word`, outside strings and comments."""
        root = self.tree.root_node
        for match in re.finditer(rb"(?<![\w$])" + re.escape(word.encode()) + rb"(?![\w$])", self.text):
            node = root.descendant_for_byte_range(match.start(), match.end())
            if node is not None and node.start_byte == match.start() and self.is_name(node):
                yield node

    def definition_around(self, line: int) -> IndexedDefinition | None:
        """The innermost definition whose lines contain `line`."""
        around = [
            definition
            for definition in self.definitions
            if definition.first <= line <= definition.last
            and definition.kind not in ("variable", "constant", "field")
        ]
        return max(reversed(around), key=lambda definition: definition.first, default=None)


class ParsedFiles:
    """Cache of parsed files. The state on disk is checked each time before a cached file is used."""

    def __init__(self, root: str, readers: LanguageParsers) -> None:
        self.root = root
        self.readers = readers
        self._cache: OrderedDict[str, tuple[tuple[int, int], ParsedFile | None]] = OrderedDict()

    def get(self, path: str) -> ParsedFile | None:
        """The parsed file; None if it does not exist, is left out, or no language can parse it."""
        file = Path(self.root, path)
        try:
            stat = file.stat()
        except OSError:
            return None
        state = (stat.st_mtime_ns, stat.st_size)
        known = self._cache.get(path)
        if known is not None and known[0] == state:
            self._cache.move_to_end(path)
            return known[1]
        fresh = self._parse(path, file, stat.st_size)
        self._cache[path] = (state, fresh)
        while len(self._cache) > MAX_CACHED_FILES:
            self._cache.popitem(last=False)
        return fresh

    def _parse(self, path: str, place: Path, size: int) -> ParsedFile | None:
        if size > MAX_FILE_BYTES or not self.readers.candidates(path):
            return None
        try:
            text = file_io.read_bytes(place, MAX_FILE_BYTES)
        except OSError:
            return None
        if is_generated(text):
            return None
        parsed = self.readers.parse(path, text)
        return ParsedFile(path, text, *parsed) if parsed is not None else None
