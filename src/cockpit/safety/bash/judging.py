"""The verdict on one command: all that was found, then the rules, then whether it is proven to read only."""

import re
from dataclasses import dataclass, field, replace

from cockpit.plugin.safety import CommandPart, Level
from cockpit.plugin.tools import Capability
from cockpit.safety.bash import code, destinations, elsewhere, files, host, operands, origins, readers, shapes
from cockpit.safety.bash.commands import Command, Flow
from cockpit.safety.bash.findings import Finding, ask
from cockpit.safety.bash.operands import Operand
from cockpit.safety.bash.words import UNKNOWN, Word
from cockpit.safety.bash.wrappers import SHELLS, TRANSPARENT
from cockpit.safety.rules import RuleSet
from cockpit.safety.rules.values import Rule
from cockpit.safety.values import Ground
from cockpit.workspace.words import words

# Variables that change no program's behaviour for the worse.
HARMLESS = re.compile(
    r"LC_\w+|LANG|LANGUAGE|TZ|NO_COLOR|CLICOLOR|CLICOLOR_FORCE|FORCE_COLOR|COLUMNS|LINES|TERM|CI|"
    r"DEBIAN_FRONTEND|GIT_PAGER=cat|[a-z][a-z0-9_]{0,30}"
)
STEERS = re.compile(
    r"(?i)(ld_|dyld_|python|perl|ruby|node_|bash_|git_|http_proxy|https_proxy|all_proxy|no_proxy|"
    r"prompt_command|ps4|ifs|path|env|shellopts|less|pager|editor|visual|rsync|ssh_)"
)
XARGS_READERS = words(
    """
    grep egrep fgrep rg wc cat head tail ls stat file md5sum sha256sum du basename dirname echo
    """
)


DECLARERS = words("export local readonly declare typeset")
# Names that lines use for themselves. No program asks for them.
SCRATCH = re.compile(
    r"[A-Z]|(?!TMPDIR)(SRC|OUT|TMP|LOG|TEST|BUILD|DIST|BASE|ROOT|WORK|PROJECT|REPO|TARGET|CURRENT|INPUT|OUTPUT|OLD|NEW)?_?"
    r"(FILE|FILES|FILENAME|DIR|DIRS|FOLDER|NAME|NAMES|LINE|LINES_|COUNT|TOTAL|NUM|SUM|BRANCH|COMMIT|HASH|SHA|"
    r"VERSION|PATTERN|RESULT|RESULTS|OUTPUT|LIST|ITEM|ITEMS|ROOT|SRC|DST|DEST|START|END|FROM|TO|DATE|NOW|"
    r"MSG|MESSAGE|TEXT|QUERY|WORD|EXT|SIZE|MAX|MIN|REPO|TAG|AUTHOR|SINCE|PKG|PACKAGE|MODULE|CLASS|FUNC)\d?"
)


WRAPPER = Rule("wrapper", "allow", (), reason="it adds nothing of its own")


@dataclass(frozen=True, slots=True)
class Seen:
    """A command with its verdict, and the texts in it that a shell may yet be given."""

    command: Command
    part: CommandPart
    texts: tuple[str, ...] = ()
    reads_git: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """What is the same for all commands of a line."""

    ground: Ground
    rules: RuleSet
    written: dict[str, Flow] = field(default_factory=dict)


def judge(command: Command, setting: Setting) -> Seen:
    """One command."""
    ground = setting.ground
    if ground.sandbox and command.under[-1:] == ("xargs",) and command.program in XARGS_READERS:
        # Held in, a reader may read whatever names it is given; what is known of them still counts.
        command = replace(command, words=tuple(word for word in command.words if UNKNOWN not in word.text))
    named = operands.operands(command, ground)
    inline, texts = code.look(command, ground)
    if command.stdin.text and command.program not in SHELLS and origins.runs_stdin(command):
        texts.append(command.stdin.text)
    found = [
        *files.look(command, named, ground),
        *elsewhere.look(command, ground),
        *origins.look(command, named, setting.written),
        *host.look(command, ground),
        *inline,
        *_assignments(command),
    ]
    proven, reads_git = "", False
    if command.words:
        found, proof = _ruled(command, named, found, setting)
        if proof is not None:
            proven, reads_git = proof.id, proof.needs == "git"
    return Seen(command, _part(command, named, found, proven, ground), tuple(texts), reads_git=reads_git)


def _ruled(
    command: Command, named: list[Operand], found: list[Finding], setting: Setting
) -> tuple[list[Finding], Rule | None]:
    """What was found, with what the rules say; and the rule that proves the command, or None."""
    held = readers.holding(command, setting.rules.of(command.program))
    proof = _proof(command, named, setting)
    if proof.rule is not None:
        # What only describes the program does not count where its very words are proven to read.
        held = [rule for rule in held if rule.source != "built-in" or rule.level == "deny"]
        found = [
            one
            for one in found
            if one.level == "deny"
            or one.rule.startswith(("write.", "assign"))
            or one.rule in ("privilege", "code.unknown", "mode")
        ]
        found += _redirected(named, command, setting.ground.sandbox)
    found += [
        Finding(
            rule.level,
            rule.id,
            rule.risk,
            rule.capabilities,
            f"{command.program}: {rule.reason}",
            rule.alternative,
            destinations.of(command) if "net.egress" in rule.capabilities else "",
        )
        for rule in held
    ]
    if proof.rule is None and not found:
        found.append(ask("unknown", f"{command.words[0].guess}: {proof.why}", "code.exec", risk=45))
    return found, proof.rule


