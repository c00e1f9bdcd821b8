"""Whether an allow rule proves that a command only reads, and which ask and deny rules apply to it."""

import itertools
import re
from dataclasses import dataclass

from cockpit.safety.bash import filter_scripts, locations
from cockpit.safety.bash.command_model import UNKNOWN, ShellWord, SimpleCommand, unquote
from cockpit.safety.bash.filter_scripts import awk_only_prints
from cockpit.safety.bash.git import is_folder_plain
from cockpit.safety.rules.rule import CommandRule
from cockpit.safety.values import ExecutionContext
from cockpit.workspace.word_set import word_set


def fits_type(word: ShellWord, kind: str, command: SimpleCommand, context: ExecutionContext) -> bool:
    """Whether a word fits the type of an operand or an option's value."""
    if kind == "TEXT":
        return (context.sandbox or UNKNOWN not in word.text) and not (word.taints & {"secret"})
    if kind in ("READ_PATH", "NAME_PATH", "REV"):
        return _is_readable_word(word, kind, command, context)
    text = word.literal
    if kind == "GLOB" and not context.sandbox and not _is_open_pattern(word, context):
        return False
    if kind in ("PATTERN", "GLOB"):
        if context.sandbox:
            return not word.taints & {"secret"}
        return word.sure and not word.is_partly_unknown
    if text is None:
        return False
    match kind[0]:
        case "=" | "!":
            return text in kind[1:].split("|")
        case "/":
            return re.fullmatch(kind[1:], text) is not None
    match kind:
        case "NUMBER":
            return re.fullmatch(r"[+-]?\d{1,9}[bkKMGcw%]?", text) is not None
        case "NAME":
            return re.fullmatch(r"[\w.+-]+", text) is not None and not text.startswith("-")
        case "SED":
            return filter_scripts.sed_only_prints(text)
        case "AWK":
            return awk_only_prints(text)
        case _:
            return kind == "ANY"


def _is_open_pattern(word: ShellWord, context: ExecutionContext) -> bool:
    """Whether the file names a search is limited to are not names of secrets."""
    text = unquote(word.guess)
    location = locations.locate(ShellWord(text), context.root, context.root, context)
    return text.startswith("!") or is_readable_location(location, context)


def _is_readable_word(word: ShellWord, kind: str, command: SimpleCommand, context: ExecutionContext) -> bool:
    text = word.text
    if text == "-" and kind == "READ_PATH":
        return True
    if not word.sure or word.is_partly_unknown:
        # In a sandbox a reader may read anything it is given; only the known part is judged.
        location = _locate(word, command, context)
        return context.sandbox and (location.kind == "unknown" or is_readable_location(location, context))
    if kind == "REV" and re.search(r":|\.\.|[\^~@]", text):
        if word.literal is None:
            return False
        is_name = ":" not in text and "/../" not in text and not text.startswith(("/", "../"))
        return is_name or _locate(ShellWord(text.rpartition(":")[2]), command, context).rank <= 1
    if text.startswith("/dev/fd/"):
        return True
    if not is_readable_location(_locate(word, command, context), context):
        return False
    names = locations.match_glob(word, command.cwd)
    return names is not None and all(
        not name.startswith("-") and is_readable_location(_locate(ShellWord(name), command, context), context)
        for name in names
    )


def _locate(word: ShellWord, command: SimpleCommand, context: ExecutionContext) -> locations.BashLocation:
    return locations.locate(word, command.cwd, command.likely_cwd, context)


def is_readable_location(location: locations.BashLocation, context: ExecutionContext) -> bool:
    """Whether it can be read without asking: inside the workspace and not a secret."""
    return location.rank <= 1 or (
        location.kind == "protected" and locations.is_within(location.path, context.root)
    )


TRUSTED_FOLDERS = word_set("/bin /usr/bin /usr/local/bin /sbin /usr/sbin /opt/homebrew/bin")
SHELL_BUILTINS = word_set(
    "true false : cd pwd echo printf test [ [[ type command exit return break continue wait shift hash"
)


