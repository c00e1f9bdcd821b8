"""Provider presets: names, addresses and keys, and the lists of providers and models for the user.

The presets are in `presets.toml`. Sends nothing.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from cockpit.builtin.models.openai_chat import model_facts
from cockpit.errors import CockpitError
from cockpit.settings import api_keys
from cockpit.suggestions import closest_names

# The origin of a key that the user is trying out.
PASTED_KEY = "the pasted key"


class AddressRefused(CockpitError):
    """The address or key of a provider is missing, invalid or not allowed."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A provider. The fields are those of `presets.toml`; `key_env` is the variable of its key."""

    name: str
    label: str
    base_url: str
    default: str = ""
    also: tuple[str, ...] = ()
    other_region: str = ""
    keys_at: str = ""
    public_models: bool = False
    limit: str = "max_tokens"
    call_id: int = 0
    fold_reminder: bool = False
    local: bool = False
    start: str = ""
    key_env: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    needs_key: bool = True


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address and key for requests to a provider. `key_from` describes where the key came from."""

    preset: Preset
    base_url: str
    key: str = field(repr=False)
    key_from: str = ""

    @property
    def label(self) -> str:
        return self.preset.label

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.base_url)


@cache
def packaged_presets() -> Mapping[str, Preset]:
    """The presets of `presets.toml` by name, in file order."""
    tables = tomllib.loads(Path(__file__).with_name("presets.toml").read_text(encoding="utf-8"))
    return {name: _parse_preset(name, table) for name, table in tables.items()}


def _parse_preset(name: str, table: Mapping[str, object]) -> Preset:
    is_local = table.get("local") is True
    call_id, also = table.get("call_id"), table.get("also")
    return Preset(
        name=name,
        label=_get_text(table, "label", name),
        base_url=_get_text(table, "base_url"),
        default=_get_text(table, "default"),
        also=tuple(map(str, also)) if isinstance(also, list) else (),
        other_region=_get_text(table, "other_region"),
        keys_at=_get_text(table, "keys_at"),
        public_models=table.get("public_models") is True,
        limit=_get_text(table, "limit", "max_tokens"),
        call_id=call_id if isinstance(call_id, int) else 0,
        fold_reminder=table.get("fold_reminder") is True,
        local=is_local,
        start=_get_text(table, "start"),
        key_env=_get_text(table, "key_env", f"{environment_name(name)}_API_KEY"),
        headers={key: str(value) for key, value in _get_table(table, "headers").items()},
        needs_key=not is_local,
    )


def known_presets(settings: Mapping[str, object]) -> Mapping[str, Preset]:
    """The packaged presets, and those that `providers.NAME = {base_url, key_env, default, headers, label}` in
    `[plugins.openai_chat]` adds or overrides."""
    presets = dict(packaged_presets())
    for name, raw in _get_table(settings, "providers").items():
        if not isinstance(raw, Mapping):
            continue
        own, base = _parse_preset(name, raw), presets.get(name)
        presets[name] = (
            replace(own, needs_key=bool(raw.get("key_env")))
            if base is None
            else replace(
                base,
                base_url=own.base_url or base.base_url,
                default=own.default or base.default,
                key_env=own.key_env if raw.get("key_env") else base.key_env,
                headers={**base.headers, **own.headers},
                needs_key=base.needs_key and own.base_url in ("", base.base_url, base.other_region),
            )
        )
    return presets


def environment_name(name: str) -> str:
    """A provider's name in environment variables: `llama.cpp` is LLAMA_CPP."""
    return "".join(sign if sign.isalnum() else "_" for sign in name).upper()


def base_url(preset: Preset, environment: Mapping[str, str]) -> str:
    """The base URL in effect: from the environment, else from the settings, else the preset's."""
    return normalize_url(environment.get(f"{environment_name(preset.name)}_BASE_URL", "") or preset.base_url)


def normalize_url(text: str) -> str:
    """Complete a base URL as users write it: add the scheme, remove the path of the request."""
    url = text.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    if url and "://" not in url:
        url = f"{'http' if is_loopback(f'http://{url}') else 'https'}://{url}"
    return url


def is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1", "0.0.0.0") or host.startswith("127.")


def key_origin(preset: Preset, environment: Mapping[str, str]) -> str:
    """Where the key would come from, in words, or an empty string. Does not ask the keyring."""
    if name := _key_variable(preset, environment):
        return name
    place = api_keys.key_location(preset.name)
    return f"the saved key ({place})" if place else ""


def _key_variable(preset: Preset, environment: Mapping[str, str]) -> str:
    """The first environment variable that contains the provider's key, or an empty string."""
    names = (preset.key_env, *preset.also)
    return next((name for name in names if environment.get(name, "").strip()), "")


