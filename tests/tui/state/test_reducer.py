"""The state of the screen after events: without a screen."""

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.support.scenes import ANSWER, EDIT, Scene, asking, running, worked

from cockpit.protocol import events
from cockpit.protocol.content import Markdown, Text
from cockpit.protocol.events import Envelope
from cockpit.protocol.messages import ToolCall
from cockpit.tui.state import PendingPrompt, ScreenState, reduce
from cockpit.tui.state.entries import (
    TAIL_LINES,
    AnswerEntry,
    CallEntry,
    OutputEntry,
    PromptEntry,
    RemarkEntry,
    SubagentEntry,
    ThoughtEntry,
    TurnEndEntry,
)


def after(scene: Scene, state: ScreenState | None = None) -> ScreenState:
    state = state or ScreenState()
    for envelope in scene.envelopes:
        reduce(state, envelope)
    return state


def kinds(state: ScreenState) -> list[str]:
    return [type(entry).__name__ for entry in state.entries]


def last(state: ScreenState, kind: type) -> object:
    return next(entry for entry in reversed(state.entries) if isinstance(entry, kind))


def test_a_session_says_where_it_is() -> None:
    state = after(Scene().start())
    assert (state.root, state.model, state.mode, state.trusted) == (
        "/home/ada/shop", "deepseek:deepseek-chat", "ask", True,
    )  # fmt: skip


def test_a_changed_session_keeps_its_title_when_none_is_given() -> None:
    scene = Scene().start().add(events.SessionChanged("m", "plan", True, "Cart"))
    state = after(scene.add(events.SessionChanged("n", "full", False)))
    assert (state.model, state.mode, state.trusted, state.title) == ("n", "full", False, "Cart")


def test_a_turn_is_a_prompt_an_answer_and_an_end() -> None:
    state = after(Scene().start().says("hi").step().streams("hel", "lo").answers("hello").ends())
    assert kinds(state) == ["PromptEntry", "AnswerEntry", "TurnEndEntry"]
    assert state.turn is None


def test_deltas_of_a_message_are_one_answer() -> None:
    state = after(Scene().start().says("hi").step().streams("a", "b", "c"))
    answer = last(state, AnswerEntry)
    assert isinstance(answer, AnswerEntry) and answer.text == "abc" and not answer.done


def test_a_delta_copies_nothing() -> None:
    state = after(Scene().start().says("hi").step().streams("a"))
    answer = last(state, AnswerEntry)
    assert isinstance(answer, AnswerEntry)
    parts = answer.parts
    reduce(state, Envelope(1, 99, 0.0, "s1", "t1", "main", "", events.TextDelta("m1", "b")))
    assert answer.parts is parts and parts == ["a", "b"]


def test_the_whole_message_closes_the_answer_its_deltas_built() -> None:
    state = after(Scene().start().says("hi").step().streams("hel", "lo").answers("hello"))
    answer = last(state, AnswerEntry)
    assert (
        isinstance(answer, AnswerEntry)
        and answer.done
        and answer.replacements == 0
        and answer.parts == ["hello"]
    )


def test_a_whole_message_that_differs_replaces_what_was_streamed() -> None:
    state = after(Scene().start().says("hi").step().streams("secret").answers("[redacted]"))
    answer = last(state, AnswerEntry)
    assert isinstance(answer, AnswerEntry) and answer.text == "[redacted]" and answer.replacements == 1


def test_a_message_without_deltas_is_shown_whole() -> None:
    state = after(Scene().start().says("hi").step().answers("hello", thoughts="hm"))
    assert kinds(state) == ["PromptEntry", "ThoughtEntry", "AnswerEntry"]


def test_thoughts_end_when_the_answer_begins() -> None:
    state = after(Scene().start().says("hi").step().thinks("a", "b").streams("c"))
    thought = last(state, ThoughtEntry)
    assert isinstance(thought, ThoughtEntry) and thought.done and thought.text == "ab" and thought.seconds > 0


