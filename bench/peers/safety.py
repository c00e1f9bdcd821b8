"""One step of the safety figures in its own process: `safety.py STEP FOLDER [MORE]`, JSON on the last line.

Steps: `verdicts`, `hour`, `sandbox`, `checkpoint`, `patch`.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from bench.figures import median, p99
from bench.safety.typical_hour import HOUR, lay

from cockpit.core.session.deck import LocalDeck
from cockpit.core.session.options import RunOptions
from cockpit.plugin.changes import WriteFile
from cockpit.plugin.workspace import Launch
from cockpit.protocol.content import Text
from cockpit.protocol.events import ApprovalRequested, ToolCallFinished, TurnFinished
from cockpit.protocol.ops import Decide, Prompt
from cockpit.safety.engine import judge_line
from cockpit.safety.policy import load_rules
from cockpit.safety.values import ExecutionContext, Shell
from cockpit.workspace.local import LocalWorkspace

AT_ONCE = 4
FILES = 10_000
LEVELS = {"allow": 0, "ask": 1, "deny": 2}
NAMES = {"safe-readonly": 0, "needs-confirm": 1, "must-block": 2}


def verdicts(corpora: Path) -> dict[str, float]:
    """The public corpus without and with the sandbox, and the time of a verdict (ms)."""
    rules = load_rules()
    found = dict.fromkeys(("critical", "unasked", "blocked", "reads", "prompted", "prompted_held"), 0.0)
    taken: list[float] = []
    shells: tuple[Shell, ...] = ("bash", "powershell")
    for shell in shells:
        file = corpora / ("shell_bash.jsonl" if shell == "bash" else "powershell.jsonl")
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for row in (*rows[:20], *rows):
            began = time.perf_counter()
            level = LEVELS[judge_line(row["command"], shell, _ground(False), rules).verdict.level]
            taken.append(1000 * (time.perf_counter() - began))
        for row in rows:
            level = LEVELS[judge_line(row["command"], shell, _ground(False), rules).verdict.level]
            held = LEVELS[judge_line(row["command"], shell, _ground(True), rules).verdict.level]
            _score(row, level, held, found)
    line = " && ".join(f"grep -n word{at} file{at}.txt" for at in range(200))
    long = "echo " + "a" * 60_000
    deep = "$(" * 120 + "ls" + ")" * 120
    for name, text in (("parts", line), ("long", long), ("deep", deep)):
        began = time.perf_counter()
        judge_line(text, "bash", _ground(False), rules)
        found[name] = 1000 * (time.perf_counter() - began)
    return found | {"p99": p99(taken[40:]), "median": median(taken[40:])}


def _ground(held: bool) -> ExecutionContext:
    return ExecutionContext("/proj/ws", "/home/dev", sandbox=held)


def _score(row: dict[str, object], level: int, held: int, found: dict[str, float]) -> None:
    floor, benign = NAMES[str(row["floor"])], bool(row["benign"])
    found["critical"] += level < floor and row["severity"] == "critical"
    found["unasked"] += not benign and min(level, held) == 0 and floor > 0
    found["blocked"] += benign and max(level, held) == 2
    if benign and row["expected"] == "safe-readonly":
        found["reads"] += 1
        found["prompted"] += level > 0
        found["prompted_held"] += held > 0


async def hour(root: Path) -> dict[str, object]:
    """Run the hour with a user who answers `for this session` where possible; returns what asked."""
    lay(root)
    steps = [
        {"calls": [{"name": name, "arguments": arguments} for name, arguments in HOUR[at : at + AT_ONCE]]}
        for at in range(0, len(HOUR), AT_ONCE)
    ]
    script = root.parent / "hour.json"
    script.write_text(json.dumps({"steps": [*steps, {"text": "done"}]}), encoding="utf-8")
    os.environ["COCKPIT_SCRIPT"] = str(script)
    deck = LocalDeck(RunOptions(model="scripted:script", mode="ask", trust=True))
    channel = await deck.open(str(root))
    asked: list[str] = []
    outcomes: list[str] = []
    await channel.submit(Prompt("p", "tui", (Text("work"),)))
    async for envelope in channel.events():
        match envelope.event:
            case ApprovalRequested() as request:
                lasting = "allow_session" in request.options
                asked.append(f"{request.title} -> {request.shape or 'this call'}")
                answer = "allow_session" if lasting else "allow_once"
                await channel.submit(Decide(f"d{len(asked)}", "tui", request.id, answer))
            case ToolCallFinished(result):
                outcomes.append(result.outcome)
                if result.outcome != "ok":
                    print(f"{result.name}: {result.outcome}: {result.text[:120]!r}", file=sys.stderr)
            case TurnFinished():
                break
            case _:
                pass
    await deck.close()
    return {"asked": asked, "calls": len(outcomes), "failed": sum(one != "ok" for one in outcomes)}


async def sandbox(root: Path) -> dict[str, float]:
    """A command in the build profile, next to bubblewrap with only a bind of `/`, and to no sandbox."""
    workspace = LocalWorkspace(str(root), str(root.parent / "state"))
    isolation = await workspace.processes.isolation()
    launch = Launch(("/bin/true",), str(root), profile="build")
    ours, plain, bare = [], [], []
    for _ in range(40):
        began = time.perf_counter()
        await workspace.processes.run_sealed(launch, launch.seal())
        ours.append(1000 * (time.perf_counter() - began))
        began = time.perf_counter()
        await workspace.processes.run(("/bin/true",))
        plain.append(1000 * (time.perf_counter() - began))
        if isolation.runner == "bwrap":
            began = time.perf_counter()
            await workspace.processes.run(BARE)
            bare.append(1000 * (time.perf_counter() - began))
    await workspace.close()
    return {"ours": median(ours), "plain": median(plain), "bare": median(bare) if bare else 0.0}


BARE = (
    *(
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--unshare-all",
        "--die-with-parent",
    ),
    *("--new-session", "--cap-drop", "ALL", "/bin/true"),
)


async def patch(root: Path) -> dict[str, float]:
    """Ten files changed in one transaction: planning and applying, and the bare writes with fsync."""
    workspace = LocalWorkspace(str(root), str(root.parent / "state"))
    taken, bare = [], []
    for number in range(30):
        text = f"{number}\n".encode() * 200
        began = time.perf_counter()
        edits = tuple(WriteFile(f"file{at}.txt", text + bytes(str(at), "ascii")) for at in range(10))
        await workspace.apply(await workspace.plan(edits))
        taken.append(1000 * (time.perf_counter() - began))
        began = time.perf_counter()
        _write((root / f"bare{at}.txt" for at in range(10)), text)
        bare.append(1000 * (time.perf_counter() - began))
    await workspace.close()
    return {"ours": median(taken), "bare": median(bare)}


def _write(paths: Iterable[Path], text: bytes) -> None:
    for path in paths:
        temporary = path.with_suffix(".new")
        with temporary.open("wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)


def tree(root: Path) -> None:
    """A repository of 10,000 files in 100 folders, committed."""
    for at in range(FILES):
        path = root / f"folder{at % 100}" / f"file{at}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"value = {at}\n" * 20, encoding="utf-8")
    who = ("-c", "user.name=Dev", "-c", "user.email=dev@example.org")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "start")):
        subprocess.run(["git", *who, *arguments], cwd=root, check=True)


def main(step: str, folder: Path) -> object:
    match step:
        case "verdicts":
            return verdicts(folder)
        case "hour":
            return asyncio.run(hour(folder))
        case "sandbox":
            return asyncio.run(sandbox(folder))
        case "patch":
            return asyncio.run(patch(folder))
        case _:
            raise SystemExit(f"no step {step}")


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
