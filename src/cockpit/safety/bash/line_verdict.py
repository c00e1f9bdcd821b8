"""The verdict on a bash line: the strictest of the verdicts on its commands.

Text that could not be parsed, and text inside other code, goes through a rough fallback scan that can only
deny: a syntax error must not hide what would be denied without it.
"""

import re
import shlex
from dataclasses import replace

from cockpit.plugin.safety import CommandPart, Level, Verdict
from cockpit.plugin.tools import Capability
from cockpit.plugin.workspace import Profile
from cockpit.safety.bash import git
from cockpit.safety.bash.command_model import DataFlow, LineReading
from cockpit.safety.bash.command_verdict import JudgedCommand, LineContext, judge_command
from cockpit.safety.bash.line_walker import LineWalker
from cockpit.safety.bash.locations import cache_lookups
from cockpit.safety.findings import LEVEL_RANK
from cockpit.safety.hidden_characters import HiddenCharacters, find_hidden_characters, is_hidden
from cockpit.safety.rules.rule import RuleSet
from cockpit.safety.values import ExecutionContext, JudgedLine, ask_unreadable

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
MAX_SEGMENT_LETTERS = 4_000  # total length of the pieces that are judged one by one


# Verdicts on text that could not be walked: level, risk, reason.
NOTE_VERDICTS: dict[str, tuple[Level, int, str]] = {
    "syntax": ("ask", 55, "bash would not read it as it looks: it has a syntax error"),
    "unparsed": ("ask", 70, "it is too long to read"),
    "depth": ("ask", 70, "its commands are nested too deeply to read"),
    "parts": ("ask", 70, "it has too many commands to read"),
    "arithmetic": ("ask", 50, "arithmetic can run commands hidden in its variables"),
    "expansion": ("ask", 50, "the value of this expansion is only known when it runs"),
    "descriptor": ("ask", 60, "it stores a file descriptor's number in a variable, which may be PATH"),
    "subscript": ("ask", 60, "a subscript can run commands"),
    "coproc": ("ask", 45, "it leaves a command running in the background"),
    "recursion": ("ask", 60, "a function calls itself"),
    "process output": ("ask", 45, "its output goes to another command"),
    "fork bomb": ("deny", 100, "it starts copies of itself endlessly"),
}
UNSANDBOXED_CAPABILITIES: frozenset[Capability] = frozenset(
    {"priv", "container", "host.mutate", "agent.self"}
)
NETWORK_CAPABILITIES: frozenset[Capability] = frozenset({"net.egress", "pkg.install", "vcs.remote"})
FATAL_REASON = "it contains something that must not run in any context"


def judge_bash(text: str, context: ExecutionContext, rules: RuleSet) -> JudgedLine:
    """The verdict on `text` as bash reads it. Raises nothing: a failure becomes an ask that only the user
    can answer, or a deny where the text plainly holds something fatal."""
    try:
        with cache_lookups():
            return _judge_text(text, context, rules)
    except Exception as error:  # A fault of the reader must never become an allow.
        line = ask_unreadable(text, error)
        if FATAL_TEXT.search(_strip_quotes(text, False)) is None:
            return line
        return replace(line, verdict=replace(line.verdict, level="deny", reason=FATAL_REASON, risk=95))


def judge_argv(argv: tuple[str, ...], context: ExecutionContext, rules: RuleSet) -> JudgedLine:
    """The verdict on a program that is started without a shell; `script` is its quoted form."""
    return judge_bash(shlex.join(argv), context, rules)


def _judge_text(text: str, context: ExecutionContext, rules: RuleSet) -> JudgedLine:
    hidden = find_hidden_characters(text)
    if hidden is not None and hidden.fatal:
        reason = f"it contains {hidden.names}, where some programs stop reading and others go on"
        part = _note_part(text, "deny", 95, "characters", reason)
        return JudgedLine(_combine_parts([part], hidden), text)
    walker = LineWalker(context)
    reading = walker.reading
    try:
        walker.script(text, walker.start(), DataFlow())
    except RecursionError:
        # Too deep for Python's stack: the line is asked about, and the fallback scan covers all of it.
        reading.skip("depth", text)
    line_context = LineContext(context, rules, reading.files)
    judged = [judge_command(command, line_context) for command in reading.commands]
    unread = [*reading.unread, *(inner for command in judged for inner in command.texts)]
    notes = [*_note_parts(reading), *(_find_refused(unread, context, rules) if unread else [])]
    if hidden is not None:
        reason = f"it contains characters that hide what it says: {hidden.names}"
        notes.append(_note_part(text, "ask", 70, "characters", reason))
        notes += _find_refused([_drop_hidden(text)], context, rules)
    if not reading.commands and not notes:
        notes.append(_note_part(text, "ask", 10, "empty", "it contains no command"))
    verdict = _combine_parts([*(command.part for command in judged), *notes], hidden)
    return _make_line(text, verdict, judged)


def _make_line(text: str, verdict: Verdict, judged: list[JudgedCommand]) -> JudgedLine:
    """The line in the form that is to be run: with hardened git readers where it is allowed."""
    if verdict.level != "allow" or not any(command.reads_git for command in judged):
        return JudgedLine(verdict, text)
    script = git.harden_git(text, [command.command for command in judged])
    return JudgedLine(verdict, script, git.git_environment())


