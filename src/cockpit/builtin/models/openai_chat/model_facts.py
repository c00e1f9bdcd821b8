"""Facts about models (context window, prices, abilities) from the packaged `models.toml` and the user's own.

Both are read on first use, the user's again when it changes. An unknown fact is None, never guessed.
"""

import fnmatch
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from cockpit import paths
from cockpit.plugin.models import ModelFacts
from cockpit.protocol.messages import Usage

FactTable = Mapping[str, object]


def user_file() -> Path:
    return paths.config() / "models.toml"


def facts_date() -> str:
    """The date of the packaged facts, as YYYY-MM-DD."""
    return str(_packaged_facts().get("date", ""))


def known_models(provider: str) -> tuple[str, ...]:
    """The known model ids of `provider`, those of the user first."""
    names = dict.fromkeys(name for section in _sections(provider) for name in section)
    return tuple(name for name in names if not _is_pattern(name))


def lookup_facts(provider: str, model: str) -> ModelFacts:
    """The facts about a model, from its own entry or the longest matching pattern. The user's entries
    override the packaged ones field by field."""
    own, packaged = (_find_entry(section, model) for section in _sections(provider))
    table = {**packaged, **own}
    window, max_output = _get_number(table, "window"), _get_number(table, "max_output")
    return ModelFacts(
        window=None if window is None else int(window),
        max_output=None if max_output is None else int(max_output),
        input_price=_get_number(table, "input"),
        output_price=_get_number(table, "output"),
        cached_price=_get_number(table, "cached"),
        tools=table.get("tools", True) is not False,
        images=table.get("images") is True,
        thinks=table.get("thinks") is True,
    )


def usage_cost(known: ModelFacts, usage: Usage) -> float | None:
    """The cost of `usage` in US dollars, or None if a price is unknown."""
    if known.input_price is None or known.output_price is None:
        return None
    cached = known.input_price if known.cached_price is None else known.cached_price
    fresh = max(0, usage.input - usage.cached)
    return (fresh * known.input_price + usage.cached * cached + usage.output * known.output_price) / 1e6


def _find_entry(section: FactTable, model: str) -> FactTable:
    exact = section.get(model)
    if isinstance(exact, Mapping):
        return exact
    patterns = sorted((name for name in section if _is_pattern(name)), key=len, reverse=True)
    for pattern in patterns:
        entry = section[pattern]
        if isinstance(entry, Mapping) and fnmatch.fnmatchcase(model.lower(), pattern.lower()):
            return entry
    return {}


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _sections(provider: str) -> tuple[FactTable, FactTable]:
    """The user's facts about a provider, and the packaged ones."""
    user, packaged = (tables.get(provider) for tables in (_user_facts(), _packaged_facts()))
    return (user if isinstance(user, Mapping) else {}, packaged if isinstance(packaged, Mapping) else {})


@cache
def _packaged_facts() -> FactTable:
    return tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8"))


def _user_facts() -> FactTable:
    path = user_file()
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return {}
    return _read_facts(path, changed)


@lru_cache(maxsize=1)
def _read_facts(path: Path, changed: int) -> FactTable:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError):
        # A broken file of prices must not stop a turn; the packaged facts are used.
        return {}


def _get_number(table: FactTable, key: str) -> float | None:
    value = table.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