def test_an_answer_that_only_calls_leaves_no_empty_entry() -> None:
    scene = Scene().start().says("hi").step().answers("", calls=(ToolCall("c1", "read", {}),))
    assert kinds(after(scene)) == ["PromptEntry"]


def test_a_steering_message_is_shown_where_it_was_taken() -> None:
    state = ScreenState(pending=[PendingPrompt("o9", "also this", "steer")])
    after(Scene().start().says("hi").step().steered("also this"), state)
    said = last(state, PromptEntry)
    assert isinstance(said, PromptEntry) and said.steer and not state.pending


def test_a_prompt_waits_until_its_turn_starts() -> None:
    state = ScreenState(
        pending=[PendingPrompt("mine", "later", "prompt"), PendingPrompt("next", "last", "follow-up")]
    )
    after(Scene().start().says("later", op="mine"), state)
    assert [one.op for one in state.pending] == ["next"]


def test_a_running_call_keeps_the_tail_of_its_output() -> None:
    scene = Scene().start().says("go").step().calls("c1", "shell", "shell make", "execute")
    state = after(scene.prints("c1", "one\ntw").prints("c1", "o\nthree"))
    call = last(state, CallEntry)
    assert isinstance(call, CallEntry) and call.tail == ["one", "two", "three"] and "c1" in state.running


def test_the_tail_of_an_endless_output_is_bounded() -> None:
    scene = Scene().start().says("go").step().calls("c1", "shell", "shell yes", "execute")
    state = after(scene.prints("c1", "y\n" * 5_000))
    call = last(state, CallEntry)
    assert isinstance(call, CallEntry) and len(call.tail) <= 400


def test_a_finished_call_has_its_result_and_runs_no_more() -> None:
    state = after(
        Scene().start().says("go").step().calls("c1", "read", "read a").gets("c1", "text", seconds=2)
    )
    call = last(state, CallEntry)
    assert isinstance(call, CallEntry)
    assert (call.status, call.text, call.seconds, call.tail) == ("ok", "text", 2, [])
    assert not state.running


def test_each_outcome_is_a_status_of_its_own() -> None:
    for outcome in ("error", "denied", "cancelled", "interrupted", "repeated"):
        scene = Scene().start().says("go").step().calls("c1", "read", "read a")
        call = last(after(scene.gets("c1", "no", outcome=outcome)), CallEntry)
        assert isinstance(call, CallEntry) and call.status == outcome


def test_parallel_calls_finish_in_any_order() -> None:
    scene = Scene().start().says("go").step().calls("c1", "read", "read a").calls("c2", "read", "read b")
    state = after(scene.gets("c2", "two").gets("c1", "one"))
    assert [entry.text for entry in state.entries if isinstance(entry, CallEntry)] == ["one", "two"]


def test_a_result_of_an_unknown_call_is_shown() -> None:
    call = last(after(Scene().start().says("go").gets("c9", "late")), CallEntry)
    assert isinstance(call, CallEntry) and call.text == "late"


def test_an_approval_marks_its_call_as_waiting() -> None:
    state = after(asking())
    call = last(state, CallEntry)
    assert isinstance(call, CallEntry) and call.status == "waiting" and list(state.approvals) == ["a1"]


def test_a_resolved_approval_lets_the_call_go_on() -> None:
    state = after(asking().decided())
    call = last(state, CallEntry)
    assert isinstance(call, CallEntry) and call.status == "running" and not state.approvals


def test_approvals_queue_in_order() -> None:
    scene = asking().calls("c2", "edit", "edit b", "edit").asks("a2", call="c2")
    assert list(after(scene).approvals) == ["a1", "a2"]


def test_a_finished_call_takes_its_approval_and_its_question_along() -> None:
    scene = asking().question("which?", "a", "b", call="c1")
    state = after(scene.gets("c1", "denied", outcome="denied"))
    assert not state.approvals and not state.questions


