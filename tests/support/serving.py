"""`cockpit mcp-serve` in this process: a real deck behind the server, the SDK's own client before it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult

from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.mcp_serve.exposure import ExposedTools
from cockpit.mcp_serve.server import make_server
from cockpit.mcp_serve.session import ORIGIN, SharedSession
from cockpit.settings import trust

Era = Literal["legacy", "auto"]
ERAS: tuple[Era, ...] = ("legacy", "auto")
ALLOW, REJECT = {"decision": "allow this once"}, {"decision": "reject"}
Answer = Callable[[ElicitRequestParams], ElicitResult]


def says(action: Literal["accept", "decline", "cancel"], **content: Any) -> Answer:
    return lambda params: ElicitResult(action=action, content=content or None)


@dataclass
class Person:
    """Who sits at the client: answers each form by `answer`, and keeps what was asked."""

    answer: Answer
    asked: list[ElicitRequestParams] = field(default_factory=list)

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params)
        return self.answer(params)


@asynccontextmanager
async def serving(
    root: Path,
    era: Era = "auto",
    expose: tuple[str, ...] = ("default",),
    person: Person | None = None,
    trusted: bool = True,
    options: RunOptions | None = None,
) -> AsyncIterator[tuple[Client, SharedSession]]:
    """A client that is connected to `root`, and what serves it."""
    if trusted:
        trust.save_trust(str(root), True)
    deck = LocalDeck(options or RunOptions(origin=ORIGIN, mode="ask", approval_seconds=20.0))
    served = SharedSession(deck, str(root))
    try:
        server = make_server(served, ExposedTools(expose))
        async with Client(server, mode=era, elicitation_callback=person, read_timeout_seconds=30) as client:
            yield client, served
    finally:
        await served.close()
        await deck.close()
