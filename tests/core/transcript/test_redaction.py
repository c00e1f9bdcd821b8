"""Canary keys in the environment, in `.env`, in a provider's 401, in output and in answers are searched for
in every event, every file of the state folder, every request to the model, and the environment of a child."""

import base64
import json
from pathlib import Path

import pytest
from tests.support.command import cockpit
from tests.support.decks import call, driving, script
from tests.support.provider import Provider, error, finish, stream, text

from cockpit import paths
from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import ToolCallFinished, Warned
from cockpit.protocol.ops import SelectMode, Trust

OURS, FOLDERS, TYPED = "cn-env-4f7Qm2Zx9Lw8Kt3", "cn-dotenv-8Hs2Jd7Fk4Pq1", "cn-typed-3Gv9Xc5Rb7Ny2"
CANARIES = (OURS, FOLDERS, TYPED)
LOOKS = "ghp_" + "a1B2c3D4e5" * 4


def leaks(content: bytes) -> list[str]:
    """Which canaries stand in `content`, as they are or as base64 of them."""
    found = [one for one in (*CANARIES, LOOKS) if one.encode() in content]
    return found + [one for one in CANARIES if base64.b64encode(one.encode())[:-4] in content]


def on_disk() -> dict[str, list[str]]:
    files = (path for path in paths.state().rglob("*") if path.is_file())
    return {path.name: found for path in files if (found := leaks(path.read_bytes()))}


async def test_no_canary_reaches_an_event_a_file_the_model_or_a_child(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", OURS)
    (root / ".env").write_text(f"DB_PASSWORD={FOLDERS}\n", encoding="utf-8")
    (root / "notes.txt").write_text(f"{OURS} and {FOLDERS}\n", encoding="utf-8")
    commands = (
        "env",
        "cat notes.txt",
        "base64 < notes.txt",
        f"echo {LOOKS}",
        f"printf '%s' {OURS[:9]}; sleep 0.2; printf '%s\\n' {OURS[9:]}",
    )
    steps = [{"calls": [call("shell", command=one)]} for one in commands]
    steps += [{"calls": [call("read", path="notes.txt")]}, {"calls": [call("search", pattern="cn-")]}]
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(tmp_path, *steps, {"text": f"it was {OURS} {LOOKS}"})))
    record = str(tmp_path / "recording.jsonl")
    options = RunOptions(model="scripted:script", mode="full", trust=True, record=record)
    async with driving(root, options=options) as driver:
        turn = await driver.begin(f"my key is {FOLDERS}")
        await decided(driver, turn)
        results = [one.result for one in driver.all(ToolCallFinished)]
        assert len(results) == len(steps)
        assert any("[redacted SHOP_API_KEY]" in one.text for one in results)
        assert not leaks(repr(driver.seen).encode())
    assert on_disk() == {}
    assert not leaks(Path(record).read_bytes())


async def decided(driver: object, turn: str) -> None:
    """Answer whatever is asked with yes until the turn ends."""
    from tests.support.decks import Driver

    from cockpit.protocol.events import ApprovalRequested, TurnFinished

    assert isinstance(driver, Driver)
    at = 0
    while True:
        found = await driver.until(lambda one: isinstance(one.event, ApprovalRequested | TurnFinished), at)
        at = driver.seen.index(found) + 1
        if isinstance(found.event, TurnFinished):
            return
        await driver.decide(found.event.id, "allow_once")


async def test_a_refused_key_does_not_appear_in_the_error(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", OURS)
    refusal = error(401, f"Incorrect API key provided: {OURS}", "invalid_api_key")
    async with Provider(refusal) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        async with driving(root, options=RunOptions(model="openai:gpt-5")) as driver:
            await driver.prompt("hello")
            assert not leaks(repr(driver.seen).encode())
        assert any(OURS in one.headers.get("authorization", "") for one in provider.requests)
        assert not [one for one in provider.requests if leaks(one.body)]
    assert on_disk() == {}


async def test_a_streamed_answer_lets_no_half_of_a_key_through(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", OURS)
    pieces = [text(OURS[at : at + 4]) for at in range(0, len(OURS), 4)]
    async with Provider(stream(text("It is "), *pieces, text(" indeed."), finish("stop"))) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
        async with driving(root, options=RunOptions(model="openai:gpt-5")) as driver:
            await driver.prompt("hello")
            said = "".join(getattr(one.event, "text", "") for one in driver.seen)
            assert OURS[4:] not in said and "[redacted OPENAI_API_KEY]" in said
            await driver.prompt("again")
        assert not [one for one in provider.requests if leaks(one.body)]
    assert on_disk() == {}


async def test_later_trust_adds_the_folders_secrets_to_the_redactor(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / ".env").write_text(f"DB_PASSWORD={FOLDERS}\n", encoding="utf-8")
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(tmp_path, {"text": f"it is {FOLDERS}"})))
    async with driving(root) as driver:
        await driver.channel.submit(Trust("t", "tui", True))
        await driver.until(lambda one: getattr(one.event, "trusted", False) is True)
        await driver.prompt("go")
        assert FOLDERS not in repr(driver.seen)


