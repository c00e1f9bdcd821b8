"""Which keys a settings file may hold, so that a misspelt one is said instead of ignored."""

import difflib
from collections.abc import Iterator, Mapping

# A table maps to its keys; None takes any key below it.
KNOWN: Mapping[str, frozenset[str] | None] = {
    "mode": None,
    "models": frozenset({"default", "fallback", "tiers", "window"}),
    "limits": frozenset({"steps", "tool_calls", "seconds", "tokens", "money", "session_money", "stop_file"}),
    "approvals": frozenset({"seconds"}),
    "permissions": frozenset({"allow", "ask", "deny"}),
    "plugins": None,
    "redaction": frozenset({"file_reads"}),
    "sandbox": frozenset({"use", "hosts"}),
    "projects": None,
    "agents": frozenset({"limit", "depth", "steps", "tokens", "output", "seconds"}),
    "skills": frozenset({"disabled"}),
    "hooks": frozenset({"disabled"}),
    "mcp": frozenset({"disabled", "connect_seconds", "call_seconds", "expose_tools"}),
}


def strangers(table: Mapping[str, object], source: str) -> Iterator[str]:
    """A sentence for each key of a file that means nothing, with the key it may have meant."""
    for key, value in table.items():
        if key not in KNOWN:
            yield _sentence(source, key, KNOWN)
            continue
        inner = KNOWN[key]
        if inner is None or not isinstance(value, Mapping):
            continue
        for name in value:
            if name not in inner:
                yield _sentence(source, f"{key}.{name}", [f"{key}.{one}" for one in inner])


def _sentence(source: str, key: str, known: Mapping[str, object] | list[str]) -> str:
    near = difflib.get_close_matches(key, list(known), 1, 0.5)
    hint = f"; did you mean `{near[0]}`?" if near else f"; known: {', '.join(sorted(known))}"
    return f"{source}: `{key}` is no setting and has no effect{hint}"
