"""Reaching definitions: which bindings of a name may be in effect where it is used, the nearest first.

Approximates data flow on the syntax tree: a binding in another branch of the same `if` has no effect, one in
a block that returns does not leave that block, one in a loop also reaches the beginning of the loop.
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
    """Those of `bindings` (of one scope) that may be in effect at `use`, the likeliest first."""
    if len(bindings) == 1:
        return bindings
    use_ancestors = ancestors(use)
    depths = {node.id: depth for depth, node in enumerate(use_ancestors)}
    before = [
        binding
        for binding in bindings
        if binding.effective <= use.start_byte or binding.node.start_byte == use.start_byte
    ]
    reaching: list[NameBinding] = []
    is_certain = False
    for binding in sorted(before, key=lambda binding: -binding.effective):
        path = _path_to_use(binding.node, depths, use_ancestors)
        if path is None:
            continue
        maybe, leaves = path
        if leaves or _is_bound_on_all_paths(reaching, depths, binding):
            continue
        reaching.append(binding)
        if not maybe:
            is_certain = True
            break
    from_loops = _find_in_loops(bindings, use, use_ancestors, reaching, is_certain)
    return reaching + from_loops or sorted(bindings, key=lambda binding: binding.node.start_byte)


def find_at_scope_end(bindings: list[NameBinding]) -> list[NameBinding]:
    """Those that may be in effect at the end of their scope, the last first."""
    if len(bindings) == 1:
        return bindings
    reaching: list[NameBinding] = []
    for binding in sorted(bindings, key=lambda binding: -binding.effective):
        reaching.append(binding)
        if not _is_conditional(binding):
            break
    return reaching


def ancestors(node: "Node") -> "list[Node]":
    """`node` and its ancestors, innermost first."""
    nodes = [node]
    above = node.parent
    while above is not None:
        nodes.append(above)
        above = above.parent
    return nodes


def _is_conditional(binding: NameBinding) -> bool:
    end = binding.scope.node.id
    above = binding.node.parent
    while above is not None and above.id != end:
        if CONDITIONAL.match(above.type):
            return True
        above = above.parent
    return False


def _path_to_use(
    node: "Node", depths: dict[int, int], use_ancestors: "list[Node]"
) -> tuple[bool, bool] | None:
    """From a binding up to the ancestor it shares with the use: whether it may be skipped, and whether its
    block exits. None if both are in different branches."""
    maybe = leaves = False
    below, above = node, node.parent
    while above is not None and above.id not in depths:
        if CONDITIONAL.match(above.type):
            maybe = True
        below, above = above, above.parent
        leaves = leaves or _exits(below)
    if above is None:
        return True, False
    if BRANCHING.match(above.type) and below.id not in depths:
        depth = depths[above.id]
        use_branch = use_ancestors[depth - 1] if depth else None
        if use_branch is not None and _is_branch(below) and _is_branch(use_branch):
            return None
    if CONDITIONAL.match(above.type) and _is_branch(below) and below.id not in depths:
        maybe = True
    return maybe, leaves


def _is_branch(node: "Node") -> bool:
    return (
        "block" in node.type or "clause" in node.type or "case" in node.type or node.type == "statement_list"
    )


def _exits(node: "Node") -> bool:
    if "block" not in node.type and node.type != "statement_list":
        return False
    last = node.named_child(node.named_child_count - 1) if node.named_child_count else None
    return last is not None and bool(EXITS.match(last.type))


def _is_bound_on_all_paths(reaching: list[NameBinding], depths: dict[int, int], binding: NameBinding) -> bool:
    """Whether an `if` and `else` between this binding and the use bind the name in every branch."""
    for later in reaching:
        node = later.node.parent
        while node is not None and node.id not in depths:
            is_later_choice = node.type == "if_statement" and binding.node.end_byte <= node.start_byte
            if is_later_choice and _binds_in_every_branch(node, reaching):
                return True
            node = node.parent
    return False


def _binds_in_every_branch(choice: "Node", reaching: list[NameBinding]) -> bool:
    """Whether every branch of an `if` binds the name or exits, and there is an `else`."""
    branches = [child for child in choice.named_children if _is_branch(child)]
    if not branches or branches[-1].type != "else_clause":
        return False
    return all(
        _exits(branch.named_children[-1] if "clause" in branch.type and branch.named_children else branch)
        or any(branch.start_byte <= binding.node.start_byte < branch.end_byte for binding in reaching)
        for branch in branches
    )


def _find_in_loops(
    bindings: list[NameBinding],
    use: "Node",
    use_ancestors: "list[Node]",
    reaching: list[NameBinding],
    is_certain: bool,
) -> list[NameBinding]:
    """Bindings later in a loop around the use, if nothing in that loop always binds before it."""
    loops = [node for node in use_ancestors if LOOP.match(node.type)]
    if is_certain:
        loops = [node for node in loops if node.start_byte > reaching[-1].node.start_byte]
    if not loops:
        return []
    outermost = loops[-1]
    known_ids = {id(binding) for binding in reaching}
    return [
        binding
        for binding in bindings
        if id(binding) not in known_ids
        and use.end_byte <= binding.effective <= outermost.end_byte
        and binding.node.start_byte >= outermost.start_byte
    ]
