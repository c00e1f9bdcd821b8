"""Servers start once, when needed and allowed; they stop when idle or too large."""

import asyncio
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.navigation.lsp.small import QUICK, Make, is_alive, language, small, state_of, until

from cockpit.navigation.answers import NoAnswer, ServerAnswer
from cockpit.navigation.lsp import status_files
from cockpit.navigation.lsp.lsp_json import PROJECT_FILE, read_lsp_json
from cockpit.plugin.languages import Language, LanguageServer
from cockpit.plugin.navigation import Position

USE = Position("a.tiny", 2, 5)


@pytest.fixture(autouse=True)
def file(root: Path) -> Path:
    path = root / "a.tiny"
    path.write_text("def one():\n    one()\n")
    return path


async def test_nothing_starts_before_it_is_needed_and_then_once(make: Make, notes: Path) -> None:
    servers = make(small(notes=notes))
    assert servers.rows() == ()
    servers.seen("readme.txt")
    servers.seen("a.tiny")
    await until(servers, lambda: state_of(servers) == "ready")
    pid = servers.rows()[0].pid
    for _ in range(3):
        servers.seen("a.tiny")
        await servers.related("definition", USE, 5)
    assert servers.rows()[0].pid == pid
    assert notes.read_text().split().count("initialize") == 1


async def test_nothing_starts_for_files_of_no_language(make: Make) -> None:
    servers = make(small())
    answer = await servers.outline("readme.txt", 5)
    assert answer == NoAnswer("no language server is configured for readme.txt")
    assert servers.rows() == ()


async def test_languages_that_name_the_same_server_share_it(make: Make, root: Path, notes: Path) -> None:
    (root / "b.small").write_text("def two():\n")
    both = small(notes=notes)
    servers = make(language(both), Language("other", ("*.small",), (both,)))
    assert isinstance(await servers.outline("a.tiny", 10), ServerAnswer)
    assert isinstance(await servers.outline("b.small", 10), ServerAnswer)
    assert notes.read_text().split("\n").count("initialize") == 1
    assert "language tiny-id" in notes.read_text() and "language other" in notes.read_text()


async def test_a_program_that_is_not_installed_is_absent_with_its_install_command(make: Make) -> None:
    missing = LanguageServer("ghost", ("no-such-program-here",), "apt install ghost")
    servers = make(missing)
    answer = await servers.outline("a.tiny", 5)
    assert answer == NoAnswer("ghost: not installed; apt install ghost")
    (row,) = servers.rows()
    assert (row.state, row.detail) == ("absent", "not installed; apt install ghost")


async def test_the_first_server_whose_program_is_found_answers(make: Make) -> None:
    missing = LanguageServer("ghost", ("no-such-program-here",))
    servers = make(missing, small(), small(name="spare"))
    answer = await servers.outline("a.tiny", 10)
    assert isinstance(answer, ServerAnswer) and answer.server == "small"
    assert [row.name for row in servers.rows()] == ["small"]


async def test_code_of_the_project_runs_in_a_trusted_folder_only(make: Make) -> None:
    servers = make(small(runs_project=True), trusted=False)
    answer = await servers.outline("a.tiny", 5)
    assert isinstance(answer, NoAnswer) and "/trust yes" in answer.reason
    assert state_of(servers) == "waiting"


async def test_programs_of_the_project_are_found_in_a_trusted_folder_only(make: Make, root: Path) -> None:
    folder = root / (".venv/Scripts" if os.name == "nt" else ".venv/bin")
    folder.mkdir(parents=True)
    (folder / "own-server").symlink_to(sys.executable)
    own = replace(small(), command=("own-server", *small().command[1:]))
    assert isinstance(await make(own, trusted=False).outline("a.tiny", 5), NoAnswer)
    assert isinstance(await make(own, trusted=True).outline("a.tiny", 10), ServerAnswer)


def _project_file(root: Path, *args: str) -> Language:
    command, *rest = small().command
    entry = {"command": command, "args": [*rest, *args], "extensionToLanguage": {".tiny": "tiny"}}
    (root / PROJECT_FILE).write_text(json.dumps({"theirs": entry}))
    (found,) = read_lsp_json(root / PROJECT_FILE, PROJECT_FILE).languages
    return found