@dataclass(frozen=True, slots=True)
class ReadOnlyProof:
    """The rule that proves a command read-only, or `why` it is not proven."""

    rule: CommandRule | None = None
    why: str = ""


def find_restrictions(command: SimpleCommand, rules: tuple[CommandRule, ...]) -> list[CommandRule]:
    """The ask and deny rules that apply."""
    name, _ = command.subcommand()
    return [
        rule
        for rule in rules
        if rule.level != "allow"
        and (not rule.subcommands or name in rule.subcommands)
        and (
            not rule.options_any
            or any(_has_option(*pair) for pair in itertools.product(command.arguments, rule.options_any))
        )
    ]


def _has_option(text: str, option: str) -> bool:
    if option.startswith("--"):
        return text == option or text.startswith(option + "=")
    if len(option) == 2 and option.startswith("-"):
        bundled = re.fullmatch(r"-[a-zA-Z]+", text) is not None and option[1] in text
        return text.startswith(option) or bundled
    return text == option


def prove_read_only(
    command: SimpleCommand, rules: tuple[CommandRule, ...], context: ExecutionContext
) -> ReadOnlyProof:
    """Whether an allow rule covers all of `command`."""
    first = command.words[0].literal
    if first is None:
        return ReadOnlyProof(why="the program is only known when it runs")
    folder, _, name = first.rpartition("/")
    if folder and folder not in TRUSTED_FOLDERS:
        return ReadOnlyProof(why=f"{first} is not a system program")
    if name in SHELL_BUILTINS and folder:
        return ReadOnlyProof(why=f"{first} is not the shell's builtin")
    why = ""
    for rule in rules:
        if rule.level != "allow":
            continue
        if rule.needs == "sandbox" and not context.sandbox:
            why = why or "it is only safe in a sandbox"
            continue
        subcommand, at = command.subcommand() if rule.subcommands else ("", 0)
        if rule.subcommands and subcommand not in rule.subcommands:
            continue
        if rule.needs == "git" and (fault := _explain_git(command, at, context)):
            return ReadOnlyProof(why=fault)
        fault = _explain_options(command, rule, at, context)
        if name in ("jq", "yq") and not all(map(filter_scripts.jq_only_reads, command.arguments)):
            fault = "its filter reads more than its input"
        if name == "printf" and not filter_scripts.printf_only_prints("".join(command.arguments[:1])):
            fault = "%n sets a variable"
        if not fault:
            return ReadOnlyProof(rule)
        why = why or fault
    return ReadOnlyProof(why=why or "no rule covers it")


def _explain_git(command: SimpleCommand, at: int, context: ExecutionContext) -> str:
    before = list(command.words[1:at])
    folder = command.cwd
    while before:
        item = before.pop(0).guess
        if item == "-C" and before:
            location = locations.locate(before.pop(0), folder, command.likely_cwd, context)
            if not is_readable_location(location, context):
                return "it reads another folder"
            folder = location.path
        elif item not in ("--no-pager", "--no-optional-locks", "--literal-pathspecs", "-P"):
            return f"git's option {item} is not known to be read-only"
    if not context.git_is_plain or not is_folder_plain(folder, context):
        return "the repository's configuration names programs that git would run"
    if any("%G" in word.guess or "%(signature" in word.guess for word in command.words):
        return "%G runs gpg"
    if command.nested and command.words[at].guess in ("log", "show", "diff", "blame", "grep", "status"):
        return "git inside a string cannot be hardened"
    return ""


