"""Runs a subagent as another program: any agent with a command line. An example of `register_runners`.

A role names its runner, and the runner starts it and returns a handle. This one runs your command with the
task as its last argument; the output is the report:

    [plugins.program]
    command = ["claude", "-p"]
"""

import asyncio
import sys

from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.agents import AgentHandle, Report, Role
from cockpit.plugin.context import Context
from cockpit.plugin.values import AgentTask, Register, Runner, Scope
from cockpit.protocol.events import Event
from cockpit.protocol.messages import Usage

MAX_TEXT = 20_000


class Program:
    """One run of the program."""

    def __init__(self, id: str, process: asyncio.subprocess.Process) -> None:
        self.id, self._process = id, process
        self._ended = asyncio.create_task(process.communicate())

    async def send(self, text: str) -> None:
        raise CockpitError("a program that runs once takes no messages", "wait for it, or cancel it")

    async def wait(self, seconds: float | None = None) -> Report:
        """The output. The program continues if `seconds` are over."""
        output, _ = await asyncio.wait_for(asyncio.shield(self._ended), seconds)
        text = output.decode("utf-8", "replace").strip()
        if self._process.returncode == 0:
            return Report(text[:MAX_TEXT], "end_turn", Usage(), 1)
        return Report(f"ended with code {self._process.returncode}: {text[-MAX_TEXT:]}", "error", Usage(), 1)

    async def cancel(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._ended

    def transcript(self, cursor: int = 0) -> tuple[tuple[Event, ...], int]:
        return (), cursor


@hookimpl
def register_runners(register: Register, scope: Scope) -> None:
    configured = scope.settings.get("command")
    # Without a setting: another cockpit, which asks nothing and only reads.
    default = (sys.executable, "-m", "cockpit", "--mode", "plan", "-p")
    command = (
        tuple(str(word) for word in configured) if isinstance(configured, list) and configured else default
    )

    async def start(task: AgentTask, context: Context) -> AgentHandle:
        prompt = f"{task.role.instructions}\n\n{task.task}"
        pipe, out = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
        try:
            process = await asyncio.create_subprocess_exec(
                *command, prompt, cwd=task.root, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=out
            )
        except OSError as error:
            raise CockpitError(
                f"{command[0]} cannot be started: {error.strerror}", "[plugins.program]"
            ) from error
        return Program(task.id, process)

    register(Runner("program", start))


@hookimpl
def register_roles(register: Register, scope: Scope) -> None:
    about = "Gives the task to another program on this machine and returns its output."
    register(Role("outside", about, "Do this task and report what you found.", runner="program"))
