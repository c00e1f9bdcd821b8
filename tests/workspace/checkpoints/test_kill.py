"""The checkpoint store survives a kill at any file operation."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cockpit.workspace.checkpoints.records import CheckpointCall
from cockpit.workspace.checkpoints.restore import plan_rewind
from cockpit.workspace.checkpoints.store import CheckpointStore

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CHILD = """
import os, signal, sys, time
from pathlib import Path
from cockpit.workspace.checkpoints.store import CheckpointStore
from cockpit.workspace.checkpoints.records import CheckpointCall
root, store, at = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
passed = 0
def hook(event, arguments):
    global passed
    if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.utime", "os.truncate"):
        passed += 1
        if passed == at:
            os.kill(os.getpid(), signal.SIGKILL)
shadow = CheckpointStore(str(root), store)
sys.addaudithook(hook)
# Each statement of the database is a point, too.
connect = shadow.objects._open
def traced():
    connection = connect()
    connection.set_trace_callback(lambda statement: hook("open", ()))
    return connection
shadow.objects._open = traced
for number in range(6):
    paths = ("a",) if number % 2 else None
    shadow.begin(CheckpointCall("s1", "t", "main", f"c{number}", "x", time.time()), paths)
    (root / "a").write_text(f"content {number}")
    if paths is None:
        (root / f"f{number}").write_text("new")
    shadow.finish(f"c{number}")
    print(number, flush=True)
shadow.close()
print("end", flush=True)
"""
POINTS = sorted(random.Random(4).sample(range(2, 110), 24))


@pytest.mark.parametrize("at", POINTS)
def test_the_store_works_after_a_kill(root: Path, tmp_path: Path, at: int) -> None:
    if not hasattr(signal, "SIGKILL"):
        assert os.name == "nt"
        return
    store = tmp_path / "store"
    (root / "a").write_text("at first")
    argv = (sys.executable, "-c", CHILD, str(root), str(store), str(at))
    told = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert told.returncode in (0, -signal.SIGKILL), told.stderr
    finished = [int(line) for line in told.stdout.split() if line != "end"]
    shadow = CheckpointStore(str(root), store)
    records = shadow.records("s1")
    assert {f"c{number}" for number in finished} <= {one.call.call for one in records}
    for record in records:
        for file in record.delta.files:
            for kept in (file.before, file.after):
                assert kept is None or shadow.objects.get(kept.id)
    shadow.begin(CheckpointCall("s2", "t", "main", "next", "x", time.time()), None)
    (root / "late").write_text("1")
    after = shadow.finish("next")
    assert after is not None and [file.path for file in after.delta.files] == ["late"]
    way = plan_rewind(records, shadow.now)
    wanted = {step.path: step.then for step in way.steps}
    if (first := wanted.get("a")) is not None:
        assert shadow.objects.get(first.id) == b"at first"
    assert not list((store / "open").iterdir())
    shadow.close()
