"""The pass over what could not be parsed, and over texts inside other code: it only ever refuses, so it
may be rough. A syntax error must not hide what would be refused without it."""

import re

from cockpit.plugin.safety import CommandPart
from cockpit.safety.rules import RuleSet
from cockpit.safety.values import Ground

DANGEROUS = re.compile(
    r"\b(rm|dd|mkfs|wipefs|shred|chmod|chown|mv|cp|tee|find|rsync|sh|bash|dash|zsh|ksh|python|perl|"
    r"ruby|node|php|curl|wget|nc|ncat|netcat|"
    r"socat|eval|source|crontab|shutdown|reboot|halt|poweroff|init|systemctl|useradd|usermod|passwd|"
    r"visudo|insmod|modprobe|sysctl|iptables|"
    r"kill|pkill|killall|cat|scp|ln|install|truncate|launchctl|at|sudo|doas|su|git|docker|parted|"
    r"fdisk|cryptsetup|base64|setenforce|ufw|head|tail|less|cpio|tar)\b|/dev/|>"
)
SPLIT = re.compile(r";|\n|&&|\|\||&|\$\(|[(){}]|\bthen\b|\bdo\b|\belse\b")
FATAL = re.compile(
    r"\brm\s+(-\S+\s+)*-\S*[rR]\S*\s+(-\S+\s+)*(/|~|\$HOME|/\*|~/\*|/(etc|usr|bin|lib|boot|home|var|"
    r"root|sbin|opt)/?\*?)(\s|$|;|&|\||\))"
    r"|\bmkfs(\.\w+)?\s+/dev/|\bdd\s[^;|&\n]*of=/dev/[shvxn]|>\s*/dev/([shv]d|nvme|xvd)|/dev/(tcp|udp)/"
    r"|\b(curl|wget)\b[^;&\n]*\|\s*(sudo\s+)?(ba|z|da|k)?sh\b|\bbase64\s+(-d|--decode|"
    r"-D)\b[^;&\n]*\|\s*(ba|z|da)?sh\b|:\(\)\s*\{\s*:\s*\|\s*:"
    r"|>>?\s*(~|\$HOME|/root|/home/\w+)/\.(bashrc|profile|zshrc|bash_profile|ssh/authorized_keys)|"
    r">>?\s*/etc/(passwd|shadow|sudoers|cron)"
    r"|\.ssh/id_(rsa|ed25519|ecdsa)\b|\.aws/credentials|/etc/shadow|\.git/hooks/"
)
TAKERS = frozenset({"rm", "chmod", "chown", "shred"})
TREE = re.compile(
    r"/|/\*|~/?\*?|\$\{?HOME\}?/?\*?|/(etc|usr|bin|lib|boot|home|var|root|sbin|opt)/?\*?|/home/\w+/?"
)
MOST = 60
LETTERS = 4_000  # of all pieces together that are judged one by one


def is_fatal(text: str) -> bool:
    """Whether `text` holds one of the worst things in plain sight. Knows no structure at all."""
    return FATAL.search(_plain(text, False)) is not None


def refused(texts: list[str], ground: Ground, rules: RuleSet) -> list[CommandPart]:
    """A part for the first thing in `texts` that must not run, else nothing."""
    segments: dict[str, None] = {}
    for text in texts:
        plain = re.sub(r"\{([^{}\s]*,[^{}\s]*)\}", lambda found: found[1].replace(",", " "), _plain(text))
        if found := FATAL.search(_plain(text, False)):
            return [_part(found[0], "it holds what must not run, whatever stands around it")]
        for piece in (*plain.split("\n"), *SPLIT.split(plain)):
            if taken := _takes_a_tree(piece.split()):
                return [_part(taken, "it removes or opens up a tree that must stay")]
            if "\n" in text and piece != text and (part := _whole(piece, ground, rules)):
                return [part]
            if len(piece) < 2_000 and DANGEROUS.search(piece):
                segments[piece.strip()] = None
    left = LETTERS
    for segment in list(segments)[:MOST]:
        left -= len(segment)
        if left < 0:
            break
        if part := _judged(segment, ground, rules):
            return [part]
    return []


def _whole(line: str, ground: Ground, rules: RuleSet) -> CommandPart | None:
    """What the verdict on one line of several refuses, also where it is its parts together."""
    from cockpit.safety.bash.verdict import judge_bash

    if "|" not in line or len(line) > 500 or "\n" in line or not DANGEROUS.search(line):
        return None
    verdict = judge_bash(line, ground, rules).verdict
    return _part(line, verdict.reason, *verdict.rules) if verdict.level == "deny" else None


def _takes_a_tree(words: list[str]) -> str:
    """The words of a command that takes a whole tree with it, however many stand between, or ""."""
    at = next((at for at, word in enumerate(words[:8]) if word.rpartition("/")[2] in TAKERS), None)
    if at is None or not any(word.startswith("-") and "r" in word.lower() for word in words[at + 1 :]):
        return ""
    tree = next((word for word in words[at + 1 :] if TREE.fullmatch(word)), "")
    return f"{words[at]} … {tree}" if tree else ""


def _plain(text: str, spaced: bool = True) -> str:
    bare = re.sub(r"\\\n", "", text)
    bare = re.sub(r"\$\{?IFS\}?|\ue00a", " ", bare)
    return re.sub(r"[\"'`\\]", "", bare) if not spaced else re.sub(r"[\"'\\]", "", bare).replace("`", "\n")


def _judged(segment: str, ground: Ground, rules: RuleSet) -> CommandPart | None:
    from cockpit.safety.bash.commands import Flow
    from cockpit.safety.bash.judging import Setting, judge
    from cockpit.safety.bash.walk import Walk

    walk = Walk(ground)
    walk.script(segment, walk.start(), Flow())
    setting = Setting(ground, rules, walk.reading.files)
    for command in walk.reading.commands[:20]:
        part = judge(command, setting).part
        if part.level == "deny":
            return _part(segment, part.reason, *part.rules)
    if any(rule == "fork bomb" for rule, _ in walk.reading.notes):
        return _part(segment, "it starts copies of itself without end")
    return None


def _part(text: str, reason: str, *rules: str) -> CommandPart:
    return CommandPart(text[:200], (), "deny", 95, frozenset({"shell.opaque"}), rules or ("text",), reason)
