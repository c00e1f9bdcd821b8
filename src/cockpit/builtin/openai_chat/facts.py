"""What is known of models: the packaged, dated `models.toml`, and the person's own over it.

Read when first asked for, the person's again when it changes. Unknown stays unknown.
"""

import fnmatch
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from cockpit import paths
from cockpit.plugin.models import ModelFacts
from cockpit.protocol.messages import Usage

Table = Mapping[str, object]


def user_file() -> Path:
    return paths.config() / "models.toml"


def date() -> str:
    """The day the packaged facts were gathered, as YYYY-MM-DD."""
    return str(_packaged().get("date", ""))


def ids(provider: str) -> tuple[str, ...]:
    """The ids that are known of `provider`, the person's first."""
    found = dict.fromkeys((*_section(_users(), provider), *_section(_packaged(), provider)))
    return tuple(name for name in found if not _is_pattern(name))


def facts(provider: str, model: str) -> ModelFacts:
    """What is known of a model: its own entry, else the longest pattern that fits it. The person's
    entries overlay the packaged ones field by field."""
    packaged = _lookup(_section(_packaged(), provider), model)
    own = _lookup(_section(_users(), provider), model)
    return _facts({**packaged, **own})


def cost(known: ModelFacts, usage: Usage) -> float | None:
    """US dollars for `usage`, None while a price is unknown."""
    if known.input_price is None or known.output_price is None:
        return None
    cached = known.input_price if known.cached_price is None else known.cached_price
    fresh = max(0, usage.input - usage.cached)
    return (fresh * known.input_price + usage.cached * cached + usage.output * known.output_price) / 1e6


def _lookup(section: Table, model: str) -> Table:
    exact = section.get(model)
    if isinstance(exact, Mapping):
        return exact
    patterns = sorted((name for name in section if _is_pattern(name)), key=len, reverse=True)
    for pattern in patterns:
        found = section[pattern]
        if isinstance(found, Mapping) and fnmatch.fnmatchcase(model.lower(), pattern.lower()):
            return found
    return {}


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _section(tables: Table, provider: str) -> Table:
    section = tables.get(provider)
    return section if isinstance(section, Mapping) else {}


@cache
def _packaged() -> Table:
    return tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))


def _users() -> Table:
    path = user_file()
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return {}
    return _read(path, changed)


@lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> Table:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError):
        # A broken file of prices must not stop a turn: the packaged facts hold.
        return {}


def _facts(table: Table) -> ModelFacts:
    return ModelFacts(
        window=_whole(table, "window"),
        max_output=_whole(table, "max_output"),
        input_price=_number(table, "input"),
        output_price=_number(table, "output"),
        cached_price=_number(table, "cached"),
        tools=table.get("tools", True) is not False,
        images=table.get("images") is True,
        thinks=table.get("thinks") is True,
    )


def _number(table: Table, key: str) -> float | None:
    value = table.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(table: Table, key: str) -> int | None:
    value = _number(table, key)
    return None if value is None else int(value)
