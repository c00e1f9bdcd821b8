"""Command rules and the set of rules in force, as values. Knows no file and no shell."""

from dataclasses import dataclass, field

from cockpit.plugin.safety import Level
from cockpit.plugin.tools import Capability
from cockpit.workspace.word_set import word_set

OPERAND_TYPES = word_set("READ_PATH NAME_PATH WRITE_PATH PATTERN GLOB TEXT NUMBER HOST NAME REV SED AWK ANY")


@dataclass(frozen=True, slots=True)
class CommandRule:
    """What a rule says about a command.

    `programs` are bare names, `*` for every program; `subcommands` are values of the first word that is not
    an option, empty for any. An *allow* rule applies to a command when each option is in `options` (the type
    of its value, "" for none, a leading `?` for a value that must be attached) and each operand fits
    `positional` (the last type repeats). `first_unless` are options that turn the first operand into an
    ordinary one. `whole`: options are whole words after one dash (`find -name`). With `options_any` an ask
    or deny rule applies only where one of these options is present. `needs` is `sandbox`, `git` or "".
    """

    id: str
    level: Level
    programs: tuple[str, ...]
    risk: int = 0
    capabilities: frozenset[Capability] = frozenset()
    subcommands: frozenset[str] = frozenset()
    options: dict[str, str] = field(default_factory=dict)
    options_any: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()
    first_unless: frozenset[str] = frozenset()
    whole: bool = False
    needs: str = ""
    reason: str = ""
    alternative: str = ""
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()
    source: str = "built-in"
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules in force.

    `sources` are the files they came from; `left_out` says which rules of a project were not accepted, and
    why. `by_program` finds the rules of a program.
    """

    sources: tuple[str, ...] = ()
    rules: tuple[CommandRule, ...] = ()
    left_out: tuple[str, ...] = ()
    by_program: dict[str, tuple[CommandRule, ...]] = field(default_factory=dict, compare=False, repr=False)

    def of(self, program: str) -> tuple[CommandRule, ...]:
        """The rules for `program`, followed by those for every program."""
        return (*self.by_program.get(program, ()), *self.by_program.get("*", ()))


def index_rules(
    sources: tuple[str, ...], rules: tuple[CommandRule, ...], left_out: tuple[str, ...]
) -> RuleSet:
    """A rule set with its index by program."""
    index: dict[str, tuple[CommandRule, ...]] = {}
    for rule in rules:
        for program in rule.programs:
            index[program] = (*index.get(program, ()), rule)
    return RuleSet(sources, rules, left_out, index)
