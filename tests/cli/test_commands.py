"""The commands beside the cockpit itself, in real processes: what they print and how they end."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.support.command import command
from tests.support.decks import call, script
from tests.support.in_process import cockpit

from cockpit import __version__
from cockpit.cli.main import COMMANDS, main
from cockpit.core.transcript import session_store
from cockpit.protocol import wire
from cockpit.protocol.events import Envelope, TurnFinished

PLUGIN_KEYS = {"name", "distribution", "version", "registers", "state", "reason", "milliseconds", "hooks"}


@pytest.fixture
def project(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one finished session."""
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    script(root.parent, {"text": "I look.", "calls": [call("read", path="a.txt")]}, {"text": "It says 一."})
    assert cockpit("-p", "what does a.txt say?", "--model", "scripted:script", cwd=root).code == 0
    return root


def id_of(project: Path) -> str:
    found = session_store.latest_session(str(project))
    assert found is not None
    return found


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_printed(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([flag]) == 0
    assert capsys.readouterr().out == f"cockpit {__version__}\n"


@pytest.mark.parametrize("name", ["", *sorted(COMMANDS)])
def test_every_command_has_its_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*([name] if name else []), "--help"])
    assert ended.value.code == 0
    assert f"usage: cockpit {name}".rstrip() in capsys.readouterr().out


@pytest.mark.parametrize("name", ["", *sorted(COMMANDS)])
def test_unknown_option_is_a_usage_error(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*([name] if name else []), "--nonsense"])
    assert ended.value.code == 2
    assert "usage: cockpit" in capsys.readouterr().err


def test_plugins_lists_what_each_plugin_registers(project: Path) -> None:
    rows = json.loads(cockpit("plugins", "--json", cwd=project).out)
    assert all(row.keys() == PLUGIN_KEYS for row in rows)
    assert {row["distribution"] for row in rows} == {"cockpit-agent"}
    todo = next(row for row in rows if row["name"] == "todo")
    assert todo["state"] == "loaded" and "tools: todo" in todo["registers"] and todo["version"] == __version__


def test_disabled_plugin_names_the_setting(project: Path, home: Path) -> None:
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "settings.toml").write_text('[plugins]\ndisabled = ["todo"]\n', encoding="utf-8")
    rows = json.loads(cockpit("plugins", "--json", cwd=project).out)
    todo = next(row for row in rows if row["name"] == "todo")
    assert todo["state"] == "disabled" and "settings" in todo["reason"] and todo["registers"] == []
    assert "todo" not in cockpit("-p", "/tools todo", cwd=project).out.replace("0 tools", "")


def test_models_lists_providers_and_what_each_needs(project: Path) -> None:
    environment = {"DEEPSEEK_API_KEY": "sk-0123456789"}
    rows = json.loads(cockpit("models", "--json", cwd=project, environment=environment).out)
    states = {row["name"]: row["state"] for row in rows}
    assert "OPENAI_API_KEY" in states["openai"] and states["deepseek"] == "ready"
    assert {"offline", "scripted", "ollama"} <= states.keys()


def test_models_of_a_provider_are_queried_from_it(project: Path) -> None:
    ended = cockpit("models", "scripted", cwd=project)
    assert ended.code == 0 and "scripted:script" in ended.out
    unknown = cockpit("models", "nobody", cwd=project)
    assert unknown.code == 2 and "unknown provider 'nobody'" in unknown.out


def test_sessions_of_this_folder_or_of_all_are_listed(project: Path) -> None:
    (row,) = json.loads(cockpit("sessions", "list", "--json", cwd=project).out)
    assert row["id"] == id_of(project) and row["title"] == "what does a.txt say?" and row["turns"] == 1
    elsewhere = cockpit("sessions", "list", cwd=project.parent)
    assert "no sessions yet" in elsewhere.out
    assert id_of(project) in cockpit("sessions", "list", "--all", cwd=project.parent).out


def test_a_session_is_shown_as_a_conversation(project: Path) -> None:
    ended = cockpit("sessions", "show", id_of(project), cwd=project)
    assert ended.code == 0
    order = [ended.out.index(part) for part in ("what does a.txt say?", "I look.", "### read", "It says 一.")]
    assert order == sorted(order)


def test_a_session_is_exported_as_envelopes(project: Path) -> None:
    lines = cockpit("sessions", "export", id_of(project), cwd=project).out.splitlines()
    envelopes = [wire.loads(line) for line in lines]
    assert all(isinstance(one, Envelope) for one in envelopes)
    assert any(isinstance(one.event, TurnFinished) for one in envelopes)


