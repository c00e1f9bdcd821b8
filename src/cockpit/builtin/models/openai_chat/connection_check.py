"""Trying a provider before it is used: is the key good, which models are there. Saves nothing."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cockpit.builtin.models.openai_chat import model_facts
from cockpit.builtin.models.openai_chat.client import list_models, open_completion
from cockpit.builtin.models.openai_chat.presets import (
    PASTED_KEY,
    AddressRefused,
    Endpoint,
    Preset,
    base_url,
    closest_names,
    is_loopback,
    key_origin,
    known_presets,
    normalize_url,
    resolve_endpoint,
)
from cockpit.plugin.models import Fault, ModelFailed
from cockpit.protocol.messages import Json
from cockpit.settings import api_keys

CHECK_SECONDS = 20.0
LOCAL_CONNECT_SECONDS = 0.3
LIST_FAULTS: frozenset[Fault] = frozenset({"bad_request", "unknown_model"})


@dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """How a test call went. `models` is what the server lists, `default` the one to begin with."""

    ok: bool
    provider: str
    base_url: str
    models: tuple[str, ...] = ()
    default: str = ""
    fault: str = ""
    message: str = ""
    hint: str = ""

    def as_json(self) -> dict[str, Json]:
        return {
            "ok": self.ok,
            "provider": self.provider,
            "base_url": self.base_url,
            "models": list(self.models),
            "default": self.default,
            "fault": self.fault,
            "message": self.message,
            "hint": self.hint,
        }


async def try_connection(
    preset: str,
    key: str,
    base_url: str,
    environment: Mapping[str, str],
    model: str = "",
    settings: Mapping[str, object] | None = None,
) -> ConnectionCheck:
    """A test call to `preset` within 20 s: its models are listed, and where that proves nothing (or
    cannot be done) one token is asked for. Empty `key` or `base_url`: those that would be used.

    Never raises for a fault of key, address or server; the attempt says it.
    """
    chosen = known_presets(settings or {}).get(preset)
    if chosen is None:
        near = closest_names(preset, tuple(known_presets(settings or {})))
        hint = f"did you mean {' or '.join(near)}?" if near else "see /connect for the names"
        return ConnectionCheck(False, preset, base_url, message=f"there is no preset `{preset}`", hint=hint)
    try:
        goals = await asyncio.to_thread(_candidate_endpoints, chosen, key, base_url, environment)
    except (AddressRefused, api_keys.InvalidApiKey) as error:
        fault = "auth" if isinstance(error, api_keys.InvalidApiKey) else "connection"
        return ConnectionCheck(False, preset, base_url, fault=fault, message=error.message, hint=error.hint)
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await _first_successful(goals, model)
    except TimeoutError:
        message = f"{goals[0].base_url} did not answer within {CHECK_SECONDS:g} s"
        hint = "check the address, the network and the proxy"
        return ConnectionCheck(
            False, preset, goals[0].base_url, fault="connection", message=message, hint=hint
        )


def _candidate_endpoints(
    preset: Preset, key: str, given_url: str, environment: Mapping[str, str]
) -> tuple[Endpoint, ...]:
    """Where to try, in order: an address without /v1 is tried with it too, and the provider's other
    region where none was asked for."""
    url = normalize_url(given_url) or base_url(preset, environment)
    if key.strip():
        goal = Endpoint(preset, url, api_keys.clean_key(key), PASTED_KEY)
    elif given_url.strip() and not key_origin(preset, environment):
        goal = Endpoint(preset, url, "")
    else:
        goal = replace(resolve_endpoint(preset, environment), base_url=url)
    if not url.startswith(("http://", "https://")):
        raise AddressRefused(f"`{url}` is no address of a server", "give one like http://127.0.0.1:8000/v1")
    if url == preset.base_url:
        return (goal, replace(goal, base_url=preset.elsewhere)) if preset.elsewhere else (goal,)
    return (goal,) if url.endswith(("/v1", "/v4")) else (goal, replace(goal, base_url=f"{url}/v1"))


async def _first_successful(goals: tuple[Endpoint, ...], model: str) -> ConnectionCheck:
    first: ConnectionCheck | None = None
    for goal in goals:
        attempt = await _check_endpoint(goal, model)
        first = first or attempt
        if attempt.ok:
            return attempt
        if attempt.fault not in ("auth", *LIST_FAULTS):
            break
    if first is None:
        raise ValueError("there is nothing to try")
    return first


async def _check_endpoint(goal: Endpoint, model: str) -> ConnectionCheck:
    preset = goal.preset
    try:
        names = await list_models(goal)
    except ModelFailed as failed:
        if failed.fault not in LIST_FAULTS:
            return _failed_check(goal, failed)
        names = ()
    default = _choose_default(preset, model, names)
    if not default:
        hint = "get one: `ollama pull qwen3`" if preset.name == "ollama" else "load one there"
        message = f"{preset.label} answers at {goal.base_url}, but has no model"
        return ConnectionCheck(False, preset.name, goal.base_url, names, "", "unknown_model", message, hint)
    if not names or preset.public_models:
        try:
            await _request_one_token(goal, default)
        except ModelFailed as failed:
            return _failed_check(goal, failed)
    shown = names or model_facts.known_models(preset.name) or (default,)
    message = f"{preset.label} answers; {len(names) or 'its'} models, beginning with {default}"
    return ConnectionCheck(True, preset.name, goal.base_url, shown, default, message=message)


async def _request_one_token(goal: Endpoint, model: str) -> None:
    """The smallest completion. That a server cannot bound it to one token is no failure."""
    wire: dict[str, Json] = {"messages": [{"role": "user", "content": "Say ok."}], goal.preset.limit: 1}
    async with open_completion(goal, model, wire) as answer:
        if answer.is_page:
            raise ModelFailed("bad_request", f"{goal.base_url} answers with a web page", "check the address")


def _choose_default(preset: Preset, asked: str, names: tuple[str, ...]) -> str:
    """The model to begin with: what was asked for, the preset's, one like it, or the first."""
    wanted = asked or preset.default
    if not names or wanted in names:
        return wanted
    if asked:
        return asked
    near = closest_names(wanted, names) if wanted else ()
    known_ones = [name for name in names if model_facts.lookup_facts(preset.name, name).window]
    return (*near, *known_ones, *names)[0]


