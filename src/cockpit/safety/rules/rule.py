"""One rule, as a value. Knows no file and no shell."""

from dataclasses import dataclass, field

from cockpit.plugin.safety import Level
from cockpit.plugin.tools import Capability
from cockpit.workspace.word_set import word_set

LEVEL_ORDER: dict[Level, int] = {"allow": 0, "ask": 1, "deny": 2}
OPERAND_TYPES = word_set("READ_PATH NAME_PATH WRITE_PATH PATTERN GLOB TEXT NUMBER HOST NAME REV SED AWK ANY")


@dataclass(frozen=True, slots=True)
class CommandRule:
    """What a rule says of a command's words.

    `programs` are bare names, `*` for every program; `subcommands` the first word that is no option, none
    for any. An *allow* rule holds for a command of which every option is in `options` (its value's type,
    "" for none, a leading `?` for a value that is only taken attached) and every operand fits `positional`
    (the last type repeats). `first_unless` are options that make the first operand one of the others.
    `whole` says that options are whole words behind one dash (`find -name`). `options_any` makes an ask or
    deny rule hold only where one of them is given. `needs` is `sandbox`, `git` or "".
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
