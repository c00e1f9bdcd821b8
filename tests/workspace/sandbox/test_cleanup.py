"""Processes of a sandboxed program end with it: at its end, at a limit, when cancelled, if cockpit dies.
The sandbox leaves nothing in the workspace either."""

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.workspace.sandbox.box import Box
from tests.workspace.trees import tree

from cockpit.plugin.workspace import Launch
from cockpit.workspace.processes.local_processes import LocalProcesses

MARK = "COCKPIT_PROBE"
DAEMON = "(setsid sh -c 'sleep 1000 & nohup sleep 1001 >/dev/null 2>&1 & wait' &) ; sleep 0.1; echo up"
PATIENCE = 1.5


def marked(token: str) -> list[str]:
    """The living processes that carry `token` in their environment, as the host sees them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            is_ours = f"{MARK}={token}".encode() in (entry / "environ").read_bytes().split(b"\0")
            if is_ours and (entry / "stat").read_bytes().rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X"):
                found.append(entry.name)
    return found


async def are_gone(token: str) -> bool:
    """Whether none is left within a second (and a little, for a busy machine)."""
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE
    while left := marked(token):
        if loop.time() > until:
            return not left
        await asyncio.sleep(0.01)
    return True


def launch(box: Box, script: str, token: str) -> Launch:
    return Launch(box.processes.shell(script), str(box.root), ((MARK, token),), "build")


async def test_no_process_is_left_at_the_end_or_at_the_limit(box: Box) -> None:
    for script, limit in ((DAEMON, 30.0), (f"{DAEMON}; trap '' TERM; sleep 1002", 0.8)):
        token = secrets.token_hex(8)
        one = launch(box, script, token)
        ended = await box.processes.run_sealed(one, one.seal(), seconds=limit)
        assert ended.timed_out == (limit < 30) and ended.output == "up\n"
        assert await are_gone(token)


async def test_no_process_is_left_when_cancelled(box: Box) -> None:
    token, up = secrets.token_hex(8), asyncio.Event()
    one = launch(box, f"{DAEMON}; sleep 1003", token)
    running = asyncio.create_task(
        box.processes.run_sealed(one, one.seal(), seconds=100, on_output=lambda text: up.set())
    )
    async with asyncio.timeout(20):
        await up.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await are_gone(token)
    assert_clean(box)


async def test_no_process_of_a_job_is_left(box: Box) -> None:
    token = secrets.token_hex(8)
    one = launch(box, f"{DAEMON}; cat; sleep 1004", token)
    job = await box.processes.start_sealed(one, one.seal(), label="the job")
    await box.processes.write(job, "hello\n")
    for _ in range(2000):
        if "hello" in (await box.processes.output(job))[0]:
            break
        await box.processes.wait(job, 0.01)
    assert "hello" in (await box.processes.output(job))[0]
    assert not (await box.processes.cancel(job)).running
    assert await are_gone(token)
    assert_clean(box)


async def test_the_next_start_cleans_up_after_a_killed_cockpit(box: Box) -> None:
    token = secrets.token_hex(8)
    script = (
        "import asyncio, sys\n"
        "from cockpit.plugin.workspace import Launch\n"
        "from cockpit.workspace.processes.local_processes import LocalProcesses\n"
        "async def main():\n"
        "    p = LocalProcesses(sys.argv[1])\n"
        f"    argv, marks = p.shell({DAEMON + '; sleep 1005'!r}), (({MARK!r}, sys.argv[2]),)\n"
        "    one = Launch(argv, sys.argv[1], marks, 'build')\n"
        "    await p.run_sealed(one, one.seal(), seconds=100, on_output=lambda t: print(t, flush=True))\n"
        "asyncio.run(main())\n"
    )
    cockpit = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(box.root), token, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert cockpit.stdout is not None
    async with asyncio.timeout(20):
        assert await cockpit.stdout.readline() == b"up\n"
    assert marked(token) or not os.path.isdir("/proc/self")
    cockpit.send_signal(signal.SIGKILL)
    await cockpit.wait()
    if box.claimed:
        assert await are_gone(token)
        assert (box.root / ".claude").is_dir(), "a stub that the killed one could not remove"
    else:
        for pid in marked(token):
            os.kill(int(pid), signal.SIGKILL)
    following = LocalProcesses(str(box.root))
    await following.isolation()
    assert_clean(box)
    await following.close()


def assert_clean(box: Box) -> None:
    """No stub, and nothing else that the sandbox made."""
    for name in (".claude", ".mcp.json", ".idea", ".envrc", ".gitmodules", ".bashrc"):
        assert not (box.root / name).exists(), name


async def test_many_concurrent_launches_leave_the_workspace_unchanged(box: Box) -> None:
    before = tree(box.root)
    other = LocalProcesses(str(box.root))
    everything = await asyncio.gather(
        *(box.run("true") for _ in range(6)),
        *(Box(box.root, box.home, box.outside, other, box.claimed).run("false") for _ in range(6)),
    )
    assert sorted(one.code for one in everything) == [0] * 6 + [1] * 6, everything
    assert tree(box.root) == before
    await other.close()


async def test_a_stub_stays_while_in_use_and_if_the_user_fills_it(box: Box) -> None:
    await box.require_sandbox()
    one = Launch(("/bin/cat",), str(box.root), (), "build")
    job = await box.processes.start_sealed(one, one.seal())
    assert (await box.run("true")).code == 0
    assert (box.root / ".claude").is_dir() and (box.root / ".mcp.json").is_dir()
    (box.root / ".claude" / "mine.md").write_text("mine\n")
    status = subprocess.run(
        ("git", "status", "--short"), cwd=box.root, capture_output=True, text=True, check=True
    )
    assert ".mcp.json" not in status.stdout, "git does not show an empty folder"
    await box.processes.cancel(job)
    assert (box.root / ".claude" / "mine.md").read_text() == "mine\n"
    assert not (box.root / ".mcp.json").exists()
