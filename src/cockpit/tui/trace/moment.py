"""When a line is drawn, and the few figures that every drawing shares."""

from dataclasses import dataclass

MARGIN = 3
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@dataclass(frozen=True, slots=True)
class Moment:
    """What a running entry is drawn with: seconds since the epoch and the spinner's step."""

    now: float = 0.0
    step: int = 2
