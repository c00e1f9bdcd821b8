"""Optional parts of a machine, such as bubblewrap or a language server: visible skips where one is absent."""

import os
from typing import NoReturn

import pytest

REQUIRED = "COCKPIT_TEST_PARTS"


def skip_without(part: str, reason: str) -> NoReturn:
    """Skip the test because `part` is absent, or fail it where the environment promises that part.

    `COCKPIT_TEST_PARTS` lists the parts that must be there, separated by commas; `.ci/run` sets it.
    """
    if part in os.environ.get(REQUIRED, "").split(","):
        pytest.fail(f"{part} must be on this machine ({REQUIRED}), but {reason}", pytrace=False)
    pytest.skip(f"{part}: {reason}")
