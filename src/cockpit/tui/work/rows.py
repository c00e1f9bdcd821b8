"""The rows of Work, from the state: pure. A row may carry what Enter does on it."""

from cockpit.protocol.rows import PanelRow
from cockpit.tui import figures
from cockpit.tui.clean import clean_output, one_line
from cockpit.tui.state.entries import Called, Delegated
from cockpit.tui.state.state import ChangedFile, State
from cockpit.tui.trace.layout import Line, Piece, paragraph, shortened, shortened_path, width_of
from cockpit.tui.trace.moment import SPINNER, Moment
from cockpit.tui.work.agents import agent_rows
from cockpit.tui.work.approval import Below, approval_rows
from cockpit.tui.work.approval_parts import Choice, parts_below
from cockpit.tui.work.code import outline_rows, problem_rows
from cockpit.tui.work.lines import Row, blank, row, shade, title
from cockpit.tui.work.plan import plan_card, plan_rows
from cockpit.tui.work.questions import question_rows

_TAIL = 5
NOTHING = Choice()
_LETTERS = {
    "created": ("A", "good"),
    "modified": ("M", "person"),
    "deleted": ("D", "bad"),
    "moved": ("R", "machine"),
}
_TODO = {
    "completed": ("✓", "good", "muted"),
    "in_progress": ("▸", "person", "body+b"),
    "pending": ("·", "faint", "body"),
}

_OWN = ("problems", "agents")
"""Panels that are drawn otherwise: in a tab of their own, and with what their rows hold."""
_STATES = {"ready": "good", "starting": "machine", "indexing": "machine"}
_STATES |= {"failed": "bad", "waiting": "person", "absent": "warn"}
_STATES |= {"needs approval": "person", "needs login": "person", "changed": "person", "disabled": "faint"}


def rows(
    state: State,
    width: int,
    moment: Moment,
    choice: Choice = NOTHING,
    waited: float = 0.0,
    below: Below = parts_below,
) -> list[Row]:
    """Everything the open tab shows; what waits for a person comes first. `choice` is what they take of
    the approval that is shown, `waited` the seconds since it was."""
    if state.tab == "outline":
        return outline_rows(state.code, width)
    if state.tab == "problems":
        return problem_rows(state.code, width)
    return [*_asked(state, width, choice, waited, below), *_standing(state, width, moment)]


def _asked(state: State, width: int, choice: Choice, waited: float, below: Below) -> list[Row]:
    """What waits for a person."""
    if state.approvals:
        request = next(iter(state.approvals.values()))
        if request.id == state.plan.request:
            return [*plan_card(state, request, width), blank()]
        left = request.expires - waited
        lines = approval_rows(request, 1, len(state.approvals), width, choice, left, below)
        return [*(Row(line, does) for line, does in lines), blank()]
    if state.questions:
        return [*question_rows(next(iter(state.questions.values())), width), blank()]
    return []


def _standing(state: State, width: int, moment: Moment) -> list[Row]:
    """What is so beside what waits for a person."""
    found: list[Row] = []
    if planned := plan_rows(state, width):
        found += [*planned, blank()]
    if state.turn is not None:
        found += [*_running(state, width, moment), blank()]
    if agents := agent_rows(state.panels.get("agents", ()), width, moment):
        found += [*agents, blank()]
    if state.todo:
        found += [*_todo(state, width), blank()]
    if state.files:
        found += [*_files(list(state.files.values()), width), blank()]
    for panel, panel_rows in state.panels.items():
        if panel_rows and panel not in _OWN:
            found += [*_panel(panel, state.titles.get(panel, panel), panel_rows, width), blank()]
    if state.turn is None and not state.approvals and not state.questions:
        found += _still(state, width)
    return found


def _running(state: State, width: int, moment: Moment) -> list[Row]:
    turn = state.turn
    assert turn is not None
    lines = [title("RUNNING", f"turn {figures.clock(moment.now - turn.began)}", "machine")]
    facts = f"step {turn.step}" if turn.step else "starting"
    used = state.usage
    if used.input or used.output:
        facts += f"   {figures.tokens(used.input)} in   {figures.tokens(used.output)} out"
    lines.append(row((f" {facts}", "muted")))
    spin = SPINNER[moment.step % 10]
    calls = [entry for number in state.running.values() if isinstance(entry := state.entries[number], Called)]
    for call in calls[:4]:
        lines += _active(call, width, moment, spin)
    if len(calls) > 4:
        lines.append(row((f"   and {len(calls) - 4} more calls", "muted")))
    if not state.panels.get("agents"):
        lines += _delegated(state, width, spin)
    if not calls and turn.step:
        word = "writes" if turn.streaming else "thinks"
        model = shortened(turn.model or state.model, width - 12)
        lines.append(row((f" {spin} ", "machine"), (model, "body"), (f" {word}", "muted")))
    return [Row(line) for line in lines]