def _redirected(named: list[Operand], command: Command, held: bool) -> list[Finding]:
    """Redirections that read elsewhere still count for a proven reader."""
    targets = {id(item.target) for item in command.redirects}
    return [
        ask("read.outside", one.place.reason, "fs.read", "fs.outside", risk=30)
        for one in named
        if id(one.word) in targets
        and not one.written
        and one.place.rank > 1
        and not (held and one.place.kind == "unknown")
    ]


def _proof(command: Command, named: list[Operand], setting: Setting) -> readers.Proof:
    name = command.program
    proof = readers.prove(command, setting.rules.of(name), setting.ground)
    if proof.rule is not None:
        return proof
    if name in TRANSPARENT and len(command.words) > 1 and _plain_wrapper(command):
        return readers.Proof(WRAPPER)
    if (
        name in ("bash", "sh")
        and len(command.words) == 3
        and command.words[1].literal == "-c"
        and command.words[2].literal
    ):
        return readers.Proof(WRAPPER)
    if name == "xargs" and setting.ground.sandbox and _plain_xargs(command):
        return readers.Proof(WRAPPER)
    if name in DECLARERS and len(command.words) == 1 and command.assignments:
        return readers.Proof(WRAPPER)
    if name == "find" and setting.ground.sandbox and (bare := _without_readers(command)) is not None:
        return readers.prove(bare, setting.rules.of(name), setting.ground)
    return proof


def _plain_wrapper(command: Command) -> bool:
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


def _without_readers(command: Command) -> Command | None:
    """A search without its `-exec reader ... ;`, None where it runs anything else."""
    kept: list[Word] = []
    words = list(command.words)
    while words:
        word = words.pop(0)
        if word.literal not in ("-exec", "-execdir"):
            kept.append(word)
            continue
        if not words or words[0].literal not in XARGS_READERS:
            return None
        while words and words[0].guess not in (";", "+"):
            words.pop(0)
        if not words:
            return None
        words.pop(0)
    return replace(command, words=tuple(kept))


def _plain_xargs(command: Command) -> bool:
    words = [word.guess for word in command.words[1:]]
    while words and (
        re.fullmatch(r"-[0r]+|-n\d*|-I\{\}|-I|-P\d*|-L\d*|-d", words[0])
        or words[0] in ("{}",)
        or words[0].isdigit()
    ):
        words.pop(0)
    return bool(words) and words[0] in XARGS_READERS


def _assignments(command: Command) -> list[Finding]:
    found = []
    for name, word in command.assignments:
        if name == "IFS" and command.program == "read":
            continue
        if STEERS.match(name) or not (HARMLESS.fullmatch(name) or SCRATCH.fullmatch(name)):
            strong = re.match(r"LD_PRELOAD|LD_AUDIT|DYLD_INSERT|BASH_ENV|PROMPT_COMMAND", name)
            found.append(
                ask("assign", f"{name} changes how programs behave", "code.exec", risk=75 if strong else 40)
            )
        elif word.taints & {"secret"}:
            found.append(ask("assign.secret", f"{name} keeps a secret", "secret.read", risk=50))
    return found


def _part(
    command: Command, named: list[Operand], found: list[Finding], proven: str, ground: Ground
) -> CommandPart:
    order = {"allow": 0, "ask": 1, "deny": 2}
    worst = max(found, key=lambda one: (order[one.level], one.risk), default=None)
    level: Level = worst.level if worst else "allow"
    capabilities: set[Capability] = set().union(*(one.capabilities for one in found)) if found else set()
    if not capabilities:
        capabilities = {"fs.read"} if any(not one.written for one in named) else {"none"}
    if command.program in ("cat", "grep", "rg", "ls", "find", "head", "tail") and level == "allow":
        capabilities = {"fs.read"}
    risk = (
        min(
            100,
            max((one.risk for one in found), default=0) + 10 * max(0, len(capabilities - {"fs.read"}) - 1),
        )
        if found
        else 0
    )
    argv = tuple(word.literal for word in command.words)
    ids = tuple(dict.fromkeys([*(one.rule for one in found), *([proven] if proven else [])]))
    return CommandPart(
        text=command.text,
        argv=argv,
        level=level,
        risk=risk,
        capabilities=frozenset(capabilities),
        rules=ids,
        reason=worst.reason if worst else "",
        alternative=next((one.alternative for one in found if one.alternative), ""),
        reads=tuple(
            dict.fromkeys(one.place.path for one in named if not one.written and one.place.kind != "unknown")
        ),
        writes=tuple(
            dict.fromkeys(one.place.path for one in named if one.written and one.place.kind != "unknown")
        ),
        destination=next((one.destination for one in found if one.destination), ""),
        shape=shapes.of(command, found, level),
    )
