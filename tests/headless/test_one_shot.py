"""`cockpit -p`: one prompt in a real process, with results on stdout and the outcome as exit code."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.command import Ended, command, hears_every_signal
from tests.support.decks import call, distribution, script
from tests.support.in_process import cockpit

from cockpit.core.transcript import session_store
from cockpit.protocol import wire
from cockpit.protocol.events import Envelope, SessionStarted, ToolCallFinished, TurnFinished
from cockpit.protocol.messages import Json
from cockpit.settings import trust

MODEL = ("--model", "scripted:script")
EDIT = call("edit", path="a.txt", old="one", new="eins")
UNTRUSTED = "cockpit: folder not trusted"


@pytest.fixture
def project(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file; the script of its model lies beside it."""
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


def play(project: Path, *steps: Mapping[str, Json], arguments: tuple[str, ...] = ()) -> Ended:
    """`cockpit -p go` with a scripted answer."""
    script(project.parent, *steps)
    return cockpit("-p", "go", *MODEL, *arguments, cwd=project)


def text(project: Path) -> str:
    return (project / "a.txt").read_text(encoding="utf-8")


def test_stdout_is_the_answer_and_nothing_else(project: Path) -> None:
    ended = play(
        project,
        {"text": "I look.", "thoughts": "hm", "calls": [call("read", path="a.txt")]},
        {"text": "It says one."},
    )
    assert (ended.code, ended.out) == (0, "It says one.\n")
    assert ended.err.startswith(UNTRUSTED) and ended.err.count("\n") == 1