def _explain_options(command: SimpleCommand, rule: CommandRule, at: int, context: ExecutionContext) -> str:
    """Says why an option or an operand does not fit, or returns an empty string."""
    words = list(command.words[at + 1 :])
    plain: list[ShellWord] = []
    present: set[str] = set()
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
            takes_plus = _version_only(rule) or rule.id.startswith("read.date")
            if text.startswith("+") and text != "+" and not takes_plus:
                return f"{word.guess} is not known to be a read-only option"
            plain.append(word)
        elif _version_only(rule):
            plain.append(word)
        elif text == "--":
            literal = True
        elif word.literal is None and not (word.sure and _globs_in_value(text)):
            return f"{word.guess} is only known when it runs"
        elif fault := _explain_option(word, words, rule, present, command, context):
            return fault
        elif plain and not rule.whole and command.program != "git":
            # awk, and most programs on macOS, read words after an operand as operands.
            behind = command.words[len(command.words) - len(words) - 1]
            location = _locate(behind, command, context)
            if behind is not word and not is_readable_location(location, context):
                return f"{behind.guess} may be read as a file"
    if rule.options_any and not present & set(rule.options_any):
        return "without a read-only option it changes something"
    return _explain_operands(plain, rule, present, command, context)


def _globs_in_value(text: str) -> bool:
    """Whether it is `--include=*.py` or similar: no file has such a name, so the glob stays as it is."""
    name, sign, value = text.partition("=")
    return bool(sign) and ShellWord(name).literal is not None and not ShellWord(value).is_partly_unknown


def _is_option(text: str, rule: CommandRule) -> bool:
    letters = text[1:] if rule.options and text.startswith("-") else None
    return letters is not None and all(f"-{letter}" in rule.options for letter in letters)


def _version_only(rule: CommandRule) -> bool:
    return rule.positional[:1] != () and rule.positional[0].startswith("!-")


def _explain_option(
    word: ShellWord,
    rest: list[ShellWord],
    rule: CommandRule,
    present: set[str],
    command: SimpleCommand,
    context: ExecutionContext,
) -> str:
    text = word.text
    no = f"{word.guess} is not known to be a read-only option"
    if text.startswith("--") or rule.whole or text in rule.options:
        name, sign, value = text.partition("=")
        if text in rule.options and not sign:
            name = text
        kind = rule.options.get(name)
        if kind is None:
            return no
        present.add(name)
        if sign:
            return "" if kind and fits_type(ShellWord(value), kind.lstrip("?"), command, context) else no
        if kind and not kind.startswith("?"):
            return _explain_value(rest, kind, command, context)
        return ""
    if "-#" in rule.options and re.fullmatch(r"-\d+", text):
        return ""
    for at, letter in enumerate(text[1:], 1):
        kind = rule.options.get(f"-{letter}")
        if kind is None:
            return no
        present.add(f"-{letter}")
        if kind.startswith("?"):
            return "" if fits_type(ShellWord(text[at + 1 :]), "PATTERN", command, context) else no
        if kind:
            if text[at + 1 :]:
                return "" if fits_type(ShellWord(text[at + 1 :]), kind, command, context) else no
            return _explain_value(rest, kind, command, context)
    return ""


def _explain_value(
    rest: list[ShellWord], kind: str, command: SimpleCommand, context: ExecutionContext
) -> str:
    if not rest:
        return "an option lacks its value"
    word = rest.pop(0)
    fits = fits_type(word, kind, command, context)
    return "" if fits else f"{word.guess} is not a valid value for the option"


def _explain_operands(
    plain: list[ShellWord],
    rule: CommandRule,
    present: set[str],
    command: SimpleCommand,
    context: ExecutionContext,
) -> str:
    types = list(rule.positional)
    if types and rule.first_unless & present:
        types = types[1:]
    if not types:
        return f"{plain[0].guess} is not an expected operand" if plain else ""
    if types[0].startswith("!") and not plain:
        return "without a further operand it changes something"
    if len(types) > 1 and types[-1] == "=-" and len(plain) > 1 and plain[-1].text != "-":
        return "the second operand is written"
    for at, word in enumerate(plain):
        kind = types[min(at, len(types) - 1)]
        if types[0].startswith("!") and at and len(types) == 1:
            return f"{word.guess} is an operand too many"
        if not fits_type(word, kind, command, context):
            return f"{word.guess} is not a read-only operand"
    return ""
