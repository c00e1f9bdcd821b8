"""Verdicts on PowerShell command lines: read, folded, judged part by part. Runs nothing.

Two readers look at each line: ours, which never gives up, finds what is dangerous; the grammar of
tree-sitter must read it without a fault, and see the same commands, before a line counts as a reader.
"""

from cockpit.plugin.safety import CommandPart, Level, Verdict
from cockpit.safety.powershell.cursor import TOO_DEEP
from cockpit.safety.powershell.findings import RANK
from cockpit.safety.powershell.grammar import agrees
from cockpit.safety.powershell.reader import read
from cockpit.safety.powershell.scope import Scope, Seen
from cockpit.safety.powershell.signs import strange
from cockpit.safety.powershell.values import Reading
from cockpit.safety.powershell.walking import walk
from cockpit.safety.rules import RuleSet
from cockpit.safety.values import Ground, Line

MOST = 60_000


def judge(text: str, ground: Ground, rules: RuleSet) -> Line:
    """The verdict on `text` as PowerShell will read it."""
    seen = Seen(_again)
    scope = Scope(ground, rules, seen, ground.cwd)
    reading = read(text)
    walk(reading.script, scope)
    parts = [*seen.parts, *_together(text, seen), *_of_text(text, reading)]
    if all(part.level == "allow" for part in parts) and (reason := agrees(text, reading)):
        parts.append(CommandPart(text, (), "ask", 40, frozenset({"shell.opaque"}), ("ps-syntax",), reason))
    if not parts:
        parts.append(CommandPart(text, (), "ask", 10, frozenset(), ("ps-empty",), "there is no command"))
    script, environment = _hardened(text, seen)
    return Line(_verdict(tuple(parts), seen), script, environment)


def _again(text: str, scope: Scope) -> None:
    """Judge the text that an inner shell is given, in the scope of the line it stands in."""
    inner = Scope(scope.ground, scope.rules, scope.seen, scope.cwd, depth=scope.depth + 1)
    reading = read(text)
    walk(reading.script, inner)
    scope.seen.parts += _of_text(text, reading)


def _of_text(text: str, reading: Reading) -> list[CommandPart]:
    """What is said by the text itself: signs nobody sees, faults of syntax, its length."""
    found: list[CommandPart] = []
    if "\0" in text:
        found.append(_whole(text, "deny", 90, "nul", "it holds a NUL character"))
    if reason := strange(text):
        found.append(_whole(text, "ask", 60, "invisible", reason))
    if TOO_DEEP in reading.faults:
        found.append(_whole(text, "deny", 90, "ps-deep", f"{TOO_DEEP} to be read to its end"))
    elif reading.faults:
        found.append(_whole(text, "ask", 45, "ps-syntax", reading.faults[0]))
    if len(text) > MOST:
        found.append(_whole(text, "ask", 60, "ps-long", f"it is longer than {MOST:,} characters"))
    return found


def _whole(text: str, level: Level, risk: int, rule: str, reason: str) -> CommandPart:
    return CommandPart(text[:200], (), level, risk, frozenset({"shell.opaque"}), (rule,), reason)


def _together(text: str, seen: Seen) -> list[CommandPart]:
    """What only shows in the whole line: download and run, secret and network."""
    found: list[CommandPart] = []
    if seen.has_network and seen.runs_computed:
        found.append(_whole(text, "deny", 100, "ps-download-run", f"it downloads, and {seen.runs_computed}"))
    if seen.has_network and (both := seen.saved & seen.started - {""}):
        reason = f"it downloads {min(both)} and runs it"
        found.append(_whole(text, "deny", 100, "ps-download-run", reason))
    if seen.has_network and seen.reads_secret:
        found.append(
            _whole(text, "deny", 100, "ps-secret-net", "it reads a secret and speaks to the network")
        )
    if {"shadow", "delete"} <= seen.marks:
        found.append(_whole(text, "deny", 95, "ps-shadow", "it removes backups"))
    if {"get-credential", "export-clixml"} <= set(seen.names):
        found.append(_whole(text, "deny", 90, "ps-credentials", "it keeps a password in a file"))
    if seen.overlong:
        found.append(_whole(text, "ask", 60, "ps-long", "it holds more commands than are read one by one"))
    if seen.overdeep:
        found.append(_whole(text, "deny", 90, "ps-deep", "it is nested too deep to be read"))
    return found


def _verdict(parts: tuple[CommandPart, ...], seen: Seen) -> Verdict:
    worst = max(parts, key=lambda part: (RANK[part.level], part.risk))
    capabilities = frozenset(one for part in parts for one in part.capabilities)
    counted = capabilities - {"shell.opaque", "fs.read"}
    risk = worst.risk + 10 * max(0, len(counted) - 1)
    if {"secret.read", "net.egress"} <= capabilities:
        risk += 30
    matched = tuple(dict.fromkeys(rule for part in parts if part.level == worst.level for rule in part.rules))
    if worst.level == "allow":
        return Verdict("allow", "it only reads", 0, capabilities, matched, sandbox="read", parts=parts)
    alone = capabilities & {"priv", "container", "host.mutate"}
    net = capabilities & {"net.egress", "pkg.install", "vcs.remote"}
    return Verdict(
        worst.level, worst.reason, min(100, risk), capabilities, matched, worst.alternative,
        sandbox="none" if alone else "net" if net else "build",
        may_remember=worst.level == "ask" and all(one.shape for one in parts if one.level == "ask"),
        person_only="invisible" in matched,
        parts=parts, destination=seen.hosts[0] if seen.hosts else "",
    )  # fmt: skip


def _hardened(text: str, seen: Seen) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The line with the options that make its git readers harmless, put in from the back."""
    for at, words in sorted(seen.hardened, reverse=True):
        text = f"{text[:at]} {' '.join(words)}{text[at:]}"
    return text, seen.environment
