"""Which bindings of a name hold where it is used: the nearest before it, and those that may be.

An approximation of data flow on syntax: a binding in another branch of the same `if` cannot hold, one in a
block that returns does not leave it, one in a loop also reaches that loop's beginning.
"""

import re
from typing import TYPE_CHECKING

from cockpit.navigation.index.parsed_file import NameBinding

if TYPE_CHECKING:
    from tree_sitter import Node

CONDITIONAL = re.compile(
    r"^(if_|elif_|else_|for_|while_|try_|except_|catch_|case_|match_|switch_|loop_|do_|with_never"
    r"|enhanced_for|expression_case|type_case|conditional_|select_|finally_never)"
)
BRANCHING = re.compile(r"^(if_|match_|switch_|expression_switch|type_switch|select_|conditional_)")
LOOP = re.compile(r"^(for_|while_|loop_|do_|enhanced_for)")
EXITS = re.compile(r"^(return|raise|throw)")


def find_reaching(bindings: list[NameBinding], use: "Node") -> list[NameBinding]:
    """Those of `bindings` (of one scope) that may hold at `use`, the likeliest first."""
    if len(bindings) == 1:
        return bindings
    line = ancestors(use)
    place = {node.id: at for at, node in enumerate(line)}
    before = sorted(
        (one for one in bindings if one.effective <= use.start_byte or _is_binding_of(one, use)),
        key=lambda one: -one.effective,
    )
    held: list[NameBinding] = []
    closed = False
    for one in before:
        way = _path_to_use(one.node, place, line)
        if way is None:
            continue
        maybe, leaves, common = way
        if leaves or _is_bound_on_all_paths(common, held, place, line, one):
            continue
        held.append(one)
        if not maybe:
            closed = True
            break
    round_ = _find_in_loops(bindings, use, line, held, closed)
    return held + round_ or sorted(bindings, key=lambda one: one.node.start_byte)


def find_at_scope_end(bindings: list[NameBinding]) -> list[NameBinding]:
    """Those that may hold at the end of their scope, the last first."""
    if len(bindings) == 1:
        return bindings
    held: list[NameBinding] = []
    for one in sorted(bindings, key=lambda one: -one.effective):
        held.append(one)
        if not _is_conditional(one):
            break
    return held


def ancestors(node: "Node") -> "list[Node]":
    """`node` and what it stands in, outwards."""
    found = [node]
    above = node.parent
    while above is not None:
        found.append(above)
        above = above.parent
    return found


def _is_binding_of(one: NameBinding, use: "Node") -> bool:
    return one.node.start_byte == use.start_byte


def _is_conditional(one: NameBinding) -> bool:
    end = one.scope.node.id
    above = one.node.parent
    while above is not None and above.id != end:
        if CONDITIONAL.match(above.type):
            return True
        above = above.parent
    return False


def _path_to_use(node: "Node", place: dict[int, int], line: "list[Node]") -> "tuple[bool, bool, Node] | None":
    """From a binding up to what it shares with the use: may it be skipped, does it leave before; None
    when both stand in different branches."""
    maybe = leaves = False
    below, above = node, node.parent
    while above is not None and above.id not in place:
        if CONDITIONAL.match(above.type):
            maybe = True
        below, above = above, above.parent
        leaves = leaves or _exits(below)
    if above is None:
        return True, False, line[-1]
    if BRANCHING.match(above.type) and below.id not in place:
        at = place[above.id]
        mine = line[at - 1] if at else None
        if mine is not None and _is_branch(below) and _is_branch(mine):
            return None
    if CONDITIONAL.match(above.type) and _is_branch(below) and below.id not in place:
        maybe = True
    return maybe, leaves, above


def _is_branch(node: "Node") -> bool:
    return (
        "block" in node.type or "clause" in node.type or "case" in node.type or node.type == "statement_list"
    )


def _exits(node: "Node") -> bool:
    if "block" not in node.type and node.type != "statement_list":
        return False
    last = node.named_child(node.named_child_count - 1) if node.named_child_count else None
    return last is not None and bool(EXITS.match(last.type))


def _is_bound_on_all_paths(
    common: "Node", held: list[NameBinding], place: dict[int, int], line: "list[Node]", one: NameBinding
) -> bool:
    """Whether `if` and `else` between this binding and the use bind the name in every branch."""
    if not held:
        return False
    for later in held:
        node = later.node.parent
        while node is not None and node.id not in place:
            if (
                node.type == "if_statement"
                and one.node.end_byte <= node.start_byte
                and _binds_in_every_branch(node, held)
            ):
                return True
            node = node.parent
    return False


def _binds_in_every_branch(choice: "Node", held: list[NameBinding]) -> bool:
    """Whether every branch of an `if` binds the name or leaves, and there is an `else`."""
    branches = [child for child in choice.named_children if _is_branch(child)]
    if not branches or branches[-1].type != "else_clause":
        return False
    return all(
        _exits(branch.named_children[-1] if "clause" in branch.type and branch.named_children else branch)
        or any(branch.start_byte <= one.node.start_byte < branch.end_byte for one in held)
        for branch in branches
    )


def _find_in_loops(
    bindings: list[NameBinding], use: "Node", line: "list[Node]", held: list[NameBinding], closed: bool
) -> list[NameBinding]:
    """Bindings later in a loop around the use, where nothing in that loop always binds before."""
    loops = [node for node in line if LOOP.match(node.type)]
    if not loops:
        return []
    if closed:
        last = held[-1].node.start_byte
        loops = [node for node in loops if not node.start_byte <= last]
    if not loops:
        return []
    outer = loops[-1]
    known = {id(one) for one in held}
    return [
        one
        for one in bindings
        if id(one) not in known
        and use.end_byte <= one.effective <= outer.end_byte
        and one.node.start_byte >= outer.start_byte
    ]
