"""A provider as the core sees it: requests in, deltas out. Loads what talks to servers when it is asked."""

import asyncio
import importlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from cockpit.builtin.openai_chat import facts
from cockpit.builtin.openai_chat.presets import AddressRefused, Endpoint, Preset, endpoint, missing
from cockpit.plugin.models import Delta, Model, ModelFacts, ModelFailed, ModelRequest


@dataclass(frozen=True, slots=True)
class Provider:
    """One preset in one environment."""

    preset: Preset
    environment: Mapping[str, str]

    def model(self) -> Model:
        preset = self.preset
        return Model(
            name=preset.name,
            stream=self.stream,
            models=self.models,
            ready=lambda: missing(preset, self.environment),
            facts=self.facts,
            default=preset.default,
            label=preset.label,
            local=preset.local,
            priced=not preset.local,
        )

    def facts(self, model: str) -> ModelFacts:
        return facts.facts(self.preset.name, model)

    async def models(self) -> tuple[str, ...]:
        """What the server lists. Raises `ModelFailed`."""
        goal = await self._goal()
        from cockpit.builtin.openai_chat.connection import listed

        return await listed(goal)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The reply to `request`. Closing this (or cancelling its reader) closes the connection."""
        goal = await self._goal()
        from cockpit.builtin.openai_chat.exchange import exchange

        async with aclosing(exchange(goal, request, self.facts(request.model))) as deltas:
            async for delta in deltas:
                yield delta

    async def _goal(self) -> Endpoint:
        """Where requests go now. Raises `ModelFailed`."""
        try:
            return await asyncio.to_thread(self._prepare)
        except AddressRefused as error:
            raise ModelFailed("auth", error.message, error.hint) from error

    def _prepare(self) -> Endpoint:
        # In a thread: the first import of it takes longer than a key's echo may.
        importlib.import_module("cockpit.builtin.openai_chat.exchange")
        return endpoint(self.preset, self.environment)
