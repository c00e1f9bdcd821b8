"""Reads what `cargo test` writes: libtest's text, and the compiler's errors before it."""

import re
from collections.abc import Iterator

from cockpit.builtin.run_tests.outcomes import Failure, Outcomes, first_lines

RESULT = re.compile(
    r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;"
    r".*?(?:finished in ([\d.]+)s)?$",
    re.M,
)
BLOCK = re.compile(r"^---- (?P<name>.+?) stdout ----\n(?P<body>.*?)(?=^---- |^failures:$|\Z)", re.M | re.S)
PANIC = re.compile(
    r"^thread '.*?'(?: \(\d+\))? panicked at (?P<path>[^\s:][^:\n]*):(?P<line>\d+):\d+:\n", re.M
)
OLD_PANIC = re.compile(
    r"^thread '.*?' panicked at '(?P<said>.*)', (?P<path>[^\s:,]+):(?P<line>\d+):\d+$", re.M | re.S
)
NOT_PANICKED = re.compile(r" at (?P<path>[^\s:]+):(?P<line>\d+):\d+")
COMPILE = re.compile(
    r"^error(?:\[\w+\])?: (?P<said>[^\n]+)\n\s+--> (?P<path>[^:\n]+):(?P<line>\d+):\d+", re.M
)


def parse_cargo(output: str) -> Outcomes:
    """Counts of all test binaries together."""
    output = output.replace("\r\n", "\n")
    passed = failed = skipped = 0
    seconds = 0.0
    for found in RESULT.finditer(output):
        passed, failed, skipped = passed + int(found[1]), failed + int(found[2]), skipped + int(found[3])
        seconds += float(found[4] or 0)
    failures = tuple(_failures(output))
    if passed + failed + skipped:
        return Outcomes(passed, failed, skipped, 0, seconds, failures)
    broken = tuple(_compile_errors(output))
    note = "the code does not compile" if broken else ""
    return Outcomes(errors=len(broken), seconds=seconds, failures=broken, note=note)


def _failures(output: str) -> Iterator[Failure]:
    for found in BLOCK.finditer(output):
        name, body = found["name"].removesuffix(" - should panic"), found["body"]
        if place := PANIC.search(body):
            said = body[place.end() :]
        elif place := OLD_PANIC.search(body):
            said = place["said"]
        else:
            place, said = NOT_PANICKED.search(body), body
        said = said.split("stack backtrace:")[0].split("\nnote: run with")[0]
        path, line = (place["path"], int(place["line"])) if place else ("", 0)
        yield Failure(name, path.removeprefix("./"), line, first_lines(said))


def _compile_errors(output: str) -> Iterator[Failure]:
    for found in COMPILE.finditer(output):
        yield Failure("compile error", found["path"], int(found["line"]), found["said"], is_error=True)
