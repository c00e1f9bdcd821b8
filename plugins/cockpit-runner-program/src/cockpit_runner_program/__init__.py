"""A subagent that is another program: any agent with a command line. Teaches `register_runners`.

A role names its runner, the runner starts it and hands back a handle. This one runs a command of yours
with the task behind it, and its output is the report:

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

LONGEST = 20_000


class Program:
    """One run of the program."""

    def __init__(self, id: str, process: asyncio.subprocess.Process) -> None:
        self.id, self._process = id, process
        self._ended = asyncio.create_task(process.communicate())

    async def send(self, text: str) -> None:
        raise CockpitError("a program that runs once cannot be spoken to", "wait for it, or cancel it")

    async def wait(self, seconds: float | None = None) -> Report:
        """Its output. The program goes on when the time is over."""
        output, _ = await asyncio.wait_for(asyncio.shield(self._ended), seconds)
        text = output.decode("utf-8", "replace").strip()
        ended = "end_turn" if self._process.returncode == 0 else "error"
        if ended == "end_turn":
            return Report(text[:LONGEST], "end_turn", Usage(), 1)
        return Report(f"ended with {self._process.returncode}: {text[-LONGEST:]}", "error", Usage(), 1)

    async def cancel(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._ended

    def transcript(self, cursor: int = 0) -> tuple[tuple[Event, ...], int]:
        return (), cursor


@hookimpl
def register_runners(register: Register, scope: Scope) -> None:
    given = scope.settings.get("command")
    # Without a program of yours: another cockpit, which never asks and only looks.
    own = (sys.executable, "-m", "cockpit", "--mode", "plan", "-p")
    command = tuple(str(word) for word in given) if isinstance(given, list) and given else own

    async def start(task: AgentTask, context: Context) -> AgentHandle:
        asked = f"{task.role.instructions}\n\n{task.task}"
        pipe, out = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
        try:
            process = await asyncio.create_subprocess_exec(
                *command, asked, cwd=task.root, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=out
            )
        except OSError as error:
            raise CockpitError(
                f"{command[0]} cannot be started: {error.strerror}", "[plugins.program]"
            ) from error
        return Program(task.id, process)

    register(Runner("program", start))


@hookimpl
def register_roles(register: Register, scope: Scope) -> None:
    about = "Gives the task to another program on this machine and brings back what it prints."
    register(Role("outside", about, "Do this task and report what you found.", runner="program"))
