"""A call of a stdio server through cockpit, and by the SDK's own client: `mcp_call.py ROOT COUNT`.

Prints the seconds of each as JSON, as `ours` and `sdk`.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from calls import caller
from mcp import Client, StdioServerParameters

from cockpit import paths

SERVER = str(Path(__file__).with_name("mcp_server.py"))
TOOL = "mcp__bench__echo"


async def main(root: str, count: int) -> dict[str, list[float]]:
    servers = paths.config() / "mcp.json"
    servers.parent.mkdir(parents=True, exist_ok=True)
    entry = {"command": sys.executable, "args": [SERVER]}
    servers.write_text(json.dumps({"mcpServers": {"bench": entry}}), "utf-8")
    taken: dict[str, list[float]] = {"ours": [], "sdk": []}
    bare = StdioServerParameters(command=sys.executable, args=[SERVER])
    async with caller(root) as calling, Client(bare) as client:
        await calling.until_there(TOOL)
        for number in range(count):
            arguments = {"text": f"word {number}"}
            ours = await calling.call(TOOL, arguments)
            began = time.perf_counter()
            await client.call_tool("echo", arguments)
            if number:
                taken["ours"].append(ours)
                taken["sdk"].append(time.perf_counter() - began)
    servers.unlink()
    return taken


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2])))))
