"""Each key does what the table says: pressed in a running cockpit on a recording."""

import asyncio
import time

import pytest
from tests.support.cockpits import Seat, seat, settled
from tests.support.scenes import EDIT, TESTS, Scene, asking, running, worked
from textual import events as textual_events
from textual.geometry import Offset
from textual.selection import Selection

from cockpit.protocol import ops
from cockpit.protocol.content import Text
from cockpit.protocol.queries import Query, Reply, SessionRow
from cockpit.protocol.recordings import RecordingChannel, RecordingDeck
from cockpit.protocol.rows import ApprovalPart
from cockpit.tui.actions.table import ACTIONS
from cockpit.tui.app import Cockpit
from cockpit.tui.render.widgets import StartOptions
from cockpit.tui.screens.picker import ChoiceList


def idle() -> Scene:
    return Scene().start()


def sent(seat: Seat, kind: type) -> list[ops.Op]:
    return [op for op in seat.ops if isinstance(op, kind)]


async def until(condition: object, seat: Seat, seconds: float = 5.0) -> None:
    """Wait for what another thread or screen brings."""
    assert callable(condition)
    async with asyncio.timeout(seconds):
        while not condition():
            await seat.pilot.pause()


async def test_enter_sends_although_the_list_went_while_the_key_was_under_way() -> None:
    async with seat(idle()) as s:
        await s.type("/statu")
        assert s.app.editor.popup_open
        editor = s.app.editor
        editor.post_message(textual_events.Key("s", "s"))  # nothing can be added to it
        await s.pilot.pause()
        editor.post_message(editor.ListKey("run"))
        await settled(s.app, s.pilot)
        assert editor.text == "" and [op.action for op in s.ops if isinstance(op, ops.Invoke)] == ["status"]


async def test_enter_sends_what_is_typed() -> None:
    async with seat(idle()) as s:
        await s.type("hello there")
        await s.press("enter")
        prompt = sent(s, ops.Prompt)[0]
        assert (
            isinstance(prompt, ops.Prompt)
            and prompt.content == (Text("hello there"),)
            and prompt.origin == "tui"
        )
        assert s.app.editor.text == "" and "hello there" in s.screen and "waits" in s.screen


async def test_a_prompt_typed_before_the_deck_is_ready_waits_and_is_shown() -> None:
    channel = RecordingChannel(idle().envelopes)
    gate = asyncio.Event()

    async def slow_deck() -> RecordingDeck:
        await gate.wait()
        return RecordingDeck(channel)

    app = Cockpit(slow_deck, "/tmp", StartOptions(still=True))
    async with app.run_test(size=(100, 30)) as pilot:
        s = Seat(app, pilot, channel, RecordingDeck(channel))
        await pilot.press(*"early", "enter")
        await pilot.pause()
        assert "early" in s.screen and not channel.ops
        gate.set()
        await settled(app, pilot)
        assert [op.content for op in channel.ops if isinstance(op, ops.Prompt)] == [(Text("early"),)]


async def test_shift_enter_ctrl_j_and_backslash_break_the_line() -> None:
    async with seat(idle()) as s:
        await s.type("a")
        await s.press("shift+enter", "b", "ctrl+j", "c", "backslash", "enter", "d")
        assert s.app.editor.text == "a\nb\nc\nd" and not sent(s, ops.Prompt)


async def test_while_busy_enter_steers_and_tab_queues() -> None:
    async with seat(running()) as s:
        await s.type("faster")
        await s.press("enter")
        await s.type("then this")
        await s.press("tab")
        assert len(sent(s, ops.Steer)) == 1 and len(sent(s, ops.FollowUp)) == 1
        assert "steers at the next step" in s.screen and "queued" in s.screen


async def test_escape_interrupts_the_turn() -> None:
    async with seat(running()) as s:
        await s.press("escape")
        assert len(sent(s, ops.Interrupt)) == 1


async def test_escape_twice_clears_the_draft() -> None:
    async with seat(idle()) as s:
        await s.type("draft")
        await s.press("escape")
        assert s.app.editor.text == "draft"
        await s.press("escape")
        assert s.app.editor.text == "" and not sent(s, ops.Interrupt)


async def test_ctrl_c_clears_then_quits() -> None:
    async with seat(idle()) as s:
        await s.type("draft")
        await s.press("ctrl+c")
        assert s.app.editor.text == ""
        await s.press("up")
        assert s.app.editor.text == "draft"
        await s.press("escape", "escape")
        await s.pilot.press("ctrl+c", "ctrl+c")
        await until(lambda: s.app._exit, s)
        assert s.deck.closed and any(isinstance(op, ops.Close) for op in s.ops)


