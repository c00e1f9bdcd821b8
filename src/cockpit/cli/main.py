"""`cockpit`: which command is meant. Imports nothing heavy: `--version` must cost what python does."""

import sys
from collections.abc import Callable, Sequence

COMMANDS = {
    "connect": "cockpit.cli.connect",
    "doctor": "cockpit.cli.doctor",
    "models": "cockpit.cli.models",
    "plugins": "cockpit.cli.plugins",
    "replay": "cockpit.cli.replay",
    "serve": "cockpit.cli.serve",
    "sessions": "cockpit.cli.sessions",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (without the program's name) asks for; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["--version"], ["-V"]):
        from cockpit import __version__

        print(f"cockpit {__version__}")
        return 0
    if arguments and arguments[0] in COMMANDS:
        from importlib import import_module

        module = import_module(COMMANDS[arguments.pop(0)])
    else:
        from cockpit.cli import run as module
    return _guarded(module.main, arguments)


def _guarded(command: Callable[[list[str]], int], arguments: list[str]) -> int:
    from cockpit.errors import CockpitError

    try:
        return command(arguments)
    except CockpitError as error:
        print(f"cockpit: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; python must not complain about it at exit.
        sys.stderr.close()
        return 1
