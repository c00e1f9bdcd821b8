"""`cockpit`: which command is meant. Imports nothing heavy: `--version` must cost what python does."""

import sys
from collections.abc import Callable, Sequence

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
    "mcp-serve": "cockpit.cli.serve:run_mcp_serve",
    "models": "cockpit.cli.models:run_models",
    "nav": "cockpit.cli.nav.main:main",
    "patch": "cockpit.cli.patch:main",
    "permissions": "cockpit.cli.permissions:main",
    "plugins": "cockpit.cli.plugins.main:main",
    "policy": "cockpit.cli.policy:main",
    "replay": "cockpit.cli.sessions:run_replay",
    "rewind": "cockpit.cli.rewind:main",
    "roles": "cockpit.cli.definition_details:run_roles",
    "serve": "cockpit.cli.serve:run_serve",
    "sessions": "cockpit.cli.sessions:run_sessions",
    "skills": "cockpit.cli.skills:main",
    "worktrees": "cockpit.cli.worktrees:main",
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
    _raise_gc_threshold()
    from cockpit.cli.command import sanitize_streams

    sanitize_streams()
    _remove_relative_path_entries()
    if arguments and arguments[0] in COMMANDS:
        from importlib import import_module

        module, _, function = COMMANDS[arguments.pop(0)].partition(":")
        return _run_command(getattr(import_module(module), function), arguments)
    from cockpit.cli import run

    return _run_command(run.main, arguments)


def _remove_relative_path_entries() -> None:
    """With `.` in PATH the folder would say which `git` is run, by us and by whatever we start."""
    import os
    from pathlib import Path

    path = os.environ.get("PATH")
    if path is not None:
        kept = [entry for entry in path.split(os.pathsep) if Path(entry).is_absolute()]
        os.environ["PATH"] = os.pathsep.join(kept) or os.defpath


def _raise_gc_threshold() -> None:
    """Imports make a few hundred thousand objects that live to the end: at the usual threshold of 700
    the collector walks them again and again, a tenth of the time of one prompt (bench/headless)."""
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
        # Whoever read our output has gone; python must not complain about it at exit.
        sys.stderr.close()
        return 1
    except OSError as error:
        # A file that was named, or a full disk behind stdout: the person's to mend, no defect to trace.
        where = f"{error.filename}: " if error.filename else ""
        print(f"cockpit: {where}{error.strerror or error}", file=sys.stderr)
        return 1
