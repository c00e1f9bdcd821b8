"""`cockpit connect [PRESET]`: pick a provider, give a key, see that it works, keep it."""

import argparse
import asyncio
import getpass
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cockpit.builtin.connect import keep, presets, try_connection
from cockpit.builtin.openai_chat.rows import Row
from cockpit.settings import files, trust


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit connect", description="Attach a model.")
    parser.add_argument(
        "preset", nargs="?", help="openai, deepseek, ollama, ...; left out: choose from a list"
    )
    parser.add_argument("--base-url", default="", help="another address of the same API")
    parser.add_argument("--model", default="", help="which of its models is the default")
    parser.add_argument("--key-stdin", action="store_true", help="read the key from stdin, for scripts")
    given = parser.parse_args(list(argv))
    root = str(Path.cwd())
    trusted = trust.is_trusted(root) is True
    environment = files.environment(root, trusted)
    rows = presets(environment, files.load(root, trusted).table("plugins.openai_chat"))
    row = _pick(rows, given.preset)
    if row is None:
        return 2
    key = _key(row, given.key_stdin)
    return asyncio.run(_connect(row, key, given.base_url, given.model, environment))


def _pick(rows: tuple[Row, ...], name: str | None) -> Row | None:
    """The row called `name`, or the one a person chooses by number or name."""
    if name is None:
        if not sys.stdin.isatty():
            print("cockpit connect: name a preset", *(row.name for row in rows), sep="\n  ", file=sys.stderr)
            return None
        for number, row in enumerate(rows, start=1):
            print(f"{number:3}  {row.name:12} {row.label:28} {row.key_from or row.ready or 'ready'}")
        name = input("Which one? ").strip()
    for number, row in enumerate(rows, start=1):
        if name in (row.name, str(number)):
            return row
    print(
        f"cockpit connect: there is no preset {name!r}: {', '.join(row.name for row in rows)}",
        file=sys.stderr,
    )
    return None


def _key(row: Row, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().strip()
    if row.local or not sys.stdin.isatty():
        return ""
    where = f" (keys are made at {row.keys_at})" if row.keys_at else ""
    known = f"; Enter keeps the one from {row.key_from}" if row.key_from else ""
    return getpass.getpass(f"Key for {row.label or row.name}{where}{known}: ").strip()


async def _connect(row: Row, key: str, base_url: str, model: str, environment: Mapping[str, str]) -> int:
    print(f"Asking {base_url or row.base_url} ...")
    attempt = await try_connection(row.name, key, base_url, environment, model)
    if not attempt.ok:
        print(
            f"cockpit connect: {attempt.message}" + (f"; {attempt.hint}" if attempt.hint else ""),
            file=sys.stderr,
        )
        return 1
    where = keep(attempt, key, environment, model)
    shown = ", ".join(attempt.models[:8]) + (", ..." if len(attempt.models) > 8 else "")
    print(f"It answers. {len(attempt.models)} models: {shown}")
    print(
        f"Default is now {attempt.provider}:{model or attempt.default}"
        + (f"; key kept in {where}" if where else "")
    )
    return 0
