"""The verdict on one command: what the checks find, what rules say, and whether it is proven to only read.

Also builds the allow rule that is stored when the user approves a command: parsed words, never a text prefix.
"""

import re
from dataclasses import dataclass, field, replace

from cockpit.plugin.safety import CommandPart, Level
from cockpit.plugin.tools import Capability
from cockpit.safety.bash import (
    file_checks,
    git,
    host_checks,
    inline_code,
    network_checks,
    operands,
    read_only_proof,
)
from cockpit.safety.bash.command_model import UNKNOWN, DataFlow, ShellWord, SimpleCommand
from cockpit.safety.bash.operands import FileOperand
from cockpit.safety.bash.wrappers import RUNNERS, SHELLS, TRANSPARENT
from cockpit.safety.findings import SafetyFinding, ask, find_strictest
from cockpit.safety.rules.rule import CommandRule, RuleSet
from cockpit.safety.values import ExecutionContext
from cockpit.workspace.processes.shells import command_pattern
from cockpit.workspace.word_set import word_set

NEVER_REMEMBERED: frozenset[Capability] = frozenset(
    {
        "secret.read",
        "persist",
        "agent.self",
        "priv",
        "code.remote",
        "shell.opaque",
        "host.mutate",
        "fs.delete",
    }
)
NEVER_REMEMBERED_RULES = word_set(
    "git.override git.config-runs net.send net.tunnel write.outside write.unknown assign code.unknown "
    "container.privileged environment read.secret-file xargs mode.open"
)

# A command inside these wrappers is stored as if it stood alone.
TRANSPARENT_WRAPPERS = TRANSPARENT | {name for name, _ in RUNNERS}


def make_remembered_rule(command: SimpleCommand, findings: list[SafetyFinding], level: Level) -> str:
    """The rule stored for an approved command: `pytest *`, `git commit *` or the whole command; "" for a
    command that is asked about every time."""
    if level == "deny" or not TRANSPARENT_WRAPPERS.issuperset(command.wrappers):
        return ""
    if any(item.capabilities & NEVER_REMEMBERED or item.rule in NEVER_REMEMBERED_RULES for item in findings):
        return ""
    # The words of a rule do not cover a redirection: permission to run pytest is not permission to
    # overwrite a file.
    redirects = any(redirect.writes for redirect in command.redirects)
    if redirects and any(finding.rule == "write.inside" for finding in findings):
        return ""
    words = command.words
    unknown = next((at for at, word in enumerate(words) if word.literal is None), len(words))
    known = tuple(word.text for word in words[:unknown])
    if unknown == len(words):
        return command_pattern(known) if known else ""
    pattern = command_pattern(known) if len(known) > 1 else ""
    return pattern if pattern.endswith(" *") else ""


# Variables that do no harm to the behaviour of programs.
HARMLESS_VARIABLES = re.compile(
    r"LC_\w+|LANG|LANGUAGE|TZ|NO_COLOR|CLICOLOR|CLICOLOR_FORCE|FORCE_COLOR|COLUMNS|LINES|TERM|CI|"
    r"DEBIAN_FRONTEND|GIT_PAGER=cat|[a-z][a-z0-9_]{0,30}"
)
STEERING_VARIABLES = re.compile(
    r"(?i)(ld_|dyld_|python|perl|ruby|node_|bash_|git_|http_proxy|https_proxy|all_proxy|no_proxy|"
    r"prompt_command|ps4|ifs|path|env|shellopts|less|pager|editor|visual|rsync|ssh_)"
)
XARGS_READERS = word_set(
    "grep egrep fgrep rg wc cat head tail ls stat file md5sum sha256sum du basename dirname echo"
)


DECLARING_COMMANDS = word_set("export local readonly declare typeset")
# Names that scripts use for their own variables and that no program reads.
SCRATCH_VARIABLES = re.compile(
    r"[A-Z]|(?!TMPDIR)(SRC|OUT|TMP|LOG|TEST|BUILD|DIST|BASE|ROOT|WORK|PROJECT|REPO|TARGET|CURRENT|INPUT|OUTPUT|OLD|NEW)?_?"
    r"(FILE|FILES|FILENAME|DIR|DIRS|FOLDER|NAME|NAMES|LINE|LINES_|COUNT|TOTAL|NUM|SUM|BRANCH|COMMIT|HASH|SHA|"
    r"VERSION|PATTERN|RESULT|RESULTS|OUTPUT|LIST|ITEM|ITEMS|ROOT|SRC|DST|DEST|START|END|FROM|TO|DATE|NOW|"
    r"MSG|MESSAGE|TEXT|QUERY|WORD|EXT|SIZE|MAX|MIN|REPO|TAG|AUTHOR|SINCE|PKG|PACKAGE|MODULE|CLASS|FUNC)\d?"
)


