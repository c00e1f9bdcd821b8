"""Trying a provider before it is used: is the key good, which models are there. Saves nothing."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cockpit.builtin.openai_chat import facts
from cockpit.builtin.openai_chat.connection import listed, opened
from cockpit.builtin.openai_chat.presets import (
    PASTED,
    AddressRefused,
    Endpoint,
    Preset,
    address,
    endpoint,
    is_loopback,
    key_origin,
    known,
    nearest,
    tidy_address,
)
from cockpit.plugin.models import Fault, ModelFailed
from cockpit.protocol.messages import Json
from cockpit.settings import keys

DEADLINE_SECONDS = 20.0
LOCAL_SECONDS = 0.3
NO_LIST: frozenset[Fault] = frozenset({"bad_request", "unknown_model"})


@dataclass(frozen=True, slots=True)
class Attempt:
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
) -> Attempt:
    """A test call to `preset` within 20 s: its models are listed, and where that proves nothing (or
    cannot be done) one token is asked for. Empty `key` or `base_url`: those that would be used.

    Never raises for a fault of key, address or server; the attempt says it.
    """
    chosen = known(settings or {}).get(preset)
    if chosen is None:
        near = nearest(preset, tuple(known(settings or {})))
        hint = f"did you mean {' or '.join(near)}?" if near else "see /connect for the names"
        return Attempt(False, preset, base_url, message=f"there is no preset `{preset}`", hint=hint)
    try:
        goals = await asyncio.to_thread(_goals, chosen, key, base_url, environment)
    except (AddressRefused, keys.KeyRefused) as error:
        fault = "auth" if isinstance(error, keys.KeyRefused) else "connection"
        return Attempt(False, preset, base_url, fault=fault, message=error.message, hint=error.hint)
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await _first_good(goals, model)
    except TimeoutError:
        message = f"{goals[0].base_url} did not answer within {DEADLINE_SECONDS:g} s"
        hint = "check the address, the network and the proxy"
        return Attempt(False, preset, goals[0].base_url, fault="connection", message=message, hint=hint)


def _goals(preset: Preset, key: str, base_url: str, environment: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Where to try, in order: an address without /v1 is tried with it too, and the provider's other
    region where none was asked for."""
    url = tidy_address(base_url) or address(preset, environment)
    if key.strip():
        goal = Endpoint(preset, url, keys.tidy(key), PASTED)
    elif base_url.strip() and not key_origin(preset, environment):
        goal = Endpoint(preset, url, "")
    else:
        goal = replace(endpoint(preset, environment), base_url=url)
    if not url.startswith(("http://", "https://")):
        raise AddressRefused(f"`{url}` is no address of a server", "give one like http://127.0.0.1:8000/v1")
    if url == preset.base_url:
        return (goal, replace(goal, base_url=preset.elsewhere)) if preset.elsewhere else (goal,)
    return (goal,) if url.endswith(("/v1", "/v4")) else (goal, replace(goal, base_url=f"{url}/v1"))


async def _first_good(goals: tuple[Endpoint, ...], model: str) -> Attempt:
    first: Attempt | None = None
    for goal in goals:
        attempt = await _attempt(goal, model)
        first = first or attempt
        if attempt.ok:
            return attempt
        if attempt.fault not in ("auth", *NO_LIST):
            break
    if first is None:
        raise ValueError("there is nothing to try")
    return first


async def _attempt(goal: Endpoint, model: str) -> Attempt:
    preset = goal.preset
    try:
        names = await listed(goal)
    except ModelFailed as failed:
        if failed.fault not in NO_LIST:
            return _failed(goal, failed)
        names = ()
    default = _default(preset, model, names)
    if not default:
        hint = "get one: `ollama pull qwen3`" if preset.name == "ollama" else "load one there"
        message = f"{preset.label} answers at {goal.base_url}, but has no model"
        return Attempt(False, preset.name, goal.base_url, names, "", "unknown_model", message, hint)
    if not names or preset.public_models:
        try:
            await _one_token(goal, default)
        except ModelFailed as failed:
            return _failed(goal, failed)
    shown = names or facts.ids(preset.name) or (default,)
    message = f"{preset.label} answers; {len(names) or 'its'} models, beginning with {default}"
    return Attempt(True, preset.name, goal.base_url, shown, default, message=message)


async def _one_token(goal: Endpoint, model: str) -> None:
    """The smallest completion. That a server cannot bound it to one token is no failure."""
    wire: dict[str, Json] = {"messages": [{"role": "user", "content": "Say ok."}], goal.preset.limit: 1}
    async with opened(goal, model, wire) as answer:
        if answer.is_page:
            raise ModelFailed("bad_request", f"{goal.base_url} answers with a web page", "check the address")


def _default(preset: Preset, asked: str, names: tuple[str, ...]) -> str:
    """The model to begin with: what was asked for, the preset's, one like it, or the first."""
    wanted = asked or preset.default
    if not names or wanted in names:
        return wanted
    if asked:
        return asked
    near = nearest(wanted, names) if wanted else ()
    known_ones = [name for name in names if facts.facts(preset.name, name).window]
    return (*near, *known_ones, *names)[0]


def _failed(goal: Endpoint, failed: ModelFailed) -> Attempt:
    name = goal.preset.name
    return Attempt(False, name, goal.base_url, (), "", failed.fault, failed.message, failed.hint)


async def local_servers(
    environment: Mapping[str, str], settings: Mapping[str, object] | None = None
) -> tuple[Attempt, ...]:
    """The local servers that answer on this machine now, each asked for at most 300 ms, all at once.

    Two presets of one address (llama.cpp, LocalAI) give one answer."""
    presets = [one for one in known(settings or {}).values() if one.local]
    goals: dict[str, Preset] = {}
    for preset in presets:
        url = address(preset, environment)
        if is_loopback(url):
            goals.setdefault(url, preset)
    found = await asyncio.gather(*(_local(preset, url) for url, preset in goals.items()))
    return tuple(one for one in found if one is not None)


async def _local(preset: Preset, url: str) -> Attempt | None:
    # The port first: a bare connect needs no half second of imports for a server that is not there.
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    try:
        async with asyncio.timeout(LOCAL_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except (OSError, TimeoutError, ValueError):
        return None
    writer.close()
    goal = Endpoint(preset, url, "")
    try:
        async with asyncio.timeout(DEADLINE_SECONDS / 10):
            return await _attempt(goal, "")
    except TimeoutError:
        return None
