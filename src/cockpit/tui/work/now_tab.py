"""The subagents in Work: which run, which wait, what each does and has used. Enter on one opens it. Pure.

Plan mode in Work: one line of where it stands, and the way to the plan that waits. Pure.

The rows of a question that waits for a person: its options, or the way to its form. Pure.

The rows of Work, from the state: pure. A row may carry what Enter does on it.
"""

from collections.abc import Iterable

from cockpit.protocol.events import ApprovalRequested, QuestionAsked
from cockpit.protocol.rows import AgentRow, PanelRow
from cockpit.tui.clean import clean_output, single_line
from cockpit.tui.render import number_format
from cockpit.tui.render.layout import (
    SPINNER,
    Moment,
    Piece,
    StyledLine,
    cell_width,
    layout_paragraph,
    shorten,
    shorten_path,
)
from cockpit.tui.state.entries import CallEntry, SubagentEntry
from cockpit.tui.state.screen_state import ChangedFile, ScreenState
from cockpit.tui.work.approval_card import ApprovalChoice, DetailLayout, approval_rows, detail_rows
from cockpit.tui.work.row import WorkRow, blank_row, heading_line, row_line, shade_key
from cockpit.tui.work.tabs import outline_rows, problem_rows

MAX_AGENTS = 12
_PHASE_SIGNS = {
    "queued": ("·", "muted"),
    "completed": ("✓", "good"),
    "failed": ("✗", "bad"),
    "cancelled": ("◌", "faint"),
}
_LIVE_PHASES = ("running", "queued")


def sort_agents(rows: Iterable[PanelRow]) -> list[AgentRow]:
    """The subagents of a panel: those that live first, then the others, the latest before the earlier."""
    known = [one.agent for one in rows if one.agent is not None]
    live = sorted(
        (one for one in known if one.phase in _LIVE_PHASES), key=lambda one: _LIVE_PHASES.index(one.phase)
    )
    return [*live, *(one for one in reversed(known) if one.phase not in _LIVE_PHASES)]


def count_background_agents(rows: Iterable[PanelRow]) -> int:
    """How many live that no turn waits for."""
    return sum(one.background and one.phase in _LIVE_PHASES for one in sort_agents(rows))


def agent_rows(rows: Iterable[PanelRow], width: int, moment: Moment) -> list[WorkRow]:
    """A head with the counts, and two lines for each."""
    agents = sort_agents(rows)
    if not agents:
        return []
    counts = [(sum(one.phase == phase for one in agents), phase) for phase in ("running", "queued", "failed")]
    told = "  ".join(f"{count} {phase}" for count, phase in counts if count) or f"{len(agents)} done"
    found = [WorkRow(heading_line("AGENTS", told, "machine" if counts[0][0] else "heading"))]
    for one in agents[:MAX_AGENTS]:
        found += _agent_lines(one, width, moment)
    if len(agents) > MAX_AGENTS:
        found.append(
            WorkRow(row_line((f"   and {len(agents) - MAX_AGENTS} more: /agents lists them", "muted")))
        )
    return found


def _agent_lines(agent: AgentRow, width: int, moment: Moment) -> list[WorkRow]:
    sign, key = _PHASE_SIGNS.get(agent.phase, (SPINNER[moment.step % 10], "machine"))
    name = single_line(agent.id.removeprefix("main/"), 40)
    used: list[Piece] = [(f"{_agent_usage(agent, moment)} ", "muted")]
    room = max(6, width - cell_width(used[0][0]) - 5)
    pieces: list[Piece] = [(f" {sign} ", key), (shorten(name, room), "body+b")]
    if agent.background and room > cell_width(name) + 12:
        pieces.append(("  background", "faint"))
    does = f"agent:{agent.id}"
    text = agent.doing if agent.phase in _LIVE_PHASES else agent.report
    lines = [WorkRow(row_line(*pieces, right=used), does)]
    words = single_line(text or agent.task, 200)
    return [*lines, WorkRow(row_line(("   ", "body"), (shorten(words, max(4, width - 5)), "muted")), does)]


