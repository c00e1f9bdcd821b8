"""A read with a user's hook, one without, and the hook's bare process: `hook.py ROOT COUNT`.

Prints the seconds of each as JSON: `more` is the difference with and without a hook, `process` the process
alone.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from calls import caller

COMMAND = "cat >/dev/null"


def install(root: Path) -> None:
    """Install a hook that reacts to only one of two equal files."""
    for name in ("hooked.py", "plain.py"):
        (root / name).write_text("\n".join(f"x{n} = {n}" for n in range(2_000)), "utf-8")
    entry = {"type": "command", "command": COMMAND, "if": "Read(hooked.py)"}
    settings = Path.home() / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    hooks = {"PreToolUse": [{"matcher": "Read", "hooks": [entry]}]}
    settings.write_text(json.dumps({"hooks": hooks}), "utf-8")


async def process() -> float:
    """The hook's own process with the same input."""
    began = time.perf_counter()
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", COMMAND, stdin=pipe, stdout=pipe, stderr=pipe
    )
    await child.communicate(b"{}" * 200)
    return time.perf_counter() - began


async def main(root: str, count: int) -> dict[str, list[float]]:
    install(Path(root))
    taken: dict[str, list[float]] = {"more": [], "process": []}
    async with caller(root) as calling:
        for number in range(count):
            lines = {"start": number + 1, "lines": 1}
            without = await calling.call("read", {"path": "plain.py", **lines})
            hooked = await calling.call("read", {"path": "hooked.py", **lines})
            alone = await process()
            if number:  # the first pays for imports
                taken["more"].append(hooked - without)
                taken["process"].append(alone)
    (Path.home() / ".claude" / "settings.json").unlink()
    return taken


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2])))))
