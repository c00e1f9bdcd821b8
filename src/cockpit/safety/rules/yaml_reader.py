"""Parses a rule file. Errors name the file and the line; unknown keys are errors."""

import re
from typing import TYPE_CHECKING, get_args

from cockpit.errors import SettingsInvalid
from cockpit.plugin.tools import Capability
from cockpit.safety.findings import LEVEL_RANK
from cockpit.safety.rules.rule import OPERAND_TYPES, CommandRule
from cockpit.workspace.word_set import word_set

if TYPE_CHECKING:
    from yaml.nodes import Node

KEYS = word_set("id level risk capabilities argv reason alternative examples needs")
ARGV = word_set("program subcommand options_allow options_any positional first_unless whole")
CAPABILITIES = frozenset(get_args(Capability))


class _YamlNode:
    """A YAML value with its position."""

    def __init__(self, node: "Node", file: str) -> None:
        self.node, self.file = node, file

    @property
    def line(self) -> int:
        mark = self.node.start_mark
        return int(mark.line) + 1 if mark else 0

    def fault(self, message: str) -> SettingsInvalid:
        hint = "see docs/safety/policy.md for the form of a rule"
        return SettingsInvalid(f"{self.file}:{self.line}: {message}", hint)

    def table(self, allowed: frozenset[str]) -> "dict[str, _YamlNode]":
        from yaml.nodes import MappingNode

        if not isinstance(self.node, MappingNode):
            raise self.fault("expected a table of keys")
        table: dict[str, _YamlNode] = {}
        for key, value in self.node.value:
            name = str(key.value)
            if name not in allowed:
                known = ", ".join(sorted(allowed))
                raise _YamlNode(key, self.file).fault(f"unknown key `{name}`; known keys are {known}")
            if name in table:
                raise _YamlNode(key, self.file).fault(f"duplicate key `{name}`")
            table[name] = _YamlNode(value, self.file)
        return table

    def items(self) -> "list[_YamlNode]":
        from yaml.nodes import SequenceNode

        if not isinstance(self.node, SequenceNode):
            raise self.fault("expected a list")
        return [_YamlNode(item, self.file) for item in self.node.value]

    def text(self) -> str:
        from yaml.nodes import ScalarNode

        if not isinstance(self.node, ScalarNode):
            raise self.fault("expected text")
        return str(self.node.value)

    def texts(self) -> list[str]:
        """A list of texts; a single text is split at blanks."""
        from yaml.nodes import ScalarNode

        is_text = isinstance(self.node, ScalarNode)
        return self.text().split() if is_text else [item.text() for item in self.items()]


