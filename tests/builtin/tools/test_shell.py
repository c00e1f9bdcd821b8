"""shell and job: commands run, are stopped, and report their result."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.contexts import previewed_call, writing_context
from tests.support.session_view import call, registered

from cockpit.builtin.tools import shell
from cockpit.plugin.context import Context, RunningCall
from cockpit.plugin.tools import Done, Tool, ToolFailed
from cockpit.plugin.workspace import SealBroken
from cockpit.protocol.messages import Json, ToolCall

TOOLS = registered(shell)
SHELL, JOB = TOOLS["shell"], TOOLS["job"]


async def approved(tool: Tool, context: Context, /, **arguments: Json) -> Done:
    """The call as it runs after a yes."""
    _, done = await previewed_call(tool, context, **arguments)
    return done


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[Context]:
    made = writing_context(tmp_path)
    yield made
    workspace: Any = made.workspace
    await workspace.close()


async def test_command_returns_its_output_and_exit_code(context: Context, tmp_path: Path) -> None:
    (tmp_path / "子").mkdir()
    done = await approved(SHELL, context, command="pwd; echo 中文; exit 3", cwd="子")
    assert done.text == f"{tmp_path}/子\n中文\n[exit code 3]"
    assert done.is_error and done.data == {"exit_code": 3, "timed_out": False}
    assert (await approved(SHELL, context, command="true")).text == "[exit code 0]"


async def test_output_streams_while_the_command_runs(context: Context) -> None:
    seen: list[str] = []
    running = RunningCall(ToolCall("c", "shell", {}), None, seen.append)
    await approved(SHELL, replace(context, call=running), command="echo one; echo two")
    assert "".join(seen) == "one\ntwo\n"


async def test_command_over_its_time_limit_says_what_to_do(context: Context) -> None:
    done = await approved(SHELL, context, command="echo begun; sleep 1006", seconds=1)
    assert done.is_error
    assert done.text == "begun\n[stopped after 1 s: give more seconds, or run it with background=true]"


async def test_cancelling_ends_the_command(context: Context, tmp_path: Path) -> None:
    has_output = asyncio.Event()
    running = RunningCall(ToolCall("c", "shell", {}), None, lambda text: has_output.set())
    task = asyncio.create_task(
        approved(SHELL, replace(context, call=running), command="echo $$; sleep 1007; touch late")
    )
    async with asyncio.timeout(20):
        await has_output.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (tmp_path / "late").exists()


async def test_job_is_started_read_written_to_and_cancelled(context: Context) -> None:
    started = await approved(
        SHELL, context, command="echo ready; read line; echo got $line; sleep 1008", background=True
    )
    assert started.data == {"job": "job-1"} and started.text.startswith("job-1 is running")
    assert "job-1 is running  $ echo ready" in (await call(JOB, context, action="list")).text
    await call(JOB, context, action="write", id="job-1", text="word\n")
    done = await until(context, "got word")
    assert "go on with cursor=" in done.text
    assert done.data["running"] is True
    assert (await call(JOB, context, action="cancel", id="job-1")).text.startswith("job-1 ended")
    with pytest.raises(ToolFailed, match="`id` is missing"):
        await call(JOB, context, action="wait")


async def until(context: Context, text: str) -> Any:
    for _ in range(1000):
        done = await call(JOB, context, action="output", id="job-1")
        if text in done.text:
            return done
        await asyncio.sleep(0.01)
    raise AssertionError(f"{text} was never written")


async def test_waiting_for_a_job_returns_its_result(context: Context) -> None:
    await approved(SHELL, context, command="exit 4", background=True)
    assert "job-1 ended with exit code 4" in (await call(JOB, context, action="wait", id="job-1")).text


@pytest.mark.parametrize(
    ("command", "argv"),
    [("git log -3", (("git", "log", "-3"),)), ("git log | head", ()), ("rm x", (("rm", "x"),))],
)
async def test_preview_shows_the_command_and_the_process(
    context: Context, command: str, argv: tuple[tuple[str, ...], ...]
) -> None:
    assert SHELL.preview is not None
    preview = await SHELL.preview({"command": command}, context)
    assert (preview.title, preview.argv, preview.parts[0].title) == (f"$ {command}", argv, command)
    assert preview.line is not None and preview.line.text == command
    assert preview.launch is not None and preview.launch.argv[-1].startswith(command[:3])


@pytest.mark.parametrize("field", ["argv", "cwd", "environment", "profile", "hosts"])
async def test_only_the_approved_command_runs(context: Context, tmp_path: Path, field: str) -> None:
    assert SHELL.preview is not None
    preview = await SHELL.preview({"command": "touch made"}, context)
    launch = preview.launch
    assert launch is not None
    other: dict[str, Any] = {
        "argv": (*launch.argv[:-1], "touch other"),
        "cwd": str(tmp_path.parent),
        "environment": (("LD_PRELOAD", "x.so"),),
        "profile": "net",
        "hosts": ("example.org",),
    }
    changed = replace(launch, **{field: other[field]})
    running = RunningCall(ToolCall("c", "shell", {}), replace(preview, launch=changed), print, launch.seal())
    for background in (False, True):
        with pytest.raises(SealBroken):
            arguments = {"command": "touch made", "background": background}
            await SHELL.run(arguments, replace(context, call=running))
    assert not list(tmp_path.glob("*"))


async def test_large_time_limits_count_as_milliseconds(context: Context) -> None:
    assert shell._clamp_seconds(120_000) == 120.0
    assert (shell._clamp_seconds(0), shell._clamp_seconds(3000)) == (1.0, 600.0)