def _agent_usage(agent: AgentRow, moment: Moment) -> str:
    """Steps, tokens and time, as much as there is."""
    if agent.phase == "queued":
        return "queued"
    running = agent.phase == "running" and agent.started and moment.now
    seconds = moment.now - agent.started if running else agent.seconds
    parts = [f"{agent.steps} steps" if agent.steps != 1 else "1 step"]
    if agent.tokens:
        parts.append(number_format.format_tokens(agent.tokens))
    if seconds >= 1:
        parts.append(number_format.format_duration(seconds))
    return "  ".join(parts)


def plan_rows(state: ScreenState, width: int) -> list[WorkRow]:
    """Nothing unless the session plans; an approval that asks for the plan is a card of its own."""
    plan = state.plan
    if state.mode != "plan" or plan.request in state.approvals:
        return []
    if plan.state == "pending":
        name = shorten(single_line(plan.title) or "the plan", max(8, width - 24))
        steps = number_format.format_count(len(plan.steps), "step") if plan.steps else ""
        found = [WorkRow(heading_line("PLAN", "waits for you", "function"))]
        found.append(
            WorkRow(row_line((" ▸ ", "function"), (name, "body+b"), right=[(f"{steps} ", "muted")]), "plan:")
        )
        return [*found, WorkRow(row_line(("   Enter or F9 reviews it, /do approves it", "muted")))]
    said = {"rejected": "rejected; the model may propose another one"}.get(plan.state, "")
    text = said or "only looks, until you accept a plan"
    return [
        WorkRow(heading_line("PLAN", "", "function")),
        WorkRow(row_line((f"   {shorten(text, width - 4)}", "muted"))),
    ]


def plan_card(state: ScreenState, request: ApprovalRequested, width: int) -> list[WorkRow]:
    """A plan that waits, as an approval; its text stands in the Trace and in its review."""
    plan = state.plan
    head: list[Piece] = [(" PLAN ", "base/function+b"), ("  waits for you", "muted/surface")]
    steps = number_format.format_count(len(plan.steps), "step") if plan.steps else ""
    keys: list[Piece] = [(" ", "body/surface")]
    for key, label in (("v", "review"), ("y", f"accept, mode {plan.mode or 'ask'}"), ("n", "reject")):
        keys += [(f" {key} ", "person/boost+b"), (f" {label} ", "body/surface")]
    name = shorten(single_line(plan.title or request.title), max(8, width - 2))
    found = [
        WorkRow(StyledLine(head, "body/surface", right=[(f"{steps} ", "muted/surface")])),
        WorkRow(row_line((" ", "body"), (name, "body+b")), "plan:"),
    ]
    if request.expires:
        said = f"no answer within {number_format.format_duration(request.expires)} is a no"
        found.append(WorkRow(row_line((f" {said}", "person"))))
    return [*found, WorkRow(row_line()), WorkRow(StyledLine(keys, "body/surface"))]


def question_rows(question: QuestionAsked, width: int) -> list[WorkRow]:
    """What is asked, by whom, and what answers it."""
    bar: list[Piece] = [(" ▌ ", "function/surface")]
    is_form = bool(question.fields or question.url)
    found = [
        WorkRow(heading_line("FORM" if is_form else "QUESTION", single_line(question.source, 30), "function"))
    ]
    text = clean_output(question.question)
    lines = layout_paragraph(text, width - 1, key="body/surface+b", first=bar, rest=bar, fill="body/surface")
    found += [WorkRow(line) for line in lines]
    if is_form:
        return [*found, blank_row(), WorkRow(row_line((" Enter here, or F9, opens it", "person")), "form:")]
    if question.options:
        found.append(blank_row())
    for number, option in enumerate(question.options, 1):
        first: list[Piece] = [(f"  {number}  ", "person/surface+b")]
        rest: list[Piece] = [("     ", "body/surface")]
        lines = layout_paragraph(
            single_line(option), width - 1, key="body/surface", first=first, rest=rest, fill="body/surface"
        )
        found += [WorkRow(line, f"option:{number - 1}") for line in lines]
    words = "press its number, or write" if question.options else "write the answer, Enter sends it"
    if not question.takes_words:
        words = "press its number; words make a prompt"
    return [*found, blank_row(), WorkRow(row_line((f" {words}", "muted")))]


_TAIL_LINES = 5
NO_CHOICE = ApprovalChoice()
_CHANGE_LETTERS = {
    "created": ("A", "good"),
    "modified": ("M", "person"),
    "deleted": ("D", "bad"),
    "moved": ("R", "machine"),
}
_TODO_SIGNS = {
    "completed": ("✓", "good", "muted"),
    "in_progress": ("▸", "person", "body+b"),
    "pending": ("·", "faint", "body"),
}

