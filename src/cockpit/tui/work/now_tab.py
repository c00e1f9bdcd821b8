"""The rows of the tab Now: pending requests, running calls, subagents, todo, changed files, panels.

A row may carry an action for Enter. `tabs` has the rows of Outline and Problems.
"""

from collections import Counter
from collections.abc import Iterable

from cockpit.protocol.events import ApprovalRequested, QuestionAsked
from cockpit.protocol.rows import AgentRow, PanelRow
from cockpit.protocol.safe_text import clean_output, single_line
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
from cockpit.tui.render.number_format import (
    format_clock,
    format_cost,
    format_count,
    format_duration,
    format_tokens,
)
from cockpit.tui.state.entries import CallEntry, SubagentEntry
from cockpit.tui.state.screen_state import ChangedFile, ScreenState
from cockpit.tui.work.approval_card import DetailLayout, approval_rows, detail_rows
from cockpit.tui.work.approval_draft import ApprovalChoice
from cockpit.tui.work.tabs import WorkRow, blank_row, heading_line, outline_rows, problem_rows, row_line

MAX_AGENTS = 12
MAX_PANEL_ROWS = 40
NO_CHOICE = ApprovalChoice()
_PHASE_SIGNS = {
    "queued": ("·", "muted"),
    "completed": ("✓", "good"),
    "failed": ("✗", "bad"),
    "cancelled": ("◌", "faint"),
}
_LIVE_PHASES = ("running", "queued")
_TAIL_LINES = 5
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
"""Panels that are drawn in a special way."""
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
    details: DetailLayout = detail_rows,
) -> list[WorkRow]:
    """All rows of the open tab. `choice` is the user's draft for the approval on screen, `waited` the
    seconds since it appeared, `details` lays out what is below its card."""
    if state.tab == "outline":
        return outline_rows(state.code, width)
    if state.tab == "problems":
        return problem_rows(state.code, width)
    sections = [
        _request_rows(state, width, choice, waited, details),
        plan_rows(state, width),
        _turn_rows(state, width, moment),
        agent_rows(state.panels.get("agents", ()), width, moment),
        _todo_rows(state, width),
        _file_rows(list(state.files.values()), width),
        *(_panel_rows(state, panel, width) for panel in state.panels if panel not in _BUILTIN_PANELS),
    ]
    rows = [row for section in sections if section for row in (*section, blank_row())]
    if state.turn is None and not state.approvals and not state.questions:
        rows += _idle_rows(state, width)
    return rows


def _request_rows(
    state: ScreenState, width: int, choice: ApprovalChoice, waited: float, details: DetailLayout
) -> list[WorkRow]:
    if (request := state.first_approval) is not None:
        if request.id == state.plan.request:
            return plan_card(state, request, width)
        left = request.expires - waited
        lines = approval_rows(request, 1, len(state.approvals), width, choice, left, details)
        return [WorkRow(line, action) for line, action in lines]
    if (question := state.first_question) is not None:
        return question_rows(question, width)
    return []


def sort_agents(rows: Iterable[PanelRow]) -> list[AgentRow]:
    """The subagents of a panel: running ones, queued ones, then the finished, the latest first."""
    agents = [row.agent for row in rows if row.agent is not None]
    live = [agent for phase in _LIVE_PHASES for agent in agents if agent.phase == phase]
    return [*live, *(agent for agent in reversed(agents) if agent.phase not in _LIVE_PHASES)]


def count_background_agents(rows: Iterable[PanelRow]) -> int:
    """How many subagents work without a turn waiting for them."""
    return sum(agent.background and agent.phase in _LIVE_PHASES for agent in sort_agents(rows))


def agent_rows(rows: Iterable[PanelRow], width: int, moment: Moment) -> list[WorkRow]:
    """A heading with the counts, and two lines for each subagent; Enter opens it."""
    agents = sort_agents(rows)
    if not agents:
        return []
    counts = Counter(agent.phase for agent in agents)
    phases = [f"{counts[phase]} {phase}" for phase in ("running", "queued", "failed") if counts[phase]]
    summary = "  ".join(phases) or f"{len(agents)} done"
    rows_shown = [WorkRow(heading_line("AGENTS", summary, "machine" if counts["running"] else "heading"))]
    for agent in agents[:MAX_AGENTS]:
        rows_shown += _agent_lines(agent, width, moment)
    if (more := len(agents) - MAX_AGENTS) > 0:
        rows_shown.append(WorkRow(row_line((f"   and {more} more: /agents lists them", "muted"))))
    return rows_shown


def _agent_lines(agent: AgentRow, width: int, moment: Moment) -> list[WorkRow]:
    sign, key = _PHASE_SIGNS.get(agent.phase, (SPINNER[moment.step % 10], "machine"))
    name = single_line(agent.id.removeprefix("main/"), 40)
    usage = f"{_agent_usage(agent, moment)} "
    room = max(6, width - cell_width(usage) - 5)
    pieces: list[Piece] = [(f" {sign} ", key), (shorten(name, room), "body+b")]
    if agent.background and room > cell_width(name) + 12:
        pieces.append(("  background", "faint"))
    action = f"agent:{agent.id}"
    text = agent.doing if agent.phase in _LIVE_PHASES else agent.report
    text = shorten(single_line(text or agent.task, 200), max(4, width - 5))
    return [
        WorkRow(row_line(*pieces, right=[(usage, "muted")]), action),
        WorkRow(row_line(("   ", "body"), (text, "muted")), action),
    ]


