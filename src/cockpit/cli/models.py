"""`cockpit connect` connects a model provider; `cockpit models` lists the providers and their models."""

import argparse
import asyncio
import getpass
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cockpit.builtin.commands.connect import save_connection, try_connection
from cockpit.builtin.models.openai_chat.presets import ProviderEntry, presets
from cockpit.cli.command import add_options, is_trusted, load_catalog, print_json
from cockpit.plugin.models import Model, ModelFailed
from cockpit.settings import files


def run_connect(argv: Sequence[str]) -> int:
    about = "Connect a model provider: enter a key, test it and store it."
    parser = argparse.ArgumentParser(prog="cockpit connect", description=about)
    text = "openai, deepseek, ollama, ... (default: choose from a list)"
    parser.add_argument("preset", nargs="?", help=text)
    parser.add_argument("--base-url", default="", help="another address with the same API")
    parser.add_argument("--model", default="", help="the default model")
    parser.add_argument("--key-stdin", action="store_true", help="read the key from stdin")
    args = parser.parse_args(list(argv))
    root = str(Path.cwd())
    trusted = is_trusted(root)
    environment = files.load_environment(root, trusted)
    rows = presets(environment, files.load_settings(root, trusted).table("plugins.openai_chat"))
    row = _choose_preset(rows, args.preset)
    if row is None:
        return 2
    key = _read_key(row, args.key_stdin)
    return asyncio.run(_connect_provider(row, key, args.base_url, args.model, environment))


def _choose_preset(rows: tuple[ProviderEntry, ...], name: str | None) -> ProviderEntry | None:
    """The preset called `name`, else the preset that the user selects by number or name."""
    if name is None:
        if not sys.stdin.isatty():
            print("cockpit connect: name a preset", *(row.name for row in rows), sep="\n  ", file=sys.stderr)
            return None
        for number, row in enumerate(rows, start=1):
            print(f"{number:3}  {row.name:12} {row.label:28} {row.key_from or row.ready or 'ready'}")
        name = input("Provider (number or name): ").strip()
    for number, row in enumerate(rows, start=1):
        if name in (row.name, str(number)):
            return row
    names = ", ".join(row.name for row in rows)
    print(f"cockpit connect: unknown preset {name!r}; choose one of {names}", file=sys.stderr)
    return None


def _read_key(row: ProviderEntry, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().strip()
    if row.local or not sys.stdin.isatty():
        return ""
    where = f" (create a key at {row.keys_at})" if row.keys_at else ""
    known = f"; press Enter to use the key from {row.key_from}" if row.key_from else ""
    return getpass.getpass(f"Key for {row.label or row.name}{where}{known}: ").strip()


async def _connect_provider(
    row: ProviderEntry, key: str, base_url: str, model: str, environment: Mapping[str, str]
) -> int:
    print(f"Connecting to {base_url or row.base_url} ...")
    attempt = await try_connection(row.name, key, base_url, environment, model)
    if not attempt.ok:
        hint = f"; {attempt.hint}" if attempt.hint else ""
        print(f"cockpit connect: {attempt.message}{hint}", file=sys.stderr)
        return 1
    where = save_connection(attempt, key, environment, model)
    shown = ", ".join(attempt.models[:8]) + (", ..." if len(attempt.models) > 8 else "")
    print(f"Connected. {len(attempt.models)} models: {shown}")
    stored = f"; the key is stored in {where}" if where else ""
    print(f"The default model is now {attempt.provider}:{model or attempt.default}{stored}")
    return 0


QUERY_SECONDS = 15.0


def run_models(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="cockpit models", description="List model providers and their models."
    )
    parser.add_argument("provider", nargs="?", help="list the models that this provider's server reports")
    add_options(parser, "json")
    args = parser.parse_args(list(argv))
    catalog = load_catalog(str(Path.cwd()))
    models = [model for model in catalog.all(Model) if args.provider in (None, model.name)]
    if not models:
        names = ", ".join(model.name for model in catalog.all(Model))
        print(f"unknown provider {args.provider!r}; choose one of {names}")
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
    """A provider; `state` is `ready` or says what is missing."""

    name: str
    default: str
    state: str
    models: tuple[str, ...]


async def _query_providers(models: list[Model], ask: bool) -> list[ProviderRow]:
    rows: list[ProviderRow] = []
    for model in models:
        missing = model.ready()
        names: tuple[str, ...] = ()
        if ask and not missing:
            try:
                async with asyncio.timeout(QUERY_SECONDS):
                    names = await model.models()
            except (ModelFailed, TimeoutError) as error:
                missing = str(error) or f"no answer within {QUERY_SECONDS:g} s"
        state = missing or ("local: checked when used" if model.local and not ask else "ready")
        rows.append(ProviderRow(model.name, model.default, state, names))
    return rows