async def test_ctrl_c_interrupts_while_busy() -> None:
    async with seat(running()) as s:
        await s.press("ctrl+c")
        assert len(sent(s, ops.Interrupt)) == 1 and "Ctrl+C again quits" in s.screen


async def test_ctrl_d_quits_only_when_empty() -> None:
    async with seat(idle()) as s:
        await s.type("ab")
        await s.press("left", "ctrl+d")
        assert s.app.editor.text == "a" and not s.app._exit
        await s.press("backspace")
        await s.pilot.press("ctrl+d")
        await until(lambda: s.app._exit, s)


async def test_leaving_while_a_turn_runs_asks_first() -> None:
    async with seat(running()) as s:
        await s.press("ctrl+d")
        assert "Quit?" in s.screen
        await s.press("n")
        assert not s.app._exit and "Quit?" not in s.screen


async def test_up_and_down_walk_through_history() -> None:
    async with seat(idle()) as s:
        for text in ("one", "two"):
            await s.type(text)
            await s.press("enter")
        await s.type("dr")
        await s.press("up", "up")
        assert s.app.editor.text == "one"
        await s.press("down", "down")
        assert s.app.editor.text == "dr"


async def test_ctrl_r_searches_history() -> None:
    async with seat(idle()) as s:
        for text in ("fix the cart", "run tests"):
            await s.type(text)
            await s.press("enter")
        await s.press("ctrl+r")
        assert "Earlier prompts" in s.screen
        await s.type("cart")
        await s.press("enter")
        assert s.app.editor.text == "fix the cart"


async def test_shift_tab_goes_through_the_modes() -> None:
    async with seat(idle()) as s:
        await s.press("shift+tab")
        op = sent(s, ops.SelectMode)[0]
        assert isinstance(op, ops.SelectMode) and op.mode == "auto-edit"


async def test_ctrl_k_kills_to_the_end_of_the_line() -> None:
    async with seat(idle()) as s:
        await s.type("hello world")
        await s.press("ctrl+a", "right", "right", "ctrl+k")
        assert s.app.editor.text == "he"


async def test_a_bang_runs_a_tool_without_a_model() -> None:
    async with seat(idle()) as s:
        await s.type("!ls -l")
        assert s.app.editor.has_class("-shell")
        await s.press("enter")
        op = sent(s, ops.CallTool)[0]
        assert isinstance(op, ops.CallTool) and (op.name, dict(op.arguments)) == (
            "shell",
            {"command": "ls -l"},
        )


async def test_a_command_typed_faster_than_its_list_comes_is_meant_as_typed() -> None:
    gate = asyncio.Event()
    async with seat(idle()) as s:
        await s.type("/")
        assert s.app.editor.popup_open
        channel = s.channel
        usual = channel.ask

        async def slow(query: Query) -> Reply:
            await gate.wait()
            return await usual(query)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(channel, "ask", slow)
            await s.pilot.press(*"status", "enter")
            await until(lambda: sent(s, ops.Invoke), s)
            gate.set()
        assert [op.action for op in sent(s, ops.Invoke) if isinstance(op, ops.Invoke)] == ["status"]


async def test_a_slash_completes_commands() -> None:
    async with seat(idle()) as s:
        await s.type("/st")
        assert "where things stand" in s.screen
        await s.press("tab")
        assert s.app.editor.text == "/status "
        await s.press("enter")
        op = sent(s, ops.Invoke)[0]
        assert isinstance(op, ops.Invoke) and op.action == "status"


async def test_enter_on_a_whole_command_runs_it_and_one_with_words_waits_for_them() -> None:
    async with seat(idle()) as s:
        await s.type("/st")
        await s.press("enter")
        assert [op.action for op in sent(s, ops.Invoke) if isinstance(op, ops.Invoke)] == ["status"]
        await s.type("/comp")
        await s.press("enter")
        assert s.app.editor.text == "/compact " and len(sent(s, ops.Invoke)) == 1


async def test_the_arguments_of_a_command_are_shown_while_they_are_typed() -> None:
    async with seat(idle()) as s:
        await s.type("/compact")
        assert "[what to keep]" not in s.screen
        await s.type(" the")
        assert "/compact [what to keep]" in s.screen
        await s.press("ctrl+u")
        await s.type("compact [")
        assert "/compact [what to keep]" not in s.screen


