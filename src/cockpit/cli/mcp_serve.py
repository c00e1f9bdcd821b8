"""`cockpit mcp-serve`: our tools for other programs, over MCP."""

import argparse
import asyncio
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit.core.deck import LocalDeck
from cockpit.core.options import Options
from cockpit.errors import CockpitError
from cockpit.mcp_serve.exposing import Exposed, exposed_of
from cockpit.mcp_serve.running import LOOPBACK, Address, serve_http, serve_stdio
from cockpit.mcp_serve.served import ORIGIN, Served
from cockpit.protocol.messages import Mode
from cockpit.settings import files, keys, trust

# Nothing of a client's runs unasked that a person's rules do not name: not full, and no edits either.
TIGHT: tuple[Mode, ...] = ("plan", "deny")
TOKEN = "COCKPIT_MCP_TOKEN"
APPROVAL_SECONDS = 300.0


def main(argv: Sequence[str]) -> int:
    given = _parser().parse_args(list(argv))
    root = str(Path(given.root or ".").expanduser().absolute())
    if not Path(root).is_dir():
        raise CockpitError(f"{root} is no folder", "name the folder of a project")
    if given.trust:
        trust.keep(root, True)
    settings = files.load(root, trust.is_trusted(root) is True)
    exposed = exposed_of(given.expose, settings.words("mcp.expose_tools"))
    options = options_of(settings.text("mode"), tuple(given.allow), tuple(given.deny))
    if given.list:
        return asyncio.run(_list(options, root, exposed))
    asyncio.run(_serve(options, root, exposed, _address(given)))
    return 0


def options_of(mode: str, allow: tuple[str, ...], deny: tuple[str, ...]) -> Options:
    """How the session is opened: never looser than asking, and without other servers."""
    return Options(
        origin=ORIGIN,
        mode=next((one for one in TIGHT if one == mode), "ask"),
        allow=allow,
        deny=deny,
        approval_seconds=APPROVAL_SECONDS,
        # A person's own servers may well hold this very command: it would start itself without end.
        connects=False,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit mcp-serve",
        description="Offer cockpit's tools to another program over MCP. Only what reads and searches, unless "
        "--expose says otherwise; every call is judged as in the cockpit.",
    )
    add = parser.add_argument
    add("--root", "--cwd", metavar="DIR", help="the folder (default: this one)")
    add(
        "--expose",
        metavar="NAMES",
        help="the tools that are offered, by comma; `default` is what only looks: --expose default,edit",
    )
    add("--list", action="store_true", help="print what would be offered, and end")
    add("--http", type=_port, metavar="PORT", help="listen on a port (0: any) instead of stdin and stdout")
    add("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    add("--token", metavar="TOKEN", help=f"what clients must send; better in ${TOKEN}; else one is made up")
    add("--no-token", action="store_true", help="ask for none (only on the loopback)")
    add("--allow", action="append", default=[], metavar="RULE", help="allow without asking; repeatable")
    add("--deny", action="append", default=[], metavar="RULE", help="never allow; repeatable")
    add("--trust", action="store_true", help="trust this folder, from now on")
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


def _address(given: argparse.Namespace) -> Address | None:
    if given.http is None:
        return None
    if given.no_token:
        if given.host not in LOOPBACK:
            raise CockpitError(f"--no-token and --host {given.host}: others could call", "leave one out")
        return Address(given.host, given.http)
    token = given.token or os.environ.get(TOKEN) or ""
    if not token:
        token = secrets.token_urlsafe(32)
        print(f"cockpit: clients send `Authorization: Bearer {token}`", file=sys.stderr)
    keys.know(token, "mcp-serve")
    return Address(given.host, given.http, token)


async def _serve(options: Options, root: str, exposed: Exposed, address: Address | None) -> None:
    deck = LocalDeck(options)
    try:
        if address is None:
            await serve_stdio(deck, root, exposed)
        else:
            await serve_http(deck, root, exposed, address, _listening)
    finally:
        await deck.close()


def _listening(url: str) -> None:
    print(f"cockpit: listening on {url}", file=sys.stderr, flush=True)


async def _list(options: Options, root: str, exposed: Exposed) -> int:
    deck = LocalDeck(options)
    served = Served(deck, root)
    try:
        rows = await served.tools()
    finally:
        await served.close()
        await deck.close()
    for row in exposed.rows(rows):
        print(f"{row.name}\t{'reads' if row.looks_only else 'may change things'}\t{row.kind}")
    for name in exposed.missing(rows):
        print(f"cockpit: there is no tool {name}", file=sys.stderr)
    return 0