_BUILTIN_PANELS = ("problems", "agents")
"""Panels that are drawn otherwise: in a tab of their own, and with what their rows hold."""
_PANEL_STATE_STYLES = {"ready": "good", "starting": "machine", "indexing": "machine"}
_PANEL_STATE_STYLES |= {"failed": "bad", "waiting": "person", "absent": "warn"}
_PANEL_STATE_STYLES |= {
    "needs approval": "person",
    "needs login": "person",
    "changed": "person",
    "disabled": "faint",
}


def work_rows(
    state: ScreenState,
    width: int,
    moment: Moment,
    choice: ApprovalChoice = NO_CHOICE,
    waited: float = 0.0,
    below: DetailLayout = detail_rows,
) -> list[WorkRow]:
    """Everything the open tab shows; what waits for a person comes first. `choice` is what they take of
    the approval that is shown, `waited` the seconds since it was."""
    if state.tab == "outline":
        return outline_rows(state.code, width)
    if state.tab == "problems":
        return problem_rows(state.code, width)
    return [*_request_rows(state, width, choice, waited, below), *_status_rows(state, width, moment)]


def _request_rows(
    state: ScreenState, width: int, choice: ApprovalChoice, waited: float, below: DetailLayout
) -> list[WorkRow]:
    """What waits for a person."""
    if state.approvals:
        request = next(iter(state.approvals.values()))
        if request.id == state.plan.request:
            return [*plan_card(state, request, width), blank_row()]
        left = request.expires - waited
        lines = approval_rows(request, 1, len(state.approvals), width, choice, left, below)
        return [*(WorkRow(line, does) for line, does in lines), blank_row()]
    if state.questions:
        return [*question_rows(next(iter(state.questions.values())), width), blank_row()]
    return []


def _status_rows(state: ScreenState, width: int, moment: Moment) -> list[WorkRow]:
    """What is so beside what waits for a person."""
    found: list[WorkRow] = []
    if planned := plan_rows(state, width):
        found += [*planned, blank_row()]
    if state.turn is not None:
        found += [*_turn_rows(state, width, moment), blank_row()]
    if agents := agent_rows(state.panels.get("agents", ()), width, moment):
        found += [*agents, blank_row()]
    if state.todo:
        found += [*_todo_rows(state, width), blank_row()]
    if state.files:
        found += [*_file_rows(list(state.files.values()), width), blank_row()]
    for panel, panel_rows in state.panels.items():
        if panel_rows and panel not in _BUILTIN_PANELS:
            found += [*_panel_rows(panel, state.titles.get(panel, panel), panel_rows, width), blank_row()]
    if state.turn is None and not state.approvals and not state.questions:
        found += _idle_rows(state, width)
    return found


def _turn_rows(state: ScreenState, width: int, moment: Moment) -> list[WorkRow]:
    turn = state.turn
    assert turn is not None
    lines = [
        heading_line("RUNNING", f"turn {number_format.format_clock(moment.now - turn.began)}", "machine")
    ]
    facts = f"step {turn.step}" if turn.step else "starting"
    used = state.usage
    if used.input or used.output:
        facts += f"   {number_format.format_tokens(used.input)} in   {number_format.format_tokens(used.output)} out"
    lines.append(row_line((f" {facts}", "muted")))
    spin = SPINNER[moment.step % 10]
    calls = [
        entry for number in state.running.values() if isinstance(entry := state.entries[number], CallEntry)
    ]
    for call in calls[:4]:
        lines += _call_lines(call, width, moment, spin)
    if len(calls) > 4:
        lines.append(row_line((f"   and {len(calls) - 4} more calls", "muted")))
    if not state.panels.get("agents"):
        lines += _subagent_lines(state, width, spin)
    if not calls and turn.step:
        word = "writes" if turn.streaming else "thinks"
        model = shorten(turn.model or state.model, width - 12)
        lines.append(row_line((f" {spin} ", "machine"), (model, "body"), (f" {word}", "muted")))
    return [WorkRow(line) for line in lines]


