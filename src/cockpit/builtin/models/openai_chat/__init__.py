"""Model providers with OpenAI's chat completions API, hosted or local.

Start here: a `Provider` turns a `ModelRequest` into deltas. `presets` knows addresses and keys,
`model_facts` windows and prices, `client` sends requests and reads replies, `faults` explains failures.
Only `client` talks to servers; it is imported with the first request. To add a built-in provider, add a
table to `presets.toml`. Users add one with `[plugins.openai_chat] providers.NAME = {base_url, key_env,
default, headers}`.
"""

import asyncio
import importlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from cockpit.builtin.models.openai_chat import model_facts
from cockpit.builtin.models.openai_chat.presets import (
    AddressRefused,
    Endpoint,
    Preset,
    known_presets,
    missing_setup,
    resolve_endpoint,
)
from cockpit.plugin import hookimpl
from cockpit.plugin.models import Delta, Model, ModelFacts, ModelFailed, ModelRequest
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class Provider:
    """A preset with the environment its address and key come from."""

    preset: Preset
    environment: Mapping[str, str]

    def model(self) -> Model:
        preset = self.preset
        return Model(
            name=preset.name,
            stream=self.stream,
            models=self.models,
            ready=lambda: missing_setup(preset, self.environment),
            facts=self.facts,
            default=preset.default,
            label=preset.label,
            local=preset.local,
            priced=not preset.local,
        )

    def facts(self, model: str) -> ModelFacts:
        return model_facts.lookup_facts(self.preset.name, model)

    async def models(self) -> tuple[str, ...]:
        """The models that the server lists. Raises `ModelFailed`."""
        endpoint = await self._resolve()
        from cockpit.builtin.models.openai_chat.client import list_models

        return await list_models(endpoint)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The reply to `request`. Closing the generator, or cancelling its reader, closes the connection."""
        endpoint = await self._resolve()
        from cockpit.builtin.models.openai_chat.client import stream_reply

        async with aclosing(stream_reply(endpoint, request, self.facts(request.model))) as deltas:
            async for delta in deltas:
                yield delta

    async def _resolve(self) -> Endpoint:
        """The current address and key. Raises `ModelFailed`."""
        try:
            return await asyncio.to_thread(self._prepare)
        except AddressRefused as error:
            raise ModelFailed("auth", error.message, error.hint) from error

    def _prepare(self) -> Endpoint:
        # In a thread, because the first import takes longer than a key press may wait.
        importlib.import_module("cockpit.builtin.models.openai_chat.client")
        return resolve_endpoint(self.preset, self.environment)


@hookimpl
def register_models(register: Register, scope: Scope) -> None:
    for preset in known_presets(scope.settings).values():
        register(Provider(preset, scope.environment).model())
