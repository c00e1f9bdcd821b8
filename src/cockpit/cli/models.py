"""`cockpit models [--json] [--all]`: the providers, whether each can be asked now, and their models."""

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cockpit.cli.catalogs import catalog_of
from cockpit.plugin.models import Model, ModelFailed

SECONDS = 15.0


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit models", description="Who can be asked.")
    parser.add_argument("provider", nargs="?", help="list this provider's models, from its server")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(list(argv))
    catalog = catalog_of(str(Path.cwd()))
    models = [one for one in catalog.all(Model) if given.provider in (None, one.name)]
    if not models:
        names = ", ".join(one.name for one in catalog.all(Model))
        print(f"there is no provider {given.provider}; providers: {names}")
        return 2
    rows = asyncio.run(_rows(models, ask=given.provider is not None))
    if given.json:
        print(json.dumps([asdict(row) for row in rows], ensure_ascii=False))
        return 0
    for row in rows:
        print(f"{row.name:14} {row.default or '-':34} {row.state}")
        for name in row.models:
            print(f"  {row.name}:{name}")
    return 0


@dataclass(frozen=True, slots=True)
class Row:
    """A provider: `state` is `ready` or what is missing."""

    name: str
    default: str
    state: str
    models: tuple[str, ...]


async def _rows(models: list[Model], ask: bool) -> list[Row]:
    rows: list[Row] = []
    for model in models:
        missing = model.ready()
        found: tuple[str, ...] = ()
        if ask and not missing:
            try:
                async with asyncio.timeout(SECONDS):
                    found = await model.models()
            except (ModelFailed, TimeoutError) as error:
                missing = str(error) or f"no answer within {SECONDS:g} s"
        state = missing or ("local: looked for when it is asked" if model.local and not ask else "ready")
        rows.append(Row(model.name, model.default, state, found))
    return rows
