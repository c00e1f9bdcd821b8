"""What a hook answered: exit code, stdout and stderr, or JSON, as Claude Code, Codex and crush write it.

0 is no objection (and JSON is read), 2 is a no whose reason stands on stderr, 49 ends the turn (crush),
anything else is a failure of the hook that decides nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

from cockpit.formats.hook_events import Event
from cockpit.protocol.messages import Json

Decision = Literal["", "allow", "deny", "ask", "defer"]
DECISIONS: Mapping[str, Decision] = {
    "approve": "allow",
    "allow": "allow",
    "block": "deny",
    "deny": "deny",
    "ask": "ask",
    "defer": "defer",
}
BLOCKED = 2
HALTED = 49
# Where what a command prints is read by the model although it is no JSON.
TOLD = frozenset({"UserPromptSubmit", "SessionStart"})
SHOWN = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """`added` is read by the model, `message` by the person. `arguments` and `output` take the place of
    what the tool was called with and what it gave. `halt` ends the turn. `faults` are what was not
    understood; `failed`: the hook did not do its work, and has decided nothing.
    """

    decision: Decision = ""
    reason: str = ""
    added: str = ""
    message: str = ""
    arguments: Mapping[str, Json] | None = None
    output: str = ""
    halt: str = ""
    faults: tuple[str, ...] = ()
    failed: bool = False


def of_process(event: Event, code: int, out: str, errors: str) -> Answer:
    """The answer of a command that has ended."""
    said = errors.strip()
    if code == BLOCKED:
        return Answer("deny", said or "a hook said no and gave no reason")
    if code == HALTED:
        return Answer("deny", said, halt=said or "a hook ended the turn")
    if code != 0:
        return failed(f"it ended with exit code {code}" + (f": {said[:SHOWN]}" if said else ""))
    return of_text(event, out)


def of_text(event: Event, text: str) -> Answer:
    """The answer in a text: JSON where it begins as such, else words, which some events take."""
    text = text.strip()
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            return failed(f"it printed no JSON: {error}")
        return of_json(event, value) if isinstance(value, dict) else Answer()
    return Answer(added=text if event.name in TOLD else "")


def of_judgement(text: str) -> Answer:
    """The answer of a model: `{"ok": true}`, or `{"ok": false, "reason": "..."}`, with words around it."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        value = json.loads(text[begin : end + 1]) if begin >= 0 else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("ok"), bool):
        return failed(f'the model did not answer {{"ok": true}} or {{"ok": false}}: {text[:SHOWN]!r}')
    reason = value.get("reason")
    said = reason if isinstance(reason, str) and reason else "a model that a hook asked said no"
    return Answer() if value["ok"] else Answer("deny", said)


def of_json(event: Event, value: Mapping[str, Json]) -> Answer:
    """The answer in Claude Code's fields, at the top and in `hookSpecificOutput`."""
    top = _Reading(value)
    decision = top.decision("decision")
    answer = Answer(decision, top.text("reason"), top.text("context"), top.text("systemMessage"))
    answer = replace(answer, arguments=top.table("updated_input"))
    if value.get("continue") is False or value.get("halt") is True:
        answer = replace(answer, halt=top.text("stopReason") or top.text("reason") or "a hook ended the turn")
    own = top.table("hookSpecificOutput")
    faults = list(top.faults)
    if own is not None:
        named = own.get("hookEventName")
        if named in (None, event.name):
            answer, more = _specific(answer, own)
            faults += more
        else:
            faults.append(f"its hookSpecificOutput is for {named}, not for {event.name}")
    return replace(answer, faults=tuple(faults))


def _specific(answer: Answer, own: Mapping[str, Json]) -> tuple[Answer, list[str]]:
    inner = _Reading(own)
    decision = inner.decision("permissionDecision")
    reason = inner.text("permissionDecisionReason")
    arguments, halt = inner.table("updatedInput"), answer.halt
    output = inner.text("updatedToolOutput") or inner.text("updatedMCPToolOutput")
    faults = inner.faults
    if (asked := own.get("decision")) is not None and isinstance(asked, dict):
        person = _Reading(asked)
        decision, reason = person.decision("behavior"), person.text("message")
        arguments = person.table("updatedInput")
        halt = reason or "a hook ended the turn" if asked.get("interrupt") is True else halt
        faults = [*faults, *person.faults]
    answer = replace(
        answer,
        decision=decision or answer.decision,
        reason=reason or answer.reason,
        added=inner.text("additionalContext") or answer.added,
        arguments=answer.arguments if arguments is None else arguments,
        output=output,
        halt=halt,
    )
    return answer, faults


def failed(fault: str) -> Answer:
    """A hook that did not do its work."""
    return Answer(faults=(fault,), failed=True)


def late(fault: str) -> Answer:
    """A hook that has not looked has not agreed either: before a call a person is asked."""
    return Answer("ask", fault, faults=(fault,), failed=True)


class _Reading:
    """Fields of one table; what has another shape is noted and left out."""

    def __init__(self, value: Mapping[str, Json]) -> None:
        self._value = value
        self.faults: list[str] = []

    def text(self, name: str) -> str:
        value = self._value.get(name)
        if value is None or isinstance(value, str):
            return value or ""
        if name.startswith("updated"):
            return json.dumps(value, ensure_ascii=False)
        self.faults.append(f"its `{name}` is no text")
        return ""

    def table(self, name: str) -> Mapping[str, Json] | None:
        value = self._value.get(name)
        if value is not None and not isinstance(value, dict):
            self.faults.append(f"its `{name}` is no table")
        return cast("Mapping[str, Json]", value) if isinstance(value, dict) else None

    def decision(self, name: str) -> Decision:
        value = self._value.get(name)
        if value is None or value == "":
            return ""
        found = DECISIONS.get(value) if isinstance(value, str) else None
        if found is None:
            self.faults.append(f"its `{name}` is {value!r}, which is no decision")
        return found or ""
