"""Which definitions one statement makes together: `a = b = 2`, `const a = 1, b = 2`. Pure."""

import ast
import textwrap
from collections.abc import Sequence

from cockpit.builtin.navigation.splicing import Piece
from cockpit.plugin.navigation import Position
from cockpit.protocol.code import SymbolRow


def sharing(piece: Piece, at: Position, rows: Sequence[SymbolRow]) -> tuple[str, ...]:
    """The names that `piece`, the statement around `at`, defines beside each other; `rows` are the file's
    definitions. What stands inside of one of them does not count."""
    inside = [row for row in rows if _is_inside(row, piece)]
    if not inside:
        return ()
    named = [row for row in inside if (row.line, row.column) == (at.line, at.column)]
    meant = named[0] if named else min(inside, key=_depth)
    names = [row.name for row in inside if _depth(row) <= _depth(meant)]
    if piece.path.endswith((".py", ".pyi")):
        names += _assigned(piece.own.decode("utf-8", "replace"))
    return tuple(dict.fromkeys(names))


def _depth(row: SymbolRow) -> int:
    return row.container.count(".") + 1 if row.container else 0


def _is_inside(row: SymbolRow, piece: Piece) -> bool:
    """Whether the name of a definition stands in the statement."""
    first = piece.above.count(b"\n") + 1
    if not first <= row.line <= first + piece.own.count(b"\n"):
        return False
    lines = (piece.above.rpartition(b"\n")[2] + piece.own).split(b"\n")
    before = lines[row.line - first].decode("utf-8", "replace")[: row.column - 1]
    offset = sum(len(line) + 1 for line in lines[: row.line - first]) + len(before.encode())
    begins = len(piece.above.rpartition(b"\n")[2])
    return begins <= offset < begins + len(piece.own)


def _assigned(text: str) -> list[str]:
    """The names that a Python assignment sets, when it is one: a definition's tags name only the first."""
    try:
        body = ast.parse(textwrap.dedent(text).strip()).body
    except (SyntaxError, ValueError):
        return []
    if len(body) != 1 or not isinstance(body[0], ast.Assign):
        return []
    return [
        ast.unparse(node)
        for target in body[0].targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]
