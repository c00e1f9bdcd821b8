"""The rules behind verdicts: built-in ones, a person's overrides by id, a repository's that can only
tighten. Each rule's examples are verified when it is loaded."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from cockpit.errors import SettingsInvalid
from cockpit.safety.rules.values import LEVELS, Rule
from cockpit.settings import plain


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules in force. `sources` are the files they came from; `left_out` says which rules of a
    project were not taken, and why. `by_program` finds the rules of a program."""

    sources: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    left_out: tuple[str, ...] = ()
    by_program: dict[str, tuple[Rule, ...]] = field(default_factory=dict, compare=False, repr=False)

    def of(self, program: str) -> tuple[Rule, ...]:
        """The rules for `program`, the general ones behind."""
        general = self.by_program.get("*", ())
        return (*self.by_program.get(program, ()), *general)


def load(user: Path | None = None, project: Path | None = None) -> RuleSet:
    """The built-in rules with those of `user` (overrides by id) and `project` (tightens only).

    A file that is not there adds nothing. Raises `SettingsInvalid` naming file and line.
    """
    return _together(_text(user), user, _text(project), project)


# Read anew for every line that is judged; understood and verified anew only where the words changed.
@lru_cache(maxsize=32)
def _together(own: str | None, user: Path | None, theirs: str | None, project: Path | None) -> RuleSet:
    basis = builtin()
    rules, sources, left_out = list(basis.rules), list(basis.sources), list[str]()
    if user is not None and own is not None:
        found = _understood(own, user, "user")
        sources.append(str(user))
        places = {rule.id: at for at, rule in enumerate(rules)}
        for rule in found:
            if rule.id in places:
                rules[places[rule.id]] = rule
            else:
                rules.append(rule)
    if project is not None and theirs is not None:
        found = _understood(theirs, project, "project")
        sources.append(str(project))
        present = {rule.id: rule for rule in rules}
        for rule in found:
            lower = present.get(rule.id)
            if rule.level == "allow" or (lower and LEVELS[rule.level] < LEVELS[lower.level]):
                left_out.append(
                    f"{project}:{rule.line}: {rule.id} would loosen a rule; a project can only tighten"
                )
            else:
                rules.append(rule)
    if len(sources) == len(basis.sources):
        return basis
    made = indexed(tuple(sources), tuple(rules), tuple(left_out))
    from cockpit.safety.rules.examples import verify

    verify(made, tuple(rule for rule in rules if rule.source != "built-in"))
    return made


@lru_cache(maxsize=1)
def builtin() -> RuleSet:
    """The rules that come with cockpit. Their examples are verified by the tests."""
    from cockpit.safety.rules import compiled

    files = compiled.sources()
    rules = compiled.read(files)
    if rules is None:
        rules = tuple(
            replace(rule, file=path.name)
            for path in files
            for rule in _understood(_text(path) or "", path, "built-in")
        )
    return indexed(tuple(f"built-in:{path.name}" for path in files), rules, ())


def indexed(sources: tuple[str, ...], rules: tuple[Rule, ...], left_out: tuple[str, ...]) -> RuleSet:
    """A set with its index."""
    index: dict[str, list[Rule]] = {}
    for rule in rules:
        for program in rule.programs:
            index.setdefault(program, []).append(rule)
    return RuleSet(sources, rules, left_out, {name: tuple(found) for name, found in index.items()})


def _text(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return plain.read_bytes(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"{path} cannot be read: {error}", "mend it or move it away") from error


def _understood(text: str, path: Path, source: str) -> list[Rule]:
    from cockpit.safety.rules.reading import read

    return [replace(rule, source=source, file=str(path)) for rule in read(text, str(path))]
