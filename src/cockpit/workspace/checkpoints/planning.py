"""The way back: what each path was before the given calls, what it is now, and whose that is. Pure but
for `now`, which looks. A path that a person changed since an agent's last write is theirs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from cockpit.workspace.checkpoints.values import WHY, FileDelta, Kept, Record, same

Owner = Literal["agent", "person"]


@dataclass(frozen=True, slots=True)
class Step:
    """One path on the way back: what it is now, what it would be. `reason` says why it cannot be."""

    path: str
    now: Kept | None
    then: Kept | None
    owner: Owner
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Way:
    """Everything on the way back: the steps by path, folders to remove and to make, outermost first."""

    steps: tuple[Step, ...] = ()
    remove: tuple[str, ...] = ()
    make: tuple[str, ...] = ()

    def of(self, owner: Owner) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.owner == owner and not step.reason)

    @property
    def blocked(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.reason)


@dataclass(slots=True)
class Thread:
    """One path through the calls. `broken`: somebody else wrote it between two of them."""

    first: Kept | None
    last: Kept | None
    ended: float
    broken: bool = False
    sure: bool = True


@dataclass(slots=True)
class Threads:
    files: dict[str, Thread] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)


def way_back(records: Iterable[Record], now: Callable[[str], Kept | None]) -> Way:
    """The way to before `records`, of which each is one call (or one rewind) of the same root."""
    threads = Threads()
    for record in sorted(records, key=lambda one: one.call.started):
        for file in record.delta.files:
            _follow(threads.files, file, record)
        back = threads.gone & set(record.delta.made)
        threads.gone -= back
        threads.made |= set(record.delta.made) - back
        again = threads.made & set(record.delta.gone)
        threads.made -= again
        threads.gone |= set(record.delta.gone) - again
    steps = (_step(path, thread, now(path)) for path, thread in sorted(threads.files.items()))
    return Way(
        tuple(step for step in steps if step is not None),
        tuple(sorted(threads.made)),
        tuple(sorted(threads.gone)),
    )


def reversed_files(way: Way, done: Iterable[str]) -> tuple[FileDelta, ...]:
    """What going back changed, for those paths that were."""
    went = set(done)
    return tuple(FileDelta(step.path, step.now, step.then) for step in way.steps if step.path in went)


def _follow(threads: dict[str, Thread], file: FileDelta, record: Record) -> None:
    known = threads.get(file.path)
    if known is None:
        threads[file.path] = Thread(file.before, file.after, record.ended, sure=record.sure)
        return
    # Two calls at the same time see each other's writes: a difference between them proves nothing.
    apart = record.call.started >= known.ended
    known.broken = known.broken or (apart and not same(known.last, file.before))
    known.sure = known.sure and record.sure
    if record.ended >= known.ended:
        known.last, known.ended = file.after, record.ended


def _step(path: str, thread: Thread, now: Kept | None) -> Step | None:
    if same(now, thread.first):
        return None
    reason = ""
    if thread.first is not None and not thread.first.id:
        reason = WHY[thread.first.why]
    elif now is not None and not now.id:
        # Nobody could take this step back.
        reason = WHY[now.why]
    theirs = thread.broken or not thread.sure or not same(now, thread.last)
    return Step(path, now, thread.first, "person" if theirs else "agent", reason)
