"""`connect`: `/connect` and `/model`, and the hidden commands behind their screens.

`try_connection` and `save_connection` also serve the command line, without a session. A key is saved only
after a successful test call, and never appears in an answer.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING

from cockpit.builtin.models.openai_chat import model_facts
from cockpit.builtin.models.openai_chat.presets import (
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

# Its packages are large, so it is imported only when needed, in a thread.
CHECK_MODULE = "cockpit.builtin.models.openai_chat.connection_check"


async def try_connection(
    preset: str,
    key: str,
    base_url: str,
    environment: Mapping[str, str],
    model: str = "",
    settings: Mapping[str, object] | None = None,
) -> "ConnectionCheck":
    """Make a test call; see `connection_check`. `settings` None means the user's settings."""
    await asyncio.to_thread(import_module, CHECK_MODULE)
    from cockpit.builtin.models.openai_chat import connection_check

    table = _provider_settings() if settings is None else settings
    return await connection_check.try_connection(preset, key, base_url, environment, model, table)


async def find_local_servers(
    environment: Mapping[str, str], settings: Mapping[str, object] | None = None
) -> tuple["ConnectionCheck", ...]:
    """Find the local model servers that answer within 300 ms, all asked at once."""
    await asyncio.to_thread(import_module, CHECK_MODULE)
    from cockpit.builtin.models.openai_chat import connection_check

    return await connection_check.local_servers(environment, settings)


def save_connection(
    check: "ConnectionCheck", key: str, environment: Mapping[str, str], model: str = ""
) -> str:
    """Save the key, the address if it is not the preset's, and the default model of a successful check.
    Returns where the key was stored, or an empty string without a key. Raises `CockpitError` and OSError."""
    if not check.ok:
        raise CockpitError("this connection did not answer, so it was not saved", check.hint)
    key_location = api_keys.save_key(check.provider, key) if key.strip() else ""
    preset = known_presets(_provider_settings()).get(check.provider)
    if preset is None or check.base_url != base_url(preset, environment):
        set_user_value(f"plugins.openai_chat.providers.{check.provider}.base_url", check.base_url)
    set_user_value("models.default", f"{check.provider}:{model or check.default}")
    return key_location


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    environment = scope.environment

    async def connect(invoked: Invoked, context: Context) -> CommandAnswer:
        return Action("connect", {"preset": invoked.text.strip()})

    async def model(invoked: Invoked, context: Context) -> CommandAnswer:
        name = invoked.text.strip()
        return Action("select_model", {"model": name}) if name else await _show_models(environment)

    async def list_presets(invoked: Invoked, context: Context) -> CommandAnswer:
        rows = await asyncio.to_thread(presets, environment, _provider_settings())
        cells = tuple((row.name, row.label, row.key_from or "-", row.ready or "ready") for row in rows)
        table = Table(("preset", "provider", "key", "state"), cells)
        return Show((table,), {"presets": [asdict(row) for row in rows]})

    async def try_key(invoked: Invoked, context: Context) -> CommandAnswer:
        answer = await _try_and_save(invoked.arguments, environment)
        if "saved" in answer.data:
            # The default model, a provider's address or a key has changed.
            register.changed()
        return answer

    async def local(invoked: Invoked, context: Context) -> CommandAnswer:
        servers = await find_local_servers(environment, _provider_settings())
        lines = [f"{each.provider} at {each.base_url}: {each.default or each.message}" for each in servers]
        text = "\n".join(lines) or "no local model server answers on this machine"
        return Show((Text(text),), {"servers": [server.as_json() for server in servers]})

    register(Command("connect", "Connect a model provider", connect, hint="[preset]"))
    register(Command("model", "Choose the model, or list the known models", model, hint="[provider:model]"))
    register(Command("connect.presets", "List the presets", list_presets, hidden=True))
    register(Command("connect.try", "Test a key and save it", try_key, hidden=True))
    register(Command("connect.local", "Look for local servers", local, hidden=True))


def _provider_settings() -> Mapping[str, object]:
    """Return the settings of `openai_chat`, which `connect` writes."""
    return load_settings(".", trusted=False).table("plugins.openai_chat")


async def _show_models(environment: Mapping[str, str]) -> Show:
    rows = await asyncio.to_thread(model_rows, environment, _provider_settings())
    ready = tuple(row for row in rows if row[3] in ("ready", "local"))
    title = f"Models (as of {model_facts.facts_date()}; dollars per million tokens, in / out)"
    table = Table(("model", "window", "price", "state"), ready or rows, title)
    data: list[Json] = [{"model": row[0], "window": row[1], "price": row[2], "state": row[3]} for row in rows]
    return Show((table,), {"models": data})


async def _try_and_save(arguments: Mapping[str, Json], environment: Mapping[str, str]) -> Show:
    """Make a test call and, with the argument `save`, save a connection that answered."""
    preset, key, model, address = (
        value.strip() if isinstance(value := arguments.get(name), str) else ""
        for name in ("preset", "key", "model", "base_url")
    )
    check = await try_connection(preset, key, address, environment, model, _provider_settings())
    data = check.as_json()
    if check.ok and arguments.get("save") is True:
        try:
            data["saved"] = await asyncio.to_thread(save_connection, check, key, environment, model)
        except (CockpitError, OSError) as error:
            raise ToolFailed(f"{check.provider} answers, but could not be saved: {error}") from error
    message = check.message if check.ok else f"{check.message}; {check.hint}".rstrip("; ")
    return Show((Text(message),), data)
