"""`cockpit`: which command is meant. Imports nothing heavy: `--version` must cost what python does."""

import sys
from collections.abc import Callable, Sequence

COMMANDS = {
    "agents": "cockpit.cli.agents",
    "audit": "cockpit.cli.audit",
    "commands": "cockpit.cli.commands",
    "config": "cockpit.cli.config",
    "connect": "cockpit.cli.connect",
    "doctor": "cockpit.cli.doctor",
    "hooks": "cockpit.cli.hooks",
    "import": "cockpit.cli.importing",
    "instructions": "cockpit.cli.instructions",
    "lsp": "cockpit.cli.lsp",
    "mcp": "cockpit.cli.mcp",
    "mcp-serve": "cockpit.cli.mcp_serve",
    "models": "cockpit.cli.models",
    "nav": "cockpit.cli.nav",
    "patch": "cockpit.cli.patch",
    "permissions": "cockpit.cli.permissions",
    "plugins": "cockpit.cli.plugins",
    "policy": "cockpit.cli.policy",
    "replay": "cockpit.cli.replay",
    "rewind": "cockpit.cli.checkpoints",
    "roles": "cockpit.cli.roles",
    "serve": "cockpit.cli.serve",
    "sessions": "cockpit.cli.sessions",
    "skills": "cockpit.cli.skills",
    "worktrees": "cockpit.cli.worktrees",
}


def script() -> None:
    """The command `cockpit`: run, flush, and leave. That the interpreter takes a thousand modules apart
    on its way out helps nobody and takes 60 ms (bench/headless); what lives is closed by then."""
    code = main()
    import atexit
    import os

    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            # A frontend on pipes (`serve stdio`) has closed its own by now.
            if not stream.closed:
                stream.flush()
    except OSError:
        # Whoever read our output has gone.
        code = code or 1
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (without the program's name) asks for; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["--version"], ["-V"]):
        from cockpit import __version__

        print(f"cockpit {__version__}")
        return 0
    _spare_the_collector()
    from cockpit.cli.printing import harmless_streams

    harmless_streams()
    _leave_the_folder_out_of_path()
    if arguments and arguments[0] in COMMANDS:
        from importlib import import_module

        module = import_module(COMMANDS[arguments.pop(0)])
    else:
        from cockpit.cli import run as module
    return _guarded(module.main, arguments)


def _leave_the_folder_out_of_path() -> None:
    """With `.` in PATH the folder would say which `git` is run, by us and by whatever we start."""
    import os
    from pathlib import Path

    path = os.environ.get("PATH")
    if path is not None:
        kept = [entry for entry in path.split(os.pathsep) if Path(entry).is_absolute()]
        os.environ["PATH"] = os.pathsep.join(kept) or os.defpath


def _spare_the_collector() -> None:
    """Imports make a few hundred thousand objects that live to the end: at the usual threshold of 700
    the collector walks them again and again, a tenth of the time of one prompt (bench/headless)."""
    import gc

    gc.set_threshold(50_000, 20, 20)


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
    except OSError as error:
        # A file that was named, or a full disk behind stdout: the person's to mend, no defect to trace.
        where = f"{error.filename}: " if error.filename else ""
        print(f"cockpit: {where}{error.strerror or error}", file=sys.stderr)
        return 1