async def test_enter_takes_the_chosen_completion_and_escape_shuts_the_list() -> None:
    async with seat(idle()) as s:
        await s.type("see @")
        await s.press("down", "enter")
        assert s.app.editor.text == "see @src/shop/__init__.py "
        await s.type("@")
        await s.press("escape")
        assert not s.app.editor.popup_open and s.app.editor.text.endswith("@")
        assert not sent(s, ops.Prompt) and not sent(s, ops.Interrupt)


async def test_a_chinese_path_completes() -> None:
    async with seat(idle()) as s:
        await s.type("看@折")
        await s.press("tab")
        assert s.app.editor.text == "看@src/shop/折扣.py "


async def test_an_unknown_command_names_near_ones() -> None:
    async with seat(idle()) as s:
        await s.type("/stauts now")
        await s.press("enter")
        assert "unknown command /stauts" in s.screen and "/status" in s.screen
        assert not sent(s, ops.Invoke)


async def test_a_path_is_not_a_command() -> None:
    async with seat(idle()) as s:
        await s.type("/usr/bin is what?")
        await s.press("enter")
        assert len(sent(s, ops.Prompt)) == 1


async def test_a_command_with_words_takes_them_along() -> None:
    async with seat(idle()) as s:
        await s.type("/model openai:gpt-5")
        await s.press("enter")
        op = sent(s, ops.SelectModel)[0]
        assert isinstance(op, ops.SelectModel) and op.model == "openai:gpt-5"


@pytest.mark.parametrize(
    ("key", "decision"), [("y", "allow_once"), ("a", "allow_session"), ("p", "allow_always")]
)
async def test_a_key_answers_an_approval(key: str, decision: str) -> None:
    async with seat(asking()) as s:
        await s.press(key)
        op = sent(s, ops.Decide)[0]
        assert isinstance(op, ops.Decide) and (op.request, op.decision) == ("a1", decision)
        assert s.app.editor.text == "" and not s.state.approvals


async def test_n_rejects_with_a_word() -> None:
    async with seat(asking()) as s:
        await s.press("n")
        await s.type("use Decimal")
        await s.press("enter")
        op = sent(s, ops.Decide)[0]
        assert isinstance(op, ops.Decide) and (op.decision, op.note) == ("reject_once", "use Decimal")
        assert s.app.editor.purpose == "prompt"


async def test_escape_leaves_the_word_and_the_approval_still_waits() -> None:
    async with seat(asking()) as s:
        await s.press("n", "x", "escape")
        assert s.app.editor.purpose == "prompt" and s.state.approvals and not sent(s, ops.Decide)
        await s.press("escape")
        assert len(sent(s, ops.Interrupt)) == 1


async def test_a_draft_keeps_its_letters_while_an_approval_waits() -> None:
    async with seat(asking()) as s:
        await s.type("x")
        await s.type("yes")
        assert s.app.editor.text == "xyes" and not sent(s, ops.Decide)
        assert "F5 answer the question" in s.screen.splitlines()[-1]
        await s.press("f5", "y")
        assert sent(s, ops.Decide) and s.app.editor.text == "xyes"


async def test_a_key_typed_in_a_draft_does_not_answer_an_approval() -> None:
    scene = running()
    async with seat(scene) as s:
        await s.type("h")
        await s.press("backspace")
        s.app.editor.note_key()
        await s.play(scene.asks(call="c4"))
        assert s.app.controller is not None
        s.app.controller.draft.quiet_until = time.monotonic() + 60
        await s.press("y")
        assert s.app.editor.text == "y" and not sent(s, ops.Decide)


async def test_a_key_held_down_answers_one_approval_only() -> None:
    scene = running()
    async with seat(scene, quiet=60.0) as s:
        await s.play(scene.asks(call="c4", id="a1"))
        assert s.app.controller is not None
        s.app.controller.draft.quiet_until = 0.0
        await s.press("y")
        await s.play(scene.decided("a1").asks(call="c5", id="a2"))
        await s.press("y", "y", "n", "a")
        assert s.screen.count("this is a new question") == 1
        assert [op.request for op in sent(s, ops.Decide)] == ["a1"]
        assert s.app.editor.text == "" and s.app.editor.purpose == "prompt"


