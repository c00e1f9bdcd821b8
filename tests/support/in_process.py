"""`cockpit ...` in the process of the test: `main(argv)` with its own streams, folder and environment.

Takes a fifth of the time of a child process. For tests in which the process boundary is not the subject;
signals, terminals, start-up and the end of the process need `tests.support.command`.
"""

import contextlib
import gc
import io
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.command import STARTUP, Ended
from tests.support.command import cockpit as cockpit_process

from cockpit.cli.main import main

# It may be in the folder for temporary files too.
REPOSITORY = Path(__file__).parents[2]


def cockpit(
    *arguments: str, cwd: Path, stdin: str | bytes = b"", environment: Mapping[str, str] | None = None
) -> Ended:
    """Run `cockpit` to its end. A test of variables that Python itself reads gets a process."""
    if any(name.startswith(STARTUP) for name in environment or ()):
        return cockpit_process(*arguments, cwd=cwd, stdin=stdin, environment=environment)
    data = stdin.encode() if isinstance(stdin, str) else stdin
    source, out, err = (
        io.TextIOWrapper(io.BytesIO(content), encoding="utf-8") for content in (data, b"", b"")
    )
    with _process_state(cwd, environment or {}):
        sys.stdin, sys.stdout, sys.stderr = source, out, err
        try:
            code: object = main(arguments)
        except SystemExit as error:
            code = error.code
            if isinstance(code, str):
                print(code, file=sys.stderr)
    number = code if isinstance(code, int) else int(code is not None)
    return Ended(number, _content(out), _content(err))


def _content(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8")


@contextlib.contextmanager
def _process_state(cwd: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Restores everything that a command changes in its process."""
    streams = sys.stdin, sys.stdout, sys.stderr
    variables, path, threshold = dict(os.environ), list(sys.path), gc.get_threshold()
    with contextlib.chdir(cwd):
        try:
            os.environ.update(environment)
            yield
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
            os.environ.clear()
            os.environ.update(variables)
            sys.path[:] = path
            gc.set_threshold(*threshold)
            _forget_plugins()


def _forget_plugins() -> None:
    """The next command imports again the plugins that a test has written into its temporary folder."""
    for name, module in tuple(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "")
        if file.is_relative_to(tempfile.gettempdir()) and not file.is_relative_to(REPOSITORY):
            del sys.modules[name]
