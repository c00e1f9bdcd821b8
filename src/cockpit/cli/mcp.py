"""`cockpit mcp`: the MCP servers of a folder, named, added, removed, approved, looked at, logged in to."""

import argparse
from collections.abc import Callable, Sequence

from cockpit.cli import listing

VERBS = "list|get|add|add-json|remove|tools|log|approve|enable|disable|login|logout"


def main(argv: Sequence[str]) -> int:
    """0 when it was done or shown. Raises `CockpitError`."""
    arguments = list(argv)
    if not arguments or (arguments[0] == "list" and "--check" not in arguments):
        return listing.main("mcp", arguments[1:])
    parser = _parser()
    # What stands behind `--` is a command line, whatever it looks like.
    line: list[str] = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, line = arguments[:at], arguments[at + 1 :]
    given = parser.parse_args(arguments)
    given.line = line
    run: Callable[[argparse.Namespace], int] = given.run
    return run(given)


def _parser() -> argparse.ArgumentParser:
    from cockpit.cli import mcp_adding, mcp_asking

    about = "The MCP servers of a folder. `list` shows what the files name; `list --check` starts them."
    parser = argparse.ArgumentParser(prog="cockpit mcp", description=about)
    verbs = parser.add_subparsers(metavar=VERBS, required=True)

    def verb(name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        one = verbs.add_parser(name, help=about, description=about)
        one.add_argument("--cwd", metavar="DIR", default="", help="the folder (default: this one)")
        one.add_argument("--trust", action="store_true", help="read its files although nobody trusts it yet")
        one.set_defaults(run=run)
        return one

    def named(name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        one = verb(name, run, about)
        one.add_argument("name", metavar="NAME")
        return one

    checked = verb("list", mcp_asking.check, "start every approved server, and say how it is")
    checked.add_argument("--check", action="store_true")
    checked.add_argument("--json", action="store_true")
    named("get", mcp_asking.get, "what is known of a server; nothing is started")
    tools = named("tools", mcp_asking.tools, "start a server, and list what it offers")
    tools.add_argument("--json", action="store_true")
    log = named("log", mcp_asking.log, "the last lines that a server wrote")
    log.add_argument("--lines", type=int, default=60, metavar="N")
    approve = named("approve", mcp_asking.approve, "agree to what a server is, and to how its tools changed")
    approve.add_argument("--yes", action="store_true", help="agree without being asked")
    named("enable", mcp_adding.enable, "start a server again that was switched off")
    named("disable", mcp_adding.disable, "switch a server off, in every folder")
    named("login", mcp_asking.login, "log in to a server at an address")
    named("logout", mcp_asking.logout, "forget the login to a server")
    removed = named("remove", mcp_adding.remove, "take a server out of its file")
    removed.add_argument("--scope", "-s", choices=("user", "project"), default="")
    _adding(named("add", mcp_adding.add, "add a server: NAME -- COMMAND ARG..., or NAME ADDRESS"))
    given = named("add-json", mcp_adding.add_json, "add a server as it would stand in .mcp.json")
    given.add_argument("json", metavar="JSON")
    _placed(given)
    return parser


def _adding(one: argparse.ArgumentParser) -> None:
    one.add_argument("target", nargs="*", metavar="COMMAND|ADDRESS", help="or behind --")
    one.add_argument("--transport", "-t", choices=("stdio", "http", "sse"), default="")
    one.add_argument("--env", "-e", action="append", default=[], metavar="NAME=VALUE")
    one.add_argument("--header", "-H", action="append", default=[], metavar="'NAME: VALUE'")
    one.add_argument("--timeout", type=int, default=0, metavar="MS", help="for one call, in milliseconds")
    _placed(one)


def _placed(one: argparse.ArgumentParser) -> None:
    one.add_argument("--scope", "-s", choices=("user", "project"), default="user")
    one.add_argument("--force", action="store_true", help="replace a server of this name")
