"""Draws the entries of the Trace.

A tool call is one line that changes in place, with its output folded below it.
"""

from typing import assert_never

from cockpit.protocol.content import Diff, Text
from cockpit.protocol.safe_text import clean_output
from cockpit.tui.render.blocks import draw_block, draw_markdown
from cockpit.tui.render.layout import (
    MARGIN,
    SPINNER,
    Moment,
    Piece,
    StyledLine,
    cell_width,
    layout_paragraph,
    shorten,
)
from cockpit.tui.render.number_format import format_cost, format_count, format_duration, format_tokens
from cockpit.tui.render.welcome import welcome_lines
from cockpit.tui.state.entries import (
    AnswerEntry,
    CallEntry,
    Entry,
    OutputEntry,
    PlanEntry,
    PromptEntry,
    RemarkEntry,
    SubagentEntry,
    ThoughtEntry,
    TurnEndEntry,
    WelcomeEntry,
)

MAX_PROMPT_LINES = 16
"""Lines of a folded prompt: a pasted log, or the text of a skill, need not be scrolled past each time."""
_FOLDED_TAIL = 6
_FOLDED_DIFF = 14
_MAX_OUTPUT_LINES = 4_000

_STATUS_SIGNS: dict[str, tuple[str, str]] = {
    "running": ("⠹", "machine"),
    "waiting": ("◇", "person+b"),
    "ok": ("✓", "good"),
    "error": ("✗", "bad"),
    "denied": ("⊘", "warn"),
    "cancelled": ("■", "muted"),
    "interrupted": ("■", "warn"),
    "repeated": ("↺", "warn"),
}
_STATUS_WORDS = {
    "waiting": "waits for you",
    "denied": "refused",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
    "repeated": "not run again",
    "error": "failed",
}


def draw_entry(entry: Entry, width: int, moment: Moment) -> list[StyledLine]:
    """The lines of any entry."""
    match entry:
        case WelcomeEntry():
            return _draw_welcome(entry, width)
        case PromptEntry():
            return _draw_prompt(entry, width)
        case ThoughtEntry():
            return _draw_thought(entry, width, moment)
        case AnswerEntry():
            return draw_markdown(entry.text, width, MARGIN)
        case CallEntry():
            return draw_call(entry, width, moment)
        case SubagentEntry():
            return _draw_subagent(entry, width, moment)
        case RemarkEntry():
            return _draw_remark(entry, width)
        case OutputEntry():
            return _draw_output(entry, width)
        case PlanEntry():
            return _draw_plan(entry, width)
        case TurnEndEntry():
            return _draw_turn_end(entry, width)
        case _:
            assert_never(entry)


def gap_before(entry: Entry, previous: Entry | None) -> int:
    """How many blank lines are above `entry`: none between calls, one between other entries."""
    if previous is None:
        return 0
    if isinstance(entry, CallEntry | SubagentEntry) and isinstance(previous, CallEntry | SubagentEntry):
        return 0
    return 1


def draw_call(entry: CallEntry, width: int, moment: Moment) -> list[StyledLine]:
    sign, key = ("⊘", "faint") if _is_plan_denial(entry) else _STATUS_SIGNS[entry.status]
    if entry.status == "running":
        sign = SPINNER[moment.step % 10]
    verb, _, rest = entry.title.partition(" ")
    right = _call_facts(entry, moment)
    room = width - 4 - sum(cell_width(text) for text, _ in right)
    title = shorten(f"{verb} {rest}" if rest else verb, max(10, room))
    pieces: list[Piece] = [(" ", "body"), (sign, key), (" ", "body"), (title[: len(verb)], "body+b")]
    pieces.append((title[len(verb) :], "muted" if entry.status == "ok" else "body"))
    if entry.asked_by == "person":
        pieces.append(("  by you", "person"))
    return [StyledLine(pieces, right=right, indent=3), *_call_output(entry, width)]


def _call_facts(entry: CallEntry, moment: Moment) -> list[Piece]:
    if entry.status == "running":
        seconds = max(0.0, moment.now - entry.began)
        return [(f"{seconds:.0f}s ", "machine")] if seconds >= 1 else []
    if _is_plan_denial(entry):
        return [("not in plan mode ", "faint")]
    if word := _STATUS_WORDS.get(entry.status):
        return [(f"{word} ", _STATUS_SIGNS[entry.status][1].removesuffix("+b"))]
    pieces: list[Piece] = []
    diffs = [block for block in entry.blocks if isinstance(block, Diff)]
    if diffs:
        added, removed = sum(d.added for d in diffs), sum(d.removed for d in diffs)
        pieces += [(f"+{added}", "good"), (" ", "body"), (f"-{removed}", "bad"), (" ", "body")]
    elif entry.text and entry.kind in ("read", "search", "execute", "fetch"):
        pieces.append((format_count(entry.text.rstrip("\n").count("\n") + 1, "line") + " ", "faint"))
    if entry.seconds >= 0.1:
        pieces.append((f" {format_duration(entry.seconds)} ", "faint"))
    return pieces


