"""Programs run, stream their output, and end together with everything they started."""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cockpit.errors import CockpitError
from cockpit.plugin.workspace import ProcessResult
from cockpit.workspace import environment
from cockpit.workspace.processes import process_tree, shells
from cockpit.workspace.processes.child_process import ProcessOutput
from cockpit.workspace.processes.local_processes import LocalProcesses, ProcessFailed
from cockpit.workspace.safe_git import GIT_ENVIRONMENT, filter_options, safe_git_argv

DEADLINE = 20.0
STEPS = 4000


@pytest.fixture
async def processes(tmp_path: Path) -> AsyncIterator[LocalProcesses]:
    made = LocalProcesses(str(tmp_path))
    yield made
    await made.close()


def python(script: str) -> tuple[str, ...]:
    return (sys.executable, "-c", script)


async def until_gone(pid: int) -> None:
    for _ in range(STEPS):
        if not is_alive(pid):
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"{pid} is still there")


def is_alive(pid: int) -> bool:
    try:
        return Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


async def test_output_arrives_in_order_with_the_exit_code(processes: LocalProcesses) -> None:
    seen: list[str] = []
    argv = processes.shell("echo one; echo two >&2; printf '\\303\\244\\377'; exit 7")
    ended = await processes.run(argv, on_output=seen.append)
    assert (ended.code, ended.output, ended.timed_out) == (7, "one\ntwo\nä\ufffd", False)
    assert "".join(seen) == ended.output


async def test_input_is_given_whole_or_is_empty(processes: LocalProcesses) -> None:
    assert (await processes.run(("cat",), stdin=b"x" * 300_000)).output == "x" * 300_000
    assert (await processes.run(("cat",))).output == ""


async def test_stderr_can_be_separated(processes: LocalProcesses) -> None:
    argv = processes.shell("echo one; echo two >&2; cat; printf '\\303\\244' >&2; exit 2")
    ended = await processes.run(argv, stdin=b"in", separate_errors=True)
    assert (ended.code, ended.output, ended.errors) == (2, "one\nin", "two\nä")
    assert (await processes.run(argv)).errors == ""


async def test_a_timeout_ends_the_program_and_keeps_its_output(processes: LocalProcesses) -> None:
    ended = await processes.run(processes.shell("echo begun; trap '' TERM; sleep 1000"), seconds=0.3)
    assert ended.timed_out and ended.output == "begun\n"
    assert ended.seconds < 5


async def test_background_processes_of_a_command_end_with_it(processes: LocalProcesses) -> None:
    command = (
        "sleep 1001 & echo $!; (setsid sleep 1002 & echo $!) ; nohup sleep 1003 >/dev/null 2>&1 & echo $!"
    )
    ended = await processes.run(processes.shell(command))
    pids = [int(line) for line in ended.output.split()]
    assert len(pids) == 3
    for pid in pids:
        await until_gone(pid)


async def test_cancelling_ends_daemons_that_left_group_session_and_parent(processes: LocalProcesses) -> None:
    daemon = (
        "import os, time, signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork(): time.sleep(1000)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "print(os.getpid(), flush=True); time.sleep(1000)\n"
    )
    said = asyncio.Event()
    seen: list[str] = []

    def see(text: str) -> None:
        seen.append(text)
        said.set()

    running = asyncio.create_task(processes.run(python(daemon), on_output=see, seconds=100))
    async with asyncio.timeout(DEADLINE):
        await said.wait()
    running.cancel()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.monotonic() - began < 10
    await until_gone(int("".join(seen)))


async def test_a_job_is_written_to_read_from_a_cursor_and_cancelled(processes: LocalProcesses) -> None:
    job = await processes.start(("cat",), label="the cat")
    await processes.write(job, "first\n")
    text, cursor = await grown(processes, job, 0)
    assert text == "first\n"
    await processes.write(job, "second\n")
    assert (await grown(processes, job, cursor))[0] == "second\n"
    (view,) = processes.jobs()
    assert (view.command, view.running, view.code) == ("the cat", True, None)
    assert (await processes.wait(job, 0.01)).running
    assert not (await processes.cancel(job)).running
    with pytest.raises(ProcessFailed, match="start the job again"):
        await processes.write(job, "late")


