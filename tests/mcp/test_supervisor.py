"""A server that is restarted."""

from pathlib import Path

import pytest
from tests.support.mcp.specs import server, spec, tool

from cockpit.mcp.pins import PinStore
from cockpit.mcp.supervisor import ServersContext, ServerSupervisor
from cockpit.mcp.values import ServerGone


async def test_whoever_asks_in_the_moment_of_its_end_gets_the_next_start(tmp_path: Path) -> None:
    context, pins = ServersContext(str(tmp_path), tmp_path), PinStore(str(tmp_path), tmp_path)
    dying = server(spec(tmp_path, tool("die", "die"), tool("say", "say:hi")))
    life = ServerSupervisor(dying, context, pins, lambda offer: None)
    try:
        first = await life.connected()
        with pytest.raises(ServerGone):
            await first.call("die", {})
        again = await life.connected()
        assert again is not first and (await again.call("say", {})).text == "hi"
    finally:
        await life.stop()
