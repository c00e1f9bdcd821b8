"""What every turn cost, in a CSV file that a spreadsheet opens. Teaches `register_observers`.

An observer names the kinds of events it wants and is handed each of them, off the screen's loop and from a
queue of its own: a slow one misses events, it never slows the cockpit.
"""

import asyncio
import csv
import time
from pathlib import Path

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Observer, Register, Scope
from cockpit.protocol.events import Envelope, TurnFinished

COLUMNS = ("time", "project", "session", "agent", "seconds", "in", "cached", "out", "dollars", "ended")


def row_of(envelope: Envelope, event: TurnFinished, root: str) -> tuple[object, ...]:
    used = event.usage
    cost = "" if used.cost is None else f"{used.cost:.6f}"
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(envelope.time))
    tokens = used.input, used.cached, used.output
    return (
        when,
        root,
        envelope.session,
        envelope.agent,
        f"{event.seconds:.1f}",
        *tokens,
        cost,
        event.stop_reason,
    )


def write(file: Path, row: tuple[object, ...]) -> None:
    """Append a row; the first one brings the names of the columns."""
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
            await asyncio.to_thread(write, file, row_of(envelope, envelope.event, scope.root))

    register(Observer("ledger", ("turn_finished",), see))
