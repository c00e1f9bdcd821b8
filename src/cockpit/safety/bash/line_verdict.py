"""The pass over what could not be parsed, and over texts inside other code: it only ever refuses, so it
may be rough. A syntax error must not hide what would be refused without it.

The verdict on a bash line from those on its commands. The strictest wins; nothing found is no yes.
"""

import re

from cockpit.plugin.safety import CommandPart, Level, Verdict
from cockpit.plugin.tools import Capability
from cockpit.plugin.workspace import Profile
from cockpit.safety.bash import git
from cockpit.safety.bash.command_model import DataFlow
from cockpit.safety.bash.command_verdict import JudgedCommand, LineContext, judge_command
from cockpit.safety.bash.line_walker import LineReading, LineWalker
from cockpit.safety.bash.locations import cache_lookups
from cockpit.safety.hidden_characters import HiddenCharacters, find_hidden_characters
from cockpit.safety.policy import RuleSet
from cockpit.safety.values import ExecutionContext, JudgedLine

DANGEROUS = re.compile(
    r"\b(rm|dd|mkfs|wipefs|shred|chmod|chown|mv|cp|tee|find|rsync|sh|bash|dash|zsh|ksh|python|perl|"
    r"ruby|node|php|curl|wget|nc|ncat|netcat|"
    r"socat|eval|source|crontab|shutdown|reboot|halt|poweroff|init|systemctl|useradd|usermod|passwd|"
    r"visudo|insmod|modprobe|sysctl|iptables|"
    r"kill|pkill|killall|cat|scp|ln|install|truncate|launchctl|at|sudo|doas|su|git|docker|parted|"
    r"fdisk|cryptsetup|base64|setenforce|ufw|head|tail|less|cpio|tar)\b|/dev/|>"
)
COMMAND_SEPARATORS = re.compile(r";|\n|&&|\|\||&|\$\(|[(){}]|\bthen\b|\bdo\b|\belse\b")
FATAL_TEXT = re.compile(
    r"\brm\s+(-\S+\s+)*-\S*[rR]\S*\s+(-\S+\s+)*(/|~|\$HOME|/\*|~/\*|/(etc|usr|bin|lib|boot|home|var|"
    r"root|sbin|opt)/?\*?)(\s|$|;|&|\||\))"
    r"|\bmkfs(\.\w+)?\s+/dev/|\bdd\s[^;|&\n]*of=/dev/[shvxn]|>\s*/dev/([shv]d|nvme|xvd)|/dev/(tcp|udp)/"
    r"|\b(curl|wget)\b[^;&\n]*\|\s*(sudo\s+)?(ba|z|da|k)?sh\b|\bbase64\s+(-d|--decode|"
    r"-D)\b[^;&\n]*\|\s*(ba|z|da)?sh\b|:\(\)\s*\{\s*:\s*\|\s*:"
    r"|>>?\s*(~|\$HOME|/root|/home/\w+)/\.(bashrc|profile|zshrc|bash_profile|ssh/authorized_keys)|"
    r">>?\s*/etc/(passwd|shadow|sudoers|cron)"
    r"|\.ssh/id_(rsa|ed25519|ecdsa)\b|\.aws/credentials|/etc/shadow|\.git/hooks/"
)
TREE_REMOVERS = frozenset({"rm", "chmod", "chown", "shred"})
TREE_PATHS = re.compile(
    r"/|/\*|~/?\*?|\$\{?HOME\}?/?\*?|/(etc|usr|bin|lib|boot|home|var|root|sbin|opt)/?\*?|/home/\w+/?"
)
MAX_SEGMENTS = 60
MAX_SEGMENT_LETTERS = 4_000  # of all pieces together that are judged one by one


def holds_fatal_text(text: str) -> bool:
    """Whether `text` holds one of the worst things in plain sight. Knows no structure at all."""
    return FATAL_TEXT.search(_strip_quotes(text, False)) is not None


