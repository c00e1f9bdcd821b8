"""Loads the rules in force and describes this machine as an `ExecutionContext`.

The user's rules override built-in rules by id; the rules of a trusted project can only tighten. The examples
of each user and project rule are verified when it is loaded. Runs nothing.
"""

import os
import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from cockpit import paths
from cockpit.errors import SettingsInvalid
from cockpit.safety.findings import LEVEL_RANK
from cockpit.safety.rules.rule import CommandRule, RuleSet, index_rules
from cockpit.safety.values import ExecutionContext
from cockpit.settings import file_io


def load_rules(user: Path | None = None, project: Path | None = None) -> RuleSet:
    """Load the built-in rules with those of `user` (overrides by id) and `project` (can only tighten).

    A missing file adds nothing. Raises `SettingsInvalid` naming file and line.
    """
    return _load_merged(_read_text(user), user, _read_text(project), project)


# The files are read for each judged line, but parsed and verified again only when their text has changed.
@lru_cache(maxsize=32)
def _load_merged(own: str | None, user: Path | None, theirs: str | None, project: Path | None) -> RuleSet:
    basis = load_builtin_rules()
    rules, sources, left_out = list(basis.rules), list(basis.sources), list[str]()
    if user is not None and own is not None:
        sources.append(str(user))
        places = {rule.id: at for at, rule in enumerate(rules)}
        for rule in _parse_rules(own, user, "user"):
            if rule.id in places:
                rules[places[rule.id]] = rule
            else:
                rules.append(rule)
    if project is not None and theirs is not None:
        sources.append(str(project))
        present = {rule.id: rule for rule in rules}
        for rule in _parse_rules(theirs, project, "project"):
            lower = present.get(rule.id)
            if rule.level == "allow" or (lower and LEVEL_RANK[rule.level] < LEVEL_RANK[lower.level]):
                reason = f"{rule.id} would loosen a rule; a project can only tighten rules"
                left_out.append(f"{project}:{rule.line}: {reason}")
            else:
                rules.append(rule)
    if len(sources) == len(basis.sources):
        return basis
    merged = index_rules(tuple(sources), tuple(rules), tuple(left_out))
    verify_examples(merged, tuple(rule for rule in rules if rule.source != "built-in"))
    return merged


@lru_cache(maxsize=1)
def load_builtin_rules() -> RuleSet:
    """The built-in rules. Their examples are verified by the tests."""
    from cockpit.safety.rules import compiled_rules

    files = compiled_rules.list_sources()
    rules = compiled_rules.load_compiled(files)
    if rules is None:
        rules = tuple(
            replace(rule, file=path.name)
            for path in files
            for rule in _parse_rules(_read_text(path) or "", path, "built-in")
        )
    return index_rules(tuple(f"built-in:{path.name}" for path in files), rules, ())


def _read_text(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return file_io.read_bytes(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        hint = "fix its permissions or encoding, or move it away"
        raise SettingsInvalid(f"{path} cannot be read: {error}", hint) from error


def _parse_rules(text: str, path: Path, source: str) -> list[CommandRule]:
    from cockpit.safety.rules.yaml_reader import parse_rules

    return [replace(rule, source=source, file=str(path)) for rule in parse_rules(text, str(path))]


EXAMPLE_CONTEXT = ExecutionContext(root="/proj/ws", home="/home/dev")
SANDBOXED_CONTEXT = ExecutionContext(root="/proj/ws", home="/home/dev", sandbox=True)


def verify_examples(rules: RuleSet, chosen: tuple[CommandRule, ...]) -> None:
    """Raise `SettingsInvalid` for the first example with an unexpected verdict."""
    from cockpit.safety.engine import judge_line

    for rule in chosen:
        context = SANDBOXED_CONTEXT if rule.needs == "sandbox" else EXAMPLE_CONTEXT
        for expected, lines in ((True, rule.match), (False, rule.not_match)):
            for line in lines:
                verdict = judge_line(line, "bash", context, rules).verdict
                applies = any(rule.id in part.rules for part in verdict.parts)
                if (applies and (rule.level != "allow" or verdict.level == "allow")) is not expected:
                    word = "does not match" if expected else "matches"
                    reason = f"the rule `{rule.id}` {word} its example {line!r}"
                    raise SettingsInvalid(
                        f"{rule.file}:{rule.line}: {reason}", "correct the rule or the example"
                    )


def build_context(
    root: str, cwd: str = "", sandbox: bool = False, home: str = "", reads_git: bool = True
) -> ExecutionContext:
    """The context for `root`, a real folder. `sandbox`: a full sandbox is available; `home` "" is the user's.
    With `reads_git` False the repository's configuration is not read, so that git readers ask."""
    is_plain = False
    if reads_git:
        # Not for paths: loading the reader of command lines would delay the first tool call by 10 ms.
        from cockpit.safety.bash.git import is_repository_plain

        is_plain = is_repository_plain(root)
    return ExecutionContext(
        root=root,
        home=os.path.realpath(home or Path.home()),
        cwd=cwd,
        own=list_cockpit_folders(),
        git_is_plain=is_plain,
        sandbox=sandbox,
        platform="windows" if sys.platform == "win32" else "posix",
    )


def list_cockpit_folders() -> tuple[str, ...]:
    """cockpit's own folders, as real paths."""
    return tuple(os.path.realpath(folder) for folder in (paths.config(), paths.state(), paths.cache()))


def load_active_rules(root: str, trusted: bool) -> RuleSet:
    """The built-in rules, the user's, and those of a trusted folder. Raises `SettingsInvalid`."""
    project = Path(root) / ".cockpit" / "policy.yaml" if trusted else None
    return load_rules(paths.config() / "policy.yaml", project)
