"""Approvals, questions and forms as lines of text, and the answers typed to them.

Only a whole word allows: a sentence that begins with `y` is a message to the model, and so a rejection.
"""

import json
import re
import shlex
from collections.abc import Iterator

from cockpit.protocol.content import Diff, plain_text
from cockpit.protocol.events import ApprovalRequested, QuestionAsked
from cockpit.protocol.forms import FormValueInvalid as FormValueInvalid
from cockpit.protocol.forms import parse_values
from cockpit.protocol.messages import Decision
from cockpit.protocol.ops import Answer
from cockpit.protocol.rows import ApprovalPart

_ALLOW_WORDS: dict[str, Decision] = {
    "y": "allow_once",
    "yes": "allow_once",
    "a": "allow_session",
    "p": "allow_always",
}
_REJECT_WORDS = ("n", "no")
_VERDICT_SIGNS = {"allow": "+", "ask": "?", "deny": "!"}


def parse_decision(request: ApprovalRequested, line: str) -> tuple[Decision, str]:
    """The decision, and the message to the model with a rejection.

    An option that was not offered is a rejection.
    """
    answer = line.strip()
    decision = _ALLOW_WORDS.get(answer.lower())
    if decision in request.options:
        return decision, ""
    if decision is not None:
        return "reject_once", f"'{answer}' was not offered as an answer"
    sign, _, rest = answer.partition(" ")
    is_no = sign.lower().rstrip(",.:;") in _REJECT_WORDS
    return "reject_once", rest.strip() if is_no else answer


def format_approval(request: ApprovalRequested) -> Iterator[str]:
    """The whole request, never shortened: users must see all they approve."""
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
            continue  # the title already says it
        yield from (f"  {line}" for line in _format_part(part).rstrip("\n").split("\n"))
    yield _format_keys(request)


def _format_part(part: ApprovalPart) -> str:
    if isinstance(part.diff, Diff):
        return plain_text((part.diff,))
    if part.level:
        why = f": {part.reason}" if part.reason else ""
        return f"{_VERDICT_SIGNS[part.level]} {part.title}{why}"
    return f"{part.title} {part.detail}".rstrip()


def _format_keys(request: ApprovalRequested) -> str:
    words = ["y once"]
    if "allow_session" in request.options:
        words.append(f"a this session {request.shape}".rstrip())
    if "allow_always" in request.options:
        words.append("p always")
    late = f"; rejected after {request.expires:g} s without an answer" if request.expires else ""
    return f"{', '.join((*words, 'n no'))}{late}"


def is_form(question: QuestionAsked) -> bool:
    """Whether the question is answered by field values, or by opening a page."""
    return bool(question.fields or question.url)


def format_question(question: QuestionAsked) -> list[str]:
    """The lines of a question or form."""
    if question.options and not question.takes_words:
        options = (f"  {number} {option}" for number, option in enumerate(question.options, 1))
        return [f"? {question.question}", *options]
    first = f"? {question.question} {' | '.join(question.options)}"
    return [first, *(format_form(question) if is_form(question) else ())]


def format_form(question: QuestionAsked) -> list[str]:
    """The lines of a form: its fields, and how to answer."""
    lines = [f"{question.source or 'the model'} asks:"]
    if question.url:
        return [*lines, f"  open {question.url}", "  (`yes` once it is done, `decline`, or `cancel`)"]
    for field in question.fields:
        words = field.label or field.name
        kind = f" [{', '.join(field.options)}]" if field.options else f" [{field.kind.replace('_', '/')}]"
        required = ", required" if field.required else ""
        lines.append(f"  {field.name}: {words}{kind}{required}")
    first = question.fields[0].name
    lines.append(f"  (answer: {first}=... for each, or one JSON object; `decline`, or `cancel`)")
    return lines


def parse_answer(question: QuestionAsked, line: str, id: str, origin: str) -> Answer:
    """The answer in a typed line. Raises `FormValueInvalid` with what to write instead."""
    if question.takes_words:
        return Answer(id, origin, question.id, line)
    word = line.strip().lower()
    if word == "cancel":
        return Answer(id, origin, question.id, "", "cancel")
    if not is_form(question):
        return Answer(id, origin, question.id, _chosen_option(question, word))
    if word in ("decline", "no", "n"):
        return Answer(id, origin, question.id, "", "decline")
    if question.url:
        if word not in ("yes", "y", "done"):
            raise FormValueInvalid("write yes once the page is open, decline, or cancel")
        return Answer(id, origin, question.id, "")
    values = parse_values(question.fields, _field_texts(question, line))
    return Answer(id, origin, question.id, "", values=values)


def _chosen_option(question: QuestionAsked, word: str) -> str:
    for number, option in enumerate(question.options, 1):
        if word in (str(number), option.lower()):
            return option
    numbers = f"1 to {len(question.options)}"
    raise FormValueInvalid(f"first answer with a number, {numbers}; then write your prompt again")


def _field_texts(question: QuestionAsked, line: str) -> dict[str, str]:
    names = [field.name for field in question.fields]
    if line.lstrip().startswith("{"):
        try:
            values = json.loads(line)
        except ValueError as error:
            raise FormValueInvalid(f"invalid JSON ({error})") from None
        return {name: _value_text(values[name]) for name in names if name in values}
    if not re.match(rf"\s*({'|'.join(map(re.escape, names))})=", line):
        if len(names) == 1:
            return {names[0]: line}
        raise FormValueInvalid(f"write {names[0]}=... for each field, or one JSON object")
    try:
        pairs = [word.partition("=") for word in shlex.split(line)]
    except ValueError as error:
        raise FormValueInvalid(f"the quotes do not match ({error})") from None
    return {name: value for name, _, value in pairs if name in names}


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