def _call_output(entry: CallEntry, width: int) -> list[StyledLine]:
    if entry.status in ("running", "waiting"):
        return _bar_lines([clean_output(line) for line in entry.tail[-_FOLDED_TAIL - 1 :]], width, "muted")
    if entry.expanded and (entry.blocks or entry.text.strip()):
        return _full_output(entry, width)
    if entry.expanded is False or _is_plan_denial(entry):
        return []
    diffs = [block for block in entry.blocks if isinstance(block, Diff)]
    if diffs:
        lines = [line for block in diffs for line in draw_block(block, width, 5)]
        if len(diffs) == 1:
            del lines[0]  # the call's own line names the file
        return fold_lines(lines, _FOLDED_DIFF)
    if not entry.text.strip():
        return []
    if entry.status in ("error", "denied"):
        key = "body" if entry.status == "error" else "warn"
        return _bar_lines(_last_lines(entry.text, _FOLDED_TAIL), width, key)
    if entry.kind == "execute":
        return _bar_lines(_last_lines(entry.text, _FOLDED_TAIL), width, "muted")
    if entry.asked_by == "person":
        return fold_lines(_full_output(entry, width), 2 * _FOLDED_TAIL)
    return []


def _is_plan_denial(entry: CallEntry) -> bool:
    """Whether plan mode refused the call: that is expected, so it is one quiet line."""
    return entry.status == "denied" and entry.text.startswith("denied: plan mode")


def _full_output(entry: CallEntry, width: int) -> list[StyledLine]:
    if entry.blocks:
        lines: list[StyledLine] = []
        for block in entry.blocks:
            lines += draw_block(block, width, 5)
    else:
        lines = _bar_lines(entry.text.rstrip("\n").split("\n"), width, "muted")
    if len(lines) > _MAX_OUTPUT_LINES:
        more = f"… {len(lines) - _MAX_OUTPUT_LINES:,} more lines"
        lines[_MAX_OUTPUT_LINES:] = [StyledLine([("   │ ", "faint"), (more, "muted+i")], indent=5)]
    return lines


def _last_lines(text: str, most: int) -> list[str]:
    """The last lines of `text`, below a line that counts those before them."""
    lines = text.rstrip("\n").split("\n")
    if len(lines) <= most + 1:
        return lines
    return [f"… {len(lines) - most:,} lines above (Ctrl+O)", *lines[-most:]]


def fold_lines(lines: list[StyledLine], most: int) -> list[StyledLine]:
    """The first `most` lines, above a line that counts the others."""
    if len(lines) <= most + 1:
        return lines
    more = StyledLine(
        [(" " * 5, "body"), (f"… {len(lines) - most:,} more lines (Ctrl+O)", "muted+i")], indent=5
    )
    return [*lines[:most], more]


def _bar_lines(texts: list[str], width: int, key: str) -> list[StyledLine]:
    bar: list[Piece] = [("   │ ", "faint")]
    lines: list[StyledLine] = []
    for text in texts:
        lines += layout_paragraph(text.expandtabs(4), width - 1, key=key, first=bar, rest=bar)
    return lines


def _draw_welcome(entry: WelcomeEntry, width: int) -> list[StyledLine]:
    return welcome_lines(
        entry.project,
        entry.path,
        width,
        model=entry.model,
        counts=entry.counts,
        tries=entry.tries,
        note=entry.note,
    )


def _draw_prompt(entry: PromptEntry, width: int) -> list[StyledLine]:
    bar: list[Piece] = [(" ", "body"), ("▌ ", "person/surface")]
    text = entry.text.expandtabs(4)
    key = "muted/surface" if entry.rewound else "body/surface+b"
    lines = layout_paragraph(text, width - 2, key=key, first=bar, rest=bar, fill="body/surface")
    if entry.rewound:
        lines[0].right = [("rewound ", "muted/surface+i")]
    elif entry.steer:
        lines[0].right = [("while it ran ", "muted/surface+i")]
    elif entry.origin not in ("tui", "headless", ""):
        lines[0].right = [(f"{entry.origin} ", "muted/surface+i")]
    return lines if entry.expanded else fold_lines(lines, MAX_PROMPT_LINES)


