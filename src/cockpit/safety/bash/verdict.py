"""The verdict on a bash line from those on its commands. The strictest wins; nothing found is no yes."""

from cockpit.plugin.launching import Profile
from cockpit.plugin.safety import CommandPart, Level, Verdict
from cockpit.plugin.tools import Capability
from cockpit.safety.bash import crude, hardening
from cockpit.safety.bash.commands import Flow
from cockpit.safety.bash.judging import Seen, Setting, judge
from cockpit.safety.bash.places import one_line
from cockpit.safety.bash.signs import Strange, strange
from cockpit.safety.bash.walk import Reading, Walk
from cockpit.safety.rules import RuleSet
from cockpit.safety.values import Ground, Line

ORDER: dict[Level, int] = {"allow": 0, "ask": 1, "deny": 2}
# What the walk could not read, as (level, risk, reason).
NOTES: dict[str, tuple[Level, int, str]] = {
    "syntax": ("ask", 55, "bash would not read it the way it looks: it has a syntax error"),
    "unparsed": ("ask", 70, "it is too long to read"),
    "depth": ("ask", 70, "its commands are nested too deeply to read"),
    "parts": ("ask", 70, "it holds too many commands to read"),
    "arithmetic": ("ask", 50, "arithmetic can run commands hidden in its variables"),
    "expansion": ("ask", 50, "what this expansion gives is only known when it runs"),
    "descriptor": ("ask", 60, "it keeps the number of a file in a variable, which may be PATH"),
    "subscript": ("ask", 60, "a subscript can run commands"),
    "coproc": ("ask", 45, "it leaves a command running beside the line"),
    "recursion": ("ask", 60, "a function calls itself"),
    "process output": ("ask", 45, "its output is fed to another command"),
    "fork bomb": ("deny", 100, "it starts copies of itself without end"),
}
HELD: frozenset[Capability] = frozenset({"priv", "container", "host.mutate", "agent.self"})
NETWORK: frozenset[Capability] = frozenset({"net.egress", "pkg.install", "vcs.remote"})


def judge_bash(text: str, ground: Ground, rules: RuleSet) -> Line:
    """The verdict on `text` as bash reads it."""
    with one_line():
        return _judged(text, ground, rules)


def _judged(text: str, ground: Ground, rules: RuleSet) -> Line:
    odd = strange(text)
    if odd is not None and odd.fatal:
        reason = f"it holds {odd.names}, which ends the text for some readers and not for others"
        return Line(_verdict([_note(text, "deny", 95, "characters", reason)], [], odd), text)
    walk = Walk(ground)
    reading = walk.reading
    try:
        walk.script(text, walk.start(), Flow())
    except RecursionError:
        # Deeper than Python goes: it asks, and what must not run is still looked for in all of it.
        reading.note("depth", text)
        reading.unread.append(text)
    setting = Setting(ground, rules, reading.files)
    seen = [judge(command, setting) for command in reading.commands]
    texts = [*reading.unread, *(one for item in seen for one in item.texts)]
    refused = crude.refused(texts, ground, rules) if texts else []
    notes = [*_notes(reading), *refused]
    if odd is not None:
        reason = f"it holds characters that hide what it says: {odd.names}"
        notes.append(_note(text, "ask", 70, "characters", reason))
        notes += crude.refused([_visible(text)], ground, rules)
    if not reading.commands and not notes:
        notes.append(_note(text, "ask", 10, "empty", "there is no command in it"))
    verdict = _verdict([*(item.part for item in seen), *notes], seen, odd)
    return _line(text, verdict, seen)


def _line(text: str, verdict: Verdict, seen: list[Seen]) -> Line:
    if verdict.level != "allow" or not any(item.reads_git for item in seen):
        return Line(verdict, text)
    return Line(verdict, hardening.harden(text, [item.command for item in seen]), hardening.environment())


def _visible(text: str) -> str:
    """The line without its hidden characters: what a reader takes it for."""
    from cockpit.safety.bash.signs import is_strange

    return "".join(
        " " if is_strange(sign) and sign in "\u00a0\r" else "" if is_strange(sign) else sign for sign in text
    )


def _notes(reading: Reading) -> list[CommandPart]:
    parts = []
    for rule, piece in dict.fromkeys(reading.notes):
        level, risk, reason = NOTES[rule]
        parts.append(_note(piece, level, risk, rule.replace(" ", "-"), reason))
    return parts[:20]


def _note(text: str, level: Level, risk: int, rule: str, reason: str) -> CommandPart:
    return CommandPart(text[:200], (), level, risk, frozenset({"shell.opaque"}), (rule,), reason)


def _verdict(parts: list[CommandPart], seen: list[Seen], odd: Strange | None) -> Verdict:
    worst = max(parts, key=lambda part: (ORDER[part.level], part.risk))
    capabilities = frozenset().union(*(part.capabilities for part in parts))
    if len(capabilities) > 1:
        capabilities -= {"none"}
    level, reason, risk = worst.level, worst.reason, worst.risk
    rules = tuple(
        dict.fromkeys(
            rule for part in sorted(parts, key=lambda one: -ORDER[one.level]) for rule in part.rules
        )
    )
    classes = {name.split(".")[0] for part in parts if part.level != "allow" for name in part.capabilities}
    risk = min(100, risk + 10 * max(0, len(classes - {"none", "fs"}) - 1)) if level != "allow" else 0
    if level == "ask" and _leaks(parts):
        level, risk, rules = "deny", min(100, risk + 30), ("secret.and-network", *rules)
        reason = "it reads a secret and talks to the network in one line"
    return Verdict(
        level=level,
        reason=reason,
        risk=risk,
        capabilities=capabilities,
        rules=rules,
        alternative=next(
            (part.alternative for part in parts if part.level == worst.level and part.alternative), ""
        ),
        sandbox=_profile(level, capabilities),
        may_remember=level == "ask"
        and odd is None
        and all(part.shape for part in parts if part.level == "ask"),
        person_only=odd is not None,
        parts=tuple(parts),
        destination=next((part.destination for part in parts if part.destination), ""),
    )


def _leaks(parts: list[CommandPart]) -> bool:
    """A file of secrets is read and something is sent, in one line. The environment alone is judged by
    where it flows: `env | grep X; curl Y` is ordinary."""
    reads = any("read.secret-file" in part.rules for part in parts)
    return reads and any("net.egress" in part.capabilities for part in parts)


def _profile(level: Level, capabilities: frozenset[Capability]) -> Profile:
    if level == "allow":
        return "read"
    if capabilities & HELD:
        return "none"
    return "net" if capabilities & NETWORK else "build"
