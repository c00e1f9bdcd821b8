"""The workspace that the tests of the sandbox try to escape from."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.workspace.sandbox.box import Box, furnish

from cockpit.workspace.processes.local_processes import LocalProcesses


@pytest.fixture
async def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Box]:
    root, home, outside = furnish(tmp_path)
    monkeypatch.setenv("HOME", str(home))
    processes = LocalProcesses(str(root.resolve()))
    isolation = await processes.isolation()
    yield Box(root.resolve(), home, outside, processes, isolation.level == "full")
    await processes.close()
