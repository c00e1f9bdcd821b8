"""How each entry of the Trace is drawn: entry, width and moment to lines. Pure."""

from typing import assert_never

from cockpit.protocol.content import Text
from cockpit.tui import figures
from cockpit.tui.state.entries import (
    Answered,
    Called,
    Delegated,
    Ended,
    Entry,
    Plan,
    Remark,
    Said,
    Shown,
    Thought,
    Welcomed,
)
from cockpit.tui.trace.calls import draw_call, folded
from cockpit.tui.trace.contents import draw_block, markdown
from cockpit.tui.trace.layout import Line, Piece, paragraph, shortened, width_of
from cockpit.tui.trace.moment import MARGIN, SPINNER, Moment
from cockpit.tui.welcome import welcome

# A pasted log, or the text of a skill, is not scrolled past again and again.
SAID = 16


def draw_entry(entry: Entry, width: int, moment: Moment) -> list[Line]:
    """The lines of `entry`."""
    match entry:
        case Welcomed():
            return _welcomed(entry, width)
        case Said():
            return _said(entry, width)
        case Thought():
            return _thought(entry, width, moment)
        case Answered():
            return markdown(entry.text, width, MARGIN)
        case Called():
            return draw_call(entry, width, moment)
        case Delegated():
            return _delegated(entry, width, moment)
        case Remark():
            return _remark(entry, width)
        case Shown():
            return _shown(entry, width)
        case Plan():
            return _plan(entry, width)
        case Ended():
            return _ended(entry, width)
        case _:
            assert_never(entry)


def gap_before(entry: Entry, previous: Entry | None) -> int:
    """Blank lines above `entry`: none between calls, one between everything else."""
    if previous is None:
        return 0
    if isinstance(entry, Called | Delegated) and isinstance(previous, Called | Delegated):
        return 0
    return 1


def _welcomed(entry: Welcomed, width: int) -> list[Line]:
    return welcome(
        entry.project,
        entry.path,
        width,
        model=entry.model,
        counts=entry.counts,
        tries=entry.tries,
        note=entry.note,
    )


def _said(entry: Said, width: int) -> list[Line]:
    bar: list[Piece] = [(" ", "body"), ("▌ ", "person/surface")]
    text = entry.text.expandtabs(4)
    key = "muted/surface" if entry.rewound else "body/surface+b"
    lines = paragraph(text, width - 2, key=key, first=bar, rest=bar, fill="body/surface")
    if entry.rewound:
        lines[0].right = [("rewound ", "muted/surface+i")]
    elif entry.steer:
        lines[0].right = [("while it ran ", "muted/surface+i")]
    elif entry.origin not in ("tui", "headless", ""):
        lines[0].right = [(f"{entry.origin} ", "muted/surface+i")]
    return lines if entry.expanded else folded(lines, SAID)