def find_refused(texts: list[str], ground: ExecutionContext, rules: RuleSet) -> list[CommandPart]:
    """A part for the first thing in `texts` that must not run, else nothing."""
    segments: dict[str, None] = {}
    for text in texts:
        plain = re.sub(
            r"\{([^{}\s]*,[^{}\s]*)\}", lambda found: found[1].replace(",", " "), _strip_quotes(text)
        )
        if found := FATAL_TEXT.search(_strip_quotes(text, False)):
            return [_deny_part(found[0], "it holds what must not run, whatever stands around it")]
        for piece in (*plain.split("\n"), *COMMAND_SEPARATORS.split(plain)):
            if taken := _removes_tree(piece.split()):
                return [_deny_part(taken, "it removes or opens up a tree that must stay")]
            if "\n" in text and piece != text and (part := _check_whole_line(piece, ground, rules)):
                return [part]
            if len(piece) < 2_000 and DANGEROUS.search(piece):
                segments[piece.strip()] = None
    left = MAX_SEGMENT_LETTERS
    for segment in list(segments)[:MAX_SEGMENTS]:
        left -= len(segment)
        if left < 0:
            break
        if part := _judge_segment(segment, ground, rules):
            return [part]
    return []


def _check_whole_line(line: str, ground: ExecutionContext, rules: RuleSet) -> CommandPart | None:
    """What the verdict on one line of several refuses, also where it is its parts together."""

    if "|" not in line or len(line) > 500 or "\n" in line or not DANGEROUS.search(line):
        return None
    verdict = judge_bash(line, ground, rules).verdict
    return _deny_part(line, verdict.reason, *verdict.rules) if verdict.level == "deny" else None


def _removes_tree(words: list[str]) -> str:
    """The words of a command that takes a whole tree with it, however many stand between, or ""."""
    at = next((at for at, word in enumerate(words[:8]) if word.rpartition("/")[2] in TREE_REMOVERS), None)
    if at is None or not any(word.startswith("-") and "r" in word.lower() for word in words[at + 1 :]):
        return ""
    tree = next((word for word in words[at + 1 :] if TREE_PATHS.fullmatch(word)), "")
    return f"{words[at]} … {tree}" if tree else ""


def _strip_quotes(text: str, spaced: bool = True) -> str:
    bare = re.sub(r"\\\n", "", text)
    bare = re.sub(r"\$\{?IFS\}?|\ue00a", " ", bare)
    return re.sub(r"[\"'`\\]", "", bare) if not spaced else re.sub(r"[\"'\\]", "", bare).replace("`", "\n")


def _judge_segment(segment: str, ground: ExecutionContext, rules: RuleSet) -> CommandPart | None:
    from cockpit.safety.bash.command_model import DataFlow
    from cockpit.safety.bash.command_verdict import LineContext, judge_command
    from cockpit.safety.bash.line_walker import LineWalker

    walk = LineWalker(ground)
    walk.script(segment, walk.start(), DataFlow())
    setting = LineContext(ground, rules, walk.reading.files)
    for command in walk.reading.commands[:20]:
        part = judge_command(command, setting).part
        if part.level == "deny":
            return _deny_part(segment, part.reason, *part.rules)
    if any(rule == "fork bomb" for rule, _ in walk.reading.notes):
        return _deny_part(segment, "it starts copies of itself without end")
    return None


def _deny_part(text: str, reason: str, *rules: str) -> CommandPart:
    return CommandPart(text[:200], (), "deny", 95, frozenset({"shell.opaque"}), rules or ("text",), reason)