def test_the_end_of_a_turn_leaves_nothing_open() -> None:
    scene = asking().question("which?").calls("c2", "shell", "shell x", "execute").thinks("hm", message="m9")
    state = after(scene.ends("cancelled"))
    assert not state.approvals and not state.questions and not state.running
    assert all(e.status != "running" for e in state.entries if isinstance(e, CallEntry))
    assert all(e.done for e in state.entries if isinstance(e, ThoughtEntry))


def test_an_interrupted_turn_says_so() -> None:
    ended = last(after(Scene().start().says("go").step().ends("cancelled")), TurnEndEntry)
    assert isinstance(ended, TurnEndEntry) and ended.stop_reason == "cancelled" and ended.steps == 1


def test_a_limit_is_named() -> None:
    ended = last(after(Scene().start().says("go").ends("max_turn_requests", limit="money")), TurnEndEntry)
    assert isinstance(ended, TurnEndEntry) and ended.limit == "money"


def test_todo_is_replaced_whole() -> None:
    scene = Scene().start().todo(("a", "completed"), ("b", "pending")).todo(("c", "pending"))
    assert [row.text for row in after(scene).todo] == ["c"]


def test_changes_of_a_file_add_up() -> None:
    scene = Scene().start().changed("a.py", "created", 5, 0).changed("a.py", "modified", 2, 1)
    file = after(scene).files["a.py"]
    assert (file.change, file.added, file.removed) == ("created", 7, 1)


def test_a_moved_file_keeps_its_counts() -> None:
    scene = Scene().start().changed("a.py", "modified", 2, 1)
    state = after(scene.add(events.FileChanged("b.py", "moved", moved_from="a.py"), "c"))
    assert list(state.files) == ["b.py"] and state.files["b.py"].added == 2


def test_usage_fills_the_gauge() -> None:
    state = after(Scene().start().uses(context=32_000))
    assert state.fullness == 0.5 and state.usage.cost == 0.04


def test_an_unknown_window_has_no_gauge() -> None:
    assert after(Scene().start()).fullness is None


def test_a_warning_is_a_line_with_what_to_do() -> None:
    remark = last(after(Scene().start().warns("no key", "/connect", "models")), RemarkEntry)
    assert isinstance(remark, RemarkEntry)
    assert (remark.level, remark.hint, remark.source) == ("warning", "/connect", "models")


def test_compaction_shows_the_tokens_before_and_after() -> None:
    remark = last(after(Scene().start().add(events.ContextCompacted("s", 1, 9000, 1200))), RemarkEntry)
    assert isinstance(remark, RemarkEntry) and "9,000 to 1,200" in remark.text


def test_an_event_of_a_newer_version_is_one_line() -> None:
    remark = last(after(Scene().start().add(events.Unknown("hologram", {}))), RemarkEntry)
    assert isinstance(remark, RemarkEntry) and "hologram" in remark.text


def test_output_of_a_plugin_is_an_entry() -> None:
    shown = last(after(Scene().start().notices(Markdown("**hi**"), plugin="hello")), OutputEntry)
    assert isinstance(shown, OutputEntry) and shown.plugin == "hello"


def test_an_action_is_passed_to_the_frontend_and_not_drawn() -> None:
    state = after(Scene().start().notices(kind="action", action="theme"))
    assert [one.values["action"] for one in state.requests] == ["theme"] and not kinds(state)


def test_an_answer_to_a_screen_is_not_drawn() -> None:
    state = ScreenState(captured={"o1"})
    after(Scene().start().notices(Text("ok"), op="o1", ok=True), state)
    assert state.requests[0].op == "o1" and not kinds(state)


def test_panels_show_their_last_rows() -> None:
    from cockpit.protocol.rows import PanelRow

    scene = Scene().start().add(events.PanelChanged("jobs", (PanelRow("a"),)))
    state = after(scene.add(events.PanelChanged("jobs", (PanelRow("b"),))))
    assert [row.text for row in state.panels["jobs"]] == ["b"]


