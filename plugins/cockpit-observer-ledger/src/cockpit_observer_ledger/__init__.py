"""Writes the cost of every turn to a CSV file. An example of `register_observers`.

An observer receives the events of the kinds it names, outside the UI loop and from its own queue: a slow
observer misses events but never slows cockpit down.
"""

import asyncio
import csv
import time
from pathlib import Path

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Observer, Register, Scope
from cockpit.protocol.events import Envelope, TurnFinished

COLUMNS = ("time", "project", "session", "agent", "seconds", "in", "cached", "out", "dollars", "ended")


def build_row(envelope: Envelope, event: TurnFinished, root: str) -> tuple[object, ...]:
    usage = event.usage
    return (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(envelope.time)),
        root,
        envelope.session,
        envelope.agent,
        f"{event.seconds:.1f}",
        usage.input,
        usage.cached,
        usage.output,
        "" if usage.cost is None else f"{usage.cost:.6f}",
        event.stop_reason,
    )


def append_row(file: Path, row: tuple[object, ...]) -> None:
    """Append a row; a new file starts with the column names."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8", newline="") as out:
        lines = csv.writer(out)
        if out.tell() == 0:
            lines.writerow(COLUMNS)
        lines.writerow(row)


@hookimpl
def register_observers(register: Register, scope: Scope) -> None:
    file = Path(str(scope.settings.get("file") or Path(scope.state) / "ledger.csv")).expanduser()

    async def see(envelope: Envelope) -> None:
        if isinstance(envelope.event, TurnFinished):
            await asyncio.to_thread(append_row, file, build_row(envelope, envelope.event, scope.root))

    register(Observer("ledger", ("turn_finished",), see))
