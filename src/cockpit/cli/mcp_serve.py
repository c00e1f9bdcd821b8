"""`cockpit mcp-serve`: offer cockpit's tools to other programs over MCP."""

import argparse
import asyncio
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.errors import CockpitError
from cockpit.mcp_serve.exposure import ExposedTools, parse_exposed
from cockpit.mcp_serve.session import ORIGIN, SharedSession
from cockpit.mcp_serve.transports import LOOPBACK, ListenAddress, serve_http, serve_stdio
from cockpit.protocol.messages import Mode
from cockpit.settings import api_keys, files, trust

# The user's modes that are stricter than `ask`. A looser mode is not used: only the user's rules may let a
# client's call run without asking.
STRICT_MODES: tuple[Mode, ...] = ("plan", "deny")
TOKEN_VARIABLE = "COCKPIT_MCP_TOKEN"
APPROVAL_SECONDS = 300.0


def main(argv: Sequence[str]) -> int:
    args = _parser().parse_args(list(argv))
    root = str(Path(args.root or ".").expanduser().absolute())
    if not Path(root).is_dir():
        raise CockpitError(f"{root} is not a folder", "name an existing folder with --root")
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
        mode=next((strict for strict in STRICT_MODES if strict == mode), "ask"),
        allow=allow,
        deny=deny,
        approval_seconds=APPROVAL_SECONDS,
        # The user's MCP servers may include this very command, which would then start itself endlessly.
        connects=False,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit mcp-serve",
        description="Offer cockpit's tools to another program over MCP: those that only read, unless "
        "--expose says otherwise. Every call is checked as in a session.",
    )
    add = parser.add_argument
    add("--root", "--cwd", metavar="DIR", help="project folder (default: .)")
    add("--expose", metavar="NAMES", help="tools to offer: default,edit (`default`: all that only read)")
    add("--list", action="store_true", help="print what would be offered, and exit")
    add("--http", type=_parse_port, metavar="PORT", help="listen on this port (0: any) instead of stdin")
    add("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    add("--token", help=f"token that clients must send (default: ${TOKEN_VARIABLE}, or a random token)")
    add("--no-token", action="store_true", help="require no token (only on the loopback interface)")
    add("--allow", action="append", default=[], metavar="RULE", help="allow without asking; repeatable")
    add("--deny", action="append", default=[], metavar="RULE", help="never allow; repeatable")
    add("--trust", action="store_true", help="trust this folder from now on")
    return parser


def _parse_port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port number from 0 to 65535")
    return int(text)


def _find_address(args: argparse.Namespace) -> ListenAddress | None:
    if args.http is None:
        return None
    if args.no_token:
        if args.host not in LOOPBACK:
            reason = f"--no-token and --host {args.host} would let other machines call tools"
            raise CockpitError(reason, "omit one of them")
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
    session = SharedSession(deck, root)
    try:
        rows = await session.tools()
    finally:
        await session.close()
        await deck.close()
    for row in exposed.rows(rows):
        print(f"{row.name}\t{'reads' if row.looks_only else 'may change things'}\t{row.kind}")
    for name in exposed.unmatched(rows):
        print(f"cockpit: there is no tool {name}", file=sys.stderr)
    return 0
