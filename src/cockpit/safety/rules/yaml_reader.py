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
        return SettingsInvalid(
            f"{self.file}:{self.line}: {message}", "see docs/safety/policy.md for the form of a rule"
        )

    def table(self, allowed: frozenset[str]) -> "dict[str, _YamlNode]":
        from yaml.nodes import MappingNode

        if not isinstance(self.node, MappingNode):
            raise self.fault("expected a table of keys")
        table: dict[str, _YamlNode] = {}
        for key, value in self.node.value:
            name = str(key.value)
            if name not in allowed:
                raise _YamlNode(key, self.file).fault(
                    f"unknown key `{name}`; known keys are {', '.join(sorted(allowed))}"
                )
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

        return (
            self.text().split()
            if isinstance(self.node, ScalarNode)
            else [item.text() for item in self.items()]
        )


def parse_rules(text: str, file: str) -> list[CommandRule]:
    """The rules of a file. Raises `SettingsInvalid` naming file and line."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise SettingsInvalid(
            f"{file}:{line}: not valid YAML: {getattr(error, 'problem', error)}", "correct the YAML"
        ) from error
    if root is None:
        return []
    top = _YamlNode(root, file).table(frozenset({"rules"}))
    rules = [_rule(item) for item in top["rules"].items()] if "rules" in top else []
    location: dict[str, int] = {}
    for rule in rules:
        if rule.id in location:
            raise SettingsInvalid(
                f"{file}:{rule.line}: duplicate rule id `{rule.id}`; line {location[rule.id]} has it too",
                "rename one of the two rules",
            )
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
    return CommandRule(
        id=name,
        level=_level(level),
        programs=tuple(argv["program"].texts()),
        risk=_risk(table),
        capabilities=_capabilities(table),
        subcommands=frozenset(argv["subcommand"].texts()) if "subcommand" in argv else frozenset(),
        options=_options(argv["options_allow"]) if "options_allow" in argv else {},
        options_any=tuple(argv["options_any"].texts()) if "options_any" in argv else (),
        positional=_types(argv["positional"]) if "positional" in argv else (),
        first_unless=frozenset(argv["first_unless"].texts()) if "first_unless" in argv else frozenset(),
        whole="whole" in argv and argv["whole"].text() == "true",
        needs=_needs(table),
        reason=table["reason"].text(),
        alternative=table["alternative"].text() if "alternative" in table else "",
        match=tuple(example.text() for example in examples["match"].items()) if "match" in examples else (),
        not_match=tuple(example.text() for example in examples["not_match"].items())
        if "not_match" in examples
        else (),
        line=at.line,
    )


def _level(text: str) -> "Level":
    return next(level for level in LEVEL_RANK if level == text)


def _risk(table: "dict[str, _YamlNode]") -> int:
    if "risk" not in table:
        return {"allow": 0, "ask": 40, "deny": 95}[table["level"].text()]
    text = table["risk"].text()
    if not text.isdigit() or int(text) > 100:
        raise table["risk"].fault(f"invalid `risk` {text!r}; use a number from 0 to 100")
    return int(text)


def _needs(table: "dict[str, _YamlNode]") -> str:
    if "needs" not in table:
        return ""
    if (text := table["needs"].text()) not in ("sandbox", "git"):
        raise table["needs"].fault(f"unknown `needs` {text!r}; choose sandbox or git")
    return text


def _capabilities(table: "dict[str, _YamlNode]") -> frozenset[Capability]:
    expected = table["capabilities"].texts() if "capabilities" in table else []
    for argument in expected:
        if argument not in CAPABILITIES:
            raise table["capabilities"].fault(
                f"unknown capability {argument!r}; known are {', '.join(sorted(CAPABILITIES))}"
            )
    return frozenset(capability for capability in get_args(Capability) if capability in expected)


def _types(at: _YamlNode) -> tuple[str, ...]:
    result = tuple(at.texts())
    for finding in result:
        if finding not in OPERAND_TYPES and not finding.startswith(("=", "!", "/")):
            raise at.fault(
                f"unknown operand type {finding!r}; known are {', '.join(sorted(OPERAND_TYPES))}, =WORD|"
                f"WORD, !WORD, /REGEX"
            )
    return result


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
        elif re.fullmatch(r"--[\w.-]+|-#|-[\w@-]|[+]\w+", text) or (
            text.startswith("-") and text.endswith("!")
        ):
            table[text.rstrip("!")] = ""
        elif re.fullmatch(r"-[\w@]+", text):
            table.update({f"-{letter}": "" for letter in text[1:]})
        else:
            raise at.fault(f"invalid option {text!r}")
    return table


if TYPE_CHECKING:
    from cockpit.plugin.safety import Level