def _agent_usage(agent: AgentRow, moment: Moment) -> str:
    if agent.phase == "queued":
        return "queued"
    running = agent.phase == "running" and agent.started and moment.now
    seconds = moment.now - agent.started if running else agent.seconds
    parts = [f"{agent.steps} steps" if agent.steps != 1 else "1 step"]
    if agent.tokens:
        parts.append(format_tokens(agent.tokens))
    if seconds >= 1:
        parts.append(format_duration(seconds))
    return "  ".join(parts)


def plan_rows(state: ScreenState, width: int) -> list[WorkRow]:
    """The state of plan mode; empty outside of it, or while the approval of the plan is on screen."""
    plan = state.plan
    if state.mode != "plan" or plan.request in state.approvals:
        return []
    if plan.state == "pending":
        name = shorten(single_line(plan.title) or "the plan", max(8, width - 24))
        steps = format_count(len(plan.steps), "step") if plan.steps else ""
        line = row_line((" ▸ ", "function"), (name, "body+b"), right=[(f"{steps} ", "muted")])
        return [
            WorkRow(heading_line("PLAN", "waits for you", "function")),
            WorkRow(line, "plan:"),
            WorkRow(row_line(("   Enter or F9 reviews it, /do approves it", "muted"))),
        ]
    text = "nothing is changed until you accept a plan"
    if plan.state == "rejected":
        text = "rejected; the model may propose another plan"
    return [
        WorkRow(heading_line("PLAN", "", "function")),
        WorkRow(row_line((f"   {shorten(text, width - 4)}", "muted"))),
    ]


def plan_card(state: ScreenState, request: ApprovalRequested, width: int) -> list[WorkRow]:
    """The approval of a plan; its text is in the Trace and in its review."""
    plan = state.plan
    head: list[Piece] = [(" PLAN ", "base/function+b"), ("  waits for you", "muted/surface")]
    steps = format_count(len(plan.steps), "step") if plan.steps else ""
    keys: list[Piece] = [(" ", "body/surface")]
    for key, label in (("v", "review"), ("y", f"accept, mode {plan.mode or 'ask'}"), ("n", "reject")):
        keys += [(f" {key} ", "person/boost+b"), (f" {label} ", "body/surface")]
    name = shorten(single_line(plan.title or request.title), max(8, width - 2))
    rows = [
        WorkRow(StyledLine(head, "body/surface", right=[(f"{steps} ", "muted/surface")])),
        WorkRow(row_line((" ", "body"), (name, "body+b")), "plan:"),
    ]
    if request.expires:
        expiry = f"rejected without an answer within {format_duration(request.expires)}"
        rows.append(WorkRow(row_line((f" {expiry}", "person"))))
    return [*rows, blank_row(), WorkRow(StyledLine(keys, "body/surface"))]


def question_rows(question: QuestionAsked, width: int) -> list[WorkRow]:
    """A question, who asks it, and how to answer: by an option, in words, or in its form."""
    bar: list[Piece] = [(" ▌ ", "function/surface")]
    is_form = bool(question.fields or question.url)
    source = single_line(question.source, 30)
    rows = [WorkRow(heading_line("FORM" if is_form else "QUESTION", source, "function"))]
    text = clean_output(question.question)
    lines = layout_paragraph(text, width - 1, key="body/surface+b", first=bar, rest=bar, fill="body/surface")
    rows += [WorkRow(line) for line in lines]
    if is_form:
        return [*rows, blank_row(), WorkRow(row_line((" Enter here, or F9, opens it", "person")), "form:")]
    if question.options:
        rows.append(blank_row())
    for number, option in enumerate(question.options, 1):
        first: list[Piece] = [(f"  {number}  ", "person/surface+b")]
        rest: list[Piece] = [("     ", "body/surface")]
        lines = layout_paragraph(
            single_line(option), width - 1, key="body/surface", first=first, rest=rest, fill="body/surface"
        )
        rows += [WorkRow(line, f"option:{number - 1}") for line in lines]
    help_text = "press its number, or write" if question.options else "write the answer, Enter sends it"
    if not question.takes_words:
        help_text = "press its number; words make a prompt"
    return [*rows, blank_row(), WorkRow(row_line((f" {help_text}", "muted")))]


