"""Sample transactions of every kind, alone and combined, on a small tree."""

from pathlib import Path

from tests.workspace.trees import grow

from cockpit.workspace.files.changes import digest
from cockpit.workspace.files.transaction import WriteTarget

OLD = b"old\n" * 10
SCRIPTS = ("modify", "create", "delete", "move", "mode", "deep", "empty", "replace", "all")


def grown(root: Path) -> None:
    grow(root, dict.fromkeys(("modify", "delete", "move", "mode", "other"), OLD))
    grow(root, {"empty": b""})
    (root / "mode").chmod(0o644)


def targets(root: Path, script: str) -> tuple[WriteTarget, ...]:
    old = digest(OLD)

    def at(name: str) -> str:
        return str(root / name)

    found = {
        "modify": (WriteTarget(at("modify"), old, b"new\n", 0o600),),
        "create": (WriteTarget(at("made"), "", b"new\n", 0o755),),
        "delete": (WriteTarget(at("delete"), old, None, 0o644),),
        "move": (WriteTarget(at("move"), old, None, 0o644), WriteTarget(at("sub/moved"), "", OLD, 0o644)),
        "mode": (WriteTarget(at("mode"), old, OLD, 0o755),),
        "deep": (WriteTarget(at("a/b/c/d"), "", b"", 0o644),),
        "empty": (WriteTarget(at("empty"), digest(b""), b"full\n", 0o644),),
        "replace": (WriteTarget(at("other"), old, b"", 0o644),),
    }
    return tuple(one for each in found.values() for one in each) if script == "all" else found[script]
