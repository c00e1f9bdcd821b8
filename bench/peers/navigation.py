"""Code intelligence as a frontend uses it: `navigation.py STEP ROOT HOME`, one STEP per process.

Prints one JSON object with the numbers of that step (milliseconds, megabytes, counts).
"""

import asyncio
import json
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bench.figures import median
from bench.navigation import comparison, questions
from bench.navigation.bare_client import BareClient, parse_seconds
from bench.navigation.uses import Use, sampled

from cockpit.cli.command import load_catalog
from cockpit.core.queries.queries import CODE_PATIENCE
from cockpit.navigation.navigator import LiveNavigator, NavigatorConfig, open_navigator
from cockpit.plugin.navigation import Position
from cockpit.plugin.values import Language
from cockpit.workspace.local import LocalWorkspace

TY = (str(Path(sys.executable).with_name("ty")), "server")
Numbers = Mapping[str, float]


@asynccontextmanager
async def navigator(root: Path, home: Path) -> AsyncIterator[LiveNavigator]:
    languages = load_catalog(str(root)).all(Language)
    workspace = LocalWorkspace(str(root))
    found = open_navigator(
        NavigatorConfig(workspace, languages, True, str(home / "state"), str(home / "cache"))
    )
    try:
        yield found
    finally:
        await found.life.close()
        await workspace.close()


async def index(root: Path, home: Path) -> Numbers:
    """Built from scratch, then loaded from its cache; the memory growth of this process."""
    bare, size = parse_seconds(root)
    cold = await _built(root, home)
    before = _resident()
    warm = await _built(root, home)
    return {
        "bare": 1000 * bare,
        "bytes": size,
        "cold": cold[0],
        "warm": warm[0],
        "memory": cold[1],
        "memory_warm": warm[1] if before else 0.0,
    }


async def _built(root: Path, home: Path) -> tuple[float, float]:
    from cockpit.navigation.index.client import TreeIndex

    languages = load_catalog(str(root)).all(Language)
    before = _resident()
    began = time.perf_counter()
    tree = TreeIndex(str(root), languages, str(home / "cache"))
    tree.start()
    if not await tree.whole(120):
        raise SystemExit("the index was not whole after 120 s")
    taken = 1000 * (time.perf_counter() - began)
    await tree.symbols("QuerySet")
    grown = _resident() - before
    await tree.close()
    return taken, grown


def _resident() -> float:
    """Resident memory of this process in MiB; 0 if the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


async def first(root: Path, home: Path) -> Numbers:
    """From creating a navigator to its first answer, with a cached index and no server."""
    use = Use("django/shortcuts.py", 122, 16, "_get_queryset")
    at = Position(use.path, use.line, use.column)
    async with navigator(root, home) as here:
        await here.related("definition", at, "tree-sitter")
        await here.life.sources()
    async with navigator(root, home) as here:
        began = time.perf_counter()
        found = await here.related("definition", at, "auto", CODE_PATIENCE)
        taken = 1000 * (time.perf_counter() - began)
        is_index = bool(found.rows) and found.rows[0].source == "tree-sitter"
        until = time.perf_counter() + 30
        while found.rows[0].source != "lsp" and time.perf_counter() < until:
            found = await here.related("definition", at, "auto", CODE_PATIENCE)
        return {"first": taken, "by_index": float(is_index), "replaced": 1000 * (time.perf_counter() - began)}


async def warm(root: Path, home: Path) -> Numbers:
    """The same questions to the navigator and to a bare client of the same server, in turn."""
    uses = list(sampled(root, 220))
    ours: list[float] = []
    bare: list[float] = []
    client = BareClient(TY, root)
    async with navigator(root, home) as here:
        for use in uses:
            comparison.bare_places(client, use)
            await comparison.places(here, use, "lsp")
        for use in uses:
            bare.append(comparison.bare_places(client, use)[1])
            began = time.perf_counter()
            await comparison.places(here, use, "auto")
            ours.append(1000 * (time.perf_counter() - began))
    client.close()
    return {"ours": median(ours), "bare": median(bare)}


async def changed(root: Path, home: Path) -> Numbers:
    """From the end of a write by another program until the new name is found, by index and by server."""
    taken: list[float] = []
    async with navigator(root, home) as here:
        path = root / "django/utils/duration.py"
        text = path.read_text(encoding="utf-8")
        await here.related("references", Position("django/utils/duration.py", 18, 5), "lsp")
        await here.related("definition", Position("django/utils/duration.py", 18, 5), "tree-sitter")
        await asyncio.sleep(1.0)
        for number in range(7):
            name = f"freshly_written_{number}"
            path.write_text(f"{text}\n\ndef {name}():\n    pass\n", encoding="utf-8")
            began = time.perf_counter()
            await _until(lambda name=name: _known(here, name))
            taken.append(1000 * (time.perf_counter() - began))
    return {"changed": median(taken)}


async def _known(here: LiveNavigator, name: str) -> bool:
    by_index = await here.symbols(name, source="tree-sitter")
    by_server = await here.outline("django/utils/duration.py", "lsp")
    return any(row.name == name for row in by_index.rows) and any(row.name == name for row in by_server.rows)


async def _until(true: Callable[[], Awaitable[bool]], seconds: float = 20.0) -> None:
    until = time.perf_counter() + seconds
    while not await true():
        if time.perf_counter() > until:
            raise SystemExit(f"not seen within {seconds:g} s")
        await asyncio.sleep(0.002)


async def recall(root: Path, home: Path) -> Numbers:
    """The index's definitions compared with the server's, on 500 uses that the server resolves in the
    root."""
    client = BareClient(TY, root)
    uses = []
    for use in sampled(root, 2_000):
        if any(not path.startswith("/") for path, _, _ in comparison.bare_places(client, use)[0]):
            uses.append(use)
        if len(uses) == 500:
            break
    async with navigator(root, home) as here:
        found = await comparison.compared(here, client, uses)
    client.close()
    return {"recall": found.recall, "precision": found.precision, "uses": found.uses}


async def same(root: Path, home: Path) -> Numbers:
    """Differences to a bare client before and after 50 edits; wrong answers of the list checked by hand."""
    uses = list(sampled(root, 300, seed=11))
    async with navigator(root, home) as here:
        client = BareClient(TY, root)
        before = await comparison.differences(here, client, uses)
        client.close()
        wrong = await comparison.checked_by_hand(here, "lsp")
        wrong_index = await comparison.checked_by_hand(here, "tree-sitter")
        for number, path in enumerate(sorted((root / "django").rglob("*.py"))[:500:10]):
            path.write_text(f"# edit {number}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
        client = BareClient(TY, root)
        after = await comparison.differences(here, client, list(sampled(root, 300, seed=12)))
        client.close()
    return {
        "before": len(before),
        "after": len(after),
        "right": 60 - len(wrong),
        "right_index": 60 - len(wrong_index),
    }


async def tokens(root: Path, home: Path) -> Numbers:
    return await questions.tokens(root)


STEPS: Mapping[str, Callable[[Path, Path], Awaitable[Numbers]]] = {
    "index": index,
    "first": first,
    "warm": warm,
    "changed": changed,
    "recall": recall,
    "same": same,
    "tokens": tokens,
}


def main() -> None:
    step, root, home = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    print(json.dumps(dict(asyncio.run(STEPS[step](root, home)))))


if __name__ == "__main__":
    main()