def _thought(entry: Thought, width: int, moment: Moment) -> list[Line]:
    if not entry.done:
        words = " ".join(entry.text[-400:].split())
        room = width - 16
        tail = (
            words
            if width_of(words) <= room
            else "…" + words[-max(1, room // 2 if not words.isascii() else room) :]
        )
        return [
            Line(
                [
                    (" ", "body"),
                    (SPINNER[moment.step % 10], "machine"),
                    (" thinking  ", "muted"),
                    (tail, "faint+i"),
                ],
                indent=3,
            )
        ]
    took = f"thought for {figures.span(entry.seconds)}" if entry.seconds >= 0.1 else "thought"
    sign = "▾" if entry.expanded else "▸"
    lines = [Line([(f" {sign} ", "faint"), (took, "muted+i")], indent=3)]
    if entry.expanded:
        bar: list[Piece] = [("   │ ", "faint")]
        lines += paragraph(entry.text.strip(), min(width, 104), key="muted+i", first=bar, rest=bar)
    return lines


def _delegated(entry: Delegated, width: int, moment: Moment) -> list[Line]:
    running = not entry.done
    sign, key = (SPINNER[moment.step % 10], "machine") if running else ("✓", "good")
    if entry.done and entry.done != "end_turn":
        sign, key = "■", "warn"
    doing = entry.activity if running else {"end_turn": "done"}.get(entry.done, entry.done)
    right: list[Piece] = [(f"{figures.count(entry.calls, 'call')} ", "faint")]
    name = entry.agent.removeprefix("main/")
    shown = shortened(doing, max(8, width - width_of(name) - 20))
    pieces: list[Piece] = [
        (" ", "body"),
        (sign, key),
        (" ", "body"),
        (name, "body+b"),
        (f"  {shown}", "muted"),
    ]
    lines = [Line(pieces, right=right, indent=3)]
    if entry.expanded and entry.text:
        lines += markdown(entry.text, width, 5)
    return lines


def _remark(entry: Remark, width: int) -> list[Line]:
    sign, key = {"note": ("·", "muted"), "warning": ("▲", "warn"), "error": ("✗", "bad")}[entry.level]
    first: list[Piece] = [(" ", "body"), (sign + " ", key)]
    rest: list[Piece] = [("   ", "body")]
    text = f"{entry.source}: {entry.text}" if entry.source else entry.text
    lines = paragraph(
        text, min(width, 104), key="muted" if entry.level == "note" else "body", first=first, rest=rest
    )
    if entry.hint:
        arrow: list[Piece] = [("   → ", key)]
        lines += paragraph(entry.hint, min(width, 104), key="muted", first=arrow, rest=[("     ", "body")])
    return lines


def _shown(entry: Shown, width: int) -> list[Line]:
    lines: list[Line] = []
    for number, block in enumerate(entry.blocks):
        if number and not (isinstance(block, Text) and isinstance(entry.blocks[number - 1], Text)):
            lines.append(Line([]))
        lines += draw_block(block, width, MARGIN)
    return lines if entry.expanded is not False else folded(lines, 1)


def _plan(entry: Plan, width: int) -> list[Line]:
    keys = {"approved": "good", "rejected": "bad", "pending": "person", "set aside": "muted"}
    key, word = keys.get(entry.state, "machine"), {"pending": "waits for you"}.get(entry.state, entry.state)
    title: list[Piece] = [(" ", "body"), ("▌ ", key), ("PLAN  ", "body+b"), (word, key)]
    if entry.note:
        title.append((f"  {shortened(entry.note, max(10, width - 40))}", "muted+i"))
    return [Line(title, indent=3), *markdown(entry.text, width, MARGIN)]


def _ended(entry: Ended, width: int) -> list[Line]:
    facts = [figures.count(entry.steps, "step")] if entry.steps else []
    if entry.calls:
        facts.append(figures.count(entry.calls, "call"))
    if entry.denied:
        facts.append(f"{entry.denied} refused")
    facts.append(figures.span(entry.seconds))
    used = entry.usage.input + entry.usage.output
    if used:
        facts += [f"{figures.tokens(used)} tokens", figures.cost(entry.usage.cost)]
    text = " · ".join(facts)
    word, key = _end_word(entry)
    if not word:
        rule = "─" * 2
        return [Line([(f" {rule} ", "faint"), (text, "faint")], indent=4)]
    first: list[Piece] = [(" ", "body"), (f"{word} ", key), (f"· {text}", "faint")]
    lines = [Line(first, indent=1)]
    if entry.message:
        rest: list[Piece] = [("   ", "body")]
        lines += paragraph(entry.message, min(width, 104), key="body", first=rest, rest=rest)
    return lines


def _end_word(entry: Ended) -> tuple[str, str]:
    match entry.stop_reason:
        case "end_turn":
            return "", ""
        case "cancelled":
            return "■ interrupted", "muted"
        case "max_turn_requests":
            limit = (entry.limit or "steps").replace("_", " ")
            return f"▲ stopped at the limit of {limit}", "warn"
        case "max_tokens":
            return "▲ the model's limit cut the answer", "warn"
        case "refusal":
            return "▲ the model refused", "warn"
        case "error":
            return "✗ failed", "bad"
