"""Keeps the machine awake while a session is open. An example of `register_residents`.

A resident is an async context manager: the code before `yield` starts it, the code after stops it, and
cockpit restarts it when it fails. This one runs the system's program for staying awake.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Register, Resident, ResidentContext, Scope

# The first installed program is used; the machine stays awake as long as it runs.
PROGRAMS = (
    ("caffeinate", "-i"),
    ("systemd-inhibit", "--what=idle:sleep", "--who=cockpit", "--why=an agent works", "sleep", "infinity"),
    ("gnome-session-inhibit", "--inhibit", "suspend:idle", "--inhibit-only"),
)


def find_program() -> tuple[str, ...]:
    return next((command for command in PROGRAMS if shutil.which(command[0])), ())


@asynccontextmanager
async def run(context: ResidentContext) -> AsyncIterator[None]:
    command = find_program()
    if not command:
        context.say("no program to keep the machine awake is installed")
        yield
        return
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdin=quiet, stdout=quiet, stderr=quiet)
    context.say(f"kept awake by {command[0]}")
    try:
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@hookimpl
def register_residents(register: Register, scope: Scope) -> None:
    register(Resident("awake", "session", run))
