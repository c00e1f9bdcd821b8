"""The first entry of the Trace: folder, model and three prompts to try."""

from collections.abc import Mapping, Sequence

from cockpit.tui.render.layout import Piece, StyledLine, shorten, shorten_path

_INDENT = " " * 4


def welcome_lines(
    project: str,
    path: str,
    width: int,
    *,
    model: str = "",
    counts: Mapping[str, int] | None = None,
    tries: Sequence[str] = (),
    note: str = "",
) -> list[StyledLine]:
    """The lines of the welcome; facts that are not known yet are shown as an ellipsis."""
    room = max(20, width - 6)
    lines: list[list[Piece]] = [
        [],
        [],
        [
            (_INDENT, "body"),
            ("━━", "machine"),
            ("◆", "person+b"),
            ("━━", "machine"),
            ("  cockpit", "heading+b"),
        ],
        [],
        [(_INDENT, "body"), (shorten(project, room), "body+b")],
        [(_INDENT, "body"), (shorten_path(path, room), "muted")],
        [],
        _fact_pieces("model", model or "…"),
        _count_pieces(counts),
    ]
    if note:
        lines.append([(_INDENT, "body"), ("▲ ", "warn"), (shorten(note, room), "body")])
    if tries:
        lines += [[], [(_INDENT + "Try", "heading")]]
        for number, text in enumerate(tries, 1):
            lines.append([(f"{_INDENT}{number}  ", "person"), (shorten(text, room - 4), "body")])
    lines += [[], _key_pieces(room)]
    return [StyledLine(pieces) for pieces in lines]


def _fact_pieces(label: str, value: str) -> list[Piece]:
    return [(f"{_INDENT}{label:<8}", "muted"), (value, "body")]


def _count_pieces(counts: Mapping[str, int] | None) -> list[Piece]:
    if counts is None:
        return _fact_pieces("tools", "…")
    pieces = _fact_pieces("tools", str(counts.get("tools", 0)))
    for name, word in (("skills", "skills"), ("mcp_servers", "servers")):
        pieces += [(f"   {word} ", "muted"), (str(counts.get(name, 0)), "body")]
    return pieces


def _key_pieces(room: int) -> list[Piece]:
    pieces: list[Piece] = [(_INDENT, "body")]
    used = 4
    for key, label in (
        ("/", "commands"),
        ("@", "files"),
        ("!", "shell"),
        ("Ctrl+P", "everything"),
        ("F1", "keys"),
    ):
        used += len(key) + len(label) + 4
        if used > room + 4:
            break
        pieces += [(key, "person"), (f" {label}   ", "faint")]
    return pieces