WRAPPER_RULE = CommandRule("wrapper", "allow", (), reason="it adds no effect of its own")


@dataclass(frozen=True, slots=True)
class JudgedCommand:
    """A command with its verdict, and the texts in it that may be given to a shell."""

    command: SimpleCommand
    part: CommandPart
    texts: tuple[str, ...] = ()
    reads_git: bool = False


@dataclass(frozen=True, slots=True)
class LineContext:
    """The values that are the same for all commands of a line."""

    context: ExecutionContext
    rules: RuleSet
    written: dict[str, DataFlow] = field(default_factory=dict)


def judge_command(command: SimpleCommand, setting: LineContext) -> JudgedCommand:
    """Judge one command."""
    context = setting.context
    if context.sandbox and command.wrappers[-1:] == ("xargs",) and command.program in XARGS_READERS:
        # In a sandbox a reader may read any names it is given; only the known ones are judged.
        command = replace(command, words=tuple(word for word in command.words if UNKNOWN not in word.text))
    file_operands = operands.list_file_operands(command, context)
    inline, texts = inline_code.check_inline_code(command, context)
    if command.stdin.text and command.program not in SHELLS and network_checks.runs_standard_input(command):
        texts.append(command.stdin.text)
    findings = [
        *file_checks.check_files(command, file_operands, context),
        *git.check_origin_tree(command, context),
        *network_checks.check_network(command, file_operands, setting.written),
        *host_checks.check_host(command),
        *inline,
        *_check_assignments(command),
    ]
    proof: CommandRule | None = None
    if command.words:
        findings, proof = _apply_rules(command, file_operands, findings, setting)
    part = _make_part(command, file_operands, findings, proof)
    return JudgedCommand(command, part, tuple(texts), reads_git=proof is not None and proof.needs == "git")


def _apply_rules(
    command: SimpleCommand,
    file_operands: list[FileOperand],
    findings: list[SafetyFinding],
    setting: LineContext,
) -> tuple[list[SafetyFinding], CommandRule | None]:
    """The findings together with those of the rules, and the rule that proves the command read-only."""
    restrictions = read_only_proof.find_restrictions(command, setting.rules.of(command.program))
    proof = _find_proof(command, setting)
    if proof.rule is not None:
        # Where its exact words are proven to read only, rules about the program in general do not count.
        restrictions = [rule for rule in restrictions if rule.source != "built-in" or rule.level == "deny"]
        findings = [
            finding
            for finding in findings
            if finding.level == "deny"
            or finding.rule.startswith(("write.", "assign"))
            or finding.rule in ("privilege", "code.unknown", "mode")
        ]
        findings += _check_redirected_reads(file_operands, command, setting.context.sandbox)
    for rule in restrictions:
        reason = f"{command.program}: {rule.reason}"
        remote = git.find_git_remote(command) if "net.egress" in rule.capabilities else ""
        findings.append(
            SafetyFinding(rule.level, rule.id, rule.risk, rule.capabilities, reason, rule.alternative, remote)
        )
    if proof.rule is None and not findings:
        findings.append(ask("unknown", f"{command.words[0].guess}: {proof.why}", "code.exec", risk=45))
    return findings, proof.rule


def _check_redirected_reads(
    file_operands: list[FileOperand], command: SimpleCommand, sandbox: bool
) -> list[SafetyFinding]:
    """Reads by redirections outside of the workspace, which count even for a proven reader."""
    targets = {id(item.target) for item in command.redirects}
    return [
        ask("read.outside", operand.place.reason, "fs.read", "fs.outside", risk=30)
        for operand in file_operands
        if id(operand.word) in targets
        and not operand.written
        and operand.place.rank > 1
        and not (sandbox and operand.place.kind == "unknown")
    ]


