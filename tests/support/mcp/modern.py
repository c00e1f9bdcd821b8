"""A server made with the official SDK: `modern.py stdio`, or `modern.py streamable-http|sse PORT`."""

import sys
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("modern", instructions="Ask me.")


class Person(BaseModel):
    """Who calls."""

    name: str
    size: int = 3


async def person(ctx: Context) -> Elicit[Person]:
    return Elicit("Who are you?", Person)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def greet(who: Annotated[Person, Resolve(person)]) -> str:
    """Greet whoever asks: of the later protocol, the call comes back with a question."""
    return f"hello {who.name} {who.size}"


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask in the way of the older protocol."""
    answer = await ctx.elicit("Who are you?", Person)
    return f"{answer.action} {answer.data.name if answer.action == 'accept' else ''}"


@server.tool()
async def more(ctx: Context) -> str:
    """Offer one more tool."""
    server.add_tool(add, name="added")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "more"


@server.resource("modern://notes")
def notes() -> str:
    return "the notes"


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run(sys.argv[1], port=int(sys.argv[2]))