def _draw_thought(entry: ThoughtEntry, width: int, moment: Moment) -> list[StyledLine]:
    if not entry.done:
        words = " ".join(entry.text[-400:].split())
        room = width - 16
        if cell_width(words) > room:
            words = "…" + words[-max(1, room if words.isascii() else room // 2) :]
        pieces: list[Piece] = [(" ", "body"), (SPINNER[moment.step % 10], "machine")]
        return [StyledLine([*pieces, (" thinking  ", "muted"), (words, "faint+i")], indent=3)]
    took = f"thought for {format_duration(entry.seconds)}" if entry.seconds >= 0.1 else "thought"
    sign = "▾" if entry.expanded else "▸"
    lines = [StyledLine([(f" {sign} ", "faint"), (took, "muted+i")], indent=3)]
    if entry.expanded:
        bar: list[Piece] = [("   │ ", "faint")]
        lines += layout_paragraph(entry.text.strip(), min(width, 104), key="muted+i", first=bar, rest=bar)
    return lines


def _draw_subagent(entry: SubagentEntry, width: int, moment: Moment) -> list[StyledLine]:
    running = not entry.done
    sign, key = (SPINNER[moment.step % 10], "machine") if running else ("✓", "good")
    if entry.done and entry.done != "end_turn":
        sign, key = "■", "warn"
    activity = entry.activity if running else {"end_turn": "done"}.get(entry.done, entry.done)
    right: list[Piece] = [(f"{format_count(entry.calls, 'call')} ", "faint")]
    name = entry.agent.removeprefix("main/")
    activity = shorten(activity, max(8, width - cell_width(name) - 20))
    pieces: list[Piece] = [
        (" ", "body"),
        (sign, key),
        (" ", "body"),
        (name, "body+b"),
        (f"  {activity}", "muted"),
    ]
    lines = [StyledLine(pieces, right=right, indent=3)]
    if entry.expanded and entry.text:
        lines += draw_markdown(entry.text, width, 5)
    return lines


def _draw_remark(entry: RemarkEntry, width: int) -> list[StyledLine]:
    sign, key = {"note": ("·", "muted"), "warning": ("▲", "warn"), "error": ("✗", "bad")}[entry.level]
    first: list[Piece] = [(" ", "body"), (sign + " ", key)]
    rest: list[Piece] = [("   ", "body")]
    text = f"{entry.source}: {entry.text}" if entry.source else entry.text
    text_key, room = "muted" if entry.level == "note" else "body", min(width, 104)
    lines = layout_paragraph(text, room, key=text_key, first=first, rest=rest)
    if entry.hint:
        arrow: list[Piece] = [("   → ", key)]
        lines += layout_paragraph(entry.hint, room, key="muted", first=arrow, rest=[("     ", "body")])
    return lines


def _draw_output(entry: OutputEntry, width: int) -> list[StyledLine]:
    lines: list[StyledLine] = []
    for number, block in enumerate(entry.blocks):
        if number and not (isinstance(block, Text) and isinstance(entry.blocks[number - 1], Text)):
            lines.append(StyledLine([]))
        lines += draw_block(block, width, MARGIN)
    return lines if entry.expanded is not False else fold_lines(lines, 1)


def _draw_plan(entry: PlanEntry, width: int) -> list[StyledLine]:
    keys = {"approved": "good", "rejected": "bad", "pending": "person", "set aside": "muted"}
    key, word = keys.get(entry.state, "machine"), {"pending": "waits for you"}.get(entry.state, entry.state)
    title: list[Piece] = [(" ", "body"), ("▌ ", key), ("PLAN  ", "body+b"), (word, key)]
    if entry.note:
        title.append((f"  {shorten(entry.note, max(10, width - 40))}", "muted+i"))
    return [StyledLine(title, indent=3), *draw_markdown(entry.text, width, MARGIN)]


def _draw_turn_end(entry: TurnEndEntry, width: int) -> list[StyledLine]:
    facts = [format_count(entry.steps, "step")] if entry.steps else []
    if entry.calls:
        facts.append(format_count(entry.calls, "call"))
    if entry.denied:
        facts.append(f"{entry.denied} refused")
    facts.append(format_duration(entry.seconds))
    used = entry.usage.input + entry.usage.output
    if used:
        facts += [f"{format_tokens(used)} tokens", format_cost(entry.usage.cost)]
    text = " · ".join(facts)
    word, key = _describe_stop(entry)
    if not word:
        return [StyledLine([(" ── ", "faint"), (text, "faint")], indent=4)]
    first: list[Piece] = [(" ", "body"), (f"{word} ", key), (f"· {text}", "faint")]
    lines = [StyledLine(first, indent=1)]
    if entry.message:
        rest: list[Piece] = [("   ", "body")]
        lines += layout_paragraph(entry.message, min(width, 104), key="body", first=rest, rest=rest)
    return lines


def _describe_stop(entry: TurnEndEntry) -> tuple[str, str]:
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
