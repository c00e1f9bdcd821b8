"""`cockpit doctor [--json]`: what is here, what is missing, and the one command that mends each miss."""

import argparse
import json
from collections.abc import Sequence

from cockpit.cli.checks import checks
from cockpit.cli.checks_of_code import Check

SIGNS = {"ok": "ok  ", "optional": "-   ", "missing": "MISS"}


def main(argv: Sequence[str]) -> int:
    """0 when nothing that is needed is missing, else 1."""
    parser = argparse.ArgumentParser(prog="cockpit doctor", description="Is everything here?")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(list(argv))
    found = checks()
    if given.json:
        print(json.dumps([_row(one) for one in found], ensure_ascii=False))
    else:
        _print(found)
    return 1 if any(one.state == "missing" for one in found) else 0


def _row(check: Check) -> dict[str, str]:
    return {
        "area": check.area,
        "name": check.name,
        "state": check.state,
        "found": check.found,
        "mend": check.mend,
    }


def _print(found: tuple[Check, ...]) -> None:
    area = ""
    for check in found:
        if check.area != area:
            area = check.area
            print(f"\n{area}")
        mend = f"   -> {check.mend}" if check.mend else ""
        print(f"  {SIGNS[check.state]} {check.name:22} {check.found}{mend}")