def _find_refused(texts: list[str], context: ExecutionContext, rules: RuleSet) -> list[CommandPart]:
    """The fallback scan: a part for the first thing in `texts` that must not run, else an empty list."""
    segments: dict[str, None] = {}
    for text in texts:
        plain = _strip_quotes(text)
        plain = re.sub(r"\{([^{}\s]*,[^{}\s]*)\}", lambda match: match[1].replace(",", " "), plain)
        if match := FATAL_TEXT.search(_strip_quotes(text, False)):
            return [_deny_part(match[0], FATAL_REASON)]
        for piece in (*plain.split("\n"), *COMMAND_SEPARATORS.split(plain)):
            if removed := _removes_tree(piece.split()):
                return [_deny_part(removed, "it removes or opens up a tree that must stay")]
            if "\n" in text and piece != text and (part := _check_whole_line(piece, context, rules)):
                return [part]
            if len(piece) < 2_000 and DANGEROUS.search(piece):
                segments[piece.strip()] = None
    left = MAX_SEGMENT_LETTERS
    for segment in list(segments)[:MAX_SEGMENTS]:
        left -= len(segment)
        if left < 0:
            break
        if part := _judge_segment(segment, context, rules):
            return [part]
    return []


def _check_whole_line(line: str, context: ExecutionContext, rules: RuleSet) -> CommandPart | None:
    """A deny for one line of several that is denied as a whole, such as a pipeline."""
    if "|" not in line or len(line) > 500 or "\n" in line or not DANGEROUS.search(line):
        return None
    verdict = judge_bash(line, context, rules).verdict
    return _deny_part(line, verdict.reason, *verdict.rules) if verdict.level == "deny" else None


def _removes_tree(words: list[str]) -> str:
    """Shows the words of a command that removes a whole tree, or an empty string."""
    at = next((at for at, word in enumerate(words[:8]) if word.rpartition("/")[2] in TREE_REMOVERS), None)
    if at is None or not any(word.startswith("-") and "r" in word.lower() for word in words[at + 1 :]):
        return ""
    tree = next((word for word in words[at + 1 :] if TREE_PATHS.fullmatch(word)), "")
    return f"{words[at]} … {tree}" if tree else ""


def _strip_quotes(text: str, splits_backticks: bool = True) -> str:
    bare = re.sub(r"\\\n", "", text)
    bare = re.sub(r"\$\{?IFS\}?|\ue00a", " ", bare)
    if not splits_backticks:
        return re.sub(r"[\"'`\\]", "", bare)
    return re.sub(r"[\"'\\]", "", bare).replace("`", "\n")


def _judge_segment(segment: str, context: ExecutionContext, rules: RuleSet) -> CommandPart | None:
    walker = LineWalker(context)
    walker.script(segment, walker.start(), DataFlow())
    line_context = LineContext(context, rules, walker.reading.files)
    for command in walker.reading.commands[:20]:
        part = judge_command(command, line_context).part
        if part.level == "deny":
            return _deny_part(segment, part.reason, *part.rules)
    if any(rule == "fork bomb" for rule, _ in walker.reading.notes):
        return _deny_part(segment, NOTE_VERDICTS["fork bomb"][2])
    return None


def _deny_part(text: str, reason: str, *rules: str) -> CommandPart:
    return CommandPart(text[:200], (), "deny", 95, frozenset({"shell.opaque"}), rules or ("text",), reason)


def _drop_hidden(text: str) -> str:
    """The line without its hidden characters, as a reader sees it."""
    return "".join(
        " " if is_hidden(character) and character in "\u00a0\r" else "" if is_hidden(character) else character
        for character in text
    )


def _note_parts(reading: LineReading) -> list[CommandPart]:
    parts = []
    for rule, piece in dict.fromkeys(reading.notes):
        level, risk, reason = NOTE_VERDICTS[rule]
        parts.append(_note_part(piece, level, risk, rule.replace(" ", "-"), reason))
    return parts[:20]


def _note_part(text: str, level: Level, risk: int, rule: str, reason: str) -> CommandPart:
    return CommandPart(text[:200], (), level, risk, frozenset({"shell.opaque"}), (rule,), reason)


def _combine_parts(parts: list[CommandPart], hidden: HiddenCharacters | None) -> Verdict:
    worst = max(parts, key=lambda part: (LEVEL_RANK[part.level], part.risk))
    capabilities = frozenset().union(*(part.capabilities for part in parts))
    if len(capabilities) > 1:
        capabilities -= {"none"}
    level, reason, risk = worst.level, worst.reason, worst.risk
    rules = tuple(
        dict.fromkeys(
            rule for part in sorted(parts, key=lambda part: -LEVEL_RANK[part.level]) for rule in part.rules
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
        and hidden is None
        and all(part.shape for part in parts if part.level == "ask"),
        user_only=hidden is not None,
        parts=tuple(parts),
        destination=next((part.destination for part in parts if part.destination), ""),
    )


def _leaks_secret(parts: list[CommandPart]) -> bool:
    """Whether one line reads a file of secrets and sends something. The environment is not counted here, as
    `env | grep X; curl Y` is ordinary; data-flow taints cover it."""
    reads = any("read.secret-file" in part.rules for part in parts)
    return reads and any("net.egress" in part.capabilities for part in parts)


def _choose_profile(level: Level, capabilities: frozenset[Capability]) -> Profile:
    if level == "allow":
        return "read"
    if capabilities & UNSANDBOXED_CAPABILITIES:
        return "none"
    return "net" if capabilities & NETWORK_CAPABILITIES else "build"