def test_session_is_deleted_with_its_stored_outputs(project: Path) -> None:
    id = id_of(project)
    aside = session_store.session_folder(str(project)) / id
    aside.mkdir(exist_ok=True)
    ended = cockpit("sessions", "rm", id, cwd=project)
    assert ended.code == 0 and id in ended.out
    assert session_store.latest_session(str(project)) is None and not aside.exists()
    again = cockpit("sessions", "rm", id, cwd=project)
    assert again.code == 1 and "there is no session" in again.err


def test_a_session_that_is_open_elsewhere_is_not_deleted(project: Path) -> None:
    from cockpit.core.transcript.transcript import SessionLock

    id = id_of(project)
    lock = SessionLock(session_store.session_folder(str(project)) / f"{id}.lock", id)
    lock.take()
    ended = cockpit("sessions", "rm", id, cwd=project)
    assert ended.code == 1 and "is open" in ended.err
    lock.release()


@pytest.mark.parametrize("by_path", [True, False])
def test_a_transcript_is_replayed_in_lines(project: Path, by_path: bool) -> None:
    id = id_of(project)
    named = str(session_store.session_folder(str(project)) / f"{id}.jsonl") if by_path else id
    ended = cockpit("replay", named, "--plain", cwd=project)
    assert ended.code == 0
    order = [ended.out.index(part) for part in ("You: what", "> read a.txt", "< read: ok", "It says 一.")]
    assert order == sorted(order)


def test_file_that_is_not_a_transcript_is_named(project: Path) -> None:
    ended = cockpit("replay", "a.txt", cwd=project)
    assert ended.code == 1 and "a.txt" in ended.err and "Traceback" not in ended.err


@pytest.mark.parametrize("name", ["*", "**", "/nowhere", "../../nowhere", "["])
def test_session_name_is_never_used_as_a_glob(project: Path, name: str) -> None:
    for arguments in (("replay", name), ("sessions", "rm", name), ("-p", "hi", "-r", name)):
        ended = cockpit(*arguments, cwd=project)
        assert ended.code == 1 and "there is no session" in ended.err, arguments


def test_folder_or_full_disk_is_reported_in_a_line(project: Path) -> None:
    ended = cockpit("replay", "..", cwd=project)
    assert ended.code == 1 and ended.err == "cockpit: ..: Is a directory\n"
    with Path("/dev/full").open("w") as full:
        asked = subprocess.run(
            command("-p", "help"), cwd=project, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert asked.returncode == 1 and "No space left" in asked.stderr and "Traceback" not in asked.stderr


def test_closed_output_pipe_ends_quietly(project: Path) -> None:
    # The pipe is closed before the command writes into it.
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            command("sessions", "export", id_of(project)),
            cwd=project,
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)
    assert ended.returncode == 1 and ended.stderr == b""


def test_unknown_frontend_error_lists_the_frontends(project: Path) -> None:
    ended = cockpit("serve", "nothing", cwd=project)
    assert ended.code == 1 and "stdio" in ended.err


def test_serve_stdio_speaks_lines_of_json(project: Path) -> None:
    id = id_of(project)
    requests: list[tuple[str, str]] = [
        (json.dumps({"id": "1", "do": "open", "session": "", "root": str(project), "resume": id}), "1"),
        (json.dumps({"id": "2", "do": "list", "session": "", "root": str(project)}), "2"),
        (json.dumps({"id": "3", "do": "nonsense", "session": ""}), "3"),
        (json.dumps({"id": "4", "do": "submit", "session": id}), "4"),
        ("no JSON", ""),
    ]
    answers = {}
    with subprocess.Popen(
        command("serve", "stdio"), cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for line, its_id in requests:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            answers[its_id] = json.loads(process.stdout.readline())
            assert answers[its_id]["id"] == its_id
        process.stdin.close()
    assert process.returncode == 0
    assert answers["1"]["value"] == id and answers["2"]["value"][0]["id"] == id
    assert "nonsense" in answers["3"]["error"] and "'op'" in answers["4"]["error"]
    assert "one JSON object" in answers[""]["error"]


def test_connect_without_a_terminal_needs_a_preset_and_lists_them(project: Path) -> None:
    ended = cockpit("connect", cwd=project)
    assert ended.code == 2 and "deepseek" in ended.err
