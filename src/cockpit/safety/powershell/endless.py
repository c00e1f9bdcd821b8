"""Loops and functions that start copies of programs without end."""

from collections.abc import Iterator

from cockpit.safety.powershell.aliases import full_name
from cockpit.safety.powershell.findings import Finding, deny
from cockpit.safety.powershell.scope import Scope
from cockpit.safety.powershell.values import Command, Piece, Script

STARTS = frozenset(
    {"start-process", "start-job", "start-threadjob", "invoke-item", "powershell", "pwsh", "cmd", "wt",
     "conhost", "start", "explorer", "bash", "wsl"}
)  # fmt: skip
TRUE = frozenset({"$true", "1", "!$false", "!0", "-not$false", "$true-eq$true", "1-eq1"})
NEVER = frozenset({"$false", "0", "!$true"})


def endless(command: Command, scope: Scope) -> list[Finding]:
    """The findings on a keyword with its blocks: `while (1) { start x }`, `function f { f; f }`."""
    keyword = command.words[0].text.lower()
    names = [full_name(one, scope.aliases) for one in _names(_pieces(command))]
    if keyword == "function" and len(command.words) > 1:
        own = command.words[1].text.lower()
        again = names.count(own)
        copies = again > 1 or (again and STARTS & set(names))
        return [_bomb("a function that starts itself again and again")] if copies else []
    if not _never_ends(command, keyword):
        return []
    started = next((one for one in names if one in STARTS), "")
    return [_bomb(f"a loop without end that starts {started}")] if started else []


def _bomb(what: str) -> Finding:
    return deny("ps-fork-bomb", f"it holds {what}", "host.mutate")


def _never_ends(command: Command, keyword: str) -> bool:
    flat = "".join(command.text.lower().split())
    condition = "".join(word.text.lower() for word in command.words if _is_group(word.pieces))
    condition = "".join(condition.split())
    if keyword == "for":
        inner = flat[flat.find("(") + 1 :]
        return inner.partition(";")[2].startswith(";") or inner.partition(";")[2].startswith(tuple(TRUE))
    if keyword in ("while", "do"):
        value = condition.strip("()")
        if "until(" in flat:
            return value in NEVER
        return value in TRUE or (value.isdigit() and value != "0")
    return False


def _is_group(pieces: tuple[Piece, ...]) -> bool:
    return bool(pieces) and pieces[0].kind == "group"


def _pieces(command: Command) -> tuple[Piece, ...]:
    return tuple(piece for word in command.words for piece in word.pieces)


def _names(pieces: tuple[Piece, ...]) -> Iterator[str]:
    """The first words of all commands in blocks and groups."""
    for piece in pieces:
        if piece.script is not None:
            yield from _of_script(piece.script)


def _of_script(script: Script) -> Iterator[str]:
    for pipeline in script.pipelines:
        for element in pipeline.elements:
            if isinstance(element, Command):
                if element.words:
                    yield element.words[0].text.strip("'\"`")
                yield from _names(_pieces(element))
            else:
                yield from _names(element.pieces)
                if element.assigned is not None:
                    yield from _of_script(element.assigned)