def _delegated(state: State, width: int, spin: str) -> list[Line]:
    """Subagents of a session that sends no panel of them."""
    lines: list[Line] = []
    for entry in (state.entries[number] for number in state.agents.values()):
        if isinstance(entry, Delegated) and not entry.done:
            name = entry.agent.removeprefix("main/")
            doing = shortened(entry.activity, max(4, width - width_of(name) - 6))
            lines.append(row((f" {spin} ", "machine"), (name, "body+b"), (f"  {doing}", "muted")))
    return lines


def _active(call: Called, width: int, moment: Moment, spin: str) -> list[Line]:
    if call.status == "waiting":
        return [row((" ◇ ", "person+b"), (shortened(call.title, width - 5), "body"))]
    seconds = max(0.0, moment.now - call.began)
    took: list[Piece] = [(f"{figures.span(seconds)} ", "machine")] if seconds >= 1 else []
    lines = [row((f" {spin} ", "machine"), (shortened(call.title, width - 12), "body+b"), right=took)]
    for text in call.tail[-_TAIL - 1 :]:
        if text:
            shown = shortened(clean_output(text).expandtabs(4), width - 5)
            lines.append(row((" │ ", "faint"), (shown, "muted")))
    return lines


def _todo(state: State, width: int) -> list[Row]:
    done = sum(one.status == "completed" for one in state.todo)
    lines = [title("TODO", f"{done} of {len(state.todo)}")]
    for one in state.todo:
        sign, key, text_key = _TODO[one.status]
        first = [(f" {sign} ", shade(key))]
        lines += paragraph(
            one.text,
            width - 1,
            key=shade(text_key),
            first=first,
            rest=[("   ", "body/surface")],
            fill="body/surface",
        )
    return [Row(line) for line in lines]


def _files(files: list[ChangedFile], width: int) -> list[Row]:
    found = [Row(title("CHANGED", figures.count(len(files), "file")))]
    for file in sorted(files, key=lambda one: one.path):
        letter, key = _LETTERS[file.change]
        counts: list[Piece] = [(f"+{file.added}", "good"), (" ", "body"), (f"-{file.removed} ", "bad")]
        room = width - 5 - sum(width_of(text) for text, _ in counts)
        line = row((f" {letter} ", key), (shortened_path(one_line(file.path), room), "body"), right=counts)
        found.append(Row(line, f"diff:{file.path}"))
    return found


def _panel(panel: str, called: str, panel_rows: tuple[PanelRow, ...], width: int) -> list[Row]:
    found = [Row(title(one_line(called).upper(), str(len(panel_rows))))]
    for one in panel_rows[:40]:
        state = shortened(one_line(one.state), 14)
        room = width - 6 - width_of(state)
        text = shortened(one_line(one.text), room)
        key = _STATES.get(state, "muted") if panel in ("servers", "mcp") else "muted"
        line = row((f"   {text}", "body"), right=[(f"{state} ", key)] if state else [])
        found.append(Row(line, f"panel:{one.action}" if one.action else ""))
    return found


def _still(state: State, width: int) -> list[Row]:
    """What stands here while nothing runs."""
    lines = [title("SESSION", "ready" if not state.closed else "closed")]
    used = state.usage
    facts = [("model", state.model or "…"), ("mode", state.mode)]
    if used.requests:
        facts.append(("tokens", f"{figures.tokens(used.input)} in   {figures.tokens(used.output)} out"))
        if used.cached:
            facts.append(("cached", figures.tokens(used.cached)))
        facts.append(("cost", figures.cost(used.cost)))
    if state.window:
        facts.append(("context", f"{figures.tokens(state.context)} of {figures.tokens(state.window)}"))
    facts.append(("folder", "trusted" if state.trusted else "not trusted"))
    for label, value in facts:
        lines.append(row((f" {label:<9}", "muted"), (shortened(value, width - 11), "body")))
    return [Row(line) for line in lines]
