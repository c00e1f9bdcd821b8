"""A server that hangs, dies, floods or sends nonsense only costs quality.

Each question ends in time with rows or `NoAnswer`, the loop goes on, and no process is left.
"""

import asyncio
import time
from pathlib import Path

import pytest
from tests.navigation.lsp.small import QUICK, Make, is_alive, small, state_of, until

from cockpit.navigation.answers import FileDiagnostics, NoAnswer, ServerAnswer
from cockpit.navigation.lsp.limits import LspLimits
from cockpit.plugin.navigation import Position

TEXT = "def one():\n    one() + bad\n"
USE = Position("a.tiny", 2, 5)
SHORT = 0.4


@pytest.fixture(autouse=True)
def file(root: Path) -> Path:
    path = root / "a.tiny"
    path.write_text(TEXT)
    return path


async def test_the_small_server_answers_when_it_has_no_fault(make: Make) -> None:
    servers = make(small())
    found = await servers.related("definition", USE, 10)
    assert isinstance(found, ServerAnswer)
    assert [(row.path, row.line, row.column, row.end_column) for row in found.rows] == [("a.tiny", 1, 5, 8)]


async def test_a_server_that_hangs_at_start_gives_no_answer_in_time(make: Make) -> None:
    servers = make(small("hang-initialize"))
    started = time.monotonic()
    found = await servers.related("definition", USE, SHORT)
    assert found == NoAnswer("small is starting", soon=True)
    assert time.monotonic() - started < 2


async def test_a_server_that_hangs_at_start_is_killed_and_given_up(make: Make) -> None:
    servers = make(small("hang-initialize", startup_seconds=0.3))
    servers.seen("a.tiny")
    await until(servers, lambda: state_of(servers) == "failed")
    (row,) = servers.rows()
    assert "did not start within 0.3 s, 4 times in a row" in row.detail
    assert "/lsp log small" in row.detail and "/lsp restart small" in row.detail
    answer = await servers.related("definition", USE, 5)
    assert isinstance(answer, NoAnswer) and "did not start" in answer.reason


async def test_a_request_to_a_hung_server_times_out_and_is_cancelled(make: Make) -> None:
    servers = make(small("hang-request"))
    servers.seen("a.tiny")
    await until(servers, lambda: state_of(servers) == "ready")
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    heart = asyncio.create_task(beat())
    answer = await servers.related("definition", USE, SHORT)
    heart.cancel()
    assert answer == NoAnswer("small did not answer in time")
    assert beats > 10, "the loop was held up"


async def test_every_question_to_a_hung_server_ends_in_time(make: Make) -> None:
    servers = make(small("hang-request"))
    servers.seen("a.tiny")
    await until(servers, lambda: state_of(servers) == "ready")
    started = time.monotonic()
    answers = await asyncio.gather(
        servers.outline("a.tiny", SHORT),
        servers.related("references", USE, SHORT),
        servers.related("callers", USE, SHORT),
        servers.hover(USE, SHORT),
        servers.rename(USE, "two", SHORT),
        servers.formatted("a.tiny", SHORT),
        servers.actions("a.tiny", 1, 2, SHORT),
    )
    assert all(isinstance(one, NoAnswer) for one in answers)
    assert time.monotonic() - started < SHORT + 2


async def test_a_server_that_is_silent_for_long_is_restarted(make: Make, notes: Path) -> None:
    servers = make(small("hang-once", notes=notes), limits=LspLimits(backoff=0.01, every=0.05, hung=0.3))
    assert isinstance(await servers.related("definition", USE, SHORT), NoAnswer)
    first = servers.rows()[0].pid
    await until(servers, lambda: state_of(servers) == "ready" and servers.rows()[0].pid not in (0, first))
    assert isinstance(await servers.related("definition", USE, 5), ServerAnswer)


async def test_a_server_that_dies_at_its_start_says_where_to_look(make: Make) -> None:
    servers = make(small("die-start"))
    answer = await servers.related("definition", USE, 10)
    assert isinstance(answer, NoAnswer) and "/lsp log small" in answer.reason
    assert "no licence" in servers.log("small")["small"]


async def test_a_server_that_dies_at_a_request_fails_that_request_at_once(make: Make, notes: Path) -> None:
    servers = make(small("die-once", notes=notes))
    started = time.monotonic()
    answer = await servers.related("definition", USE, 30)
    assert answer == NoAnswer("small stopped before it answered", soon=True)
    assert time.monotonic() - started < 15
    again = await servers.related("definition", USE, 10)
    assert isinstance(again, ServerAnswer) and again.rows


async def test_a_server_that_keeps_dying_is_given_up(make: Make) -> None:
    servers = make(small("die-soon"))
    servers.seen("a.tiny")
    await until(servers, lambda: state_of(servers) == "failed")
    assert "4 times in a row" in servers.rows()[0].detail


async def test_a_server_without_restart_is_not_restarted(make: Make) -> None:
    servers = make(small("die-soon", restart=False))
    servers.seen("a.tiny")
    await until(servers, lambda: state_of(servers) == "failed")
    assert "times" not in servers.rows()[0].detail


