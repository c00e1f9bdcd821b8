"""The environment of every benchmark: an installed wheel in its own venv, an empty home and project, and a
server on loopback in another process."""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PEERS = Path(__file__).with_name("peers")
BUILD = ROOT / "build" / "bench"
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class BenchEnvironment:
    """`python` and `cockpit` are those of the venv; `project` is a small repository without configuration."""

    python: str
    cockpit: str
    project: Path
    home: Path

    def environment(self, **more: str) -> dict[str, str]:
        """The environment variables of everything that is measured: byte code is cached, no API key is
        set."""
        kept = {key: os.environ[key] for key in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT") if key in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            "COCKPIT_HOME": str(self.home / "cockpit"),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "PYTHONUTF8": "1",
            "OPENAI_API_KEY": "bench",
            **more,
        }

    def peer(self, name: str, *arguments: str) -> list[str]:
        """The command line of a peer in `bench/peers`."""
        return [self.python, str(PEERS / f"{name}.py"), *arguments]


@contextmanager
def open_environment() -> Iterator[BenchEnvironment]:
    """The installed wheel of this tree. Everything but the venv is removed with the context."""
    environment = _venv()
    folder = Path(tempfile.mkdtemp(prefix="cockpit-bench-"))
    try:
        project, home = folder / "project", folder / "home"
        project.mkdir()
        home.mkdir()
        (project / "app.py").write_text("def main() -> None:\n    print('hello')\n", encoding="utf-8")
        (project / "README.md").write_text("# A small project\n", encoding="utf-8")
        subprocess.run(["git", "init", "-q", str(project)], check=False)
        binaries = environment / ("Scripts" if os.name == "nt" else "bin")
        yield BenchEnvironment(str(binaries / "python"), str(binaries / "cockpit"), project, home)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _venv() -> Path:
    """A venv with the wheel of this tree. Dependencies are installed once per set of pins."""
    venv = BUILD / "venv"
    python = str(venv / ("Scripts" if os.name == "nt" else "bin") / "python")
    pins = (ROOT / "pyproject.toml").read_bytes() + (ROOT / "constraints.txt").read_bytes()
    stamp = venv / "pins"
    quiet = {**os.environ}
    quiet.pop("PYTHONDONTWRITEBYTECODE", None)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not stamp.exists() or stamp.read_bytes() != pins:
        print("installing the wheel's dependencies ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        constrained = ["-c", str(ROOT / "constraints.txt"), f"{ROOT}[python]"]
        subprocess.run([*install, *constrained], check=True, env=quiet, stderr=subprocess.DEVNULL)
        stamp.write_bytes(pins)
    else:
        again = [*install, "--no-deps", "--force-reinstall", str(ROOT)]
        subprocess.run(again, check=True, env=quiet, stderr=subprocess.DEVNULL)
    return venv


class Server:
    """The loopback server (`bench/server.py`) in its own process, and the events it reported."""

    def __init__(self) -> None:
        command = [sys.executable, str(Path(__file__).with_name("server.py"))]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self._rest = b""
        self.port = int(self.wait("listening")["port"])

    def url(self, scene: str) -> str:
        """The base URL at which every request is answered as `scene` defines."""
        return f"http://127.0.0.1:{self.port}/{scene}/v1"

    def wait(self, kind: str, seconds: float = PATIENCE) -> Mapping[str, float]:
        """The next event of a kind; earlier ones of other kinds are skipped."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for event in self.events(min(0.5, seconds)):
                if event["kind"] == kind:
                    return event
        raise TimeoutError(f"the server saw no {kind} within {seconds:g} s")

    def events(self, seconds: float = 0.0) -> Iterator[dict[str, float]]:
        """The events, one at a time; waits at most `seconds` for the first."""
        out = self._process.stdout
        if out is None:
            raise RuntimeError("the server has no output")
        while True:
            line, sep, rest = self._rest.partition(b"\n")
            if sep:
                self._rest = rest
                yield json.loads(line)
                continue
            if not select.select([out], [], [], seconds)[0]:
                return
            self._rest += os.read(out.fileno(), 65536)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@contextmanager
def server() -> Iterator[Server]:
    running = Server()
    try:
        yield running
    finally:
        running.close()