async def test_a_key_on_a_card_that_just_appeared_begins_a_draft() -> None:
    scene = running()
    async with seat(scene, quiet=60.0) as s:
        await s.play(scene.asks(call="c4"))
        await s.press("y")
        assert s.app.editor.text == "y" and not sent(s, ops.Decide)


async def test_an_answer_in_the_whole_view_is_for_what_was_shown_there() -> None:
    scene = running()
    async with seat(scene) as s:
        await s.play(scene.asks(call="c4", id="a1"))
        await s.press("v")
        await s.play(scene.decided("a1", "reject_once").asks(call="c5", id="a2"))
        await s.press("y")
        assert not sent(s, ops.Decide) and "is no longer open" in s.screen


async def test_a_word_of_rejection_is_not_given_to_another_approval() -> None:
    scene = running()
    async with seat(scene) as s:
        await s.play(scene.asks(call="c4", id="a1"))
        await s.press("n")
        await s.play(scene.decided("a1", "reject_once").asks(call="c5", id="a2"))
        assert s.app.editor.purpose == "prompt"
        await s.press("enter")
        assert not sent(s, ops.Decide)


async def test_a_decision_that_cannot_be_remembered_is_not_offered() -> None:
    scene = Scene().start().says("go").step().calls("c1", "shell", "shell rm -r x", "execute")
    scene.asks(call="c1", tool="shell", title="rm -r x", shape="")
    request = scene.envelopes[-1].event
    object.__setattr__(request, "options", ("allow_once", "reject_once"))
    async with seat(scene) as s:
        await s.press("p")
        assert not sent(s, ops.Decide) and "always" not in s.screen


async def test_parts_of_an_approval_can_be_left_out() -> None:
    parts = (ApprovalPart("p1", "a", "", EDIT), ApprovalPart("p2", "b", "", TESTS))
    scene = Scene().start().says("go").step().calls("c1", "apply_patch", "patch 2 files", "edit")
    async with seat(scene.asks(call="c1", parts=parts)) as s:
        await s.press("f5", "down", "space", "y")
        op = sent(s, ops.Decide)[0]
        assert isinstance(op, ops.Decide) and op.parts == ("p1",)


async def test_of_problems_nothing_is_claimed_while_a_part_is_left_out() -> None:
    parts = (ApprovalPart("p1", "a", "", EDIT), ApprovalPart("p2", "b", "", TESTS))
    scene = Scene().start().says("go").step().calls("c1", "apply_patch", "patch 2 files", "edit")
    async with seat(scene.asks(call="c1", parts=parts, note="new problems: 1 - b.py:3 wrong")) as s:
        await s.press("f5", "down", "space")
        assert "problems unknown: a part is left out" in s.screen and "new problems" not in s.screen
        await s.press("v")
        assert "problems unknown: a part is left out" in s.screen and "b.py:3" not in s.screen
        await s.press("escape", "down", "space")
        assert "new problems: 1 - b.py:3 wrong" in s.screen and "part is left out" not in s.screen


async def test_nothing_can_be_left_out_of_a_change_that_goes_as_a_whole() -> None:
    parts = (ApprovalPart("p1", "a", "", EDIT), ApprovalPart("p2", "b", "", TESTS))
    scene = Scene().start().says("go").step().calls("c1", "rename", "rename a to b", "edit")
    async with seat(
        scene.asks(call="c1", tool="rename", parts=parts, note="new problems: 0", whole=True)
    ) as s:
        assert "☑" not in s.screen
        await s.press("f5", "down")
        assert not s.app.work.selected and "new problems: 0" in s.screen
        await s.press("y")
        op = sent(s, ops.Decide)[0]
        assert isinstance(op, ops.Decide) and op.decision == "allow_once" and op.parts == ()


async def test_the_next_approval_follows_the_first() -> None:
    scene = asking().calls("c2", "edit", "edit b.py", "edit").asks("a2", call="c2", title="edit b.py")
    async with seat(scene) as s:
        assert "1 of 2" in s.screen
        await s.press("y")
        assert "edit b.py" in s.screen
        await s.press("a")
        assert [op.request for op in sent(s, ops.Decide) if isinstance(op, ops.Decide)] == ["a1", "a2"]


