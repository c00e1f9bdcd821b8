"""`connect`: /connect and /model, and the hidden commands behind their screens.

`presets` and `try_connection` serve a command line without a session. A key is kept only after a
test call went well, and is never in an answer.
"""

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from cockpit.builtin.models.openai_chat import model_facts
from cockpit.builtin.models.openai_chat.presets import (
    ProviderEntry,
    base_url,
    known_presets,
    model_rows,
    presets,
)
from cockpit.errors import CockpitError
from cockpit.plugin import hookimpl
from cockpit.plugin.context import Context
from cockpit.plugin.tools import ToolFailed
from cockpit.plugin.values import Action, Command, CommandAnswer, Invoked, Register, Scope, Show
from cockpit.protocol.content import Table, Text
from cockpit.protocol.messages import Json
from cockpit.settings import api_keys
from cockpit.settings.files import load_settings, set_user_value

if TYPE_CHECKING:
    from cockpit.builtin.models.openai_chat.connection_check import ConnectionCheck

# What calls servers is loaded when it is needed, in a thread.
ATTEMPT_MODULE = "cockpit.builtin.models.openai_chat.connection_check"

__all__ = [
    "ProviderEntry",
    "find_local_servers",
    "model_rows",
    "presets",
    "save_connection",
    "try_connection",
]


async def try_connection(
    preset: str,
    key: str,
    base_url: str,
    environment: Mapping[str, str],
    model: str = "",
    settings: Mapping[str, object] | None = None,
) -> "ConnectionCheck":
    """A test call to `preset` within 20 s: its models are listed, and where that proves nothing (or
    cannot be done) one token is asked for. Empty `key` or `base_url`: those that would be used;
    `settings` None: the person's.

    Never raises for a fault of key, address or server; the attempt says it.
    """
    attempt = await asyncio.to_thread(import_module, ATTEMPT_MODULE)
    table = _provider_settings() if settings is None else settings
    found: ConnectionCheck = await attempt.try_connection(preset, key, base_url, environment, model, table)
    return found


async def find_local_servers(
    environment: Mapping[str, str], settings: Mapping[str, object] | None = None
) -> tuple["ConnectionCheck", ...]:
    """The local servers that answer on this machine now, each asked for at most 300 ms, all at once."""
    attempt = await asyncio.to_thread(import_module, ATTEMPT_MODULE)
    found: tuple[ConnectionCheck, ...] = await attempt.local_servers(environment, settings)
    return found


def save_connection(
    attempt: "ConnectionCheck", key: str, environment: Mapping[str, str], model: str = ""
) -> str:
    """Keep what a good attempt found: the key, the address where it is not the usual one, and the
    default model. Where the key lies, empty without one. Raises `CockpitError` and OSError."""
    if not attempt.ok:
        raise CockpitError("only a connection that answered is kept", attempt.hint)
    where = api_keys.save_key(attempt.provider, key) if key.strip() else ""
    preset = known_presets(_provider_settings()).get(attempt.provider)
    if preset is None or attempt.base_url != base_url(preset, environment):
        set_user_value(f"plugins.openai_chat.providers.{attempt.provider}.base_url", attempt.base_url)
    set_user_value("models.default", f"{attempt.provider}:{model or attempt.default}")
    return where


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    environment = scope.environment

    async def connect(invoked: Invoked, context: Context) -> CommandAnswer:
        return Action("connect", {"preset": invoked.text.strip()})

    async def model(invoked: Invoked, context: Context) -> CommandAnswer:
        name = invoked.text.strip()
        return Action("select_model", {"model": name}) if name else await _show_models(environment)

    async def list_presets(invoked: Invoked, context: Context) -> CommandAnswer:
        return await _show_presets(environment)

    async def attempt(invoked: Invoked, context: Context) -> CommandAnswer:
        shown = await _run_attempt(invoked.arguments, environment)
        if "saved" in shown.data:
            # The default model, a provider's address and a key are different now.
            register.changed()
        return shown

    async def local(invoked: Invoked, context: Context) -> CommandAnswer:
        return await _show_local_servers(environment)

    register(Command("connect", "connect a provider of models", connect, hint="[preset]"))
    register(Command("model", "choose the model, or list those known", model, hint="[provider:model]"))
    register(Command("connect.presets", "list the presets", list_presets, hidden=True))
    register(Command("connect.try", "try a key and keep it", attempt, hidden=True))
    register(Command("connect.local", "look for local servers", local, hidden=True))


def _provider_settings() -> Mapping[str, object]:
    """The settings of `openai_chat`, which `connect` fills; its own table is another."""
    return load_settings(".", trusted=False).table("plugins.openai_chat")


async def _show_models(environment: Mapping[str, str]) -> Show:
    rows = await asyncio.to_thread(model_rows, environment, _provider_settings())
    ready = tuple(row for row in rows if row[3] in ("ready", "local"))
    title = f"Models (facts of {model_facts.facts_date()}; dollars per million tokens, in / out)"
    table = Table(("model", "window", "price", "state"), ready or rows, title)
    data: list[Json] = [{"model": row[0], "window": row[1], "price": row[2], "state": row[3]} for row in rows]
    return Show((table,), {"models": data})


async def _show_presets(environment: Mapping[str, str]) -> Show:
    rows = await asyncio.to_thread(presets, environment, _provider_settings())
    cells = tuple((row.name, row.label, row.key_from or "-", row.ready or "ready") for row in rows)
    table = Table(("preset", "provider", "key", "state"), cells)
    return Show((table,), {"presets": [_preset_json(row) for row in rows]})


async def _show_local_servers(environment: Mapping[str, str]) -> Show:
    found = await find_local_servers(environment, _provider_settings())
    lines = [f"{one.provider} at {one.base_url}: {one.default or one.message}" for one in found]
    text = "\n".join(lines) or "no local server of models answers on this machine"
    return Show((Text(text),), {"servers": [one.as_json() for one in found]})


def _preset_json(row: ProviderEntry) -> dict[str, Json]:
    return {
        "name": row.name,
        "label": row.label,
        "base_url": row.base_url,
        "default": row.default,
        "local": row.local,
        "key_env": row.key_env,
        "key_from": row.key_from,
        "keys_at": row.keys_at,
        "ready": row.ready,
    }


async def _run_attempt(arguments: Mapping[str, Json], environment: Mapping[str, str]) -> Show:
    """Try; with `save` keep what went well."""
    preset, key = _text_argument(arguments, "preset"), _text_argument(arguments, "key")
    model = _text_argument(arguments, "model")
    address = _text_argument(arguments, "base_url")
    found = await try_connection(preset, key, address, environment, model, _provider_settings())
    data = found.as_json()
    if found.ok and arguments.get("save") is True:
        try:
            data["saved"] = await asyncio.to_thread(save_connection, found, key, environment, model)
        except (CockpitError, OSError) as error:
            raise ToolFailed(f"{found.provider} answers, but cannot be kept: {error}") from error
    words = found.message if found.ok else f"{found.message}; {found.hint}".rstrip("; ")
    return Show((Text(words),), data)


def _text_argument(arguments: Mapping[str, Json], name: str) -> str:
    value = arguments.get(name)
    return value.strip() if isinstance(value, str) else ""