def test_output_of_a_plugin_is_not_part_of_the_answer(
    project: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
print("imported")
from cockpit.plugin import hookimpl
from cockpit.plugin.safety import Guard, Pass
@hookimpl
def register_guards(register, scope):
    print("registered")
    async def check(guarded, context):
        print("asked")
        return Pass()
    register(Guard("talkative", "prompt", check))
"""
    distribution(plugins, "talkative", source)
    monkeypatch.setenv("PYTHONPATH", str(plugins))
    ended = play(project, {"text": "Hi."}, arguments=("--output-format", "json"))
    assert json.loads(ended.out)["result"] == "Hi."
    assert all(word in ended.err for word in ("imported", "registered", "asked"))


def test_an_answer_in_several_replies_is_printed_whole(project: Path) -> None:
    parts = {"text": "One, ", "finish": "length"}, {"text": "two, ", "finish": "length"}, {"text": "three."}
    assert play(project, {"text": "hm", "calls": [call("list")]}, *parts).out == "One, two, three.\n"


def test_json_is_one_object_with_the_outcome(project: Path) -> None:
    usage = {"input": 7, "output": 3, "cost": 0.5}
    ended = play(project, {"text": "done", "usage": usage}, arguments=("--output-format", "json"))
    summary = json.loads(ended.out)
    assert ended.code == 0 and ended.out.count("\n") == 1
    assert summary["type"] == "result" and summary["result"] == "done" and summary["is_error"] is False
    assert summary["stop_reason"] == "end_turn" and summary["denied"] == []
    assert summary["usage"]["input"] == 7 and summary["cost"] == 0.5
    assert summary["session"] == session_store.latest_session(str(project))


def test_stream_json_is_every_envelope_in_order(project: Path) -> None:
    ended = play(
        project,
        {"calls": [call("read", path="a.txt")]},
        {"text": "done"},
        arguments=("--output-format", "stream-json"),
    )
    envelopes = [wire.loads(line) for line in ended.out.splitlines()]
    assert all(isinstance(one, Envelope) for one in envelopes)
    assert isinstance(envelopes[0].event, SessionStarted) and isinstance(envelopes[-1].event, TurnFinished)
    assert any(isinstance(one.event, ToolCallFinished) for one in envelopes)
    seqs = [one.seq for one in envelopes]
    assert seqs == sorted(set(seqs))


@pytest.mark.parametrize("arguments", [("-p",), ("-p", "-")])
def test_the_prompt_may_come_from_stdin(project: Path, arguments: tuple[str, ...]) -> None:
    ended = cockpit(*arguments, "--mode", "full", cwd=project, stdin='create b.txt with "zwei 二"\n')
    assert ended.code == 0 and "b.txt" in ended.out
    assert "二" in (project / "b.txt").read_text(encoding="utf-8")


@pytest.mark.slow  # starts interpreters with other encodings
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8:strict", "ascii:strict"])
def test_undecodable_characters_are_replaced(project: Path, encoding: str) -> None:
    script(project.parent, {"text": "二 done"})
    environment = {"PYTHONIOENCODING": encoding}
    ended = cockpit("-p", *MODEL, cwd=project, stdin=b"hm \xff\n", environment=environment)
    assert ended.code == 0 and ended.out.endswith(" done\n")
    assert cockpit("-p", "hm \udcff", *MODEL, cwd=project, environment=environment).code == 0


@pytest.mark.parametrize("arguments", [("-p", ""), ("-p", "  \n"), ("-p",)])
def test_empty_prompt_is_a_usage_error(project: Path, arguments: tuple[str, ...]) -> None:
    ended = cockpit(*arguments, cwd=project)
    assert (ended.code, ended.out) == (2, "")
    assert "the prompt is empty" in ended.err
    assert session_store.latest_session(str(project)) is None


def test_a_model_that_fails_is_an_error_and_says_why(project: Path) -> None:
    fault = {"fault": "bad_request", "message": "the script refuses"}
    ended = play(project, {"fault": fault}, arguments=("--output-format", "json"))
    assert ended.code == 1 and "the script refuses" in ended.err
    summary = json.loads(ended.out)
    assert summary["is_error"] is True and summary["stop_reason"] == "error"


def test_unknown_model_is_an_error_before_any_request(project: Path) -> None:
    ended = cockpit("-p", "go", "--model", "nobody:x", cwd=project)
    assert (ended.code, ended.out) == (1, "") and "no model provider called nobody" in ended.err


def test_missing_folder_is_an_error(project: Path) -> None:
    ended = cockpit("-p", "go", "--cwd", str(project / "gone"), cwd=project)
    assert ended.code == 1 and "is not a folder" in ended.err


READS = {"calls": [call("read", path="a.txt")]}


@pytest.mark.parametrize(
    ("flag", "limit"),
    [
        (("--max-steps", "1"), "steps"),
        (("--max-tool-calls", "1"), "tool_calls"),
        (("--max-tokens", "10"), "tokens"),
        (("--max-cost", "0.01"), "money"),
        (("--max-seconds", "0.000001"), "seconds"),
    ],
)
def test_limit_exits_with_3_and_is_named(project: Path, flag: tuple[str, ...], limit: str) -> None:
    (project / "b.txt").write_text("two\n", encoding="utf-8")
    usage: Mapping[str, Json] = {"usage": {"input": 100, "output": 1, "cost": 0.2}}
    steps = (READS | usage, {"calls": [call("read", path="b.txt")]} | usage, {"text": "summed up"})
    ended = play(project, *steps, arguments=(*flag, "--output-format", "json"))
    summary = json.loads(ended.out)
    assert ended.code == 3
    assert (summary["stop_reason"], summary["limit"]) == ("max_turn_requests", limit)


def test_a_stop_file_ends_the_turn(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = project / "STOP"
    stop.touch()
    monkeypatch.setenv("COCKPIT_STOP_FILE", str(stop))
    ended = play(project, READS, {"text": "done"}, arguments=("--output-format", "json"))
    assert ended.code == 3 and json.loads(ended.out)["limit"] == "stop_file"


def test_call_that_would_ask_is_denied_with_exit_code_4(project: Path) -> None:
    ended = play(project, {"calls": [EDIT]}, {"text": "I could not."}, arguments=("--output-format", "json"))
    assert ended.code == 4 and text(project) == "one\n"
    assert json.loads(ended.out)["denied"] == ["edit"]
    assert "edit was not run" in ended.err and "--allow" in ended.err


@pytest.mark.parametrize("signed", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_interrupts_the_turn_and_is_recorded(project: Path, signed: int) -> None:
    script(project.parent, {"calls": [call("shell", command="touch began; sleep 60")]}, {"text": "done"})
    with subprocess.Popen(
        command("-p", "go", *MODEL, "--mode", "full", "--output-format", "stream-json"),
        cwd=project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
        preexec_fn=hears_every_signal,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if b'"type":"tool_call_started"' in line:
                break
        process.send_signal(signed)
        rest, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    last = wire.loads(rest.splitlines()[-1])
    assert isinstance(last.event, TurnFinished) and last.event.stop_reason == "cancelled"
    assert b'"outcome":"cancelled"' in rest


def test_allow_lets_one_shape_run_and_no_other(project: Path) -> None:
    calls = [call("shell", command="echo yes"), call("shell", command="touch no.txt")]
    ended = play(project, {"calls": calls}, {"text": "done"}, arguments=("--allow", "Bash(echo *)"))
    assert ended.code == 4 and not (project / "no.txt").exists()
    assert ended.err.count("was not run") == 1


def test_deny_beats_every_mode_and_every_allow(project: Path) -> None:
    flags = ("--mode", "full", "--allow", "Edit", "--deny", "Edit(a.txt)")
    ended = play(project, {"calls": [EDIT]}, {"text": "done"}, arguments=flags)
    assert ended.code == 4 and text(project) == "one\n"
    assert "the rule Edit(a.txt) (--deny) forbids it" in ended.err


@pytest.mark.parametrize(
    ("mode", "code", "after"),
    [
        ("auto-edit", 0, "eins\n"),
        ("acceptEdits", 0, "eins\n"),
        ("full", 0, "eins\n"),
        ("plan", 4, "one\n"),
        ("deny", 4, "one\n"),
    ],
)
def test_the_mode_decides_what_an_ask_becomes(project: Path, mode: str, code: int, after: str) -> None:
    ended = play(project, {"calls": [EDIT]}, {"text": "done"}, arguments=("--mode", mode))
    assert (ended.code, text(project)) == (code, after)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--mode", "yolt"),
        ("--max-steps", "0"),
        ("--max-steps", "many"),
        ("--max-seconds", "0"),
        ("--max-seconds", "nan"),
        ("--max-cost", "-1"),
        ("--output-format", "xml"),
        ("--nonsense",),
    ],
)
def test_invalid_option_value_is_a_usage_error(
    project: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    from cockpit.cli import run

    with pytest.raises(SystemExit) as refused:
        run.main(["-p", "go", *arguments])
    assert refused.value.code == 2
    assert arguments[-1] in capsys.readouterr().err


def test_continue_resumes_the_last_session_of_the_folder(project: Path) -> None:
    script(project.parent, {"text": "first"}, {"text": "second"}, {"text": "third"})
    assert cockpit("-p", "go", *MODEL, cwd=project).out == "first\n"
    id = session_store.latest_session(str(project))
    assert id is not None
    assert cockpit("-p", "go on", "-c", cwd=project).out == "second\n"
    assert cockpit("-p", "and on", "-r", id[:-2], cwd=project).out == "third\n"
    assert session_store.latest_session(str(project)) == id
    assert [row.turns for row in session_store.list_sessions(str(project))] == [3]


def test_output_of_an_earlier_run_is_not_repeated(project: Path) -> None:
    first = play(project, {"calls": [EDIT]}, {"text": "then not"}, arguments=("--output-format", "json"))
    assert first.code == 4 and json.loads(first.out)["denied"] == ["edit"]
    again = play(project, {"text": "hello"}, arguments=("-c", "--output-format", "json"))
    assert again.code == 0 and json.loads(again.out)["denied"] == []
    assert again.err.startswith(UNTRUSTED) and again.err.count("\n") == 1
    lines = play(project, {"text": "hello"}, arguments=("-c", "--output-format", "stream-json")).out
    assert lines.count('"turn_started"') == 1


def test_continue_without_a_session_and_an_unknown_id_are_errors(project: Path) -> None:
    none = cockpit("-p", "go", "-c", cwd=project)
    assert none.code == 1 and "this folder has no session yet" in none.err
    unknown = cockpit("-p", "go", "-r", "1999", cwd=project)
    assert unknown.code == 1 and "there is no session 1999" in unknown.err


def test_settings_of_an_untrusted_folder_are_ignored_with_a_message(project: Path) -> None:
    (project / ".cockpit").mkdir()
    (project / ".cockpit" / "settings.toml").write_text('[permissions]\ndeny = ["Read"]\n', encoding="utf-8")
    (project / ".env").write_text("COCKPIT_SCRIPT=elsewhere.json\n", encoding="utf-8")
    ended = play(project, READS, {"text": "read"})
    assert (ended.code, ended.out) == (0, "read\n") and ended.err.startswith(UNTRUSTED)


def test_trust_is_stored_and_settings_apply_from_then_on(project: Path) -> None:
    (project / ".cockpit").mkdir()
    (project / ".cockpit" / "settings.toml").write_text('[permissions]\ndeny = ["Read"]\n', encoding="utf-8")
    ended = play(project, READS, {"text": "read"}, arguments=("--trust",))
    assert ended.code == 4 and UNTRUSTED not in ended.err
    assert trust.is_trusted(str(project)) is True
    assert play(project, READS, {"text": "read"}).code == 4


def test_a_command_is_run_and_its_answer_is_the_result(project: Path) -> None:
    ended = cockpit("-p", "/tools", cwd=project)
    assert ended.code == 0 and "apply_patch" in ended.out
    summary = json.loads(cockpit("-p", "/status", "--output", "json", cwd=project).out)
    assert summary["result"].startswith("Status") and "stop_reason" not in summary


@pytest.mark.parametrize(
    ("prompt", "said"), [("/nosuch", "no command /nosuch"), ("/exit", "needs the full screen")]
)
def test_a_command_that_cannot_be_run_is_an_error(project: Path, prompt: str, said: str) -> None:
    ended = cockpit("-p", prompt, cwd=project)
    assert (ended.code, ended.out) == (1, "") and said in ended.err


def test_path_at_the_start_of_a_prompt_is_not_a_command(project: Path) -> None:
    script(project.parent, {"text": "a path"})
    assert cockpit("-p", "/etc/hosts is what?", *MODEL, cwd=project).out == "a path\n"


def test_a_recording_holds_the_deltas_and_can_be_replayed(project: Path) -> None:
    record = project.parent / "session.jsonl"
    play(project, {"text": "a b c d", "chunks": 4}, arguments=("--record", str(record)))
    assert '"type":"text_delta"' in record.read_text(encoding="utf-8")
    ended = cockpit("replay", str(record), cwd=project)
    assert ended.code == 0 and "You: go" in ended.out and "a b c d" in ended.out