async def test_a_question_is_answered_by_its_number_or_in_words() -> None:
    scene = Scene().start().says("go").step().question("Which database?", "sqlite", "postgres")
    async with seat(scene) as s:
        assert "Which database?" in s.screen
        await s.press("2")
        answer = sent(s, ops.Answer)[0]
        assert isinstance(answer, ops.Answer) and answer.text == "postgres"
        await s.play(scene.question("Why?", id="q2"))
        await s.type("because")
        await s.press("enter")
        assert [op.text for op in sent(s, ops.Answer) if isinstance(op, ops.Answer)] == [
            "postgres",
            "because",
        ]


async def test_f_keys_move_between_the_regions() -> None:
    async with seat(worked()) as s:
        for key, place in (("f3", "trace"), ("f5", "work"), ("f4", "composer")):
            await s.press(key)
            assert s.app.focused is not None and s.app.focused.id == place


async def test_typing_anywhere_reaches_the_composer() -> None:
    async with seat(worked()) as s:
        await s.press("f3", "h", "i")
        assert s.app.editor.text == "hi" and s.app.editor.has_focus
        await s.press("f5", "x")
        assert s.app.editor.text == "hix"


async def test_work_is_a_drawer_below_a_hundred_columns() -> None:
    async with seat(worked(), (80, 30)) as s:
        assert not s.app.work.display
        await s.press("f5")
        assert s.app.work.display and "CHANGED" in s.screen
        await s.press("f5")
        assert not s.app.work.display


async def test_an_approval_opens_the_drawer_and_its_answer_shuts_it() -> None:
    async with seat(asking(), (80, 30)) as s:
        assert s.app.work.display and "APPROVE" in s.screen
        await s.press("y")
        assert not s.app.work.display


async def test_ctrl_o_opens_and_folds_output() -> None:
    async with seat(running(), (120, 200)) as s:
        assert "Look at the cart first" not in s.screen
        await s.press("ctrl+o")
        assert "Look at the cart first" in s.screen
        await s.press("ctrl+o")
        assert "Look at the cart first" not in s.screen


async def test_a_click_opens_an_entry() -> None:
    async with seat(running(), (120, 50)) as s:
        row = next(y for y, line in enumerate(s.screen.split("\n")) if "thought" in line)
        assert "Look at the cart first" not in s.screen
        await s.pilot.click(offset=(6, row))
        await settled(s.app, s.pilot)
        assert "Look at the cart first" in s.screen


async def test_ctrl_t_shows_the_todo_list() -> None:
    async with seat(running(), (80, 30)) as s:
        await s.press("ctrl+t")
        assert "change the sum" in s.screen


async def test_ctrl_p_finds_everything_by_name() -> None:
    async with seat(idle()) as s:
        await s.press("ctrl+p")
        assert "Everything" in s.screen
        await s.type("next perm")
        await s.press("enter")
        assert len(sent(s, ops.SelectMode)) == 1


async def test_every_listed_action_is_in_the_palette() -> None:
    async with seat(worked()) as s:
        await s.press("ctrl+p")
        listed = {choice.label for choice in s.app.screen.query_one(ChoiceList).choices}
        for action in ACTIONS:
            assert not action.listed or action.label[0].upper() + action.label[1:] in listed


async def test_a_bracket_and_a_question_mark_in_an_empty_composer() -> None:
    async with seat(idle()) as s:
        await s.press("question_mark")
        assert "Keys and commands" in s.screen
        await s.press("escape")
        await s.press("greater_than_sign")
        assert "Everything" in s.screen
        await s.press("escape")
        await s.type("a?")
        assert s.app.editor.text == "a?"


async def test_f1_lists_every_key() -> None:
    async with seat(idle(), (120, 90)) as s:
        await s.press("f1")
        for action in ACTIONS:
            assert action.label[:40] in s.screen, action.name


async def test_f2_copies_the_source_of_the_last_answer() -> None:
    async with seat(worked()) as s:
        await s.press("f2")
        await until(lambda: s.app.clipboard != "", s)
        assert "| discount 3 | 10 | **7** |" in s.app.clipboard


async def test_a_selection_is_copied_without_borders() -> None:
    scene = Scene().start().says("x").step().answers("word " * 40)
    async with seat(scene) as s:
        row = next(y for y in range(40) if "word word" in s.app.trace._line(y).text)
        s.app.screen.selections = {s.app.trace: Selection(Offset(0, row), Offset(200, row + 2))}
        await s.press("f2")
        await until(lambda: s.app.clipboard != "", s)
        assert s.app.clipboard == ("word " * 40).strip()


