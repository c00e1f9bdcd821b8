"""What keeps the cockpit quick, proved by counting rather than by a clock (`make bench` has the figures)."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.support.cockpits import seat, settled
from tests.support.scenes import Scene, worked
from textual import events
from textual.css.stylesheet import Stylesheet
from textual.screen import Screen

from cockpit.tui.frame_clock import FRAME_SECONDS, FrameClock
from cockpit.tui.trace.view import TraceView


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> Iterator[list[str]]:
    """The calls of `owner.name` while this is open."""
    calls: list[str] = []
    original = getattr(owner, name)

    def counting(*arguments: object, **options: object) -> object:
        calls.append(name)
        return original(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, counting)
        yield calls


def long_session() -> Scene:
    scene = Scene().start()
    for turn in range(40):
        scene.says(f"prompt {turn}").step().answers("a paragraph of some words\n\n" * 120, f"m{turn}").ends()
    return scene


async def test_a_burst_of_deltas_is_a_handful_of_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene().start().says("x").step()
    async with seat(scene) as s:
        with counted(monkeypatch, TraceView, "paint") as frames:
            began = asyncio.get_running_loop().time()
            await s.play(scene.streams(*["word "] * 20_000))
            seconds = asyncio.get_running_loop().time() - began
        assert 1 <= len(frames) <= seconds / FRAME_SECONDS + 3
        assert "word word" in s.screen


async def test_streaming_lays_out_the_screen_at_most_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene().start().says("x").step().streams("first\n\n")
    async with seat(scene) as s:
        with counted(monkeypatch, Screen, "_refresh_layout") as layouts:
            for number in range(60):
                await s.play(scene.streams(f"paragraph {number}\n\n"))
        assert len(layouts) <= 1


async def test_nothing_is_drawn_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    async with seat(worked()) as s:
        with (
            counted(monkeypatch, FrameClock, "_frame") as frames,
            counted(monkeypatch, Screen, "_compositor_refresh") as paints,
        ):
            await asyncio.sleep(1.2)
        assert frames == [] and paints == []
        assert s.app.editor.cursor_blink is False


async def test_a_change_of_focus_styles_a_dozen_nodes_however_long_the_session_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with seat(long_session()) as s:
        with counted(monkeypatch, Stylesheet, "apply") as applied:
            s.app.post_message(events.AppBlur())
            await settled(s.app, s.pilot)
            s.app.post_message(events.AppFocus())
            await settled(s.app, s.pilot)
        assert len(applied) <= 60
        assert len(list(s.app.screen.walk_children())) <= 12


async def test_a_long_session_lays_out_only_visible_rows() -> None:
    async with seat(long_session()) as s:
        document = s.app.trace.document
        assert document is not None
        chunks = [chunk for section in document.sections for chunk in section.chunks]
        assert len(chunks) > 4_000 and sum(chunk.exact for chunk in chunks) < 100
        await s.pilot.resize_terminal(90, 30)
        await settled(s.app, s.pilot)
        assert sum(chunk.exact for chunk in chunks) < 100


async def test_a_key_in_a_long_session_draws_no_line_of_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    async with seat(long_session()) as s:
        await s.type("a")
        with counted(monkeypatch, TraceView, "render_line") as lines:
            await s.type("bcd")
        assert lines == []
