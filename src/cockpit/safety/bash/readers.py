"""Whether a command is proven to only read, by an allow rule; and which ask and deny rules hold for it."""

import re
from dataclasses import dataclass

from cockpit.safety.bash import places, scripts
from cockpit.safety.bash.commands import Command
from cockpit.safety.bash.fitting import fits, is_open
from cockpit.safety.bash.words import MILD, UNKNOWN, Word
from cockpit.safety.rules.values import Rule
from cockpit.safety.values import Ground
from cockpit.workspace.words import words

GIT_VALUED = words(
    """
    -C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix
    """
)
TRUSTED = words("/bin /usr/bin /usr/local/bin /sbin /usr/sbin /opt/homebrew/bin")
SHELL_WORDS = words(
    """
    true false : cd pwd echo printf test [ [[ type command exit return break continue wait shift hash
    """
)


@dataclass(frozen=True, slots=True)
class Proof:
    """`rule` proves it; or `why` not."""

    rule: Rule | None = None
    why: str = ""


def subcommand(command: Command) -> tuple[str, int]:
    """The first word that is no option, and its index in `words`; ("", -1) where there is none."""
    at = 1
    while at < len(command.words):
        text = command.words[at].guess
        if command.program == "git" and text in GIT_VALUED:
            at += 2
            continue
        if not text.startswith("-"):
            return text, at
        at += 1
    return "", -1


def holding(command: Command, rules: tuple[Rule, ...]) -> list[Rule]:
    """The ask and deny rules that hold."""
    name, _ = subcommand(command)
    given = command.arguments
    return [
        rule
        for rule in rules
        if rule.level != "allow"
        and (not rule.subcommands or name in rule.subcommands)
        and (not rule.options_any or any(_has(one, option) for one in given for option in rule.options_any))
    ]


def _has(text: str, option: str) -> bool:
    if option.startswith("--"):
        return text == option or text.startswith(option + "=")
    if len(option) == 2 and option.startswith("-"):
        return text.startswith(option) or (
            re.fullmatch(r"-[a-zA-Z]+", text) is not None and option[1] in text
        )
    return text == option


def prove(command: Command, rules: tuple[Rule, ...], ground: Ground) -> Proof:
    """Whether an allow rule covers all of `command`."""
    first = command.words[0].literal
    if first is None:
        return Proof(why="what runs is only known then")
    folder, _, name = first.rpartition("/")
    if folder and folder not in TRUSTED:
        return Proof(why=f"{first} is a program of its own")
    if name in SHELL_WORDS and folder:
        return Proof(why=f"{first} is not the shell's own")
    why = ""
    for rule in rules:
        if rule.level != "allow":
            continue
        if rule.needs == "sandbox" and not ground.sandbox:
            why = why or "it is only safe inside a sandbox"
            continue
        found, at = subcommand(command) if rule.subcommands else ("", 0)
        if rule.subcommands and found not in rule.subcommands:
            continue
        if rule.needs == "git" and (fault := _git_fault(command, at, ground)):
            return Proof(why=fault)
        fault = _options(command, rule, at, ground)
        if name in ("jq", "yq") and not all(scripts.jq_reads(word.guess) for word in command.words[1:]):
            fault = "its filter reads more than its input"
        if name == "printf" and not scripts.printf_prints(command.arguments[0] if command.arguments else ""):
            fault = "%n sets a variable"
        if not fault:
            return Proof(rule)
        why = why or fault
    return Proof(why=why or "no rule knows it")


def _git_fault(command: Command, at: int, ground: Ground) -> str:
    from cockpit.safety.bash.repository import is_plain

    before = list(command.words[1:at])
    folder = command.cwd
    while before:
        one = before.pop(0).guess
        if one == "-C" and before:
            spot = places.place(before.pop(0), folder, command.near, ground)
            if not is_open(spot, ground):
                return "it looks at another folder"
            folder = spot.path
        elif one not in ("--no-pager", "--no-optional-locks", "--literal-pathspecs", "-P"):
            return f"git's option {one} is not among those that only read"
    if not ground.git_is_plain or not is_plain(folder, ground):
        return "the repository names programs that git would run"
    if any("%G" in word.guess or "%(signature" in word.guess for word in command.words):
        return "%G runs gpg"
    if command.nested and command.words[at].guess in ("log", "show", "diff", "blame", "grep", "status"):
        return "inside a string it cannot be hardened"
    return ""