async def test_a_drag_with_the_mouse_selects() -> None:
    scene = Scene().start().says("x").step().answers("alpha beta gamma")
    async with seat(scene) as s:
        row = next(y for y, line in enumerate(s.screen.split("\n")) if "alpha beta" in line)
        await s.pilot.mouse_down(offset=(9, row))
        await s.pilot.hover(offset=(13, row))
        await s.pilot.mouse_up(offset=(13, row))
        await s.pilot.pause()
        assert s.app.screen.get_selected_text() == "beta"


async def test_the_trace_follows_its_end_until_the_reader_scrolls_up() -> None:
    scene = Scene().start().says("x").step().streams("line\n\n" * 200)
    async with seat(scene) as s:
        trace = s.app.trace
        assert trace.scroll_offset.y == trace.max_scroll_y
        await s.press("pageup")
        here = trace.scroll_offset.y
        seen = [trace._line(here + n).text for n in range(5)]
        await s.play(scene.streams("more\n\n" * 50))
        assert [trace._line(trace.scroll_offset.y + n).text for n in range(5)] == seen
        assert "new lines" in s.screen
        await s.press("f3", "end")
        await s.play(scene.streams("last\n\n" * 5))
        assert trace.scroll_offset.y == trace.max_scroll_y and "new lines" not in s.screen


async def test_the_mouse_wheel_scrolls() -> None:
    scene = Scene().start().says("x").step().streams("line\n\n" * 200)
    async with seat(scene) as s:
        before = s.app.trace.scroll_offset.y
        await s.pilot._post_mouse_events([textual_events.MouseScrollUp], offset=(10, 10), button=0)
        await settled(s.app, s.pilot)
        assert s.app.trace.scroll_offset.y < before


async def test_slash_searches_the_trace_and_n_goes_on() -> None:
    scene = Scene().start().says("x").step()
    scene.answers("needle one\n\n" + "hay\n\n" * 100 + "needle two\n\n" + "hay\n\n" * 100)
    async with seat(scene) as s:
        await s.press("f3", "slash")
        for letter in "needle":
            await s.press(letter)
        await s.press("enter")
        assert "needle two" in s.screen
        await s.press("N")
        assert "needle one" in s.screen
        await s.press("n")
        assert "needle two" in s.screen


async def test_ctrl_l_draws_the_screen_again() -> None:
    async with seat(worked()) as s:
        before = s.screen
        await s.press("ctrl+l")
        assert s.screen == before


async def test_ctrl_s_opens_another_session() -> None:
    other = Scene(session="s2").start().says("an older matter").answers("done long ago").ends()
    rows = (SessionRow("s2", "/home/ada/shop", "an older matter", 1.0, 3, "m"),)
    async with seat(idle(), rows=rows, others=(other,)) as s:
        await s.press("ctrl+s")
        assert "an older matter" in s.screen and "3 turns" in s.screen
        await s.press("down", "enter")
        await until(lambda: "done long ago" in s.screen, s)
        assert s.state.session == "s2"


async def test_a_plan_panel_and_a_changed_file_can_be_chosen() -> None:
    async with seat(worked()) as s:
        await s.press("f5", "enter")
        assert "Changed in this session" in s.screen and "rebate" in s.screen
        await s.press("escape")
        assert "Changed in this session" not in s.screen


async def test_a_bracketed_paste_is_text_and_sends_nothing() -> None:
    async with seat(idle()) as s:
        s.app.post_message(textual_events.Paste("/help\nline two\n"))
        await settled(s.app, s.pilot)
        assert s.app.editor.text == "/help\nline two\n" and not s.ops


async def test_the_composer_grows_to_a_third_and_no_further() -> None:
    async with seat(idle(), (100, 30)) as s:
        await s.type("\n".join("abcdefghijklmnopqrst"))
        assert 9 <= s.app.editor.outer_size.height <= 11
        assert s.app.trace.size.height >= 15


async def test_tab_in_an_empty_composer_suggests_a_prompt() -> None:
    async with seat(idle()) as s:
        await s.press("tab")
        assert s.app.editor.text == "explain this project"


async def test_an_action_of_a_command_opens_its_screen() -> None:
    scene = idle()
    async with seat(scene) as s:
        scene.time = time.time() + 5
        await s.play(scene.notices(kind="action", action="theme", arguments={}))
        await until(lambda: "cockpit-day" in s.screen, s)


async def test_an_action_of_the_past_is_not_done_again() -> None:
    async with seat(idle().notices(kind="action", action="theme", arguments={})) as s:
        assert "cockpit-day" not in s.screen
