"""A project's hooks run after a person's yes for exactly what they are, and nothing runs before trust."""

import subprocess

import pytest
from tests.support.decks import Driver, call, driving
from tests.support.hooks import House, command, options, write

from cockpit import paths
from cockpit.builtin.files.hooks.approvals import approve_hooks, describe_hook, fingerprint_hook
from cockpit.builtin.files.hooks.guards import get_runtime
from cockpit.formats.hook_files import read_hook_files
from cockpit.formats.hooks import Hook, HookFile
from cockpit.protocol.events import ApprovalRequested, QuestionAsked, ToolCallFinished, Warned
from cockpit.protocol.ops import Answer, Trust
from cockpit.protocol.safe_text import clean_output

READ = call("Read", file_path="a.txt")


async def answer(driver: Driver, text: str) -> str:
    """Answer the question about hooks; what it asked."""
    asked = await driver.next(QuestionAsked)
    await driver.channel.submit(Answer(f"a{asked.id}", "tui", asked.id, text))
    return asked.question


async def test_a_projects_hooks_are_shown_and_wait_for_a_yes_that_is_kept(house: House) -> None:
    house.project(PreToolUse=("Read", command("echo 'no reading' >&2; exit 2", timeout=5)))
    house.play({"calls": [READ]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        turn = await driver.begin("go")
        question = await answer(driver, "Run them")
        assert question.endswith("  PreToolUse Read: echo 'no reading' >&2; exit 2 (.claude/settings.json:7)")
        await driver.end(turn)
        assert driver.all(ToolCallFinished)[0].result.outcome == "denied"
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("go")
        assert not driver.all(QuestionAsked)
        assert driver.all(ToolCallFinished)[0].result.outcome == "denied"


async def test_a_no_holds_for_the_session_and_is_asked_once(house: House) -> None:
    house.project(PreToolUse=("Read", command(house.python("note('ran')"))))
    house.play({"calls": [READ]}, {"calls": [READ, call("Read", file_path="b.txt")]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        turn = await driver.begin("go")
        await answer(driver, "Leave them out")
        await driver.end(turn)
        assert {one.result.outcome for one in driver.all(ToolCallFinished)} <= {"ok", "repeated"}
        assert len(driver.all(QuestionAsked)) == 1
    assert house.noted() == []


async def test_a_hook_or_a_script_of_it_that_changed_is_asked_about_again(house: House) -> None:
    script = house.root / ".claude" / "hooks" / "check.sh"
    script.parent.mkdir(parents=True)
    script.write_text("exit 0\n", encoding="utf-8")
    hook = command('sh "$CLAUDE_PROJECT_DIR"/.claude/hooks/check.sh')
    house.project(PreToolUse=("Read", hook))
    again = call("Read", file_path="b.txt")
    house.play({"calls": [READ]}, {"text": "Done."}, {"calls": [again]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        turn = await driver.begin("go")
        assert "runs .claude/hooks/check.sh" in await answer(driver, "Run them")
        await driver.end(turn)
        # The very session that agreed: what lies there now is another thing.
        script.write_text("exit 2\n", encoding="utf-8")
        turn = await driver.begin("go")
        await driver.until(lambda one: len(driver.all(QuestionAsked)) == 2)
        asked = driver.all(QuestionAsked)[1]
        await driver.channel.submit(Answer("second", "tui", asked.id, "Leave them out"))
        await driver.end(turn)
        assert [one.result.outcome for one in driver.all(ToolCallFinished)] == ["ok", "ok"]
    async with driving(house.root, options=options()) as driver:
        turn = await driver.begin("go")
        await answer(driver, "Run them")
        await driver.end(turn)
        assert driver.all(ToolCallFinished)[0].result.outcome == "denied"
    house.project(PreToolUse=("Read|Bash", hook))
    async with driving(house.root, options=options()) as driver:
        turn = await driver.begin("go")
        await answer(driver, "Leave them out")
        await driver.end(turn)
        assert driver.all(ToolCallFinished)[0].result.outcome == "ok"


@pytest.mark.parametrize(
    "line",
    [
        "sh .claude/hooks/check.sh; exit 0",
        "sh .claude/hooks/check.sh|tee log",
        "sh -c 'cd x && exec .claude/hooks/check.sh'",
        "cd .claude/hooks && ./check.sh",
        'cd "$CLAUDE_PROJECT_DIR/.claude" && sh hooks/check.sh',
        "sh ${CLAUDE_PROJECT_DIR:-.}/.claude/hooks/check.sh",
        'sh "$(git rev-parse --show-toplevel)/.claude/hooks/check.sh"',
        "sh $PWD/.claude/hooks/check.sh",
        "sh <.claude/hooks/check.sh",
        "node --require=.claude/hooks/check.sh",
        "sh .claude/hooks/check.sh 'a quote that never ends",
        f"sh .claude/hooks/check.sh {'x' * 5_000}",
    ],
)
def test_a_script_is_pinned_however_its_line_names_it(house: House, line: str) -> None:
    script = house.root / ".claude" / "hooks" / "check.sh"
    script.parent.mkdir(parents=True)
    script.write_text("exit 0\n", encoding="utf-8")
    house.project(PreToolUse=("Read", command(line)))
    [hook] = hooks_of_project(house)
    before = fingerprint_hook(hook, str(house.root))
    script.write_text("exit 2\n", encoding="utf-8")
    assert fingerprint_hook(hook, str(house.root)) != before


def test_a_large_script_is_pinned_by_its_content(house: House) -> None:
    script = house.root / "check.sh"
    script.write_text(f"{' ' * 5_000_000}\nexit 0\n", encoding="utf-8")
    house.project(PreToolUse=("Read", command("sh check.sh")))
    [hook] = hooks_of_project(house)
    before = fingerprint_hook(hook, str(house.root))
    script.write_text(f"{' ' * 5_000_000}\nexit 2\n", encoding="utf-8")
    assert fingerprint_hook(hook, str(house.root)) != before


def test_in_a_worktree_another_script_of_the_name_is_another_hook(house: House) -> None:
    here = house.root / ".cockpit" / "worktrees" / "x"
    for folder in (house.root, here):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "check.sh").write_text("exit 0\n", encoding="utf-8")
    house.project(PreToolUse=("Read", command('sh "$CLAUDE_PROJECT_DIR"/check.sh')))
    [hook] = hooks_of_project(house)
    agreed = fingerprint_hook(hook, str(house.root))
    assert fingerprint_hook(hook, str(house.root), str(here)) == agreed
    (here / "check.sh").write_text("exit 2\n", encoding="utf-8")
    assert fingerprint_hook(hook, str(house.root), str(here)) != agreed


async def test_a_branch_that_is_entered_brings_no_script_that_nobody_agreed_to(house: House) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(("git", *who, *words), cwd=house.root, check=True, capture_output=True)

    house.project(PreToolUse=("Read", command('sh "$CLAUDE_PROJECT_DIR"/check.sh')))
    script = house.root / "check.sh"
    git("init", "-q", "-b", "main")
    for name, note in (("main", "good"), ("theirs", "EVIL")):
        script.write_text(house.python(f"note('{note}')"), encoding="utf-8")
        git("checkout", "-q", *(("-b", name) if name != "main" else ("--orphan", "first")))
        git("add", "-A")
        git("commit", "-q", "-m", name)
    git("checkout", "-q", "first")
    [hook] = hooks_of_project(house)
    approve_hooks(str(house.root), [fingerprint_hook(hook, str(house.root))])
    entering = call("enter_worktree", name="x", ref="theirs")
    house.play({"calls": [READ]}, {"calls": [entering]}, {"calls": [READ]}, {"text": "Done."})
    async with driving(house.root, options=options("full", someone=False)) as driver:
        await driver.prompt("go")
        assert [one.result.outcome for one in driver.all(ToolCallFinished)] == ["ok", "ok", "ok"]
    assert house.noted() == ["good"]


async def test_a_yes_is_for_what_was_shown(house: House) -> None:
    many = [command(f"test {number}") for number in range(24)]
    house.project(PreToolUse=("Read", *many, command(house.python("note('last')"))))
    house.play({"calls": [READ]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        turn = await driver.begin("go")
        first = await answer(driver, "Run them")
        assert "(5 more are asked about next)" in first and "note" not in first
        await driver.until(lambda one: len(driver.all(QuestionAsked)) == 2)
        asked = driver.all(QuestionAsked)[1]
        assert "5 hooks" in asked.question and "note" in asked.question
        await driver.channel.submit(Answer("second", "tui", asked.id, "Leave them out"))
        await driver.end(turn)
    assert house.noted() == []


async def test_what_changed_is_asked_about_also_when_its_file_no_longer_names_it(house: House) -> None:
    script = house.root / "check.sh"
    script.write_text("exit 0\n", encoding="utf-8")
    house.project(PreToolUse=("Read", command("sh check.sh")))
    house.play({"text": "Hello."}, {"calls": [READ]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        turn = await driver.begin("hi")
        await answer(driver, "Run them")
        await driver.end(turn)
        script.write_text(house.python("note('changed')"), encoding="utf-8")
        # As another session of this folder finds it; this one still has the hook on duty.
        get_runtime(str(house.root)).approvals.hooks = ()
        turn = await driver.begin("go")
        await driver.until(lambda one: len(driver.all(QuestionAsked)) == 2)
        asked = driver.all(QuestionAsked)[1]
        await driver.channel.submit(Answer("second", "tui", asked.id, "Leave them out"))
        await driver.end(turn)
    assert house.noted() == []


def test_a_question_says_which_variables_a_request_carries_away(house: House) -> None:
    hook = {"type": "http", "url": "https://example.com/x", "allowedEnvVars": ["OPENAI_API_KEY"]}
    house.project(PreToolUse=("Read", hook))
    [found] = hooks_of_project(house)
    assert describe_hook(found, house.root).endswith("; sends your OPENAI_API_KEY)")


def test_a_question_hides_nothing_of_a_line(house: House) -> None:
    house.project(PreToolUse=("Read", command("echo \x1b]; touch evil; \x07 \u202egnp.sh #\b\b")))
    [found] = hooks_of_project(house)
    told = describe_hook(found, house.root)
    assert clean_output(told) == told
    assert "; touch evil; " in told and "\\u202egnp.sh" in told


def hooks_of_project(house: House) -> tuple[Hook, ...]:
    return read_hook_files((HookFile(house.root / ".claude" / "settings.json", "project"),)).hooks


async def test_without_a_person_nothing_of_the_project_runs_and_it_is_said_once(house: House) -> None:
    house.project(SessionStart=command(house.python("note('ran')")), PreToolUse=("Read", command("exit 2")))
    house.play({"calls": [READ]}, {"text": "Done."})
    async with driving(house.root, options=options(someone=False)) as driver:
        await driver.prompt("go")
        assert driver.all(ToolCallFinished)[0].result.outcome == "ok"
        [said] = [one for one in driver.all(Warned) if "have not been approved" in one.text]
    assert said.text.startswith("2 hooks") and "cockpit hooks approve" in said.hint
    assert house.noted() == []


async def test_a_bundle_of_questions_is_one_question(house: House) -> None:
    house.project(
        SessionStart=command("true"),
        UserPromptSubmit=command("true"),
        PreToolUse=("", command("exit 0"), {"type": "http", "url": "http://127.0.0.1:9/x"}),
    )
    house.play({"calls": [READ]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        turn = await driver.begin("go")
        question = await answer(driver, "Leave them out")
        await driver.end(turn)
        assert len(driver.all(QuestionAsked)) == 1
    assert "4 hooks" in question and "http://127.0.0.1:9/x" in question


async def test_before_trust_no_hook_is_read_and_a_persons_own_does_not_run(house: House) -> None:
    house.project(PreToolUse=("Read", command(house.python("note('project')"))))
    house.own(
        PreToolUse=("Read", command(house.python("note('own')"))),
        PostToolUse=("Read", command(house.python("note('own after')"))),
    )
    house.play({"calls": [READ]}, {"text": "Done."})
    async with driving(house.root, options=options("full", trust=False)) as driver:
        turn = await driver.begin("go")
        request = await driver.next(ApprovalRequested)
        assert "not trusted" in request.reason
        await driver.decide(request.id, "allow_once")
        await driver.end(turn)
        assert not driver.all(QuestionAsked)
    assert house.noted() == []


async def test_trust_given_later_asks_then(house: House) -> None:
    house.project(SessionStart=command(house.python("note('begun')")))
    house.play({"text": "Hello."}, {"text": "Again."})
    async with driving(house.root, options=options(trust=False)) as driver:
        await driver.prompt("hi")
        await driver.channel.submit(Trust("t1", "tui", True))
        await answer(driver, "Run them")
        await house.until(1)
    assert house.noted() == ["begun"]


async def test_hooks_that_are_switched_off_do_not_run(house: House) -> None:
    house.own(PreToolUse=("Read", command("exit 2")), Stop=command(house.python("note('stop')")))
    paths.config().mkdir(parents=True, exist_ok=True)
    (paths.config() / "settings.toml").write_text(
        '[hooks]\ndisabled = ["PreToolUse ~/.claude/settings.json"]\n', encoding="utf-8"
    )
    house.play({"calls": [READ]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("go")
        assert driver.all(ToolCallFinished)[0].result.outcome == "ok"
    assert house.noted() == ["stop"]


async def test_our_own_files_are_heard_and_a_block_needs_no_program(house: House) -> None:
    write(paths.config() / "hooks.json", {"pre_tool_use": ("read", {"type": "block", "reason": "never"})})
    house.play({"calls": [READ]}, {"text": "Done."})
    async with driving(house.root, options=options()) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
    assert result.outcome == "denied" and result.text.endswith("never")