def _find_proof(command: SimpleCommand, setting: LineContext) -> read_only_proof.ReadOnlyProof:
    name, words, context = command.program, command.words, setting.context
    rules = setting.rules.of(name)
    proof = read_only_proof.prove_read_only(command, rules, context)
    if proof.rule is not None:
        return proof
    if (
        (name in TRANSPARENT and len(words) > 1 and _plain_wrapper(command))
        or (name in ("bash", "sh") and len(words) == 3 and words[1].literal == "-c" and words[2].literal)
        or (name == "xargs" and context.sandbox and _plain_xargs(command))
        or (name in DECLARING_COMMANDS and len(words) == 1 and command.assignments)
    ):
        return read_only_proof.ReadOnlyProof(WRAPPER_RULE)
    if name == "find" and context.sandbox and (bare := _without_readers(command)) is not None:
        return read_only_proof.prove_read_only(bare, rules, context)
    return proof


def _plain_wrapper(command: SimpleCommand) -> bool:
    for word in command.words[1:]:
        if word.literal is None:
            return False
        if not word.guess.startswith("-"):
            return True
        if word.guess not in ("-p", "-n", "-k", "-s", "--") and not re.fullmatch(
            r"-[a-zA-Z]?\d+[a-z]?|-[oei]L|-k\d+", word.guess
        ):
            return False
    return False


def _without_readers(command: SimpleCommand) -> SimpleCommand | None:
    """A `find` command without its `-exec reader ... ;`, None where it runs anything else."""
    remaining: list[ShellWord] = []
    words = list(command.words)
    while words:
        word = words.pop(0)
        if word.literal not in ("-exec", "-execdir"):
            remaining.append(word)
            continue
        if not words or words[0].literal not in XARGS_READERS:
            return None
        while words and words[0].guess not in (";", "+"):
            words.pop(0)
        if not words:
            return None
        words.pop(0)
    return replace(command, words=tuple(remaining))


def _plain_xargs(command: SimpleCommand) -> bool:
    option = re.compile(r"-[0r]+|-n\d*|-I\{\}|-I|-P\d*|-L\d*|-d|\{\}")
    words = (word.guess for word in command.words[1:])
    program = next((word for word in words if not (option.fullmatch(word) or word.isdigit())), "")
    return program in XARGS_READERS


def _check_assignments(command: SimpleCommand) -> list[SafetyFinding]:
    findings = []
    for name, word in command.assignments:
        if name == "IFS" and command.program == "read":
            continue
        if STEERING_VARIABLES.match(name) or not (
            HARMLESS_VARIABLES.fullmatch(name) or SCRATCH_VARIABLES.fullmatch(name)
        ):
            strong = re.match(r"LD_PRELOAD|LD_AUDIT|DYLD_INSERT|BASH_ENV|PROMPT_COMMAND", name)
            findings.append(
                ask("assign", f"{name} changes how programs behave", "code.exec", risk=75 if strong else 40)
            )
        elif word.taints & {"secret"}:
            findings.append(ask("assign.secret", f"{name} stores a secret", "secret.read", risk=50))
    return findings


def _make_part(
    command: SimpleCommand,
    file_operands: list[FileOperand],
    findings: list[SafetyFinding],
    proof: CommandRule | None,
) -> CommandPart:
    worst = find_strictest(findings) if findings else None
    level: Level = worst.level if worst else "allow"
    capabilities: frozenset[Capability] = frozenset().union(*(finding.capabilities for finding in findings))
    if not capabilities:
        reads = any(not operand.written for operand in file_operands)
        capabilities = frozenset({"fs.read"} if reads else {"none"})
    if command.program in ("cat", "grep", "rg", "ls", "find", "head", "tail") and level == "allow":
        capabilities = frozenset({"fs.read"})
    risk = max((finding.risk for finding in findings), default=0)
    if findings:
        risk = min(100, risk + 10 * max(0, len(capabilities - {"fs.read"}) - 1))
    places = {
        written: dict.fromkeys(
            operand.place.path
            for operand in file_operands
            if operand.written is written and operand.place.kind != "unknown"
        )
        for written in (False, True)
    }
    return CommandPart(
        text=command.text,
        argv=tuple(word.literal for word in command.words),
        level=level,
        risk=risk,
        capabilities=capabilities,
        rules=tuple(dict.fromkeys([*(finding.rule for finding in findings), *([proof.id] if proof else [])])),
        reason=worst.reason if worst else "",
        alternative=next((finding.alternative for finding in findings if finding.alternative), ""),
        reads=tuple(places[False]),
        writes=tuple(places[True]),
        destination=next((finding.destination for finding in findings if finding.destination), ""),
        shape=make_remembered_rule(command, findings, level),
    )