def _subagent_lines(state: ScreenState, width: int, spin: str) -> list[StyledLine]:
    """Subagents of a session that sends no panel of them."""
    lines: list[StyledLine] = []
    for entry in (state.entries[number] for number in state.agents.values()):
        if isinstance(entry, SubagentEntry) and not entry.done:
            name = entry.agent.removeprefix("main/")
            doing = shorten(entry.activity, max(4, width - cell_width(name) - 6))
            lines.append(row_line((f" {spin} ", "machine"), (name, "body+b"), (f"  {doing}", "muted")))
    return lines


def _call_lines(call: CallEntry, width: int, moment: Moment, spin: str) -> list[StyledLine]:
    if call.status == "waiting":
        return [row_line((" ◇ ", "person+b"), (shorten(call.title, width - 5), "body"))]
    seconds = max(0.0, moment.now - call.began)
    took: list[Piece] = [(f"{number_format.format_duration(seconds)} ", "machine")] if seconds >= 1 else []
    lines = [row_line((f" {spin} ", "machine"), (shorten(call.title, width - 12), "body+b"), right=took)]
    for text in call.tail[-_TAIL_LINES - 1 :]:
        if text:
            shown = shorten(clean_output(text).expandtabs(4), width - 5)
            lines.append(row_line((" │ ", "faint"), (shown, "muted")))
    return lines


def _todo_rows(state: ScreenState, width: int) -> list[WorkRow]:
    done = sum(one.status == "completed" for one in state.todo)
    lines = [heading_line("TODO", f"{done} of {len(state.todo)}")]
    for one in state.todo:
        sign, key, text_key = _TODO_SIGNS[one.status]
        first = [(f" {sign} ", shade_key(key))]
        lines += layout_paragraph(
            one.text,
            width - 1,
            key=shade_key(text_key),
            first=first,
            rest=[("   ", "body/surface")],
            fill="body/surface",
        )
    return [WorkRow(line) for line in lines]


def _file_rows(files: list[ChangedFile], width: int) -> list[WorkRow]:
    found = [WorkRow(heading_line("CHANGED", number_format.format_count(len(files), "file")))]
    for file in sorted(files, key=lambda one: one.path):
        letter, key = _CHANGE_LETTERS[file.change]
        counts: list[Piece] = [(f"+{file.added}", "good"), (" ", "body"), (f"-{file.removed} ", "bad")]
        room = width - 5 - sum(cell_width(text) for text, _ in counts)
        line = row_line(
            (f" {letter} ", key), (shorten_path(single_line(file.path), room), "body"), right=counts
        )
        found.append(WorkRow(line, f"diff:{file.path}"))
    return found


def _panel_rows(panel: str, called: str, panel_rows: tuple[PanelRow, ...], width: int) -> list[WorkRow]:
    found = [WorkRow(heading_line(single_line(called).upper(), str(len(panel_rows))))]
    for one in panel_rows[:40]:
        state = shorten(single_line(one.state), 14)
        room = width - 6 - cell_width(state)
        text = shorten(single_line(one.text), room)
        key = _PANEL_STATE_STYLES.get(state, "muted") if panel in ("servers", "mcp") else "muted"
        line = row_line((f"   {text}", "body"), right=[(f"{state} ", key)] if state else [])
        found.append(WorkRow(line, f"panel:{one.action}" if one.action else ""))
    return found


def _idle_rows(state: ScreenState, width: int) -> list[WorkRow]:
    """What stands here while nothing runs."""
    lines = [heading_line("SESSION", "ready" if not state.closed else "closed")]
    used = state.usage
    facts = [("model", state.model or "…"), ("mode", state.mode)]
    if used.requests:
        facts.append(
            (
                "tokens",
                f"{number_format.format_tokens(used.input)} in   {number_format.format_tokens(used.output)} out",
            )
        )
        if used.cached:
            facts.append(("cached", number_format.format_tokens(used.cached)))
        facts.append(("cost", number_format.format_cost(used.cost)))
    if state.window:
        facts.append(
            (
                "context",
                f"{number_format.format_tokens(state.context)} of {number_format.format_tokens(state.window)}",
            )
        )
    facts.append(("folder", "trusted" if state.trusted else "not trusted"))
    for label, value in facts:
        lines.append(row_line((f" {label:<9}", "muted"), (shorten(value, width - 11), "body")))
    return [WorkRow(line) for line in lines]