async def test_a_projects_own_server_waits_for_approval_of_its_command_line(make: Make, root: Path) -> None:
    servers = make(_project_file(root), small())
    answer = await servers.outline("a.tiny", 10)
    assert isinstance(answer, ServerAnswer) and answer.server == "small", "the plugin's answers meanwhile"
    (row,) = (one for one in servers.rows() if one.name == "theirs")
    assert row.state == "waiting" and "/lsp allow theirs" in row.detail and row.pid == 0
    assert "allowed: " in await servers.command("allow", "theirs")
    await until(servers, lambda: state_of(servers, "theirs") == "ready")
    answer = await servers.outline("a.tiny", 10)
    assert isinstance(answer, ServerAnswer) and answer.server == "theirs"


async def test_approval_is_stored_for_that_command_line_alone(make: Make, root: Path) -> None:
    await make(_project_file(root)).command("allow", "theirs")
    assert isinstance(await make(_project_file(root)).outline("a.tiny", 10), ServerAnswer)
    servers = make(_project_file(root, "utf-8"))
    answer = await servers.outline("a.tiny", 5)
    assert isinstance(answer, NoAnswer) and "/lsp allow theirs" in answer.reason


async def test_approval_starts_nothing_in_an_untrusted_folder(make: Make, root: Path) -> None:
    servers = make(_project_file(root), trusted=False)
    await servers.command("allow", "theirs")
    await until(servers, lambda: state_of(servers, "theirs") == "waiting")
    assert "only in a trusted folder" in servers.rows()[0].detail


async def test_a_worktree_starts_its_server_at_the_second_question(make: Make, root: Path) -> None:
    (root / ".git").write_text("gitdir: elsewhere\n")
    servers = make(small())
    servers.seen("a.tiny")
    answer = await servers.outline("a.tiny", 5)
    assert isinstance(answer, NoAnswer) and "worktree" in answer.reason
    assert servers.rows() == ()
    assert isinstance(await servers.outline("a.tiny", 10), ServerAnswer)


async def test_an_idle_server_ends_and_starts_again_when_needed(make: Make) -> None:
    servers = make(small(), limits=replace(QUICK, idle=0.3))
    await servers.outline("a.tiny", 10)
    pid = servers.rows()[0].pid
    await until(servers, lambda: state_of(servers) == "stopped")
    assert "idle" in servers.rows()[0].detail
    await until(servers, lambda: not is_alive(pid))
    assert isinstance(await servers.outline("a.tiny", 10), ServerAnswer)


async def test_least_recently_used_server_makes_room_for_another(make: Make, root: Path) -> None:
    languages = [Language(f"l{n}", (f"*.l{n}",), (small(name=f"s{n}"),)) for n in range(3)]
    for n in range(3):
        (root / f"a.l{n}").write_text("def x():\n")
    servers = make(*languages, limits=replace(QUICK, servers=2))
    for n in (0, 1, 0, 2):
        assert isinstance(await servers.outline(f"a.l{n}", 10), ServerAnswer)
    states = {row.name: row.state for row in servers.rows()}
    assert states == {"s0": "ready", "s1": "stopped", "s2": "ready"}


async def test_too_much_memory_stops_the_least_recently_used_server(make: Make, root: Path) -> None:
    (root / "a.l").write_text("def x():\n")
    languages = [language(small()), Language("l", ("*.l",), (small(name="cold"),))]
    servers = make(*languages, limits=replace(QUICK, megabytes=1))
    await servers.outline("a.l", 10)
    servers.seen("a.tiny")
    await until(servers, lambda: {row.state for row in servers.rows()} == {"stopped"})
    assert any("more than 1" in row.detail for row in servers.rows())
    answer = await servers.outline("a.l", 2)
    assert isinstance(answer, NoAnswer | ServerAnswer)


async def test_stop_holds_until_restart(make: Make) -> None:
    servers = make(small())
    await servers.outline("a.tiny", 10)
    pid = servers.rows()[0].pid
    assert await servers.command("stop", "") == "stopped: small"
    assert not is_alive(pid)
    answer = await servers.outline("a.tiny", 5)
    assert isinstance(answer, NoAnswer) and "/lsp restart" in answer.reason
    assert await servers.command("restart", "small") == "restarted: small"
    assert isinstance(await servers.outline("a.tiny", 10), ServerAnswer)
    assert servers.rows()[0].pid != pid
    assert await servers.command("stop", "ghost") == "no server called ghost"


