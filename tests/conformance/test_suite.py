"""The official suite, where it is installed: a few scenarios of each side and era, and that nothing of it is
left out without a reason. `make conformance` runs all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conformance.suite import (
    ABSENT,
    ERAS,
    OTHERS,
    ROOT,
    absence,
    left_out,
    run_client,
    run_server,
    script,
    serving,
    stale,
    wanted,
)

CLIENT = [
    ("tools_call", "2025-11-25"),
    ("tools_call", "2026-07-28"),
    ("auth/scope-step-up", "2026-07-28"),
    ("auth/client-credentials-jwt", OTHERS),
]
SERVER = [
    ("tools-call-elicitation", "2025-11-25"),
    ("dns-rebinding-protection", "2026-07-28"),
    ("input-required-result-multi-round", "2026-07-28"),
    ("input-required-result-tampered-state", "2026-07-28"),
    ("server-stateless", "2026-07-28"),
]


def test_where_it_is_absent_that_is_said_and_no_fault(tmp_path: Path) -> None:
    """Another prefix, as of a machine without npm."""
    code = "import sys; sys.prefix = sys.argv[1]; import tests.conformance.run as run, asyncio, pathlib; "
    code += "import tests.conformance.suite as suite; suite.ROOT = pathlib.Path(sys.argv[1]); "
    code += "raise SystemExit(asyncio.run(run.main()))"
    env = dict(os.environ, PYTHONPATH=os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", ""))))
    line = [sys.executable, "-c", code, str(tmp_path)]
    ended = subprocess.run(line, capture_output=True, text=True, env=env, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"conformance: tested as absent; {ABSENT}\n"


def test_everything_that_is_left_out_has_a_reason() -> None:
    left = left_out()
    reasons = [reason for found in (*left.scenarios.values(), left.checks) for reason in found.values()]
    assert all(len(reason.split()) >= 4 for reason in reasons)


async def test_nothing_is_left_out_that_the_suite_does_not_have() -> None:
    if absence():
        assert script() is None
        return
    assert await stale() == ()


async def test_every_scenario_of_a_login_by_code_is_run() -> None:
    if absence():
        assert script() is None
        return
    run = {name for era in (*ERAS, OTHERS) for name in await wanted("client", era)}
    assert len([name for name in run if name.startswith("auth/")]) >= 31
    assert set(left_out().scenarios["client"]) & run == set()


@pytest.mark.parametrize(("name", "era"), CLIENT)
async def test_our_client_passes(name: str, era: str) -> None:
    if absence():
        assert script() is None
        return
    ran = await run_client(name, era)
    assert ran.is_green and ran.passed == ran.of > 0, ran.told


async def test_mcp_serve_passes() -> None:
    if absence():
        assert script() is None
        return
    async with serving() as url:
        for name, era in SERVER:
            ran = await run_server(name, era, url)
            assert ran.is_green and ran.passed > 0, ran.told
