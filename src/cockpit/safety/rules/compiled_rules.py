"""The built-in rules in a form that loads in a millisecond.

The YAML files are the source: if their digest differs from the one in the compiled form, they are read
instead. `python -m cockpit.safety.rules.compiled_rules` compiles them again.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from cockpit.safety.rules.rule import CommandRule

FOLDER = Path(__file__).parent
FILE = FOLDER / "builtin.json"
SETS = ("capabilities", "subcommands", "first_unless")


def list_sources() -> list[Path]:
    """The YAML files, in the order of their rules."""
    return sorted(FOLDER.glob("*.yaml"))


def compute_digest(files: list[Path]) -> str:
    """The digest of the source files."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def load_compiled(files: list[Path]) -> tuple[CommandRule, ...] | None:
    """The compiled rules, or None if they were not compiled from these files."""
    try:
        result = json.loads(FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if result["digest"] != compute_digest(files):
        return None
    return tuple(_rule(table) for table in result["rules"])


def _rule(table: dict[str, object]) -> CommandRule:
    created = CommandRule("", "ask", ())
    for name, value in table.items():
        if isinstance(value, list):
            value = frozenset(value) if name in SETS else tuple(value)
        # The names come from `write_compiled`, so a frozen value can be filled by name.
        object.__setattr__(created, name, value)
    return created


def write_compiled() -> None:
    """Compile the YAML files."""
    from cockpit.safety.rules.yaml_reader import parse_rules

    files = list_sources()
    rules = []
    empty = asdict(CommandRule("", "ask", ()))
    for path in files:
        for rule in parse_rules(path.read_text(encoding="utf-8"), path.name):
            table = asdict(rule) | {"file": path.name}
            rules.append(
                {
                    name: sorted(value) if isinstance(value, frozenset) else value
                    for name, value in table.items()
                    if value != empty[name] or name in ("id", "level", "programs")
                }
            )
    text = json.dumps(
        {"digest": compute_digest(files), "rules": rules}, ensure_ascii=True, separators=(",", ":")
    )
    FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_compiled()