async def test_server_gets_its_settings_when_it_asks_for_them(make: Make, notes: Path) -> None:
    asks = small("asks", notes=notes, settings={"one": {"two": 5}})
    servers = make(asks)
    await servers.outline("a.tiny", 10)
    await until(servers, lambda: notes.read_text().count("answered") == 4)
    configuration, progress, edit, stranger = (
        json.loads(line.partition(" ")[2])
        for line in notes.read_text().splitlines()
        if line.startswith("answered")
    )
    assert configuration == [5, None] and progress is None
    assert edit["applied"] is False
    assert stranger["code"] == -32601


async def test_progress_shows_in_the_row(make: Make) -> None:
    servers = make(small("works"))
    await servers.outline("a.tiny", 10)
    await until(servers, lambda: state_of(servers) == "indexing")
    assert servers.rows()[0].detail == "Indexing files 40%"


async def test_secrets_stay_out_of_its_environment(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    servers = make(small())
    await servers.outline("a.tiny", 10)
    if sys.platform == "linux":
        assert b"SOME_API_KEY" not in Path(f"/proc/{servers.rows()[0].pid}/environ").read_bytes()


async def test_another_process_sees_the_rows_and_may_send_commands(
    make: Make, root: Path, tmp_path: Path
) -> None:
    servers = make(small())
    await servers.outline("a.tiny", 10)
    folder = status_files.status_folder(tmp_path / "state", os.path.realpath(root))
    await until(servers, (folder / f"{os.getpid()}.json").exists)
    pid = servers.rows()[0].pid
    code = (
        "import sys; from pathlib import Path; from cockpit.navigation.lsp import status_files\n"
        "state, root = Path(sys.argv[1]), sys.argv[2]\n"
        "print([row.name for one in status_files.find_running(state, root) for row in one.rows])\n"
        "print(status_files.request_command(state, root, 'restart', 'small', 10))\n"
    )
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(tmp_path / "state"), str(root), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await other.communicate()
    assert output.decode().splitlines() == ["['small']", "restarted: small"]
    await until(servers, lambda: state_of(servers) == "ready")
    assert servers.rows()[0].pid != pid
    await servers.close()
    assert not list(folder.glob("*.json"))


async def test_files_of_a_dead_process_are_removed(root: Path, tmp_path: Path) -> None:
    ended = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await ended.wait()
    folder = status_files.status_folder(tmp_path, os.path.realpath(root))
    folder.mkdir(parents=True)
    left = folder / f"{ended.pid}.json"
    left.write_text("{}")
    assert status_files.find_running(tmp_path, str(root)) == ()
    assert not left.exists()


async def test_a_server_wanted_while_it_stops_starts_afterwards(make: Make, notes: Path) -> None:
    servers = make(small("never-exits", notes=notes))
    await servers.outline("a.tiny", 10)
    pid = servers.rows()[0].pid
    restarts = [asyncio.create_task(servers.command("restart", "small")) for _ in range(3)]
    found = await asyncio.gather(*(servers.outline("a.tiny", 10) for _ in range(4)))
    await asyncio.gather(*restarts)
    assert isinstance(await servers.outline("a.tiny", 10), ServerAnswer) and len(found) == 4
    assert not is_alive(pid)
    last = servers.rows()[0].pid
    await servers.close()
    assert not is_alive(last)


async def test_after_closing_no_question_is_answered(make: Make) -> None:
    servers = make(small())
    await servers.outline("a.tiny", 10)
    await servers.close()
    servers.seen("a.tiny")
    servers.changed(["a.tiny"])
    assert isinstance(await servers.outline("a.tiny", 1), NoAnswer)
    assert isinstance(await servers.staged({"a.tiny": b"x"}, 1), NoAnswer)


async def test_a_status_write_under_way_at_close_leaves_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "status"
    files = status_files.ProcessFiles(folder)
    writers = [asyncio.create_task(asyncio.to_thread(files.write_rows, ())) for _ in range(20)]
    writers += [asyncio.create_task(asyncio.to_thread(files.write_answer, "token", "done"))]
    await asyncio.wait(writers, return_when=asyncio.FIRST_COMPLETED)
    for writer in writers:
        writer.cancel()
    await asyncio.to_thread(files.remove)
    files.write_rows(())
    assert not list(folder.iterdir())
