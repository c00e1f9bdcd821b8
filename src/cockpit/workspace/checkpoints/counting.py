"""How many lines a delta adds and removes. Reads the store; remembers what it counted."""

from dataclasses import dataclass, field

from cockpit.workspace.checkpoints.objects import ObjectMissing, Objects
from cockpit.workspace.checkpoints.values import Delta, FileDelta, Kept
from cockpit.workspace.hunks import counts, hunks, is_binary

MOST = 200
LARGEST = 400_000


@dataclass(slots=True)
class Counting:
    """Lines of the store `objects`."""

    objects: Objects
    _known: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)

    def lines(self, delta: Delta) -> tuple[int, int]:
        """Added and removed lines of the first 200 files."""
        each = [self._of(file) for file in delta.files[:MOST]]
        return sum(added for added, _ in each), sum(removed for _, removed in each)

    def _of(self, file: FileDelta) -> tuple[int, int]:
        key = (file.before.id if file.before else "", file.after.id if file.after else "")
        if key not in self._known:
            self._known[key] = self._counted(file)
        return self._known[key]

    def _counted(self, file: FileDelta) -> tuple[int, int]:
        try:
            before, after = self._bytes(file.before), self._bytes(file.after)
        except ObjectMissing:
            return 0, 0
        if is_binary(before) or is_binary(after) or len(before) + len(after) > LARGEST:
            return 0, 0
        return counts(hunks(before, after, context=0))

    def _bytes(self, kept: Kept | None) -> bytes:
        return self.objects.get(kept.id) if kept is not None and kept.id else b""