def parse_rules(text: str, file: str) -> list[CommandRule]:
    """The rules of a file. Raises `SettingsInvalid` naming file and line."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        reason = f"{file}:{line}: not valid YAML: {getattr(error, 'problem', error)}"
        raise SettingsInvalid(reason, "correct the YAML") from error
    if root is None:
        return []
    top = _YamlNode(root, file).table(frozenset({"rules"}))
    rules = [_rule(item) for item in top["rules"].items()] if "rules" in top else []
    location: dict[str, int] = {}
    for rule in rules:
        if rule.id in location:
            reason = f"duplicate rule id `{rule.id}`; line {location[rule.id]} has it too"
            raise SettingsInvalid(f"{file}:{rule.line}: {reason}", "rename one of the two rules")
        location[rule.id] = rule.line
    return rules


def _rule(at: _YamlNode) -> CommandRule:
    table = at.table(KEYS)
    for name in ("id", "level", "argv", "reason"):
        if name not in table:
            raise at.fault(f"the rule has no `{name}`")
    name, level = table["id"].text(), table["level"].text()
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise table["id"].fault(f"invalid id {name!r}; use lower-case letters, digits, dots and dashes")
    if level not in LEVEL_RANK:
        raise table["level"].fault(f"unknown level {level!r}; choose allow, ask or deny")
    argv = table["argv"].table(ARGV)
    if "program" not in argv:
        raise table["argv"].fault("`argv` has no `program`")
    if level == "allow" and "*" in argv["program"].texts():
        raise argv["program"].fault("an allow rule must name its programs")
    examples = table["examples"].table(frozenset({"match", "not_match"})) if "examples" in table else {}

    def words(name: str) -> list[str]:
        return argv[name].texts() if name in argv else []

    def lines(name: str) -> tuple[str, ...]:
        return tuple(example.text() for example in examples[name].items()) if name in examples else ()

    return CommandRule(
        id=name,
        level=next(known for known in LEVEL_RANK if known == level),
        programs=tuple(words("program")),
        risk=_risk(table),
        capabilities=_capabilities(table),
        subcommands=frozenset(words("subcommand")),
        options=_options(argv["options_allow"]) if "options_allow" in argv else {},
        options_any=tuple(words("options_any")),
        positional=_types(argv["positional"]) if "positional" in argv else (),
        first_unless=frozenset(words("first_unless")),
        whole="whole" in argv and argv["whole"].text() == "true",
        needs=_needs(table),
        reason=table["reason"].text(),
        alternative=table["alternative"].text() if "alternative" in table else "",
        match=lines("match"),
        not_match=lines("not_match"),
        line=at.line,
    )


def _risk(table: "dict[str, _YamlNode]") -> int:
    if "risk" not in table:
        return {"allow": 0, "ask": 40, "deny": 95}[table["level"].text()]
    text = table["risk"].text()
    if not text.isdigit() or int(text) > 100:
        raise table["risk"].fault(f"invalid `risk` {text!r}; use a number from 0 to 100")
    return int(text)


def _needs(table: "dict[str, _YamlNode]") -> str:
    text = table["needs"].text() if "needs" in table else ""
    if "needs" in table and text not in ("sandbox", "git"):
        raise table["needs"].fault(f"unknown `needs` {text!r}; choose sandbox or git")
    return text


def _capabilities(table: "dict[str, _YamlNode]") -> frozenset[Capability]:
    names = table["capabilities"].texts() if "capabilities" in table else []
    for name in names:
        if name not in CAPABILITIES:
            known = ", ".join(sorted(CAPABILITIES))
            raise table["capabilities"].fault(f"unknown capability {name!r}; known are {known}")
    return frozenset(capability for capability in get_args(Capability) if capability in names)


def _types(at: _YamlNode) -> tuple[str, ...]:
    types = tuple(at.texts())
    for kind in types:
        if kind not in OPERAND_TYPES and not kind.startswith(("=", "!", "/")):
            known = f"{', '.join(sorted(OPERAND_TYPES))}, =WORD|WORD, !WORD, /REGEX"
            raise at.fault(f"unknown operand type {kind!r}; known are {known}")
    return types


def _options(at: _YamlNode) -> dict[str, str]:
    """Parse `-abc` (letters without a value), `-n:TYPE`, `--long`, `--long=TYPE`, `--long[=]`, `-#`."""
    table: dict[str, str] = {}
    for text in at.texts():
        if text.endswith("[=]"):
            table[text[:-3]] = "?TEXT"
        elif matched := re.fullmatch(r"(--?[\w#.+-]+)[:=](\??[A-Z_]+|=[\w|.,-]+|/.+)?", text):
            kind = matched[2] or "PATTERN"
            if kind.lstrip("?") not in OPERAND_TYPES and not kind.startswith(("=", "/")):
                raise at.fault(f"unknown type {kind!r} in {text!r}")
            table[matched[1]] = kind
        elif re.fullmatch(r"--[\w.-]+|-#|-[\w@-]|[+]\w+|-.*!", text, re.S):
            table[text.rstrip("!")] = ""
        elif re.fullmatch(r"-[\w@]+", text):
            table.update({f"-{letter}": "" for letter in text[1:]})
        else:
            raise at.fault(f"invalid option {text!r}")
    return table
