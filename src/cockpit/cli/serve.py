"""`cockpit serve NAME`: a frontend that a plugin brings, or `stdio`: the deck as lines of JSON.

`cockpit mcp-serve`: our tools for other programs, over MCP.
"""

import argparse
import asyncio
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit.cli.command import load_catalog
from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.errors import CockpitError
from cockpit.mcp_serve.exposure import ExposedTools, parse_exposed
from cockpit.mcp_serve.session import ORIGIN, SharedSession
from cockpit.mcp_serve.transports import LOOPBACK, ListenAddress, serve_http, serve_stdio
from cockpit.plugin.values import Frontend
from cockpit.protocol.channel import LONGEST_LINE, serve_deck
from cockpit.protocol.messages import Mode
from cockpit.settings import api_keys, files, trust


def run_serve(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="cockpit serve", description="Hold the deck another way.")
    parser.add_argument("name", help="`stdio`, or a frontend of a plugin")
    args = parser.parse_args(list(argv))
    if args.name == "stdio":
        asyncio.run(_serve_stdio())
        return 0
    catalog = load_catalog(str(Path.cwd()))
    frontend = catalog.get(Frontend, args.name)
    if frontend is None:
        names = ", ".join(["stdio", *(entry.name for entry in catalog.all(Frontend))])
        raise CockpitError(f"there is no frontend {args.name}", f"there is {names}")
    asyncio.run(_run_frontend(frontend))
    return 0


async def _run_frontend(frontend: Frontend) -> None:
    deck = LocalDeck(RunOptions(origin=frontend.name))
    try:
        await frontend.run(deck)
    finally:
        await deck.close()


async def _serve_stdio() -> None:
    """Requests on stdin, answers and envelopes on stdout (docs/protocol.md)."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    deck = LocalDeck(RunOptions(origin="stdio"))
    try:
        await serve_deck(deck, reader, asyncio.StreamWriter(transport, protocol, reader, loop))
    finally:
        await deck.close()


# Nothing of a client's runs unasked that a person's rules do not name: not full, and no edits either.
STRICT_MODES: tuple[Mode, ...] = ("plan", "deny")
TOKEN_VARIABLE = "COCKPIT_MCP_TOKEN"
APPROVAL_SECONDS = 300.0


def run_mcp_serve(argv: Sequence[str]) -> int:
    args = _build_mcp_parser().parse_args(list(argv))
    root = str(Path(args.root or ".").expanduser().absolute())
    if not Path(root).is_dir():
        raise CockpitError(f"{root} is no folder", "name the folder of a project")
    if args.trust:
        trust.save_trust(root, True)
    settings = files.load_settings(root, trust.is_trusted(root) is True)
    exposed = parse_exposed(args.expose, settings.words("mcp.expose_tools"))
    options = build_mcp_options(settings.text("mode"), tuple(args.allow), tuple(args.deny))
    if args.list:
        return asyncio.run(_print_tools(options, root, exposed))
    asyncio.run(_serve_mcp(options, root, exposed, _find_address(args)))
    return 0


def build_mcp_options(mode: str, allow: tuple[str, ...], deny: tuple[str, ...]) -> RunOptions:
    """How the session is opened: never looser than asking, and without other servers."""
    return RunOptions(
        origin=ORIGIN,
        mode=next((entry for entry in STRICT_MODES if entry == mode), "ask"),
        allow=allow,
        deny=deny,
        approval_seconds=APPROVAL_SECONDS,
        # A person's own servers may well hold this very command: it would start itself without end.
        connects=False,
    )


def _build_mcp_parser() -> argparse.ArgumentParser:
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
    add(
        "--http",
        type=_parse_port,
        metavar="PORT",
        help="listen on a port (0: any) instead of stdin and stdout",
    )
    add("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    add(
        "--token",
        metavar="TOKEN",
        help=f"what clients must send; better in ${TOKEN_VARIABLE}; else one is made up",
    )
    add("--no-token", action="store_true", help="ask for none (only on the loopback)")
    add("--allow", action="append", default=[], metavar="RULE", help="allow without asking; repeatable")
    add("--deny", action="append", default=[], metavar="RULE", help="never allow; repeatable")
    add("--trust", action="store_true", help="trust this folder, from now on")
    return parser


def _parse_port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


def _find_address(args: argparse.Namespace) -> ListenAddress | None:
    if args.http is None:
        return None
    if args.no_token:
        if args.host not in LOOPBACK:
            raise CockpitError(f"--no-token and --host {args.host}: others could call", "leave one out")
        return ListenAddress(args.host, args.http)
    token = args.token or os.environ.get(TOKEN_VARIABLE) or ""
    if not token:
        token = secrets.token_urlsafe(32)
        print(f"cockpit: clients send `Authorization: Bearer {token}`", file=sys.stderr)
    api_keys.register_secret(token, "mcp-serve")
    return ListenAddress(args.host, args.http, token)


async def _serve_mcp(
    options: RunOptions, root: str, exposed: ExposedTools, address: ListenAddress | None
) -> None:
    deck = LocalDeck(options)
    try:
        if address is None:
            await serve_stdio(deck, root, exposed)
        else:
            await serve_http(deck, root, exposed, address, _print_address)
    finally:
        await deck.close()


def _print_address(url: str) -> None:
    print(f"cockpit: listening on {url}", file=sys.stderr, flush=True)


async def _print_tools(options: RunOptions, root: str, exposed: ExposedTools) -> int:
    deck = LocalDeck(options)
    served = SharedSession(deck, root)
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
