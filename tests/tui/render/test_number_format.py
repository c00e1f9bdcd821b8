"""Numbers, prices, durations and ages as short text."""

from cockpit.tui.render import number_format


def test_figures_are_short() -> None:
    assert [number_format.format_tokens(n) for n in (950, 12_345, 250_000, 1_200_000)] == [
        "950",
        "12.3k",
        "250k",
        "1.2M",
    ]
    assert [number_format.format_cost(c) for c in (None, 0.0, 0.004, 1.5)] == [
        "cost ?",
        "$0.00",
        "<$0.01",
        "$1.50",
    ]
    assert [number_format.format_duration(s) for s in (0.31, 12.4, 245, 7_380)] == [
        "0.3s",
        "12s",
        "4m 05s",
        "2h 03m",
    ]
    assert [number_format.format_clock(s) for s in (12, 3_723)] == ["00:12", "1:02:03"]
    assert [number_format.format_age(s) for s in (5, 300, 7_200, 90_000, 900_000)] == [
        "just now", "5 min ago", "2 h ago", "yesterday", "10 days ago",
    ]  # fmt: skip
