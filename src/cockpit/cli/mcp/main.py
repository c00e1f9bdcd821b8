"""The parser of `cockpit mcp`."""

import argparse
from collections.abc import Callable, Sequence

from cockpit.cli import definition_list
from cockpit.cli.command import add_options

VERBS = "list|get|add|add-json|remove|tools|log|approve|enable|disable|login|logout"


def main(argv: Sequence[str]) -> int:
    """Returns the exit code of the subcommand. Raises `CockpitError`."""
    arguments = list(argv)
    if not arguments or (arguments[0] == "list" and "--check" not in arguments):
        return definition_list.run_list("mcp", arguments[1:])
    parser = _parser()
    # Everything after `--` is a command line, even what looks like an option.
    at = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_args(arguments[:at], argparse.Namespace(line=arguments[at + 1 :]))
    run: Callable[[argparse.Namespace], int] = args.run
    return run(args)


def _parser() -> argparse.ArgumentParser:
    from cockpit.cli.mcp import server_files, servers

    about = "The MCP servers of a folder. `list` shows the configured servers; `list --check` starts them."
    parser = argparse.ArgumentParser(prog="cockpit mcp", description=about)
    verbs = parser.add_subparsers(metavar=VERBS, required=True)

    def verb(name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        command = verbs.add_parser(name, help=about, description=about)
        add_options(command, "cwd", "trust")
        command.set_defaults(run=run)
        return command

    def named(name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        command = verb(name, run, about)
        command.add_argument("name", metavar="NAME")
        return command

    checked = verb("list", servers.check_servers, "start every approved server and report its state")
    checked.add_argument("--check", action="store_true")
    add_options(checked, "json")
    named("get", servers.show_server, "show a server's configuration; nothing is started")
    tools = named("tools", servers.list_tools, "start a server and list what it offers")
    add_options(tools, "json")
    log = named("log", servers.show_log, "print the last lines of a server's log")
    log.add_argument("--lines", type=int, default=60, metavar="N")
    approve = named("approve", servers.approve_server, "approve a server, and changes of its tools")
    approve.add_argument("--yes", action="store_true", help="approve without asking")
    named("enable", server_files.enable_server, "enable a server that was disabled")
    named("disable", server_files.disable_server, "disable a server in every folder")
    named("login", servers.login_server, "log in to a remote server")
    named("logout", servers.logout_server, "delete the login to a server")
    removed = named("remove", server_files.remove_server, "remove a server from its file")
    removed.add_argument("--scope", "-s", choices=("user", "project"), default="")
    added = named("add", server_files.add_server, "add a server: NAME -- COMMAND ARG..., or NAME ADDRESS")
    added.add_argument("target", nargs="*", metavar="COMMAND|ADDRESS", help="or after --")
    added.add_argument("--transport", "-t", choices=("stdio", "http", "sse"), default="")
    added.add_argument("--env", "-e", action="append", default=[], metavar="NAME=VALUE")
    added.add_argument("--header", "-H", action="append", default=[], metavar="'NAME: VALUE'")
    added.add_argument("--timeout", type=int, default=0, metavar="MS", help="milliseconds per call")
    added_json = named("add-json", server_files.add_server_json, "add a server as its entry in .mcp.json")
    added_json.add_argument("json", metavar="JSON")
    for command in (added, added_json):
        command.add_argument("--scope", "-s", choices=("user", "project"), default="user")
        command.add_argument("--force", action="store_true", help="replace a server of this name")
    return parser
