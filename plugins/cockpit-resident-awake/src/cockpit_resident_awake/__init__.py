"""The machine does not fall asleep while a session is open. Teaches `register_residents`.

A resident is an async context manager: what stands before `yield` starts it, what stands behind stops it, and
cockpit starts it again when it fails. This one holds the system's own program for staying awake.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Register, Resident, ResidentContext, Scope

# The first that is installed is used; each stays awake for as long as it runs.
PROGRAMS = (
    ("caffeinate", "-i"),
    ("systemd-inhibit", "--what=idle:sleep", "--who=cockpit", "--why=an agent works", "sleep", "infinity"),
    ("gnome-session-inhibit", "--inhibit", "suspend:idle", "--inhibit-only"),
)


def program() -> tuple[str, ...]:
    return next((one for one in PROGRAMS if shutil.which(one[0])), ())


@asynccontextmanager
async def run(context: ResidentContext) -> AsyncIterator[None]:
    command = program()
    if not command:
        context.say("nothing here keeps the machine awake")
        yield
        return
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdin=quiet, stdout=quiet, stderr=quiet)
    context.say(f"awake by {command[0]}")
    try:
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@hookimpl
def register_residents(register: Register, scope: Scope) -> None:
    register(Resident("awake", "session", run))
