"""Writes of every kind, alone and together, on one small tree."""

from pathlib import Path

from tests.workspace.trees import grow

from cockpit.workspace.changes import digest
from cockpit.workspace.transaction import Target

OLD = b"old\n" * 10
SCRIPTS = ("modify", "create", "delete", "move", "mode", "deep", "empty", "replace", "all")


def grown(root: Path) -> None:
    grow(root, dict.fromkeys(("modify", "delete", "move", "mode", "other"), OLD))
    grow(root, {"empty": b""})
    (root / "mode").chmod(0o644)


def targets(root: Path, script: str) -> tuple[Target, ...]:
    old = digest(OLD)

    def at(name: str) -> str:
        return str(root / name)

    found = {
        "modify": (Target(at("modify"), old, b"new\n", 0o600),),
        "create": (Target(at("made"), "", b"new\n", 0o755),),
        "delete": (Target(at("delete"), old, None, 0o644),),
        "move": (Target(at("move"), old, None, 0o644), Target(at("sub/moved"), "", OLD, 0o644)),
        "mode": (Target(at("mode"), old, OLD, 0o755),),
        "deep": (Target(at("a/b/c/d"), "", b"", 0o644),),
        "empty": (Target(at("empty"), digest(b""), b"full\n", 0o644),),
        "replace": (Target(at("other"), old, b"", 0o644),),
    }
    return tuple(one for each in found.values() for one in each) if script == "all" else found[script]
