"""What a server may ask and tell us, in the SDK's words. Imports the SDK."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp import types
from mcp.client.session import ClientRequestContext
from pydantic import FileUrl

from cockpit.mcp import reading
from cockpit.mcp.forms import fields_of, filled
from cockpit.mcp.values import Asking, Terms
from cockpit.protocol.clean import one_line
from cockpit.workspace.logs import Log


class Callbacks:
    """The callbacks of one connection. `asking` is who answers now."""

    def __init__(self, terms: Terms, asking: Callable[[], Asking], log: Log) -> None:
        self._terms = terms
        self._asking = asking
        self._log = log

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        match params:
            case types.ElicitRequestFormParams(message=message, requested_schema=schema):
                fields = fields_of(schema)
                answer = await self._asking().form(reading.said(message), fields, "")
                content: Any = filled(answer, fields) if answer.action == "accept" else None
                return types.ElicitResult(action=answer.action, content=content)
            case types.ElicitRequestURLParams(message=message, url=url):
                answer = await self._asking().form(reading.said(message), (), url)
                return types.ElicitResult(action=answer.action)

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        reply = await self._asking().sample(reading.sampling(params))
        if reply.refused:
            return types.ErrorData(code=-1, message=reply.refused)
        content = types.TextContent(type="text", text=reply.text)
        return types.CreateMessageResult(
            role="assistant", content=content, model=reply.model, stop_reason="endTurn"
        )

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        root = Path(self._terms.root)
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(root.as_uri()), name=root.name)])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self._log.say(params.level, one_line(str(params.data), 2_000))

    async def heard(self, message: types.ServerNotification | Exception) -> None:
        match message:
            case types.ToolListChangedNotification():
                self._terms.heard("tools")
            case types.PromptListChangedNotification():
                self._terms.heard("prompts")
            case types.ResourceListChangedNotification() | types.ResourceUpdatedNotification():
                self._terms.heard("resources")
            case Exception():
                self._log.say("cockpit", one_line(f"{type(message).__name__}: {message}"))
            case _:
                pass