LEVEL_RANK: dict[Level, int] = {"allow": 0, "ask": 1, "deny": 2}
# What the walk could not read, as (level, risk, reason).
NOTE_VERDICTS: dict[str, tuple[Level, int, str]] = {
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
UNSANDBOXED_CAPABILITIES: frozenset[Capability] = frozenset(
    {"priv", "container", "host.mutate", "agent.self"}
)
NETWORK_CAPABILITIES: frozenset[Capability] = frozenset({"net.egress", "pkg.install", "vcs.remote"})


def judge_bash(text: str, ground: ExecutionContext, rules: RuleSet) -> JudgedLine:
    """The verdict on `text` as bash reads it."""
    with cache_lookups():
        return _judge_text(text, ground, rules)


def _judge_text(text: str, ground: ExecutionContext, rules: RuleSet) -> JudgedLine:
    odd = find_hidden_characters(text)
    if odd is not None and odd.fatal:
        reason = f"it holds {odd.names}, which ends the text for some readers and not for others"
        return JudgedLine(_combine_parts([_note_part(text, "deny", 95, "characters", reason)], [], odd), text)
    walk = LineWalker(ground)
    reading = walk.reading
    try:
        walk.script(text, walk.start(), DataFlow())
    except RecursionError:
        # Deeper than Python goes: it asks, and what must not run is still looked for in all of it.
        reading.note("depth", text)
        reading.unread.append(text)
    setting = LineContext(ground, rules, reading.files)
    seen = [judge_command(command, setting) for command in reading.commands]
    texts = [*reading.unread, *(one for item in seen for one in item.texts)]
    refused = find_refused(texts, ground, rules) if texts else []
    notes = [*_note_parts(reading), *refused]
    if odd is not None:
        reason = f"it holds characters that hide what it says: {odd.names}"
        notes.append(_note_part(text, "ask", 70, "characters", reason))
        notes += find_refused([_drop_hidden(text)], ground, rules)
    if not reading.commands and not notes:
        notes.append(_note_part(text, "ask", 10, "empty", "there is no command in it"))
    verdict = _combine_parts([*(item.part for item in seen), *notes], seen, odd)
    return _make_line(text, verdict, seen)


def _make_line(text: str, verdict: Verdict, seen: list[JudgedCommand]) -> JudgedLine:
    if verdict.level != "allow" or not any(item.reads_git for item in seen):
        return JudgedLine(verdict, text)
    return JudgedLine(verdict, git.harden_git(text, [item.command for item in seen]), git.git_environment())


def _drop_hidden(text: str) -> str:
    """The line without its hidden characters: what a reader takes it for."""
    from cockpit.safety.hidden_characters import is_hidden

    return "".join(
        " " if is_hidden(sign) and sign in "\u00a0\r" else "" if is_hidden(sign) else sign for sign in text
    )


def _note_parts(reading: LineReading) -> list[CommandPart]:
    parts = []
    for rule, piece in dict.fromkeys(reading.notes):
        level, risk, reason = NOTE_VERDICTS[rule]
        parts.append(_note_part(piece, level, risk, rule.replace(" ", "-"), reason))
    return parts[:20]


def _note_part(text: str, level: Level, risk: int, rule: str, reason: str) -> CommandPart:
    return CommandPart(text[:200], (), level, risk, frozenset({"shell.opaque"}), (rule,), reason)


def _combine_parts(
    parts: list[CommandPart], seen: list[JudgedCommand], odd: HiddenCharacters | None
) -> Verdict:
    worst = max(parts, key=lambda part: (LEVEL_RANK[part.level], part.risk))
    capabilities = frozenset().union(*(part.capabilities for part in parts))
    if len(capabilities) > 1:
        capabilities -= {"none"}
    level, reason, risk = worst.level, worst.reason, worst.risk
    rules = tuple(
        dict.fromkeys(
            rule for part in sorted(parts, key=lambda one: -LEVEL_RANK[one.level]) for rule in part.rules
        )
    )
    classes = {name.split(".")[0] for part in parts if part.level != "allow" for name in part.capabilities}
    risk = min(100, risk + 10 * max(0, len(classes - {"none", "fs"}) - 1)) if level != "allow" else 0
    if level == "ask" and _leaks_secret(parts):
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
        sandbox=_choose_profile(level, capabilities),
        may_remember=level == "ask"
        and odd is None
        and all(part.shape for part in parts if part.level == "ask"),
        person_only=odd is not None,
        parts=tuple(parts),
        destination=next((part.destination for part in parts if part.destination), ""),
    )


def _leaks_secret(parts: list[CommandPart]) -> bool:
    """A file of secrets is read and something is sent, in one line. The environment alone is judged by
    where it flows: `env | grep X; curl Y` is ordinary."""
    reads = any("read.secret-file" in part.rules for part in parts)
    return reads and any("net.egress" in part.capabilities for part in parts)


def _choose_profile(level: Level, capabilities: frozenset[Capability]) -> Profile:
    if level == "allow":
        return "read"
    if capabilities & UNSANDBOXED_CAPABILITIES:
        return "none"
    return "net" if capabilities & NETWORK_CAPABILITIES else "build"