@pytest.mark.parametrize("head", [100, 6])
def test_a_reader_cannot_have_a_word_of_the_output_in_two_halves(head: int) -> None:
    output = ProcessOutput(head=head, tail=100)
    output.feed(b"key sk-abc")
    assert output.since(7) == ("sk-abc", 10)
    output.feed(b"def\n>>> ")
    assert [output.since(at)[0] for at in (10, 13)] == ["sk-abcdef\n>>> ", "sk-abcdef\n>>> "]
    assert [output.since(at)[0] for at in (14, 18, 99)] == [">>> ", "", ""]


async def grown(processes: LocalProcesses, job: str, cursor: int) -> tuple[str, int]:
    for _ in range(STEPS):
        found = await processes.output(job, cursor)
        if found[0]:
            return found
        await asyncio.sleep(0.005)
    raise AssertionError(f"{job} wrote nothing more")


async def test_a_job_that_ends_says_how(processes: LocalProcesses) -> None:
    job = await processes.start(processes.shell("echo done; exit 3"))
    view = await processes.wait(job, DEADLINE)
    assert (view.running, view.code, view.cursor) == (False, 3, 5)
    assert await processes.output(job) == ("done\n", 5)


async def test_closing_ends_every_job_and_refuses_new_ones(tmp_path: Path) -> None:
    processes = LocalProcesses(str(tmp_path))
    job = await processes.start(processes.shell("echo $$; sleep 1004"))
    pid = int((await grown(processes, job, 0))[0])
    waiting = asyncio.create_task(processes.run(("sleep", "1005"), seconds=1000))
    await asyncio.sleep(0)
    await processes.close()
    await until_gone(pid)
    with contextlib.suppress(ProcessFailed):
        assert (await waiting).code < 0
    with pytest.raises(ProcessFailed, match="closed"):
        await processes.run(("true",))


async def test_a_program_that_cannot_start_gives_the_reason(processes: LocalProcesses) -> None:
    with pytest.raises(ProcessFailed, match="no-such-program is not installed"):
        await processes.run(("no-such-program",))
    with pytest.raises(ProcessFailed, match="nowhere does not exist"):
        await processes.run(("true",), cwd="nowhere")
    with pytest.raises(ProcessFailed, match="unknown job job-9"):
        await processes.output("job-9")


async def test_excess_output_is_dropped_and_counted(processes: LocalProcesses) -> None:
    ended = await processes.run(processes.shell("head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end"))
    assert ended.dropped > 3_000_000
    assert len(ended.output) < 1_100_000
    assert f"{ended.dropped:,} bytes dropped" in ended.output and ended.output.endswith("x\nend\n")