def _turn_rows(state: ScreenState, width: int, moment: Moment) -> list[WorkRow]:
    turn = state.turn
    if turn is None:
        return []
    lines = [heading_line("RUNNING", f"turn {format_clock(moment.now - turn.began)}", "machine")]
    facts = f"step {turn.step}" if turn.step else "starting"
    used = state.usage
    if used.input or used.output:
        facts += f"   {format_tokens(used.input)} in   {format_tokens(used.output)} out"
    lines.append(row_line((f" {facts}", "muted")))
    spinner = SPINNER[moment.step % 10]
    running = (state.entries[number] for number in state.running.values())
    calls = [entry for entry in running if isinstance(entry, CallEntry)]
    for call in calls[:4]:
        lines += _call_lines(call, width, moment, spinner)
    if len(calls) > 4:
        lines.append(row_line((f"   and {len(calls) - 4} more calls", "muted")))
    if not state.panels.get("agents"):
        lines += _subagent_lines(state, width, spinner)
    if not calls and turn.step:
        word = "writes" if turn.streaming else "thinks"
        model = shorten(turn.model or state.model, width - 12)
        lines.append(row_line((f" {spinner} ", "machine"), (model, "body"), (f" {word}", "muted")))
    return [WorkRow(line) for line in lines]


def _subagent_lines(state: ScreenState, width: int, spinner: str) -> list[StyledLine]:
    """Running subagents, where the session sends no panel of them."""
    lines: list[StyledLine] = []
    for entry in (state.entries[number] for number in state.agents.values()):
        if isinstance(entry, SubagentEntry) and not entry.done:
            name = entry.agent.removeprefix("main/")
            activity = shorten(entry.activity, max(4, width - cell_width(name) - 6))
            lines.append(row_line((f" {spinner} ", "machine"), (name, "body+b"), (f"  {activity}", "muted")))
    return lines


def _call_lines(call: CallEntry, width: int, moment: Moment, spinner: str) -> list[StyledLine]:
    if call.status == "waiting":
        return [row_line((" ◇ ", "person+b"), (shorten(call.title, width - 5), "body"))]
    seconds = max(0.0, moment.now - call.began)
    took: list[Piece] = [(f"{format_duration(seconds)} ", "machine")] if seconds >= 1 else []
    lines = [row_line((f" {spinner} ", "machine"), (shorten(call.title, width - 12), "body+b"), right=took)]
    for text in call.tail[-_TAIL_LINES - 1 :]:
        if text:
            output = shorten(clean_output(text).expandtabs(4), width - 5)
            lines.append(row_line((" │ ", "faint"), (output, "muted")))
    return lines


def _todo_rows(state: ScreenState, width: int) -> list[WorkRow]:
    if not state.todo:
        return []
    done = sum(todo.status == "completed" for todo in state.todo)
    rows = [WorkRow(heading_line("TODO", f"{done} of {len(state.todo)}"))]
    for todo in state.todo:
        sign, key, text_key = _TODO_SIGNS[todo.status]
        first: list[Piece] = [(f" {sign} ", key)]
        lines = layout_paragraph(todo.text, width - 1, key=text_key, first=first, rest=[("   ", "body")])
        rows += [WorkRow(line.on("surface")) for line in lines]
    return rows


def _file_rows(files: list[ChangedFile], width: int) -> list[WorkRow]:
    if not files:
        return []
    rows = [WorkRow(heading_line("CHANGED", format_count(len(files), "file")))]
    for file in sorted(files, key=lambda file: file.path):
        letter, key = _CHANGE_LETTERS[file.change]
        counts: list[Piece] = [(f"+{file.added}", "good"), (" ", "body"), (f"-{file.removed} ", "bad")]
        room = width - 5 - sum(cell_width(text) for text, _ in counts)
        path = shorten_path(single_line(file.path), room)
        line = row_line((f" {letter} ", key), (path, "body"), right=counts)
        rows.append(WorkRow(line, f"diff:{file.path}"))
    return rows


def _panel_rows(state: ScreenState, panel: str, width: int) -> list[WorkRow]:
    panel_rows = state.panels[panel]
    if not panel_rows:
        return []
    title = single_line(state.titles.get(panel, panel)).upper()
    rows = [WorkRow(heading_line(title, str(len(panel_rows))))]
    for row in panel_rows[:MAX_PANEL_ROWS]:
        label = shorten(single_line(row.state), 14)
        text = shorten(single_line(row.text), width - 6 - cell_width(label))
        key = _PANEL_STATE_STYLES.get(label, "muted") if panel in ("servers", "mcp") else "muted"
        line = row_line((f"   {text}", "body"), right=[(f"{label} ", key)] if label else [])
        rows.append(WorkRow(line, f"panel:{row.action}" if row.action else ""))
    return rows


def _idle_rows(state: ScreenState, width: int) -> list[WorkRow]:
    lines = [heading_line("SESSION", "ready" if not state.closed else "closed")]
    used = state.usage
    facts = [("model", state.model or "…"), ("mode", state.mode)]
    if used.requests:
        facts.append(("tokens", f"{format_tokens(used.input)} in   {format_tokens(used.output)} out"))
        if used.cached:
            facts.append(("cached", format_tokens(used.cached)))
        facts.append(("cost", format_cost(used.cost)))
    if state.window:
        facts.append(("context", f"{format_tokens(state.context)} of {format_tokens(state.window)}"))
    facts.append(("folder", "trusted" if state.trusted else "not trusted"))
    for label, value in facts:
        lines.append(row_line((f" {label:<9}", "muted"), (shorten(value, width - 11), "body")))
    return [WorkRow(line) for line in lines]