def missing_setup(preset: Preset, environment: Mapping[str, str]) -> str:
    """What the user must do before requests can be sent, or an empty string."""
    url = base_url(preset, environment)
    if not url:
        return f"{preset.label} has no address; set base_url under [plugins.openai_chat.providers]"
    if _may_omit_key(preset, url) or key_origin(preset, environment):
        return ""
    return f"no key for {preset.label}; set {preset.key_env} or run /connect {preset.name}"


def resolve_endpoint(preset: Preset, environment: Mapping[str, str]) -> Endpoint:
    """The address and key in effect. Raises `AddressRefused`. May ask the keyring: call it in a thread."""
    url = base_url(preset, environment)
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        hint = f"set {environment_name(preset.name)}_BASE_URL"
        raise AddressRefused(f"`{url}` is not the address of a server", hint)
    if name := _key_variable(preset, environment):
        try:
            return Endpoint(preset, url, api_keys.clean_key(environment[name]), name)
        except api_keys.InvalidApiKey as error:
            raise AddressRefused(f"{name} is not a valid key: {error.message}", error.hint) from error
    saved = api_keys.find_key(preset.name)
    if saved is not None:
        _refuse_redirected_key(preset, url, environment)
        return Endpoint(preset, url, saved[0], f"the saved key ({saved[1]})")
    if api_keys.key_location(preset.name):
        reason = f"the key of {preset.label} is in the keyring, which does not release it"
        raise AddressRefused(reason, f"unlock the keyring, or run /connect {preset.name}")
    if _may_omit_key(preset, url):
        return Endpoint(preset, url, "")
    raise AddressRefused(missing_setup(preset, environment))


def _may_omit_key(preset: Preset, url: str) -> bool:
    """Whether `url` may need no key: only a provider's own address is known to require one."""
    return not preset.needs_key or url not in (preset.base_url, preset.other_region)


def _refuse_redirected_key(preset: Preset, url: str, environment: Mapping[str, str]) -> None:
    """Refuse to send a saved key to an address from a folder's `.env`. Raises `AddressRefused`."""
    name = f"{environment_name(preset.name)}_BASE_URL"
    if not environment.get(name) or environment[name] == os.environ.get(name) or is_loopback(url):
        return
    reason = f"{name} comes from this folder's .env, and the saved key is not sent to {url}"
    raise AddressRefused(reason, f"put {preset.key_env} beside it, or export {name} yourself")


def similar_names(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """At most five of `names` that are similar to `name` or contain it."""
    close = closest_names(name, names, limit=5, cutoff=0.5)
    containing = [known for known in names if name.lower() in known.lower()]
    return tuple(dict.fromkeys([*close, *containing]))[:5]


def _get_text(table: Mapping[str, object], key: str, default: str = "") -> str:
    value = table.get(key)
    return value if isinstance(value, str) and value else default


def _get_table(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = table.get(key)
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """A provider in the list for the user. `ready` is empty or says what is missing."""

    name: str
    label: str
    base_url: str
    default: str
    local: bool
    key_env: str
    key_from: str
    keys_at: str
    ready: str


def presets(
    environment: Mapping[str, str], settings: Mapping[str, object] | None = None
) -> tuple[ProviderEntry, ...]:
    """All providers: first those that are ready, last the local servers."""
    rows = [
        ProviderEntry(
            name=preset.name,
            label=preset.label,
            base_url=base_url(preset, environment),
            default=preset.default,
            local=preset.local,
            key_env=preset.key_env,
            key_from=key_origin(preset, environment),
            keys_at=preset.keys_at,
            ready=missing_setup(preset, environment),
        )
        for preset in known_presets(settings or {}).values()
    ]
    return tuple(sorted(rows, key=lambda row: (row.local, bool(row.ready))))


def model_rows(
    environment: Mapping[str, str], settings: Mapping[str, object] | None = None
) -> tuple[tuple[str, str, str, str], ...]:
    """(`provider:model`, window, price, state) of every known model."""
    rows: list[tuple[str, str, str, str]] = []
    for row in presets(environment, settings):
        if row.local:
            rows.append((f"{row.name}:", "?", "free", "local"))
            continue
        for name in filter(None, dict.fromkeys((row.default, *model_facts.known_models(row.name)))):
            facts = model_facts.lookup_facts(row.name, name)
            window = f"{facts.window // 1000}k" if facts.window else "?"
            prices = (facts.input_price, facts.output_price)
            price = "cost ?" if None in prices else f"${prices[0]:g} / ${prices[1]:g}"
            rows.append((f"{row.name}:{name}", window, price, row.ready or "ready"))
    return tuple(rows)