def test_stdout_and_stderr_of_a_script_contain_no_key(root: Path, tmp_path: Path) -> None:
    (root / "notes.txt").write_text(f"{OURS}\n", encoding="utf-8")
    steps = script(tmp_path, {"calls": [call("read", path="notes.txt")]}, {"text": f"{OURS} {LOOKS}"})
    environment = {"SHOP_API_KEY": OURS, "COCKPIT_SCRIPT": str(steps)}
    for output in ("text", "json", "stream-json"):
        ended = cockpit(
            "-p",
            "go",
            "--model",
            "scripted:script",
            "--output-format",
            output,
            cwd=root,
            environment=environment,
        )
        assert ended.code == 0 and "[redacted SHOP_API_KEY]" in ended.out
        assert not leaks((ended.out + ended.err).encode())
    assert on_disk() == {}


async def test_an_edit_that_would_write_a_marker_is_refused_without_asking(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", OURS)
    (root / "app.py").write_text(f"KEY = '{OURS}'\nPORT = 1\n", encoding="utf-8")
    wrong = "KEY = '[redacted SHOP_API_KEY]'\nPORT = 2\n"
    right = call("edit", path="app.py", old="PORT = 1", new="PORT = 2")
    steps = [{"calls": [call("write", path="app.py", content=wrong)]}, {"calls": [right]}, {"text": "done"}]
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(tmp_path, *steps)))
    options = RunOptions(model="scripted:script", mode="auto-edit")
    async with driving(root, options=options) as driver:
        turn = await driver.begin("go")
        await decided(driver, turn)
        first, second = (one.result for one in driver.all(ToolCallFinished))
        assert first.outcome == "error" and "marker" in first.text
        assert second.outcome == "ok", second.text
    assert (root / "app.py").read_text() == f"KEY = '{OURS}'\nPORT = 2\n"


async def test_a_call_does_not_run_when_its_decision_cannot_be_written(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [{"calls": [call("write", path="a.txt", content="x\n")]}, {"text": "done"}]
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(tmp_path, *steps)))
    (paths.state() / "audit.jsonl").mkdir(parents=True)
    async with driving(root, options=RunOptions(model="scripted:script", mode="auto-edit")) as driver:
        await driver.prompt("go")
        [result] = [one.result for one in driver.all(ToolCallFinished)]
        assert result.outcome == "error" and "not run" in result.text
        assert any("audit log cannot be written" in one.text for one in driver.all(Warned))
    assert not (root / "a.txt").exists()


async def test_a_change_of_mode_is_on_record(root: Path) -> None:
    async with driving(root) as driver:
        await driver.channel.submit(SelectMode("m", "tui", "full"))
        await driver.until(lambda one: getattr(one.event, "mode", "") == "full")
    rows = [json.loads(line) for line in (paths.state() / "audit.jsonl").read_text().splitlines()]
    assert [(one["what"], one["mode"], one["trusted"]) for one in rows] == [("changed", "full", False)]


async def test_the_audit_is_complete_and_its_head_is_in_the_transcript(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [{"calls": [call("write", path="a.txt", content="x\n")]}, {"text": "done"}]
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(tmp_path, *steps)))
    async with driving(root, options=RunOptions(model="scripted:script", mode="auto-edit")) as driver:
        await driver.prompt("go")
    file = paths.state() / "audit.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(one["what"], one["tool"], one["outcome"]) for one in rows] == [
        ("decided", "write", "allow"),
        ("finished", "write", "ok"),
    ]
    assert cockpit("audit", "verify", cwd=root).out.startswith("ok: 2 lines")
    assert "write" in cockpit("audit", "tail", cwd=root).out
    summary = json.loads(cockpit("audit", "summary", "--since", "1h", "--json", cwd=root).out)
    assert summary["decisions"] == 1 and summary["tools"] == {"write": 1}
    # The tail is cut, and the head that the state folder keeps is set back too.
    first, _ = file.read_text().splitlines()
    file.write_text(f"{first}\n")
    for head in (paths.state() / "audit-heads").iterdir():
        head.write_text(json.loads(first)["hash"])
    ended = cockpit("audit", "verify", "--json", cwd=root)
    assert ended.code == 1 and "transcript" in json.loads(ended.out)["missing"][0]
