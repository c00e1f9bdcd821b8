"""`cockpit nav batch`: questions as lines of JSON on stdin, answers as lines of JSON as they are ready.

Each line gets exactly one answer, with its id; a line nobody can read gets one that says why.
"""

import asyncio
import json
import sys
import threading
from typing import TextIO

from cockpit.cli.nav_asking import Answer, Asked, Opened, answer, results_of
from cockpit.errors import CockpitError
from cockpit.plugin.navigation import PlaceAmbiguous
from cockpit.protocol.code import Ask
from cockpit.protocol.messages import Json

AT_ONCE = 8
PATIENCE = 0.2
"""Seconds; a program asks again rather than waits for a server that is starting."""


async def run(opened: Opened, source: Ask, lines: TextIO = sys.stdin, out: TextIO = sys.stdout) -> None:
    """Answer every line of `lines`, at most eight at once; returns after the last answer."""
    queue = _read(lines)
    free = asyncio.Semaphore(AT_ONCE)
    async with asyncio.TaskGroup() as tasks:
        while (line := await queue.get()) is not None:
            if not line.strip():
                continue
            await free.acquire()
            tasks.create_task(_one(opened, line, source, out)).add_done_callback(lambda _: free.release())


def _read(lines: TextIO) -> "asyncio.Queue[str | None]":
    """Lines, then None. A thread of its own that nobody waits for: a read of stdin cannot be cancelled."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        try:
            for line in lines:
                loop.call_soon_threadsafe(queue.put_nowait, line)
            loop.call_soon_threadsafe(queue.put_nowait, None)
        except RuntimeError:
            pass  # the loop has ended before its input

    threading.Thread(target=read, daemon=True).start()
    return queue


async def _one(opened: Opened, line: str, source: Ask, out: TextIO) -> None:
    said = await _said(opened, line, source)
    out.write(json.dumps(said, ensure_ascii=False) + "\n")  # one write: answers are never mixed
    out.flush()


async def _said(opened: Opened, line: str, source: Ask) -> dict[str, Json]:
    try:
        given = json.loads(line)
    except ValueError as error:
        return _failed(None, f"this line is no JSON: {error}")
    if not isinstance(given, dict):
        return _failed(None, 'a line is an object: {"id", "op", "place"}')
    id, op, place = given.get("id"), given.get("op"), given.get("place", "")
    if not isinstance(op, str) or not isinstance(place, str):
        return _failed(id, "op and place must be texts")
    try:
        found = await answer(opened, Asked(op, place, source, PATIENCE))
    except PlaceAmbiguous as error:
        return _failed(id, str(error), Answer(error.candidates))
    except (CockpitError, OSError) as error:
        return _failed(id, str(error))
    said: dict[str, Json] = {"id": id, "results": results_of(found)}
    if not found.complete:
        said |= {"complete": False, "note": found.note}
    elif found.note and not (found.rows or found.problems):
        said["note"] = found.note
    return said


def _failed(id: Json, why: str, found: Answer | None = None) -> dict[str, Json]:
    said: dict[str, Json] = {"id": id, "results": [], "error": why}
    if found is not None:
        said["candidates"] = results_of(found)
    return said