def test_a_subagent_is_one_entry_however_much_it_does() -> None:
    scene = Scene().start().says("go").step()
    for number in range(50):
        scene.add(events.TextDelta("x", "t"), agent="main/review")
        scene.add(
            events.ToolCallStarted(ToolCall(str(number), "read", {}), "read", f"read {number}"),
            agent="main/review",
        )
    state = after(scene)
    assert kinds(state) == ["PromptEntry", "SubagentEntry"]
    entry = last(state, SubagentEntry)
    assert isinstance(entry, SubagentEntry) and entry.calls == 50 and entry.activity == "read 49"


def test_an_approval_of_a_subagent_is_shown_to_the_user() -> None:
    scene = Scene().start().says("go").step()
    scene.add(
        events.ApprovalRequested("a1", "main/x", "edit", "edit a", "", (), "", 1, "", ("allow_once",)),
        agent="main/x",
    )
    assert list(after(scene).approvals) == ["a1"]


def test_a_closed_session_says_so() -> None:
    state = after(Scene().start().says("go").add(events.SessionClosed("by the person")))
    assert state.closed == "by the person" and not state.busy


def test_no_text_can_carry_an_escape_sequence() -> None:
    evil = "\x1b]0;owned\x07\x1b[31mred\u202e\r"
    scene = Scene().start().says(evil).step().thinks(evil).streams(evil, message="m2")
    scene.calls("c1", "read", f"read {evil}").prints("c1", evil).gets("c1", evil, blocks=(Text(evil), EDIT))
    scene.warns(evil, evil, evil).notices(Markdown(evil)).todo((evil, "pending")).ends("error", evil)
    state = after(scene)
    assert "\x1b" not in repr(state.entries).replace("\\x1b", "\x1b")
    assert "\u202e" not in repr(state.entries).replace("\\u202e", "\u202e")


def seen(state: ScreenState) -> str:
    """What a person sees of a state, without what only streaming knows."""
    shown = []
    for entry in state.entries:
        match entry:
            case ThoughtEntry() | AnswerEntry():
                shown.append([type(entry).__name__, entry.text, entry.done])
            case CallEntry():
                shown.append(["Called", entry.title, entry.status, entry.text])
            case _:
                shown.append([repr(entry)])
    standing = [repr(state.todo), repr(state.files), repr(state.usage), state.busy, list(state.approvals)]
    return json.dumps([shown, standing])


def test_a_replay_of_durable_events_shows_the_same_screen() -> None:
    for scene in (worked(), asking(), worked().warns("careful").ends("cancelled")):
        durable = Scene()
        durable.envelopes = [e for e in scene.envelopes if not isinstance(e.event, events.TRANSIENT_EVENTS)]
        assert seen(after(durable)) == seen(after(scene))


@given(st.lists(st.integers(1, 40), max_size=30))
def test_however_an_answer_is_cut_it_is_the_same_answer(cuts: list[int]) -> None:
    pieces, rest = [], ANSWER
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    state = after(Scene().start().says("go").step().streams(*pieces, rest))
    answer = last(state, AnswerEntry)
    assert isinstance(answer, AnswerEntry) and answer.text == ANSWER


def test_changed_entries_are_marked_for_the_next_frame() -> None:
    state = after(running())
    state.touched.clear()
    state.aspects.clear()
    reduce(state, Envelope(1, 999, 0.0, "s1", "t1", "main", "c4", events.ToolCallProgressed("c4", "more\n")))
    assert state.touched == {state.calls["c4"]} and state.aspects == {"trace", "work"}


def test_the_worktree_of_a_session_is_known_until_it_is_left() -> None:
    entered = events.SessionChanged("m", "ask", True, branch="cockpit/rebate-1")
    scene = Scene().start().add(entered)
    state = after(scene)
    assert state.branch == "cockpit/rebate-1"
    assert after(scene.add(events.SessionChanged("m", "ask", True))).branch == ""


def test_the_tail_is_long_enough_for_the_screen() -> None:
    assert TAIL_LINES >= 100
