"""Checks a provider before it is saved: whether the key works and which models exist. Saves nothing."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from urllib.parse import urlsplit

from cockpit.builtin.models.openai_chat import model_facts
from cockpit.builtin.models.openai_chat.client import list_models, open_completion
from cockpit.builtin.models.openai_chat.presets import (
    PASTED_KEY,
    AddressRefused,
    Endpoint,
    Preset,
    base_url,
    is_loopback,
    key_origin,
    known_presets,
    normalize_url,
    resolve_endpoint,
    similar_names,
)
from cockpit.plugin.models import Fault, ModelFailed
from cockpit.protocol.messages import Json
from cockpit.settings import api_keys
from cockpit.suggestions import did_you_mean

CHECK_SECONDS = 20.0
LOCAL_CONNECT_SECONDS = 0.3
LIST_FAULTS: frozenset[Fault] = frozenset({"bad_request", "unknown_model"})


@dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """The result of a test call. `models` is what the server lists, `default` the model to start with."""

    ok: bool
    provider: str
    base_url: str
    models: tuple[str, ...] = ()
    default: str = ""
    fault: str = ""
    message: str = ""
    hint: str = ""

    def as_json(self) -> dict[str, Json]:
        return {**asdict(self), "models": list(self.models)}


async def try_connection(
    preset: str,
    key: str,
    base_url: str,
    environment: Mapping[str, str],
    model: str = "",
    settings: Mapping[str, object] | None = None,
) -> ConnectionCheck:
    """Make a test call to `preset` within 20 s.

    The models are listed; where that does not prove the key, or is not possible, one token is requested. An
    empty `key` or `base_url` means the configured value. A wrong key, address or server is reported in the
    result, never raised.
    """
    presets = known_presets(settings or {})
    chosen = presets.get(preset)
    if chosen is None:
        near = did_you_mean(similar_names(preset, tuple(presets)))
        hint = f"{near} choose {', '.join(presets)}".strip()
        return ConnectionCheck(False, preset, base_url, message=f"unknown preset '{preset}'", hint=hint)
    try:
        endpoints = await asyncio.to_thread(_candidate_endpoints, chosen, key, base_url, environment)
    except (AddressRefused, api_keys.InvalidApiKey) as error:
        fault = "auth" if isinstance(error, api_keys.InvalidApiKey) else "connection"
        return ConnectionCheck(False, preset, base_url, fault=fault, message=error.message, hint=error.hint)
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await _first_successful(endpoints, model)
    except TimeoutError:
        message = f"{endpoints[0].base_url} did not answer within {CHECK_SECONDS:g} s"
        failed = ModelFailed("connection", message, "check the address, the network and the proxy")
        return _failed_check(endpoints[0], failed)


def _candidate_endpoints(
    preset: Preset, key: str, given_url: str, environment: Mapping[str, str]
) -> tuple[Endpoint, ...]:
    """The endpoints to try: an address without /v1 also with it, a provider also in its other region."""
    url = normalize_url(given_url) or base_url(preset, environment)
    if key.strip():
        endpoint = Endpoint(preset, url, api_keys.clean_key(key), PASTED_KEY)
    elif given_url.strip() and not key_origin(preset, environment):
        endpoint = Endpoint(preset, url, "")
    else:
        endpoint = replace(resolve_endpoint(preset, environment), base_url=url)
    if not url.startswith(("http://", "https://")):
        reason = f"`{url}` is not the address of a server"
        raise AddressRefused(reason, "write it like http://127.0.0.1:8000/v1")
    other = preset.other_region if url == preset.base_url else f"{url}/v1"
    if not other or (url != preset.base_url and url.endswith(("/v1", "/v4"))):
        return (endpoint,)
    return (endpoint, replace(endpoint, base_url=other))


async def _first_successful(endpoints: tuple[Endpoint, ...], model: str) -> ConnectionCheck:
    """The first successful check, else the result of the first endpoint."""
    first = attempt = await _check_endpoint(endpoints[0], model)
    for endpoint in endpoints[1:]:
        if attempt.ok or attempt.fault not in ("auth", *LIST_FAULTS):
            break
        attempt = await _check_endpoint(endpoint, model)
    return attempt if attempt.ok else first


async def _check_endpoint(endpoint: Endpoint, model: str) -> ConnectionCheck:
    preset = endpoint.preset
    try:
        names = await list_models(endpoint)
    except ModelFailed as failed:
        if failed.fault not in LIST_FAULTS:
            return _failed_check(endpoint, failed)
        names = ()
    default = _choose_default(preset, model, names)
    if not default:
        hint = "get one: `ollama pull qwen3`" if preset.name == "ollama" else "load one there"
        message = f"{preset.label} answers at {endpoint.base_url} but has no model"
        return _failed_check(endpoint, ModelFailed("unknown_model", message, hint))
    if not names or preset.public_models:
        try:
            await _request_one_token(endpoint, default)
        except ModelFailed as failed:
            return _failed_check(endpoint, failed)
    shown = names or model_facts.known_models(preset.name) or (default,)
    message = f"{preset.label} answers; {len(names) or 'its'} models, beginning with {default}"
    return ConnectionCheck(True, preset.name, endpoint.base_url, shown, default, message=message)


async def _request_one_token(endpoint: Endpoint, model: str) -> None:
    """Request the smallest completion. A server that ignores the limit of one token passes too."""
    wire: dict[str, Json] = {"messages": [{"role": "user", "content": "Say ok."}], endpoint.preset.limit: 1}
    async with open_completion(endpoint, model, wire) as answer:
        if answer.is_page:
            message = f"{endpoint.base_url} answers with a web page"
            raise ModelFailed("bad_request", message, "check the address")


def _choose_default(preset: Preset, requested: str, names: tuple[str, ...]) -> str:
    """The model to start with: the requested one, the preset's, a similar name, or the first."""
    preferred = requested or preset.default
    if not names or preferred in names:
        return preferred
    if requested:
        return requested
    near = similar_names(preferred, names) if preferred else ()
    with_facts = [name for name in names if model_facts.lookup_facts(preset.name, name).window]
    return (*near, *with_facts, *names)[0]


def _failed_check(endpoint: Endpoint, failed: ModelFailed) -> ConnectionCheck:
    name = endpoint.preset.name
    return ConnectionCheck(False, name, endpoint.base_url, (), "", failed.fault, failed.message, failed.hint)


async def local_servers(
    environment: Mapping[str, str], settings: Mapping[str, object] | None = None
) -> tuple[ConnectionCheck, ...]:
    """The servers on this machine that answer now; each has 300 ms to accept a connection. Two presets with
    the same address (llama.cpp, LocalAI) give one result."""
    endpoints: dict[str, Preset] = {}
    for preset in known_presets(settings or {}).values():
        if preset.local and is_loopback(url := base_url(preset, environment)):
            endpoints.setdefault(url, preset)
    checks = await asyncio.gather(*(_check_local(preset, url) for url, preset in endpoints.items()))
    return tuple(check for check in checks if check is not None)


async def _check_local(preset: Preset, url: str) -> ConnectionCheck | None:
    # Try the port first: it avoids half a second of imports if no server is running.
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(LOCAL_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except (OSError, TimeoutError, ValueError):
        return None
    writer.close()
    try:
        async with asyncio.timeout(CHECK_SECONDS / 10):
            return await _check_endpoint(Endpoint(preset, url, ""), "")
    except TimeoutError:
        return None
