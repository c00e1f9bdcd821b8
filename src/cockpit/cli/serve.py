"""`cockpit serve` and `cockpit mcp-serve`: offer the deck to other programs, or cockpit's tools over MCP."""

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
from cockpit.protocol.channel import MAX_LINE_BYTES, serve_deck
from cockpit.protocol.messages import Mode
from cockpit.settings import api_keys, files, trust


def run_serve(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="cockpit serve", description="Serve cockpit through another frontend."
    )
    parser.add_argument("name", help="`stdio` (lines of JSON), or the frontend of a plugin")
    args = parser.parse_args(list(argv))
    if args.name == "stdio":
        asyncio.run(_serve_stdio())
        return 0
    catalog = load_catalog(str(Path.cwd()))
    frontend = catalog.get(Frontend, args.name)
    if frontend is None:
        names = ", ".join(["stdio", *(entry.name for entry in catalog.all(Frontend))])
        raise CockpitError(f"there is no frontend {args.name}", f"choose one of {names}")
    asyncio.run(_run_frontend(frontend))
    return 0


async def _run_frontend(frontend: Frontend) -> None:
    deck = LocalDeck(RunOptions(origin=frontend.name))
    try:
        await frontend.run(deck)
    finally:
        await deck.close()


async def _serve_stdio() -> None:
    """Requests on stdin, answers and envelopes on stdout (docs/extend/protocol.md)."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    deck = LocalDeck(RunOptions(origin="stdio"))
    try:
        await serve_deck(deck, reader, asyncio.StreamWriter(transport, protocol, reader, loop))
    finally:
        await deck.close()


# A client's calls only run without asking if the user's rules allow them: no mode looser than `ask`.
STRICT_MODES: tuple[Mode, ...] = ("plan", "deny")
TOKEN_VARIABLE = "COCKPIT_MCP_TOKEN"
APPROVAL_SECONDS = 300.0


def run_mcp_serve(argv: Sequence[str]) -> int:
    args = _build_mcp_parser().parse_args(list(argv))
    root = str(Path(args.root or ".").expanduser().absolute())
    if not Path(root).is_dir():
        raise CockpitError(f"{root} is not a folder", "name the folder of a project")
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
    """How the session is opened: never in a looser mode than `ask`, and without other MCP servers."""
    return RunOptions(
        origin=ORIGIN,
        mode=next((entry for entry in STRICT_MODES if entry == mode), "ask"),
        allow=allow,
        deny=deny,
        approval_seconds=APPROVAL_SECONDS,
        # The user's MCP servers may include this very command, which would then start itself endlessly.
        connects=False,
    )


def _build_mcp_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit mcp-serve",
        description="Offer cockpit's tools to another program over MCP: those that only read, unless "
        "--expose says otherwise. Every call is checked as in a session.",
    )
    add = parser.add_argument
    add("--root", "--cwd", metavar="DIR", help="project folder (default: .)")
    add(
        "--expose",
        metavar="NAMES",
        help="tools to offer, by comma; `default` means those that only read: --expose default,edit",
    )
    add("--list", action="store_true", help="print what would be offered, and exit")
    add(
        "--http",
        type=_parse_port,
        metavar="PORT",
        help="listen on this port (0: any) instead of stdin and stdout",
    )
    add("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    add(
        "--token",
        metavar="TOKEN",
        help=f"token that clients must send (default: ${TOKEN_VARIABLE}, else a random one)",
    )
    add("--no-token", action="store_true", help="require no token (only on the loopback interface)")
    add("--allow", action="append", default=[], metavar="RULE", help="allow without asking; repeatable")
    add("--deny", action="append", default=[], metavar="RULE", help="never allow; repeatable")
    add("--trust", action="store_true", help="trust this folder from now on")
    return parser


def _parse_port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number")
    return int(text)


def _find_address(args: argparse.Namespace) -> ListenAddress | None:
    if args.http is None:
        return None
    if args.no_token:
        if args.host not in LOOPBACK:
            raise CockpitError(
                f"--no-token and --host {args.host} would let other machines call tools", "omit one of them"
            )
        return ListenAddress(args.host, args.http)
    token = args.token or os.environ.get(TOKEN_VARIABLE) or ""
    if not token:
        token = secrets.token_urlsafe(32)
        print(f"cockpit: clients must send `Authorization: Bearer {token}`", file=sys.stderr)
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
    server = SharedSession(deck, root)
    try:
        rows = await server.tools()
    finally:
        await server.close()
        await deck.close()
    for row in exposed.rows(rows):
        print(f"{row.name}\t{'reads' if row.looks_only else 'may change things'}\t{row.kind}")
    for name in exposed.missing(rows):
        print(f"cockpit: there is no tool {name}", file=sys.stderr)
    return 0
