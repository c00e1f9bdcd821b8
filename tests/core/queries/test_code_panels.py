"""The panel of servers while the index reads files."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from cockpit.core.queries import code_panels
from cockpit.core.queries.code_panels import CodePanels
from cockpit.navigation.index.client import TreeIndex
from cockpit.navigation.navigator import LiveNavigator
from cockpit.protocol.events import Event, PanelChanged
from cockpit.protocol.rows import PanelRow
from cockpit.workspace.local import LocalWorkspace


def servers(emitted: list[Event]) -> list[tuple[PanelRow, ...]]:
    return [one.rows for one in emitted if isinstance(one, PanelChanged) and one.panel == "servers"]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.wait({asyncio.ensure_future(asyncio.Event().wait())}, timeout=0.01)


async def test_the_index_has_a_row_of_its_own_until_it_is_whole(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_panels, "WARM_AFTER", 0.0)
    monkeypatch.setattr(code_panels, "REFRESH_SECONDS", 0.02)
    index = TreeIndex(str(root), (), str(tmp_path / "cache"))
    emitted: list[Event] = []
    workspace = LocalWorkspace(str(root), str(tmp_path / "state"))
    panels = CodePanels(LiveNavigator(workspace, index=index), str(root), emitted.append, True)
    try:
        for progress, text, known in (
            ((0, 1), "index  searching for files", 0),
            ((120, 885), "index  120 of 885 files", 885),
            ((884, 885), "index  884 of 885 files", 885),
        ):
            index.progress = progress
            row = (PanelRow(text, "indexing", files_read=progress[0], files_known=known),)
            await until(lambda row=row: servers(emitted)[-1:] == [row])
        index.progress = (885, 885)
        await until(lambda: servers(emitted)[-1:] == [()])
    finally:
        panels.close()
        await index.close()
        await workspace.close()


async def test_an_index_without_progress_is_not_polled_for_ever(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_panels, "WARM_AFTER", 0.0)
    monkeypatch.setattr(code_panels, "REFRESH_SECONDS", 0.001)
    index = TreeIndex(str(root), (), str(tmp_path / "cache"))
    workspace = LocalWorkspace(str(root), str(tmp_path / "state"))
    emitted: list[Event] = []
    panels = CodePanels(LiveNavigator(workspace, index=index), str(root), emitted.append, True)
    try:
        await until(lambda: bool(servers(emitted)) and panels._update is None)
        assert len(servers(emitted)) == 1
    finally:
        panels.close()
        await index.close()
        await workspace.close()
