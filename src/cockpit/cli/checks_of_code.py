"""The checks of `cockpit doctor` about code: language servers and grammars, this folder's first."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cockpit.cli import servers
from cockpit.core.catalog import Catalog
from cockpit.plugin.languages import Language
from cockpit.settings import trust

State = Literal["ok", "optional", "missing"]
AREA = "language servers"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding. `mend` is a command to type, empty where nothing is amiss."""

    area: str
    name: str
    state: State
    found: str
    mend: str = ""


def checks_of_code(root: str, catalog: Catalog) -> Iterator[Check]:
    """Each server once: the first of a language that is installed, or the one that would be."""
    languages = catalog.all(Language)
    told: set[str] = set()
    for one in servers.candidates(root, languages, trust.is_trusted(root) is True):
        name = one.server.name
        if name in told:
            continue
        told.add(name)
        files = f", {one.files} files here" if one.files else ""
        if one.state == "absent":
            mend = one.server.install or f"install {one.server.command[0]} and have it on the PATH"
            yield Check(AREA, name, "optional", f"not found; for {one.language}{files}", mend)
        else:
            why = f"; {one.why}" if one.why else ""
            yield Check(AREA, name, "ok", f"{one.program}; for {one.language}{files}{why}")
    yield from _grammars(languages)


def _grammars(languages: tuple[Language, ...]) -> Iterator[Check]:
    from cockpit.navigation.index.grammars import Reader

    wanted = [one for one in languages if one.grammar]
    broken = 0
    for language in wanted:
        module = language.grammar.partition(":")[0]
        try:
            Reader(language).grammar()
        except (ImportError, AttributeError, OSError, TypeError, ValueError) as error:
            broken += 1
            mend = f"pip install --force-reinstall {module.replace('_', '-')}"
            yield Check(
                AREA, f"grammar {language.name}", "optional", f"{module} does not load: {error}", mend
            )
    if wanted:
        yield Check(AREA, "grammars", "ok", f"{len(wanted) - broken} of {len(wanted)} load")
