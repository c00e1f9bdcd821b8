"""Messages between cockpit's own processes over pipes: a length, then a pickle. Never for untrusted data."""

import pickle
import struct
import sys
from typing import IO

LENGTH_HEADER = struct.Struct(">I")


def pack(value: object) -> bytes:
    body = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return LENGTH_HEADER.pack(len(body)) + body


def send(stream: IO[bytes], value: object) -> None:
    """Write a message. Raises OSError if the other end is gone."""
    stream.write(pack(value))
    stream.flush()


def receive(stream: IO[bytes]) -> object:
    """The next message. Raises EOFError if the other end is gone."""
    head = stream.read(LENGTH_HEADER.size)
    if len(head) < LENGTH_HEADER.size:
        raise EOFError
    (size,) = LENGTH_HEADER.unpack(head)
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return pickle.loads(body)


def python_command(module: str) -> list[str]:
    """The argv of a process that runs `main` of a module.

    It imports from cockpit's own paths only: no folder of the project (a `json.py` there would be run), and
    no `site` (it takes as long as a whole warm start may take).
    """
    paths = [path for path in sys.path if path]
    return [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path[:] = {paths!r}; import {module} as m; m.main()",
    ]
