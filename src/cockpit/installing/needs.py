"""What distributions need of each other: conflicts with cockpit's own, and what nobody needs any more."""

import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution
from typing import TYPE_CHECKING

from cockpit.installing.environment import normal

if TYPE_CHECKING:
    from packaging.requirements import Requirement

Distributions = Mapping[str, Distribution]


def conflicts(beside: Distributions, own: Distributions) -> list[str]:
    """What does not fit, a sentence each: a need that nothing meets, and a distribution that would stand
    behind cockpit's own of the same name."""
    found = []
    for name, one in beside.items():
        if name in own:
            found.append(
                f"{name} {one.version} stands behind cockpit's own {own[name].version}, which would be used"
            )
        found += faults_of(one, beside, own)
    return found


def faults_of(one: Distribution, beside: Distributions, own: Distributions) -> list[str]:
    """The needs of one distribution that nothing meets."""
    found = []
    for requirement in _needs(one, frozenset()):
        name = normal(requirement.name)
        # cockpit's own comes first on the path: it is what would be imported.
        met = own.get(name) or beside.get(name)
        wanted = f"{one.metadata['Name']} {one.version} needs {requirement}"
        if met is None:
            found.append(f"{wanted}, which is not installed")
        elif not requirement.specifier.contains(met.version, prereleases=True):
            whose = "cockpit has" if name in own else "there is"
            found.append(f"{wanted}, {whose} {met.version}")
    return found


def orphans(beside: Distributions, asked_for: set[str]) -> set[str]:
    """The names in `beside` that nothing needs which a person asked for."""
    needed: set[tuple[str, frozenset[str]]] = set()
    waiting = [(name, frozenset[str]()) for name in asked_for]
    while waiting:
        node = waiting.pop()
        if node in needed or node[0] not in beside:
            continue
        needed.add(node)
        for requirement in _needs(beside[node[0]], node[1]):
            waiting.append((normal(requirement.name), frozenset(requirement.extras)))
    return set(beside) - {name for name, _ in needed}


def hidden(beside: Distributions, own: Distributions) -> dict[str, list[str]]:
    """By distribution beside, its modules that cockpit's own environment or Python itself hides."""
    taken = set(sys.stdlib_module_names)
    for one in own.values():
        taken |= modules_of(one)
    found = {name: sorted(modules_of(one) & taken) for name, one in beside.items() if name not in own}
    return {name: modules for name, modules in found.items() if modules}


def modules_of(one: Distribution) -> set[str]:
    """The names that a distribution can be imported by."""
    found = set()
    for file in one.files or ():
        top = file.parts[0]
        if (
            len(file.parts) > 1
            and not top.endswith((".dist-info", ".data"))
            and top not in ("..", "__pycache__")
        ):
            # A folder without an `__init__` is a namespace, which several may share.
            if len(file.parts) == 2 and file.parts[1] == "__init__.py":
                found.add(top)
        elif len(file.parts) == 1 and file.suffix == ".py":
            found.add(file.stem)
    return found


def _needs(one: Distribution, extras: frozenset[str]) -> "Iterator[Requirement]":
    """The requirements of a distribution that count here, with these extras of it."""
    from packaging.requirements import InvalidRequirement, Requirement

    for line in one.requires or ():
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement
