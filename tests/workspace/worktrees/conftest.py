"""A repository, and git as worktrees run it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.repositories import Repo

from cockpit.workspace.processes.local_processes import LocalProcesses


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "project")


@pytest.fixture
async def processes(tmp_path: Path) -> AsyncIterator[LocalProcesses]:
    made = LocalProcesses(str(tmp_path))
    yield made
    await made.close()
