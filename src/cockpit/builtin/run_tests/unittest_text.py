"""Reads what `python -m unittest -v` writes."""

import re

from cockpit.builtin.run_tests.outcomes import Failure, Outcomes, first_lines

BLOCK = re.compile(
    r"^={70}\n(?P<word>FAIL|ERROR): (?P<title>[^\n]*)\n(?P<body>.*?)(?=^={70}\n|\Z)", re.M | re.S
)
ENDING = re.compile(r"^Ran (\d+) tests? in ([\d.]+)s\s*\n\s*\n?(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?", re.M)
FRAME = re.compile(r'^  File "(?P<path>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$', re.M)
TITLE = re.compile(r"^(?P<method>\S+) \((?P<where>[^)]*)\)(?P<sub>.*)$")


def parse_unittest(output: str) -> Outcomes:
    """Counts and failures of the last run in `output`."""
    output = output.replace("\r\n", "\n")
    ending = next(reversed([*ENDING.finditer(output)]), None)
    failures = tuple(_failure(found) for found in BLOCK.finditer(output))
    if ending is None:
        return Outcomes(failures=failures, note="unittest did not get to its summary")
    said = {word: int(number) for word, number in re.findall(r"([a-z ]+)=(\d+)", ending[4] or "")}
    said = {word.strip(): number for word, number in said.items()}
    failed, errors = said.get("failures", 0), said.get("errors", 0)
    skipped = said.get("skipped", 0) + said.get("expected failures", 0)
    # A test with sub-tests is one test that ran, however many of its parts failed.
    broken = len({failure.name.split(" [")[0] for failure in failures})
    passed = max(int(ending[1]) - broken - skipped, 0)
    failed += said.get("unexpected successes", 0)
    return Outcomes(passed, failed, skipped, errors, float(ending[2]), failures)


def _failure(found: re.Match[str]) -> Failure:
    body = found["body"].split("-" * 70 + "\n", 1)[-1].split("\n" + "-" * 70, 1)[0]
    name, module, method = found["title"], "", ""
    if title := TITLE.match(found["title"]):
        where = title["where"].removesuffix("." + title["method"])
        module = where if "_FailedTest" in where else where.rsplit(".", 1)[0]
        method = title["method"]
        name = f"{where}.{method}" if "_FailedTest" not in where else method
        if sub := title["sub"].strip():
            name += f" [{sub.strip('()[]')}]"
    path, line = _place(body, module, method)
    return Failure(name, path, line, first_lines(_message(body)), is_error=found["word"] == "ERROR")


def _place(body: str, module: str, method: str) -> tuple[str, int]:
    frames = list(FRAME.finditer(body))
    for frame in frames:
        if frame["function"] == method:
            return frame["path"], int(frame["line"])
    file = module.replace(".", "/") + ".py"
    own = [frame for frame in frames if frame["path"].replace("\\", "/").endswith(file)]
    # A module that could not be imported has no frame of its test: the last one is its own line.
    chosen = frames if "_FailedTest" in module else own or frames
    return (chosen[-1]["path"], int(chosen[-1]["line"])) if chosen else ("", 0)


def _message(body: str) -> str:
    """The part of a traceback after its last frame: the exception itself."""
    lines = body.strip().splitlines()
    start = 0
    for at, line in enumerate(lines):
        if line.startswith((" ", "Traceback (most recent call last)")):
            start = at + 1
    return "\n".join(lines[start:])