async def test_the_next_server_answers_when_the_first_was_given_up(make: Make) -> None:
    servers = make(small("die-start", name="broken"), small())
    servers.seen("a.tiny")
    await until(servers, lambda: state_of(servers, "broken") == "failed")
    answer = await servers.related("definition", USE, 10)
    assert isinstance(answer, ServerAnswer) and answer.server == "small"


async def test_a_flood_of_messages_delays_nothing(make: Make) -> None:
    servers = make(small("flood"))
    answer = await servers.related("definition", USE, 20)
    assert isinstance(answer, ServerAnswer) and answer.rows
    log = Path(servers.rows()[0].log)
    assert log.stat().st_size < 2_500_000


async def test_a_flood_on_stderr_delays_nothing_and_its_log_stays_small(make: Make) -> None:
    servers = make(small("flood-stderr"))
    answer = await servers.related("definition", USE, 20)
    assert isinstance(answer, ServerAnswer) and answer.rows
    log = Path(servers.rows()[0].log)
    sizes = [one.stat().st_size for one in log.parent.iterdir()]
    assert sum(sizes) < 3_000_000


async def test_huge_messages_are_dropped_and_the_next_answer_is_read(make: Make) -> None:
    servers = make(small("huge"))
    answer = await servers.related("definition", USE, 20)
    assert isinstance(answer, ServerAnswer) and answer.rows
    assert "40000000 bytes was dropped" in servers.log("small")["small"]


async def test_a_declared_but_missing_feature_gives_no_answer(make: Make) -> None:
    servers = make(small("lies"))
    answer = await servers.related("definition", USE, 10)
    assert answer == NoAnswer("small does not support that, although it declared it")
    assert state_of(servers) == "ready"


async def test_malformed_answers_raise_nothing(make: Make) -> None:
    servers = make(small("garbage"))
    for answer in (
        await servers.related("definition", USE, 10),
        await servers.related("references", USE, 10),
        await servers.related("callers", USE, 10),
        await servers.outline("a.tiny", 10),
        await servers.rename(USE, "two", 10),
        await servers.formatted("a.tiny", 10),
        await servers.actions("a.tiny", 1, 1, 10),
    ):
        assert isinstance(answer, NoAnswer) and "malformed" in answer.reason


@pytest.mark.parametrize("fault", ["strays", "length-last", "modified"])
async def test_what_it_prints_between_messages_is_skipped(make: Make, fault: str) -> None:
    servers = make(small(fault))
    answer = await servers.related("definition", USE, 10)
    assert isinstance(answer, ServerAnswer) and answer.rows


async def test_stray_output_goes_to_the_log(make: Make) -> None:
    servers = make(small("strays"))
    await servers.outline("a.tiny", 10)
    assert "DEBUG: about to answer" in servers.log("small")["small"]


async def test_an_answer_after_the_cancel_is_dropped_without_harm(make: Make, notes: Path) -> None:
    servers = make(small("late", notes=notes))
    servers.seen("a.tiny")
    await until(servers, lambda: state_of(servers) == "ready")
    assert await servers.related("definition", USE, SHORT) == NoAnswer("small did not answer in time")
    answer = await servers.related("definition", USE, 10)
    assert isinstance(answer, ServerAnswer) and answer.rows


async def test_answers_to_unknown_ids_are_ignored(make: Make) -> None:
    servers = make(small("wrong-id"))
    servers.seen("a.tiny")
    await until(servers, lambda: state_of(servers) == "ready")
    assert await servers.related("definition", USE, SHORT) == NoAnswer("small did not answer in time")


async def test_a_server_that_never_exits_is_killed_at_closing(make: Make) -> None:
    servers = make(small("never-exits"))
    await servers.outline("a.tiny", 10)
    pid = servers.rows()[0].pid
    assert is_alive(pid)
    started = time.monotonic()
    await servers.close()
    assert time.monotonic() - started < 3
    assert not is_alive(pid)


@pytest.mark.parametrize("fault", ["hang-initialize", "hang-request", "die-request"])
async def test_closing_leaves_no_process_whatever_it_is_doing(make: Make, fault: str) -> None:
    servers = make(small(fault))
    asking = asyncio.create_task(servers.related("definition", USE, 30))
    await until(servers, lambda: state_of(servers) in ("starting", "ready"))
    started = time.monotonic()
    await servers.close()
    assert time.monotonic() - started < 3
    assert isinstance(await asking, NoAnswer)


async def test_a_server_that_publishes_nothing_is_late_and_the_other_counts(make: Make) -> None:
    servers = make(small("silent", name="mute"), small("pull", beside=True))
    found = await servers.diagnosed("a.tiny", 2)
    assert isinstance(found, FileDiagnostics)
    assert found.servers == ("small",) and found.late == ("mute",)
    assert [row.message for row in found.rows] == ["bad is bad"]


async def test_an_overlay_is_withdrawn_on_timeout(make: Make) -> None:
    servers = make(small("silent"), limits=QUICK)
    await servers.outline("a.tiny", 10)
    assert isinstance(await servers.staged({"a.tiny": b"def other():\n"}, SHORT), NoAnswer)
    answer = await servers.related("definition", USE, 5)
    assert isinstance(answer, ServerAnswer) and answer.rows[0].name == "one"
