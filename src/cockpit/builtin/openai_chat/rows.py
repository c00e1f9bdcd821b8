"""Providers and models as lists for people. Sends nothing and loads nothing heavy."""

from collections.abc import Mapping
from dataclasses import dataclass

from cockpit.builtin.openai_chat import facts
from cockpit.builtin.openai_chat.presets import Preset, address, key_origin, known, missing


@dataclass(frozen=True, slots=True)
class Row:
    """A provider as a screen lists it. `ready` is empty or says what is missing."""

    name: str
    label: str
    base_url: str
    default: str
    local: bool
    key_env: str
    key_from: str
    keys_at: str
    ready: str


def presets(environment: Mapping[str, str], settings: Mapping[str, object] | None = None) -> tuple[Row, ...]:
    """Every provider: the ready ones first, local ones last."""
    rows = [_row(preset, environment) for preset in known(settings or {}).values()]
    return tuple(sorted(rows, key=lambda row: (row.local, bool(row.ready))))


def _row(preset: Preset, environment: Mapping[str, str]) -> Row:
    return Row(
        name=preset.name,
        label=preset.label,
        base_url=address(preset, environment),
        default=preset.default,
        local=preset.local,
        key_env=preset.key_env,
        key_from=key_origin(preset, environment),
        keys_at=preset.keys_at,
        ready=missing(preset, environment),
    )


def model_rows(
    environment: Mapping[str, str], settings: Mapping[str, object] | None = None
) -> tuple[tuple[str, str, str, str], ...]:
    """(`provider:model`, window, price, state) of every model known of the providers."""
    rows: list[tuple[str, str, str, str]] = []
    for row in presets(environment, settings):
        state = row.ready or "ready"
        if row.local:
            rows.append((f"{row.name}:", "?", "free", "local"))
            continue
        names = dict.fromkeys((row.default, *facts.ids(row.name)))
        rows += [_model_row(row.name, name, state) for name in names if name]
    return tuple(rows)


def _model_row(provider: str, name: str, state: str) -> tuple[str, str, str, str]:
    known_facts = facts.facts(provider, name)
    window = f"{known_facts.window // 1000}k" if known_facts.window else "?"
    prices = (known_facts.input_price, known_facts.output_price)
    price = "cost ?" if None in prices else f"${prices[0]:g} / ${prices[1]:g}"
    return f"{provider}:{name}", window, price, state
