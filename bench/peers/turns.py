"""A hundred turns in one session, through the deck as a frontend uses it: `turns.py ROOT COUNT [--trust]`.

Prints the seconds of each turn, from submitting the prompt to its `TurnFinished`, as JSON.
"""

import asyncio
import json
import sys
import time

from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.protocol.content import Text
from cockpit.protocol.events import TurnFinished
from cockpit.protocol.ops import Prompt


async def main(root: str, count: int, trust: bool) -> list[float]:
    deck = LocalDeck(
        RunOptions(model="openai:m", mode="full", origin="headless", someone=False, trust=trust or None)
    )
    channel = await deck.open(root)
    taken: list[float] = []
    ended = asyncio.Event()

    async def follow() -> None:
        async for envelope in channel.events():
            if isinstance(envelope.event, TurnFinished):
                if envelope.event.stop_reason != "end_turn":
                    raise SystemExit(f"the turn ended otherwise: {envelope.event}")
                ended.set()

    following = asyncio.create_task(follow())
    for number in range(count):
        ended.clear()
        began = time.perf_counter()
        await channel.submit(Prompt(f"p{number}", "headless", (Text(f"turn {number}: read the file"),)))
        await asyncio.wait_for(ended.wait(), 30)
        taken.append(time.perf_counter() - began)
    await deck.close()
    following.cancel()
    return taken


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2]), "--trust" in sys.argv))))
