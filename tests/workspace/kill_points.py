"""A separate program: kills writes with SIGKILL at every file operation.

`python -m tests.workspace.kill_points FOLDER` prints a line of JSON for each kill: the result of recovery.
"""

import json
import os
import signal
import sys
from pathlib import Path

from tests.workspace.sample_writes import SCRIPTS, grown, targets
from tests.workspace.trees import tree

from cockpit.workspace.files.disk_operations import DiskOperations
from cockpit.workspace.files.journal import recover_transactions
from cockpit.workspace.files.transaction import Transaction


def killer(number: int) -> DiskOperations:
    """Calls that kill this process ahead of the one with this number."""
    left = number

    def before(name: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return DiskOperations(before)


def main() -> None:
    base = Path(sys.argv[1])
    for script in SCRIPTS:
        after = None
        for number in range(500):
            root, journals = base / f"{script}-{number}", base / f"{script}-{number}-journals"
            grown(root)
            before = tree(root)
            child = os.fork()
            if child == 0:
                Transaction(targets(root, script), str(journals), killer(number)).run()
                os._exit(0)
            _, status = os.waitpid(child, 0)
            if number == 0:
                after = tree(root)
                continue
            if not os.WIFSIGNALED(status):
                break
            recover_transactions(str(journals))
            now = tree(root)
            state = "after" if now == after else "before" if now == before else "torn"
            left = len(list(journals.glob("*"))) if journals.exists() else 0
            print(json.dumps({"script": script, "call": number, "state": state, "journals": left}))


if __name__ == "__main__":
    main()
