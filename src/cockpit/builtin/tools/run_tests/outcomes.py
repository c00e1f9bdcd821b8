"""The outcome of a test run, as values, as text and as JSON; the same for every runner."""

from dataclasses import dataclass, replace

from cockpit.protocol.messages import Json

FAILURES_SHOWN = 30
LINES_SHOWN = 6
MAX_LINE_WIDTH = 200


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A failed test. `is_error`: it broke outside its assertions. `path` is "" and `line` 0 if unknown."""

    name: str
    path: str = ""
    line: int = 0
    message: str = ""
    is_error: bool = False

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.path and self.line else self.path


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The counts and failures of one run. `note` says what they do not show, such as a failed build."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    seconds: float = 0.0
    failures: tuple[FailedCase, ...] = ()
    note: str = ""

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.skipped + self.errors


def format_counts(outcomes: RunOutcome) -> str:
    """`2 failed, 1 error, 5 passed, 1 skipped in 0.04 s`, without the counts that are zero."""
    errors = f"{outcomes.errors} error{'s' if outcomes.errors != 1 else ''}"
    parts = [
        f"{outcomes.failed} failed" if outcomes.failed else "",
        errors if outcomes.errors else "",
        f"{outcomes.passed} passed" if outcomes.passed else "",
        f"{outcomes.skipped} skipped" if outcomes.skipped else "",
    ]
    return f"{', '.join(part for part in parts if part) or 'no tests ran'} in {outcomes.seconds:.2f} s"


def format_outcome(outcomes: RunOutcome, runner: str, handle: str = "") -> str:
    """The run as text: the counts, then each failure with its place."""
    lines = [f"{runner}: {format_counts(outcomes)}"]
    if outcomes.note:
        lines.append(outcomes.note)
    for failure in outcomes.failures[:FAILURES_SHOWN]:
        word = "ERROR" if failure.is_error else "FAILED"
        lines.append(f"{word} {failure.place} {failure.name}" if failure.place else f"{word} {failure.name}")
        lines += [f"    {line[:MAX_LINE_WIDTH]}" for line in failure.message.splitlines()[:LINES_SHOWN]]
    if (more := len(outcomes.failures) - FAILURES_SHOWN) > 0:
        lines.append(f"... and {more} more; run one file or one test to see fewer")
    if handle:
        lines.append(f'the whole output: read_result("{handle}")')
    return "\n".join(lines)


def outcome_as_json(outcomes: RunOutcome, runner: str, argv: tuple[str, ...], handle: str) -> Json:
    """The run as the data of a tool result."""
    failures: list[Json] = [
        {"name": f.name, "path": f.path, "line": f.line, "message": f.message, "error": f.is_error}
        for f in outcomes.failures
    ]
    counts: dict[str, Json] = {
        key: getattr(outcomes, key) for key in ("passed", "failed", "skipped", "errors", "note")
    }
    data: dict[str, Json] = {"runner": runner, "argv": list(argv), "failures": failures, "log": handle}
    return data | counts | {"seconds": round(outcomes.seconds, 3)}


def make_paths_relative(outcomes: RunOutcome, folder: str, prefix: str) -> RunOutcome:
    """`outcomes` with paths relative to the root. `prefix` is the path of `folder`, where the runner ran."""
    failures = (replace(case, path=_relative_path(case.path, folder, prefix)) for case in outcomes.failures)
    return replace(outcomes, failures=tuple(failures))


def _relative_path(path: str, folder: str, prefix: str) -> str:
    slashed, base = path.replace("\\", "/"), folder.replace("\\", "/").rstrip("/") + "/"
    if slashed.startswith(base):
        slashed = slashed[len(base) :]
    is_absolute = slashed.startswith("/") or slashed[1:3] == ":/"
    if not slashed or is_absolute or prefix in ("", "."):
        return slashed
    return f"{prefix}/{slashed}"


def take_first_lines(message: str, lines: int = LINES_SHOWN) -> str:
    """The first lines of `message` that are not blank."""
    filled = [line.rstrip() for line in message.splitlines() if line.strip()]
    return "\n".join(filled[:lines])
