"""Hooks at a tool's call: they deny, ask, rewrite and add, and loosen nothing."""

import json

import pytest
from tests.support.decks import call, driving
from tests.support.hooks import House, command, options

from cockpit.protocol.events import ApprovalRequested, ToolCallFinished, ToolCallStarted, Warned
from cockpit.protocol.messages import ToolResult


def said(**specific: object) -> str:
    """A line of python that prints this as the answer at PreToolUse."""
    answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **specific}}
    return f"print({json.dumps(json.dumps(answer))})"


async def play(house: House, *calls: object) -> list[ToolResult]:
    """One turn with these calls, nobody asked; their results."""
    house.play({"calls": list(calls)}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("go")
        return [one.result for one in driver.all(ToolCallFinished)]


async def test_exit_code_2_denies_the_call_and_the_model_reads_stderr(house: House) -> None:
    house.own(PreToolUse=("Bash", command("echo 'use make deploy' >&2; echo no; exit 2")))
    [result] = await play(house, call("Bash", command="cat a.txt"))
    assert result.outcome == "denied"
    assert result.text == ("refused by PreToolUse ~/.claude/settings.json:7: use make deploy")


async def test_a_hook_is_told_the_call_as_claude_code_names_it(house: House) -> None:
    note = command(house.python("note(json.dumps(told))"))
    house.own(PreToolUse=("Read|Edit", note), PostToolUse=("^Edit$", note))
    edit = call("edit", path="a.txt", old="one", new="three")
    house.play({"calls": [call("read", path="a.txt", lines=5)]}, {"calls": [edit]}, {"text": "Done."})
    async with driving(house.root, options=options("auto-edit")) as driver:
        await driver.prompt("go")
        session = driver.channel.session
        ids = [one.result.call for one in driver.all(ToolCallFinished)]
    read, before, after = (json.loads(line) for line in house.noted())
    path = str(house.root / "a.txt")
    assert read["tool_name"] == "Read" and read["tool_input"] == {"file_path": path, "limit": 5}
    assert before["tool_name"] == "Edit"
    assert before["tool_input"] == {"file_path": path, "old_string": "one", "new_string": "three"}
    assert after["tool_response"] == {"filePath": path, "success": True}
    common = {name: before[name] for name in ("session_id", "cwd", "permission_mode", "hook_event_name")}
    assert common == {
        "session_id": session,
        "cwd": str(house.root),
        "permission_mode": "acceptEdits",
        "hook_event_name": "PreToolUse",
    }
    assert [read["tool_use_id"], before["tool_use_id"], after["tool_use_id"]] == [*ids, ids[1]]
    assert before["transcript_path"].endswith(f"{session}.jsonl") and "agent_id" not in before


async def test_updated_input_is_translated_validated_and_judged_again(house: House) -> None:
    print_touch = said(updatedInput={"command": "touch c.txt", "description": "x", "timeout": 5000})
    house.own(PreToolUse=("Bash", command(house.python(print_touch))))
    house.play({"calls": [call("Bash", command="cat a.txt")]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        turn = await driver.begin("go")
        request = await driver.next(ApprovalRequested)
        assert "touch c.txt" in str(request.parts)
        await driver.decide(request.id, "reject_once")
        await driver.end(turn)
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        [shown] = [one.text for one in driver.all(Warned) if "changed the arguments" in one.text]
    assert result.outcome == "denied" and not (house.root / "c.txt").exists()
    assert shown.startswith("PreToolUse ~/.claude/settings.json:7 changed the arguments of shell")
    assert '"seconds": 5' in shown


async def test_updated_input_of_another_file_reads_that_file(house: House) -> None:
    other = str(house.root / "b.txt")
    house.own(PreToolUse=("Read", command(house.python(said(updatedInput={"file_path": other})))))
    [result] = await play(house, call("Read", file_path="a.txt"))
    assert result.outcome == "ok" and "two" in result.text


async def test_updated_input_that_does_not_fit_is_an_error_and_nothing_runs(house: House) -> None:
    wrong = said(updatedInput={"file_path": 7, "colour": "red"})
    house.own(PreToolUse=("Read", command(house.python(wrong))))
    [result] = await play(house, call("Read", file_path="a.txt"))
    assert result.outcome == "error" and "colour" in result.text


async def test_allow_loosens_nothing_and_approve_neither(house: House) -> None:
    allow = command(house.python(said(permissionDecision="allow", permissionDecisionReason="fine")))
    old = command(house.python('print(\'{"decision": "approve"}\')'))
    house.own(PreToolUse=("Bash", allow, old))
    house.play({"calls": [call("Bash", command="touch c.txt")]}, {"text": "Done."})
    async with driving(house.root, options=options(someone=False)) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
    assert result.outcome == "denied" and not (house.root / "c.txt").exists()


async def test_ask_and_defer_ask_a_person_whatever_the_mode(house: House) -> None:
    for decision in ("ask", "defer"):
        line = said(permissionDecision=decision, permissionDecisionReason="look at it first")
        house.own(PreToolUse=("Read", command(house.python(line))))
        house.play({"calls": [call("Read", file_path="a.txt")]}, {"text": "Done."})
        async with driving(house.root, options=options("full")) as driver:
            turn = await driver.begin("go")
            request = await driver.next(ApprovalRequested)
            assert "look at it first" in request.reason
            await driver.decide(request.id, "allow_once")
            await driver.end(turn)
            [result] = [one.result for one in driver.all(ToolCallFinished)]
        assert result.outcome == "ok"


async def test_several_hooks_run_at_the_same_time_and_deny_beats_ask(house: House) -> None:
    """Each waits for the other to have begun: one after the other they would both end in failure."""
    meet = (
        "open(os.path.join({folder!r}, {me!r}), 'w').close()\n"
        "for _ in range(2000):\n"
        "    if os.path.exists(os.path.join({folder!r}, {you!r})): break\n"
        "    time.sleep(0.005)\n"
        "else: sys.exit(1)\n"
    )
    folder = str(house.root.parent)
    first = meet.format(folder=folder, me="one", you="two") + said(permissionDecision="ask")
    second = meet.format(folder=folder, me="two", you="one") + (
        said(permissionDecision="deny", permissionDecisionReason="never")
    )
    house.own(PreToolUse=("Read", command(house.python(first)), command(house.python(second))))
    [result] = await play(house, call("Read", file_path="a.txt"))
    assert result.outcome == "denied" and result.text.endswith("never")


async def test_context_is_added_to_the_result(house: House) -> None:
    before = command(house.python(said(additionalContext="formatted by black")))
    after = command(
        house.python(
            "print(json.dumps({'decision': 'block', 'reason': 'lint: line 3', 'hookSpecificOutput':"
            " {'hookEventName': 'PostToolUse', 'additionalContext': 'see the linter'}}))"
        )
    )
    house.own(PreToolUse=("Read", before), PostToolUse=("Read", after))
    [result] = await play(house, call("Read", file_path="a.txt"))
    assert result.outcome == "ok" and "one" in result.text
    for text in ("formatted by black", "lint: line 3", "see the linter"):
        assert text in result.text


async def test_a_hook_may_put_other_words_in_the_place_of_a_result(house: House) -> None:
    line = (
        "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PostToolUse',"
        " 'updatedToolOutput': 'nothing to see'}}))"
    )
    house.own(PostToolUse=("Read", command(house.python(line))))
    [result] = await play(house, call("Read", file_path="a.txt"))
    assert result.text == "nothing to see"


async def test_a_failed_call_is_told_to_its_own_event_only(house: House) -> None:
    note = command(house.python("note(told['hook_event_name'] + ' ' + told.get('error', '')[:9])"))
    failed = command("echo 'try b.txt' >&2; exit 2")
    house.own(PostToolUse=("", note), PostToolUseFailure=("Read", note, failed))
    [result] = await play(house, call("Read", file_path="nowhere.txt"))
    assert result.outcome == "error" and "try b.txt" in result.text
    [noted] = house.noted()
    assert noted.startswith("PostToolUseFailure")


async def test_any_other_exit_code_is_a_warning_and_decides_nothing(house: House) -> None:
    house.own(PreToolUse=("Read", command("echo broken >&2; exit 1")))
    house.play({"calls": [call("Read", file_path="a.txt")]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        texts = [one.text for one in driver.all(Warned)]
    assert result.outcome == "ok"
    assert "PreToolUse ~/.claude/settings.json:7: it ended with exit code 1: broken" in texts


async def test_a_hook_that_fails_and_must_not_is_a_no(house: House) -> None:
    house.own(PreToolUse=("Read", command("exit 1", onFailure="block")))
    [result] = await play(house, call("Read", file_path="a.txt"))
    assert result.outcome == "denied" and "exit code 1" in result.text


async def test_a_hook_that_does_not_end_is_stopped_with_all_it_started_and_a_person_is_asked(
    house: House,
) -> None:
    slow = house.python("note(os.getpid())\nos.system('sleep 600')")
    house.own(PreToolUse=("Read", command(slow, timeout=1)))
    house.play({"calls": [call("Read", file_path="a.txt")]}, {"text": "Done."})
    async with driving(house.root, options=options(someone=False)) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        texts = [one.text for one in driver.all(Warned)]
    assert result.outcome == "denied"
    assert any("did not end within 1 s and was stopped" in text for text in texts)
    assert len(house.noted()) == 1


async def test_continue_false_ends_the_turn_and_nothing_more_runs(house: House) -> None:
    stop = command(house.python('print(\'{"continue": false, "stopReason": "enough for today"}\')'))
    house.own(PostToolUse=("Read", stop))
    calls = [call("Read", file_path="a.txt"), call("Bash", command="cat b.txt")]
    house.play({"calls": calls}, {"text": "Never said."})
    async with driving(house.root, options=options()) as driver:
        ended = await driver.prompt("go")
        first, second = [one.result for one in driver.all(ToolCallFinished)]
        assert (await driver.prompt("again")).stop_reason == "end_turn"
    assert ended.stop_reason == "refusal" and ended.message.endswith("enough for today")
    assert first.outcome == "ok" and second.outcome == "denied" and "not run" in second.text


async def test_if_filters_by_a_permission_rule_also_inside_of_a_line(house: House) -> None:
    house.own(PreToolUse=("Bash", command("exit 2", **{"if": "Bash(git push *)"})))
    results = await play(
        house,
        call("Bash", command="cat a.txt"),
        call("Bash", command="cat a.txt && sh -c 'git push origin main'"),
    )
    assert [one.outcome for one in results] == ["ok", "denied"]


async def test_if_filters_paths(house: House) -> None:
    house.own(PreToolUse=("", command("exit 2", **{"if": "Read(b*)"})))
    results = await play(house, call("Read", file_path="a.txt"), call("Read", file_path="b.txt"))
    assert [one.outcome for one in results] == ["ok", "denied"]


async def test_once_runs_once_in_a_session(house: House) -> None:
    house.own(PreToolUse=("Read", command(house.python("note('ran')"), once=True)))
    await play(house, call("Read", file_path="a.txt"), call("Read", file_path="b.txt"))
    assert house.noted() == ["ran"]


async def test_the_same_hook_in_two_files_runs_once(house: House) -> None:
    note = command(house.python("note('ran')"))
    house.own(PreToolUse=("Read|Bash", note))
    house.project(PreToolUse=("Read|Bash", note))
    await play(house, call("Read", file_path="a.txt"))
    assert house.noted() == ["ran"]


async def test_who_guards_edit_sees_whatever_changes_files(house: House) -> None:
    house.own(PreToolUse=("Edit|Write", command("exit 2")))
    move = call("move", path="a.txt", to="c.txt")
    [result] = await play(house, move)
    assert result.outcome == "denied" and (house.root / "a.txt").exists()


async def test_a_line_that_the_policy_blocks_does_not_run_and_a_person_is_asked(house: House) -> None:
    (house.root / "precious").mkdir()
    house.own(PreToolUse=("Read", command("rm -rf / --no-preserve-root")))
    house.play({"calls": [call("Read", file_path="a.txt")]}, {"text": "Done."})
    async with driving(house.root, options=options(someone=False)) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        texts = [one.text for one in driver.all(Warned)]
    assert result.outcome == "denied" and (house.root / "precious").exists()
    assert any("the policy blocks it" in text for text in texts)


async def test_a_hooks_environment_names_the_project_and_holds_no_key(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-canary-canary")
    line = "note(os.environ['CLAUDE_PROJECT_DIR'])\nnote('canary' in str(os.environ))\nnote(os.getcwd())"
    house.own(PreToolUse=("Read", command(house.python(line))))
    await play(house, call("Read", file_path="a.txt"))
    assert house.noted() == [str(house.root), "False", str(house.root)]


async def test_words_without_a_shell_are_started_as_they_stand(house: House) -> None:
    script = house.root.parent / "hook.sh"
    script.write_text('#!/bin/sh\nprintf "%s" "$1" >&2\nexit 2\n', encoding="utf-8")
    script.chmod(0o755)
    hook = command(str(script), args=["${CLAUDE_PROJECT_DIR}/x y; exit 0"])
    house.own(PreToolUse=("Read", hook))
    [result] = await play(house, call("Read", file_path="a.txt"))
    assert result.text.endswith(f"{house.root}/x y; exit 0")


async def test_a_background_hook_is_not_waited_for_and_is_heard_with_the_next_step(house: House) -> None:
    gate = house.root.parent / "gate"
    line = (
        f"while not os.path.exists({str(gate)!r}): time.sleep(0.005)\n"
        "print(json.dumps({'systemMessage': 'the tests passed'}))"
    )
    house.own(PreToolUse=("Read", command(house.python(line), **{"async": True})))
    house.play({"calls": [call("Read", file_path="a.txt")]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        ended = await driver.prompt("go")
        assert ended.stop_reason == "end_turn"
        gate.touch()
        await driver.until(lambda one: isinstance(one.event, Warned) and "tests passed" in one.event.text)


async def test_long_words_are_cut_and_the_rest_is_set_aside(house: House) -> None:
    line = (
        "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PreToolUse',"
        " 'additionalContext': 'x' * 12000}}))"
    )
    house.own(PreToolUse=("Read", command(house.python(line))))
    [result] = await play(house, call("Read", file_path="a.txt"))
    assert result.text.count("x") < 10_100 and "12,000]" in result.text


async def test_crush_and_codex_files_are_heard_too(house: House) -> None:
    (house.person / ".codex").mkdir()
    (house.person / ".codex" / "hooks.json").write_text(
        '{"hooks": {"PreToolUse": [{"matcher": "Read", "hooks": [{"type": "command", '
        '"command": "exit 2"}]}]}}',
        encoding="utf-8",
    )
    crush = house.person / ".config" / "crush"
    crush.mkdir(parents=True)
    (crush / "crush.json").write_text(
        '{"hooks": {"pre_tool_use": [{"matcher": "^bash$", "command": "exit 2", "timeout": 5}]}}',
        encoding="utf-8",
    )
    results = await play(house, call("Read", file_path="a.txt"), call("Bash", command="cat a.txt"))
    assert [one.outcome for one in results] == ["denied", "denied"]


async def test_a_person_is_under_hooks_too_when_they_run_a_command(house: House) -> None:
    house.own(PreToolUse=("Bash", command("exit 2")))
    house.play({"text": "x"})
    async with driving(house.root, options=options()) as driver:
        await driver.run_tool("shell", command="cat a.txt")
        await driver.next(ToolCallStarted)
        result = (await driver.next(ToolCallFinished)).result
    assert result.outcome == "denied"
