"""`cockpit connect [PRESET]`: pick a provider, give a key, see that it works, keep it.

`cockpit models [--json] [--all]`: the providers, whether each can be asked now, and their models.
"""

import argparse
import asyncio
import getpass
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cockpit.builtin.commands.connect import presets, save_connection, try_connection
from cockpit.builtin.models.openai_chat.presets import ProviderEntry
from cockpit.cli.command import add_options, load_catalog, print_json
from cockpit.plugin.models import Model, ModelFailed
from cockpit.settings import files, trust


def run_connect(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit connect", description="Attach a model.")
    parser.add_argument(
        "preset", nargs="?", help="openai, deepseek, ollama, ...; left out: choose from a list"
    )
    parser.add_argument("--base-url", default="", help="another address of the same API")
    parser.add_argument("--model", default="", help="which of its models is the default")
    parser.add_argument("--key-stdin", action="store_true", help="read the key from stdin, for scripts")
    args = parser.parse_args(list(argv))
    root = str(Path.cwd())
    trusted = trust.is_trusted(root) is True
    environment = files.load_environment(root, trusted)
    rows = presets(environment, files.load_settings(root, trusted).table("plugins.openai_chat"))
    row = _choose_preset(rows, args.preset)
    if row is None:
        return 2
    key = _read_key(row, args.key_stdin)
    return asyncio.run(_connect_provider(row, key, args.base_url, args.model, environment))


def _choose_preset(rows: tuple[ProviderEntry, ...], name: str | None) -> ProviderEntry | None:
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


def _read_key(row: ProviderEntry, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().strip()
    if row.local or not sys.stdin.isatty():
        return ""
    where = f" (keys are made at {row.keys_at})" if row.keys_at else ""
    known = f"; Enter keeps the one from {row.key_from}" if row.key_from else ""
    return getpass.getpass(f"Key for {row.label or row.name}{where}{known}: ").strip()


async def _connect_provider(
    row: ProviderEntry, key: str, base_url: str, model: str, environment: Mapping[str, str]
) -> int:
    print(f"Asking {base_url or row.base_url} ...")
    attempt = await try_connection(row.name, key, base_url, environment, model)
    if not attempt.ok:
        print(
            f"cockpit connect: {attempt.message}" + (f"; {attempt.hint}" if attempt.hint else ""),
            file=sys.stderr,
        )
        return 1
    where = save_connection(attempt, key, environment, model)
    shown = ", ".join(attempt.models[:8]) + (", ..." if len(attempt.models) > 8 else "")
    print(f"It answers. {len(attempt.models)} models: {shown}")
    print(
        f"Default is now {attempt.provider}:{model or attempt.default}"
        + (f"; key kept in {where}" if where else "")
    )
    return 0


QUERY_SECONDS = 15.0


def run_models(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit models", description="Who can be asked.")
    parser.add_argument("provider", nargs="?", help="list this provider's models, from its server")
    add_options(parser, "json")
    args = parser.parse_args(list(argv))
    catalog = load_catalog(str(Path.cwd()))
    models = [model for model in catalog.all(Model) if args.provider in (None, model.name)]
    if not models:
        names = ", ".join(entry.name for entry in catalog.all(Model))
        print(f"there is no provider {args.provider}; providers: {names}")
        return 2
    rows = asyncio.run(_query_providers(models, ask=args.provider is not None))
    if args.json:
        print_json([asdict(row) for row in rows])
        return 0
    for row in rows:
        print(f"{row.name:14} {row.default or '-':34} {row.state}")
        for name in row.models:
            print(f"  {row.name}:{name}")
    return 0


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A provider: `state` is `ready` or what is missing."""

    name: str
    default: str
    state: str
    models: tuple[str, ...]


async def _query_providers(models: list[Model], ask: bool) -> list[ProviderRow]:
    rows: list[ProviderRow] = []
    for model in models:
        missing = model.ready()
        found: tuple[str, ...] = ()
        if ask and not missing:
            try:
                async with asyncio.timeout(QUERY_SECONDS):
                    found = await model.models()
            except (ModelFailed, TimeoutError) as error:
                missing = str(error) or f"no answer within {QUERY_SECONDS:g} s"
        state = missing or ("local: looked for when it is asked" if model.local and not ask else "ready")
        rows.append(ProviderRow(model.name, model.default, state, found))
    return rows