async def test_keys_and_start_up_files_do_not_reach_a_child(
    processes: LocalProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.sh").write_text("echo evil")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "evil.sh"))
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SESSION_TOKEN", "MY_SECRET", "DB_PASSWORD"):
        monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("KEYBOARD_LAYOUT", "de")
    ended = await processes.run(processes.shell("env"), environment={"GIVEN_TOKEN": "wanted"})
    assert "canary" not in ended.output and "evil" not in ended.output
    assert "KEYBOARD_LAYOUT=de" in ended.output and "GIVEN_TOKEN=wanted" in ended.output


def test_secret_variable_names_are_recognised() -> None:
    secret = [
        "X_API_KEY",
        "apikey",
        "HF_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "NPM_AUTH",
        "SIGNING_KEY",
        "DATABASE_URL",
    ]
    plain = [
        "PATH",
        "HOME",
        "LANG",
        "AWS_REGION",
        "OPENAI_BASE_URL",
        "KEYMAP",
        "TOKENIZERS_PARALLELISM",
        "AUTHOR",
    ]
    assert [name for name in secret if not environment.is_secret_variable(name)] == []
    assert [name for name in plain if environment.is_secret_variable(name)] == []


def test_the_shell_depends_on_what_is_installed() -> None:
    every = {"bash": "/bin/bash", "sh": "/bin/sh", "pwsh": r"C:\pwsh.exe"}
    assert shells.posix_shell("ls", every.get) == ("/bin/bash", "--noprofile", "--norc", "-c", "ls")
    assert shells.posix_shell("ls", {"sh": "/bin/sh"}.get) == ("/bin/sh", "-c", "ls")
    argv = shells.windows_shell("dir", every.get)
    assert argv[:5] == (r"C:\pwsh.exe", "-NoLogo", "-NoProfile", "-NonInteractive", "-Command")
    assert argv[5].startswith("dir\n")
    assert shells.windows_shell("dir", {}.get)[0] == "powershell.exe"


def test_process_groups_follow_the_platform() -> None:
    assert process_tree.spawn_options("linux") == {"start_new_session": True}
    assert process_tree.spawn_options("win32") == {"creationflags": 0x08000200}
    assert process_tree.windows_kill_argv(7) == ("taskkill", "/T", "/F", "/PID", "7")


@pytest.mark.parametrize(
    ("command", "argv", "shape"),
    [
        ("git status -s", ("git", "status", "-s"), "git status *"),
        ("ls -la 'my dir'", ("ls", "-la", "my dir"), "ls *"),
        ("npm run build", ("npm", "run", "build"), "npm run build *"),
        ("python -m pytest -q x", ("python", "-m", "pytest", "-q", "x"), "python -m pytest *"),
        ("python3 -m pdb x.py", ("python3", "-m", "pdb", "x.py"), "python3 -m pdb x.py"),
        ("npx tsc --noEmit", ("npx", "tsc", "--noEmit"), "npx tsc *"),
        ("npx tsx a.ts", ("npx", "tsx", "a.ts"), "npx tsx a.ts"),
        ("uv run pytest -q", ("uv", "run", "pytest", "-q"), "uv run pytest *"),
        ("uv run python a.py", ("uv", "run", "python", "a.py"), "uv run python a.py"),
        (
            "poetry run python -m mypy .",
            ("poetry", "run", "python", "-m", "mypy", "."),
            "poetry run python -m mypy *",
        ),
        ("make test", ("make", "test"), "make test"),
        ("go test ./...", ("go", "test", "./..."), "go test *"),
        ("go run x.go", ("go", "run", "x.go"), "go run x.go"),
        ("cargo test", ("cargo", "test"), "cargo test *"),
        ("gh pr view 1", ("gh", "pr", "view", "1"), "gh pr view *"),
        ("docker run -it x", ("docker", "run", "-it", "x"), "docker run -it x"),
        ("rm -rf build", ("rm", "-rf", "build"), "rm -rf build"),
        ("python3 -c pass", ("python3", "-c", "pass"), "python3 -c pass"),
        ("git -C x status", ("git", "-C", "x", "status"), "git -C x status"),
        ("python 'a b.py'", ("python", "a b.py"), ""),
        ("./run.sh", ("./run.sh",), ""),
    ],
)
def test_a_plain_command_has_words_and_a_shape(command: str, argv: tuple[str, ...], shape: str) -> None:
    assert shells.parse_plain_command(command) == argv
    assert shells.command_pattern(argv) == shape


@pytest.mark.parametrize(
    "command",
    [
        "a; b",
        "a | b",
        "a && b",
        "a & b",
        "a > f",
        "a < f",
        "a $x",
        "a `b`",
        "a $(b)",
        "a *",
        "a ?",
        "a [b]",
        "a {b,c}",
        "A=1 b",
        "a \\b",
        "a #b",
        "~/a",
        "a ~",
        "a\nb",
        "a 'b",
        "",
        "  ",
        "! a",
        "if a",
        "eval a",
        ". a",
        "time a",
        "(a)",
        "a\tb",
        "''",
        "exec a",
        "a\u00a0b",
    ],
)
def test_a_command_with_shell_syntax_is_not_plain(command: str) -> None:
    assert shells.parse_plain_command(command) == ()


def test_output_keeps_head_and_tail_and_its_positions() -> None:
    output = ProcessOutput(head=10, tail=10)
    for number in range(10):
        output.feed(f"{number}abcd".encode())
    text, end = output.since(0)
    assert text == "0abcd1abcd\n[... 30 bytes dropped ...]\n8abcd9abcd"
    assert (end, output.total, output.dropped) == (50, 50, 30)
    assert output.since(45) == ("8abcd9abcd", 50)  # a word from its start
    assert output.since(50) == ("", 50)


def test_output_joins_characters_that_were_cut_in_two() -> None:
    output = ProcessOutput()
    assert [output.feed(bytes([byte])) for byte in "é中".encode()] == ["", "é", "", "", "中"]
    assert output.feed(b"\xe4", final=True) == "\ufffd"


async def test_git_reads_a_hostile_repository_without_running_anything(
    processes: LocalProcesses, tmp_path: Path
) -> None:
    trap = tmp_path / "ran"
    setup = (
        "git init -q . && git config user.email a@b.c && git config user.name n"
        " && echo '*.txt diff=evil filter=evil.x' > .gitattributes"
        " && echo a > a.txt && git add . && git commit -qm one && echo b > a.txt"
        f" && git config diff.evil.textconv 'touch {trap};cat' && git config diff.external 'touch {trap}'"
        f" && git config core.fsmonitor 'touch {trap}' && git config core.pager 'touch {trap};cat'"
        f" && git config filter.evil.x.clean 'touch {trap};cat' && git config filter.evil.x.required true"
        f" && git config filter.evil.x.process 'touch {trap}'"
    )
    made = await processes.run(processes.shell(setup))
    assert made.code == 0, made.output
    for arguments in (
        ("status", "--short"),
        ("diff",),
        ("log", "-p"),
        ("show",),
        ("blame", "a.txt"),
        ("grep", "b"),
    ):
        ended = await run_git(processes, str(tmp_path), *arguments)
        assert ended.code == 0, ended.output
    assert "+b" in (await run_git(processes, str(tmp_path), "diff")).output
    assert not trap.exists()


async def run_git(processes: LocalProcesses, root: str, *arguments: str) -> ProcessResult:
    async def run(argv: tuple[str, ...]) -> ProcessResult:
        return await processes.run(argv, environment=GIT_ENVIRONMENT)

    return await run(safe_git_argv(root, *arguments, off=await filter_options(run, root, arguments[0])))


async def test_git_does_not_go_into_a_submodule(processes: LocalProcesses, tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    setup = (
        "git init -q . && git config user.email a@b.c && git config user.name n"
        " && git init -q inner && cd inner && git config user.email a@b.c && git config user.name n"
        " && echo '*.txt filter=evil' > .gitattributes && echo a > a.txt && git add . && git commit -qm one"
        f" && echo b > a.txt && git config filter.evil.clean 'touch {trap};cat' && cd .."
        " && git add inner && git commit -qm two"
    )
    made = await processes.run(processes.shell(setup))
    assert made.code == 0, made.output
    for arguments in (("status",), ("diff",)):
        assert (await run_git(processes, str(tmp_path), *arguments)).code == 0
    assert not trap.exists()


async def test_only_the_filters_of_the_repository_are_switched_off() -> None:
    listed = "global\0filter.lfs.clean\nlfs\0local\0filter.a.b.clean\nx\ny\0worktree\0filter.w.process\nz\0"

    async def run(argv: tuple[str, ...]) -> ProcessResult:
        return ProcessResult(0, listed, 0.0)

    off = await filter_options(run, "/x", "status")
    assert [one for one in off if one.endswith("clean=")] == ["filter.a.b.clean=", "filter.w.clean="]
    assert await filter_options(run, "/x", "log") == ()
    listed = "local\0filter.a=b.clean\nx\0"
    with pytest.raises(CockpitError, match=r"a=b"):
        await filter_options(run, "/x", "status")


def test_git_takes_no_lock_and_runs_no_diff_program() -> None:
    argv = safe_git_argv("/x", "diff", "--staged")
    assert argv[:4] == ("git", "-C", "/x", "--no-pager")
    diff = ("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--staged")
    assert argv[-5:] == diff
    assert os.path.devnull == "/dev/null" or os.name == "nt"
