"""Numbers, prices, durations and ages as short text."""


def format_tokens(count: int) -> str:
    """`950`, `12.3k`, `1.2M`."""
    if count < 1000:
        return str(count)
    if count < 999_500:
        return f"{count / 1000:.1f}k" if count < 99_950 else f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.1f}M"


def format_cost(dollars: float | None) -> str:
    """`$0.04`; an unknown price is marked as such."""
    if dollars is None:
        return "cost ?"
    if 0 < dollars < 0.01:
        return "<$0.01"
    return f"${dollars:.2f}"


def format_duration(seconds: float) -> str:
    """`0.3s`, `12s`, `4m 05s`, `2h 03m`."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    if seconds < 60:
        return f"{seconds:.0f}s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02}s"
    return f"{minutes // 60}h {minutes % 60:02}m"


def format_clock(seconds: float) -> str:
    """`00:12`, `1:02:03`."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    if minutes < 60:
        return f"{minutes:02}:{rest:02}"
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def format_count(number: int, word: str, many: str = "") -> str:
    """`1 file`, `3 files`."""
    return f"{number:,} {word if number == 1 else many or word + 's'}"


def format_age(seconds: float) -> str:
    """`just now`, `5 min ago`, `yesterday`, `12 days ago`."""
    if seconds < 90:
        return "just now"
    if seconds < 5400:
        return f"{round(seconds / 60)} min ago"
    if seconds < 86_400:
        return f"{round(seconds / 3600)} h ago"
    days = int(seconds // 86_400)
    return "yesterday" if days == 1 else f"{days} days ago"
