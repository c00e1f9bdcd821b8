"""Providers by name, and the address and key a request to one goes with. Sends nothing."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from cockpit.errors import CockpitError
from cockpit.settings import keys

# Where a key came from that a person is trying just now.
PASTED = "the pasted key"


class AddressRefused(CockpitError):
    """A provider that cannot be addressed as it is set up."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A provider. The fields are those of `presets.toml`; `key_env` is the variable of its key."""

    name: str
    label: str
    base_url: str
    default: str = ""
    also: tuple[str, ...] = ()
    elsewhere: str = ""
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
    """Where requests of a provider go. `key_from` says in words where the key came from."""

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
def packaged() -> Mapping[str, Preset]:
    """The presets of `presets.toml`, by name, in its order."""
    tables = tomllib.loads(Path(__file__).with_name("presets.toml").read_text(encoding="utf-8"))
    return {name: _preset(name, table) for name, table in tables.items()}


def _preset(name: str, table: Mapping[str, object]) -> Preset:
    is_local = table.get("local") is True
    limit = table.get("call_id")
    return Preset(
        name=name,
        label=_text(table, "label", name),
        base_url=_text(table, "base_url"),
        default=_text(table, "default"),
        also=tuple(str(one) for one in _list(table, "also")),
        elsewhere=_text(table, "elsewhere"),
        keys_at=_text(table, "keys_at"),
        public_models=table.get("public_models") is True,
        limit=_text(table, "limit", "max_tokens"),
        call_id=limit if isinstance(limit, int) else 0,
        fold_reminder=table.get("fold_reminder") is True,
        local=is_local,
        start=_text(table, "start"),
        key_env=_text(table, "key_env", f"{variable(name)}_API_KEY"),
        headers={key: str(value) for key, value in _table(table, "headers").items()},
        needs_key=not is_local,
    )


def known(settings: Mapping[str, object]) -> Mapping[str, Preset]:
    """The packaged presets and the person's own: `providers.NAME = {base_url, key_env, default,
    headers, label}` in `[plugins.openai_chat]`, which also overlays a packaged one."""
    presets = dict(packaged())
    for name, raw in _table(settings, "providers").items():
        if not isinstance(raw, Mapping):
            continue
        own = _preset(name, raw)
        base = presets.get(name)
        if base is None:
            presets[name] = replace(own, needs_key=bool(raw.get("key_env")))
            continue
        presets[name] = replace(
            base,
            base_url=own.base_url or base.base_url,
            default=own.default or base.default,
            key_env=own.key_env if raw.get("key_env") else base.key_env,
            headers={**base.headers, **own.headers},
            needs_key=base.needs_key and own.base_url in ("", base.base_url, base.elsewhere),
        )
    return presets


def variable(name: str) -> str:
    """How a provider's name stands in the environment: `llama.cpp` is LLAMA_CPP."""
    return "".join(sign if sign.isalnum() else "_" for sign in name).upper()


def address(preset: Preset, environment: Mapping[str, str]) -> str:
    """The base URL in force: the environment's, else the settings', else the documented one."""
    return tidy_address(environment.get(f"{variable(preset.name)}_BASE_URL", "") or preset.base_url)


def tidy_address(text: str) -> str:
    """A base URL as people write it, without the path of the request and with a scheme."""
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
    """Where the key would come from, in words; empty when there is none. Asks no keyring."""
    for name in (preset.key_env, *preset.also):
        if environment.get(name, "").strip():
            return name
    place = keys.key_place(preset.name)
    return f"the saved key ({place})" if place else ""


def missing(preset: Preset, environment: Mapping[str, str]) -> str:
    """Empty when requests could be sent now, else a sentence that says what to do."""
    url = address(preset, environment)
    if not url:
        return f"{preset.label} has no address; set base_url under [plugins.openai_chat.providers]"
    if _may_go_without(preset, url) or key_origin(preset, environment):
        return ""
    return f"no key for {preset.label}; set {preset.key_env} or run /connect {preset.name}"


def endpoint(preset: Preset, environment: Mapping[str, str]) -> Endpoint:
    """Where to send. Raises `AddressRefused`. May ask the keyring: call it in a thread."""
    url = address(preset, environment)
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise AddressRefused(f"`{url}` is no address of a server", f"set {variable(preset.name)}_BASE_URL")
    for name in (preset.key_env, *preset.also):
        if environment.get(name, "").strip():
            return Endpoint(preset, url, _tidy_key(environment[name], name), name)
    saved = keys.find_key(preset.name)
    if saved is not None:
        _refuse_stranger(preset, url, environment)
        return Endpoint(preset, url, saved[0], f"the saved key ({saved[1]})")
    if keys.key_place(preset.name):
        reason = f"the key of {preset.label} lies in the keyring, which does not give it"
        raise AddressRefused(reason, f"unlock the keyring, or run /connect {preset.name}")
    if _may_go_without(preset, url):
        return Endpoint(preset, url, "")
    raise AddressRefused(missing(preset, environment))


def _may_go_without(preset: Preset, url: str) -> bool:
    """Only a provider's own address is known to want a key; another server says so itself."""
    return not preset.needs_key or url not in (preset.base_url, preset.elsewhere)


def _refuse_stranger(preset: Preset, url: str, environment: Mapping[str, str]) -> None:
    """A saved key was given to one provider: a folder's `.env` must not lead it to another host."""
    name = f"{variable(preset.name)}_BASE_URL"
    if not environment.get(name) or environment[name] == os.environ.get(name) or is_loopback(url):
        return
    reason = f"{name} comes from this folder's .env, and the saved key is not sent to {url}"
    raise AddressRefused(reason, f"put {preset.key_env} beside it, or export {name} yourself")


def _tidy_key(text: str, name: str) -> str:
    try:
        return keys.tidy(text)
    except keys.KeyRefused as error:
        raise AddressRefused(f"{name} holds no key: {error.message}", error.hint) from error


def nearest(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """At most five of `names` that look like `name`."""
    import difflib

    close = difflib.get_close_matches(name, names, n=5, cutoff=0.5)
    holding = [one for one in names if name.lower() in one.lower()]
    return tuple(dict.fromkeys([*close, *holding]))[:5]


def _text(table: Mapping[str, object], key: str, default: str = "") -> str:
    value = table.get(key)
    return value if isinstance(value, str) and value else default


def _list(table: Mapping[str, object], key: str) -> list[object]:
    value = table.get(key)
    return value if isinstance(value, list) else []


def _table(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = table.get(key)
    return value if isinstance(value, Mapping) else {}
