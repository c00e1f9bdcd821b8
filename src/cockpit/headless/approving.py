"""An approval in lines: what is asked, and the answer that a typed line is. Only a whole word allows: a
sentence that begins with `y` is a word to the model, and so a no."""

from collections.abc import Iterator

from cockpit.protocol.content import Diff, plain
from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.messages import Decision
from cockpit.protocol.rows import ApprovalPart

_ALLOWS: dict[str, Decision] = {
    "y": "allow_once",
    "yes": "allow_once",
    "a": "allow_session",
    "p": "allow_always",
}
_REJECTS = ("n", "no")
_SIGNS = {"allow": "+", "ask": "?", "deny": "!"}


def decision_of(request: ApprovalRequested, line: str) -> tuple[Decision, str]:
    """The decision, and the word that goes to the model with a no. What was not offered is a no."""
    said = line.strip()
    decision = _ALLOWS.get(said.lower())
    if decision in request.options:
        return decision, ""
    if decision is not None:
        return "reject_once", f"'{said}' is no answer that was offered here"
    sign, _, rest = said.partition(" ")
    is_no = sign.lower().rstrip(",.:;") in _REJECTS
    return "reject_once", rest.strip() if is_no else said


def asked(request: ApprovalRequested) -> Iterator[str]:
    """All of it, uncut: nobody agrees to what they were not shown."""
    yield f"? {request.title}: {request.reason} (risk {request.risk})"
    if request.destination:
        yield f"  goes to {request.destination}"
    if request.held:
        yield f"  {request.held}"
    if request.alternative:
        yield f"  instead: {request.alternative}"
    commands = [part for part in request.parts if part.level]
    for part in request.parts:
        if part.level and len(commands) == 1:
            continue  # the line itself says it
        yield from (f"  {line}" for line in _part(part).rstrip("\n").split("\n"))
    yield _keys(request)


def _part(part: ApprovalPart) -> str:
    if isinstance(part.diff, Diff):
        return plain((part.diff,))
    if part.level:
        why = f": {part.reason}" if part.reason else ""
        return f"{_SIGNS[part.level]} {part.title}{why}"
    return f"{part.title} {part.detail}".rstrip()


def _keys(request: ApprovalRequested) -> str:
    words = ["y once"]
    if "allow_session" in request.options:
        words.append(f"a this session {request.shape}".rstrip())
    if "allow_always" in request.options:
        words.append("p for ever")
    late = f"; no answer within {request.expires:g} s is a no" if request.expires else ""
    return f"{', '.join((*words, 'n no'))}{late}"