def _failed_check(goal: Endpoint, failed: ModelFailed) -> ConnectionCheck:
    name = goal.preset.name
    return ConnectionCheck(False, name, goal.base_url, (), "", failed.fault, failed.message, failed.hint)


async def local_servers(
    environment: Mapping[str, str], settings: Mapping[str, object] | None = None
) -> tuple[ConnectionCheck, ...]:
    """The local servers that answer on this machine now, each asked for at most 300 ms, all at once.

    Two presets of one address (llama.cpp, LocalAI) give one answer."""
    presets = [one for one in known_presets(settings or {}).values() if one.local]
    goals: dict[str, Preset] = {}
    for preset in presets:
        url = base_url(preset, environment)
        if is_loopback(url):
            goals.setdefault(url, preset)
    found = await asyncio.gather(*(_check_local(preset, url) for url, preset in goals.items()))
    return tuple(one for one in found if one is not None)


async def _check_local(preset: Preset, url: str) -> ConnectionCheck | None:
    # The port first: a bare connect needs no half second of imports for a server that is not there.
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    try:
        async with asyncio.timeout(LOCAL_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except (OSError, TimeoutError, ValueError):
        return None
    writer.close()
    goal = Endpoint(preset, url, "")
    try:
        async with asyncio.timeout(CHECK_SECONDS / 10):
            return await _check_endpoint(goal, "")
    except TimeoutError:
        return None
