"""Entry point of `cockpit`: looks the command up in a table and imports its module.

Imports nothing heavy itself, so that `cockpit --version` starts as fast as Python does.
"""

import sys
from collections.abc import Callable, Sequence

DEFAULT_COMMAND = "cockpit.cli.run:main"
COMMANDS = {
    "agents": "cockpit.cli.sessions:run_agents",
    "audit": "cockpit.cli.audit:main",
    "commands": "cockpit.cli.definition_details:run_commands",
    "config": "cockpit.cli.config:main",
    "connect": "cockpit.cli.models:run_connect",
    "doctor": "cockpit.cli.doctor:main",
    "hooks": "cockpit.cli.hooks:main",
    "import": "cockpit.cli.import_settings:main",
    "instructions": "cockpit.cli.definition_details:run_instructions",
    "lsp": "cockpit.cli.nav.language_servers:main",
    "mcp": "cockpit.cli.mcp.main:main",
    "mcp-serve": "cockpit.cli.mcp_serve:main",
    "models": "cockpit.cli.models:run_models",
    "nav": "cockpit.cli.nav.main:main",
    "patch": "cockpit.cli.patch:main",
    "permissions": "cockpit.cli.permissions:main",
    "plugins": "cockpit.cli.plugins.main:main",
    "policy": "cockpit.cli.policy:main",
    "replay": "cockpit.cli.sessions:run_replay",
    "rewind": "cockpit.cli.rewind:main",
    "roles": "cockpit.cli.definition_details:run_roles",
    "serve": "cockpit.cli.serve:main",
    "sessions": "cockpit.cli.sessions:run_sessions",
    "skills": "cockpit.cli.skills:main",
    "worktrees": "cockpit.cli.worktrees:main",
}


def script() -> None:
    """Console script: run the command, flush and exit at once. A normal interpreter shutdown would spend
    about 60 ms on freeing modules; everything that needs closing is closed by then."""
    code = main()
    import atexit
    import os

    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            # `serve stdio` has closed its streams already.
            if not stream.closed:
                stream.flush()
    except OSError:
        # The reader of our output is gone.
        code = code or 1
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (without the program name) selects and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["--version"], ["-V"]):
        from cockpit import __version__

        print(f"cockpit {__version__}")
        return 0
    _raise_gc_threshold()
    from cockpit.cli.command import sanitize_streams

    sanitize_streams()
    _remove_relative_path_entries()
    from importlib import import_module

    target = COMMANDS[arguments.pop(0)] if arguments and arguments[0] in COMMANDS else DEFAULT_COMMAND
    module, _, function = target.partition(":")
    return _run_command(getattr(import_module(module), function), arguments)


def _remove_relative_path_entries() -> None:
    """Remove relative entries from PATH: with `.` in it the folder would choose which `git` is run."""
    import os
    from pathlib import Path

    path = os.environ.get("PATH")
    if path is not None:
        absolute = [entry for entry in path.split(os.pathsep) if Path(entry).is_absolute()]
        os.environ["PATH"] = os.pathsep.join(absolute) or os.defpath


def _raise_gc_threshold() -> None:
    """Collect garbage less often. Imports create a few hundred thousand objects that stay alive; at the
    default threshold scanning them takes a tenth of the time of a prompt."""
    import gc

    gc.set_threshold(50_000, 20, 20)


def _run_command(command: Callable[[list[str]], int], arguments: list[str]) -> int:
    from cockpit.errors import CockpitError

    try:
        return command(arguments)
    except CockpitError as error:
        print(f"cockpit: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output is gone; keep Python from reporting it at exit.
        sys.stderr.close()
        return 1
    except OSError as error:
        # A missing file or a full disk: for the user to fix, so no traceback.
        where = f"{error.filename}: " if error.filename else ""
        print(f"cockpit: {where}{error.strerror or error}", file=sys.stderr)
        return 1
