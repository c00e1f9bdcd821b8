"""Resources: the problems of the workspace, and the outline and text of a file.

Reading a file goes through the tool `read` with its guards, rules and audit, and is redacted.
"""

from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from cockpit.errors import CockpitError
from cockpit.mcp_serve.exposure import ExposedTools
from cockpit.mcp_serve.session import SharedSession
from cockpit.mcp_serve.tool_calls import ClientLogLevels, RequestContext
from cockpit.protocol.code import FileText, ProblemRows, Problems, SymbolRows, Symbols, TextPage
from cockpit.protocol.events import ApprovalRequested, QuestionAsked, ToolCallFinished
from cockpit.protocol.messages import ToolResult
from cockpit.protocol.queries import Complete, Completions

PROBLEMS, OUTLINE, FILE = "cockpit://problems", "cockpit://outline/", "cockpit://file/"
# The error code for a missing resource in protocol versions up to 2025-11-25.
NOT_FOUND = -32002
MAX_FILE_TEXT = 1_000_000
MAX_VALUES = 100
Templates: TypeAlias = list[ResourceTemplate]


class WorkspaceResources:
    """What a client may read without calling a tool. Empty if `read` is not exposed."""

    def __init__(self, served: SharedSession, exposed: ExposedTools, levels: ClientLogLevels) -> None:
        self._served = served
        self._exposed = exposed
        self._levels = levels

    async def listed(self) -> list[Resource]:
        about = "Errors and warnings of the files checked so far, as rows of path, line, message"
        result = Resource(uri=PROBLEMS, name="problems", description=about, mime_type="text/plain")
        return [result] if await self._is_open() else []

    async def templates(self) -> Templates:
        if not await self._is_open():
            return []
        outline = "The definitions in a file of the workspace, with their lines"
        text = "The text of a file of the workspace"
        return [
            _make_template(OUTLINE, "outline", outline),
            _make_template(FILE, "file", text),
        ]

    async def read(self, ctx: RequestContext, uri: str) -> ReadResourceResult:
        """The resource at `uri`. Raises `MCPError`."""
        if not await self._is_open():
            raise _not_found(ctx, uri)
        try:
            text = await self._text(ctx, uri)
        except CockpitError as error:
            raise MCPError(INVALID_PARAMS, str(error), {"uri": uri}) from error
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type="text/plain", text=text)])

    async def completed(self, word: str) -> list[str]:
        """Paths that begin with `word`, for the templates."""
        reply = await self._served.ask(Complete("@", f"@{word}", len(word) + 1))
        if not isinstance(reply, Completions):
            return []
        paths = (row.insert.strip().removeprefix("@").strip('"') for row in reply.rows)
        return [path for path in paths if path and not path.endswith("/")][:MAX_VALUES]

    async def _is_open(self) -> bool:
        rows = self._exposed.rows(await self._served.tools())
        return any(row.name == "read" for row in rows)

    async def _text(self, ctx: RequestContext, uri: str) -> str:
        if uri == PROBLEMS:
            return _format_problems(await self._served.ask(Problems()))
        for prefix in (OUTLINE, FILE):
            if uri.startswith(prefix) and (path := unquote(uri.removeprefix(prefix))):
                await self._permitted(ctx, uri, path)
                if prefix == OUTLINE:
                    return _format_outline(await self._served.ask(Symbols("", path)))
                return _format_page(await self._served.ask(FileText(path)))
        raise _not_found(ctx, uri)

    async def _permitted(self, ctx: RequestContext, uri: str, path: str) -> None:
        """Check that the tool `read` may read this file, by reading one line of it."""
        result = await self._first_line(path)
        if result.outcome == "ok":
            return
        if "does not exist" in result.text:
            raise _not_found(ctx, uri)
        raise MCPError(INVALID_PARAMS, result.text, {"uri": uri})

    async def _first_line(self, path: str) -> ToolResult:
        call = await self._served.begin("read", {"path": path, "lines": 1})
        async for event in call.events():
            match event:
                case ApprovalRequested() | QuestionAsked():
                    await self._served.decline(
                        event, "a resource cannot ask the user; call the tool `read` instead"
                    )
                case ToolCallFinished(result=result):
                    return result
                case _:
                    pass
        raise CockpitError("the session was closed", "start cockpit mcp-serve again")


def _make_template(prefix: str, name: str, about: str) -> ResourceTemplate:
    return ResourceTemplate(
        uri_template=f"{prefix}{{+path}}", name=name, description=about, mime_type="text/plain"
    )


def _not_found(ctx: RequestContext, uri: str) -> MCPError:
    code = INVALID_PARAMS if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else NOT_FOUND
    scheme = urlsplit(uri).scheme or "none"
    return MCPError(code, f"Resource not found ({scheme})", {"uri": uri})


def _format_problems(reply: object) -> str:
    rows = reply.rows if isinstance(reply, ProblemRows) else ()
    return "\n".join(f"{row.path}:{row.line}: {row.severity}: {row.message}" for row in rows)


def _format_outline(reply: object) -> str:
    rows = reply.rows if isinstance(reply, SymbolRows) else ()
    return "\n".join(f"{row.first}-{row.last}\t{row.kind}\t{row.container or row.name}" for row in rows)


def _format_page(reply: object) -> str:
    text = reply.text if isinstance(reply, TextPage) else ""
    if len(text) > MAX_FILE_TEXT:
        raise CockpitError(
            f"the file has {len(text):,} characters", "call the tool `read` with `start` and `lines`"
        )
    return text