def _options(command: Command, rule: Rule, at: int, ground: Ground) -> str:
    """Why an option or an operand does not fit, or ""."""
    words = list(command.words[at + 1 :])
    plain: list[Word] = []
    given: set[str] = set()
    literal = False
    while words:
        word = words.pop(0)
        text = word.text
        if command.program in ("test", "[", "[[") and text == "]":
            continue
        if (
            literal
            or not text.startswith("-")
            or text == "-"
            or (rule.positional[:1] == ("TEXT",) and rule.id != "read.test" and not _is_option(text, rule))
        ):
            if rule.whole and text in ("(", ")", "!", ","):
                continue
            if (
                text.startswith("+")
                and text != "+"
                and not _version_only(rule)
                and not rule.id.startswith("read.date")
            ):
                return f"{word.guess} is not among the options that only read"
            plain.append(word)
        elif _version_only(rule):
            plain.append(word)
        elif text == "--":
            literal = True
        elif word.literal is None and not (word.sure and _globs_in_value(text)):
            return f"{word.guess} is only known when it runs"
        elif fault := _option(word, words, rule, given, command, ground):
            return fault
        elif plain and not rule.whole and command.program != "git":
            # awk, and all of them on a Mac, take what stands behind an operand for operands.
            behind = command.words[len(command.words) - len(words) - 1]
            if behind is not word and not is_open(
                places.place(behind, command.cwd, command.near, ground), ground
            ):
                return f"{behind.guess} may be read as a file"
    if rule.options_any and not given & set(rule.options_any):
        return "without an option that only reads it changes something"
    return _operands(plain, rule, given, command, ground)


def _globs_in_value(text: str) -> bool:
    """`--include=*.py`: no file that a project has is called like that by accident or harm."""
    name, sign, value = text.partition("=")
    return bool(sign) and Word(name).literal is not None and UNKNOWN not in value and MILD not in value


def _is_option(text: str, rule: Rule) -> bool:
    return (
        bool(rule.options)
        and text.startswith("-")
        and all(f"-{letter}" in rule.options for letter in text[1:])
    )


def _version_only(rule: Rule) -> bool:
    return rule.positional[:1] != () and rule.positional[0].startswith("!-")


def _option(
    word: Word, rest: list[Word], rule: Rule, given: set[str], command: Command, ground: Ground
) -> str:
    text = word.text
    no = f"{word.guess} is not among the options that only read"
    if text.startswith("--") or rule.whole or text in rule.options:
        name, sign, value = text.partition("=")
        if text in rule.options and not sign:
            name = text
        kind = rule.options.get(name)
        if kind is None:
            return no
        given.add(name)
        if sign:
            return "" if kind and fits(Word(value), kind.lstrip("?"), command, ground) else no
        if kind and not kind.startswith("?"):
            return _value(rest, kind, command, ground) or ""
        return ""
    if "-#" in rule.options and re.fullmatch(r"-\d+", text):
        return ""
    for at, letter in enumerate(text[1:], 1):
        kind = rule.options.get(f"-{letter}")
        if kind is None:
            return no
        given.add(f"-{letter}")
        if kind.startswith("?"):
            return "" if fits(Word(text[at + 1 :]), "PATTERN", command, ground) else no
        if kind:
            if text[at + 1 :]:
                return "" if fits(Word(text[at + 1 :]), kind, command, ground) else no
            return _value(rest, kind, command, ground)
    return ""


def _value(rest: list[Word], kind: str, command: Command, ground: Ground) -> str:
    if not rest:
        return "an option has no value"
    word = rest.pop(0)
    return "" if fits(word, kind, command, ground) else f"{word.guess} is not what the option may be given"


def _operands(plain: list[Word], rule: Rule, given: set[str], command: Command, ground: Ground) -> str:
    types = list(rule.positional)
    if types and rule.first_unless & given:
        types = types[1:]
    if not types:
        return f"{plain[0].guess} is not among what it may be given" if plain else ""
    if types[0].startswith("!") and not plain:
        return "without a further word it changes something"
    if len(types) > 1 and types[-1] == "=-" and len(plain) > 1 and plain[-1].text != "-":
        return "the second operand is written"
    for at, word in enumerate(plain):
        kind = types[min(at, len(types) - 1)]
        if types[0].startswith("!") and at and len(types) == 1:
            return f"{word.guess} is one word too many"
        if not fits(word, kind, command, ground):
            return f"{word.guess} is not an operand that only reads"
    return ""
