"""A separate program, run inside a sandbox without network: forwards connections from a local port to the
socket of cockpit's proxy while a command runs. Standard library only; imported by nothing."""

import contextlib
import os
import socket
import subprocess
import sys
import threading

PORT = 3128


def main() -> int:
    path, command = sys.argv[1], sys.argv[2:]
    listener = socket.create_server(("127.0.0.1", PORT))
    threading.Thread(target=_listen, args=(listener, path), daemon=True).start()
    proxy = f"http://127.0.0.1:{PORT}"
    names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    environment = {**os.environ, **dict.fromkeys(names, proxy), "NO_PROXY": "", "no_proxy": ""}
    try:
        code = subprocess.run(command, env=environment, check=False).returncode
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    return code if code >= 0 else 128 - code


def _listen(listener: socket.socket, path: str) -> None:
    while True:
        client, _ = listener.accept()
        proxy = socket.socket(socket.AF_UNIX)
        try:
            proxy.connect(path)
        except OSError:
            client.close()
            continue
        for source, to in ((client, proxy), (proxy, client)):
            threading.Thread(target=_pour, args=(source, to), daemon=True).start()


def _pour(source: socket.socket, to: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65_536):
            to.sendall(piece)
    with contextlib.suppress(OSError):
        to.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    sys.exit(main())
