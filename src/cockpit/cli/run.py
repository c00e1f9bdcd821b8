"""`cockpit` without a command: the full screen, a single prompt (`-p`), or line by line (`--plain`)."""

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from cockpit import __version__
from cockpit.cli.main import COMMANDS

if TYPE_CHECKING:
    from cockpit.core.session.options import RunOptions
    from cockpit.protocol.channel import Deck

MODES = ("ask", "auto-edit", "plan", "full", "deny")
# Other agents' names for the same modes.
MODE_ALIASES = {
    "default": "ask",
    "manual": "ask",
    "acceptedits": "auto-edit",
    "accept-edits": "auto-edit",
    "auto": "auto-edit",
    "accept-all": "full",
    "bypasspermissions": "full",
    "yolo": "full",
    "deny-all": "deny",
    "dontask": "deny",
}


def main(argv: Sequence[str]) -> int:
    args = _parser().parse_args(list(argv))
    _replace_undecodable()
    if args.version:
        print(f"cockpit {__version__}")
        return 0
    root = str(Path(args.cwd or ".").expanduser().absolute())
    prompt = _read_prompt(args)
    if prompt is not None:
        return _run_prompt(args, root, prompt)
    if args.plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _run_plain(args, root)
    return _run_screen(args, root)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cockpit",
        description="A terminal IDE companion.",
        epilog=f"commands: {', '.join(sorted(COMMANDS))}; each has --help",
    )
    add = parser.add_argument
    text = "run a single prompt (read from stdin if it is - or missing)"
    add("-p", "--prompt", "--print", nargs="?", const="", metavar="PROMPT", help=text)
    add("--output-format", "--output", choices=("text", "json", "stream-json"), default="text")
    add("--model", metavar="PROVIDER:MODEL", help="or a tier: fast, default, medium, strong")
    add("--mode", "--permission-mode", type=_parse_mode, metavar="MODE", help=", ".join(MODES))
    text = "limit of model requests per turn"
    add("--max-steps", "--max-turns", type=_parse_positive, metavar="N", help=text)
    add("--max-tool-calls", type=_parse_positive, metavar="N")
    add("--max-seconds", type=_parse_seconds, metavar="S")
    add("--max-tokens", type=_parse_positive, metavar="N", help="limit of input and output tokens together")
    add("--max-cost", type=_parse_dollars, metavar="USD")
    text = "as 'Bash(git *)'; repeatable"
    add("--allow", "--allowedTools", action="append", default=[], metavar="RULE", help=text)
    add("--deny", "--disallowedTools", action="append", type=_parse_rule, default=[], metavar="RULE")
    add("--agents", type=_parse_roles, metavar="JSON", help="roles by name, each with description and prompt")
    add("--trust", action="store_true", help="trust this folder from now on")
    add("--cwd", metavar="DIR", help="project folder (default: .)")
    add("-c", "--continue", dest="last", action="store_true", help="resume the last session of the folder")
    add("-r", "--resume", metavar="ID", help="resume a session")
    add("--plain", action="store_true", help="line by line, without the full screen")
    add("--record", metavar="FILE", help="write every event, including deltas, to FILE")
    add("--version", "-V", action="store_true", help="print the version")
    return parser


def _parse_mode(name: str) -> str:
    mode = MODE_ALIASES.get(name.lower(), name)
    if mode not in MODES:
        raise argparse.ArgumentTypeError(f"unknown mode {name!r}; choose one of {', '.join(MODES)}")
    return mode


def _parse_rule(text: str) -> str:
    from cockpit.core.permission.rules import parse_rule
    from cockpit.errors import SettingsInvalid

    try:
        parse_rule("allow", text, "")
    except SettingsInvalid as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a rule; {error.hint}") from error
    return text


def _parse_roles(text: str) -> dict[str, object]:
    import json

    try:
        table = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"the roles are not valid JSON: {error}") from error
    if not isinstance(table, dict):
        raise argparse.ArgumentTypeError("the roles must be a JSON object with roles by name")
    return table


def _parse_positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _parse_seconds(text: str) -> float:
    if not 0 < (number := _parse_number(text)) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return number


def _parse_dollars(text: str) -> float:
    if not 0 <= (number := _parse_number(text)) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of dollars of at least 0")
    return number


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _replace_undecodable() -> None:
    """Replace bytes and characters that cannot be decoded or encoded, instead of raising."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _read_prompt(args: argparse.Namespace) -> str | None:
    """The prompt of `-p`, read from stdin if it is `-` or missing. Exits with 2 if it is empty."""
    if args.prompt is None:
        return None
    text = str(args.prompt)
    if text in ("", "-"):
        text = "" if sys.stdin.isatty() else sys.stdin.read()
    if not text.strip():
        hint = "pass it as in cockpit -p 'what to do', or pipe it in"
        print(f"cockpit: the prompt is empty; {hint}", file=sys.stderr)
        raise SystemExit(2)
    return text


def _build_options(args: argparse.Namespace, someone: bool, origin: str) -> "RunOptions":
    from cockpit.core.agent.turn_limits import TurnLimits
    from cockpit.core.session.options import RunOptions

    limits = TurnLimits(
        steps=args.max_steps or TurnLimits().steps,
        tool_calls=args.max_tool_calls,
        seconds=args.max_seconds,
        tokens=args.max_tokens,
        money=args.max_cost,
        stop_file=os.environ.get("COCKPIT_STOP_FILE", ""),
    )
    return RunOptions(
        someone=someone,
        origin=origin,
        model=args.model,
        mode=args.mode,
        allow=tuple(args.allow),
        deny=tuple(args.deny),
        trust=True if args.trust else None,
        keep_trust=args.trust,
        limits=limits,
        record=args.record or "",
        roles=args.agents,
    )


def _find_resumed_session(args: argparse.Namespace, root: str) -> str | None:
    if args.resume:
        return str(args.resume)
    if not args.last:
        return None
    from cockpit.core.transcript.session_store import latest_session
    from cockpit.errors import SessionUnknown

    session = latest_session(root)
    if session is None:
        raise SessionUnknown("this folder has no session yet", "start one without --continue")
    return session


def _run_prompt(args: argparse.Namespace, root: str, prompt: str) -> int:
    import asyncio

    from cockpit.core.session.deck import LocalDeck
    from cockpit.headless.one_shot import run_prompt

    answer_stream = sys.stdout
    # What a plugin prints is not part of the answer.
    with contextlib.redirect_stdout(sys.stderr):
        deck = LocalDeck(_build_options(args, someone=False, origin="headless"))
        resumed = _find_resumed_session(args, root)
        return asyncio.run(run_prompt(deck, root, resumed, prompt, args.output_format, answer_stream))


def _run_plain(args: argparse.Namespace, root: str) -> int:
    import asyncio

    from cockpit.core.session.deck import LocalDeck
    from cockpit.headless.line_frontend import run_lines

    deck = LocalDeck(_build_options(args, someone=True, origin="tui"))
    return asyncio.run(run_lines(deck, root, _find_resumed_session(args, root)))


def _run_screen(args: argparse.Namespace, root: str) -> int:
    from cockpit.tui.run import run

    def make() -> "Deck":
        from cockpit.core.session.deck import LocalDeck

        return LocalDeck(_build_options(args, someone=True, origin="tui"))

    async def make_deck() -> "Deck":
        import asyncio

        # Importing the core takes a while, so it must not delay the first paint.
        return await asyncio.to_thread(make)

    return run(make_deck, root, _find_resumed_session(args, root))
