"""`make conformance`: run every scenario that is not left out, a few in parallel, and print a summary."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial

from tests.conformance.suite import (
    ERAS,
    OTHERS,
    Ran,
    absence,
    left_out,
    run_client,
    run_server,
    serving,
    stale,
    wanted,
)

Job = Callable[[], Awaitable[Ran]]
AT_ONCE = min(4, os.cpu_count() or 1)


async def main() -> int:
    if why := absence():
        print(f"conformance: tested as absent; {why}")
        return 0
    if names := await stale():
        print(f"conformance: left_out.toml names what the suite does not have: {', '.join(names)}")
        return 1
    ran = list(await _all(await _client_jobs()))
    async with serving() as url:
        ran += await _all(await _server_jobs(url))
    _tell(ran)
    return 0 if all(one.is_green for one in ran) else 1


async def _client_jobs() -> list[Job]:
    pairs = [(name, era) for era in (*ERAS, OTHERS) for name in await wanted("client", era)]
    return [partial(run_client, name, era) for name, era in pairs]


async def _server_jobs(url: str) -> list[Job]:
    pairs = [(name, era) for era in (*ERAS, OTHERS) for name in await wanted("server", era)]
    return [partial(run_server, name, era, url) for name, era in pairs]


async def _all(jobs: list[Job]) -> list[Ran]:
    room = asyncio.Semaphore(AT_ONCE)

    async def one(job: Job) -> Ran:
        async with room:
            ran = await job()
            print(ran.line, flush=True)
            return ran

    return list(await asyncio.gather(*(one(job) for job in jobs)))


def _tell(ran: list[Ran]) -> None:
    for one in ran:
        if not one.is_green:
            print(f"\n{one.line}\n{one.told}")
    left = left_out()
    print(f"\n@modelcontextprotocol/conformance {left.suite}")
    for side, out in left.scenarios.items():
        mine = [one for one in ran if one.side == side]
        green = sum(one.is_green for one in mine)
        passed, of, warned = (
            sum(getattr(one, what) for one in mine) for what in ("passed", "of", "warnings")
        )
        names = len({one.name for one in mine})
        print(
            f"{side}: {green} of {len(mine)} runs green ({names} scenarios), "
            f"{passed} of {of} checks, {warned} warnings; {len(out)} scenarios left out"
        )
    print(f"checks left out: {len(left.checks)}; the reasons stand in tests/conformance/left_out.toml")


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
