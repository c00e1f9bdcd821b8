"""A form on a screen of lines: shown as lines, answered by one."""

import json
import re
import shlex

from cockpit.protocol.events import QuestionAsked
from cockpit.protocol.forms import Unfit as Unfit
from cockpit.protocol.forms import values_of
from cockpit.protocol.ops import Answer


def is_form(question: QuestionAsked) -> bool:
    """Whether it is answered by values, or by opening a page, in place of words."""
    return bool(question.fields or question.url)


def asked(question: QuestionAsked) -> list[str]:
    """The lines of any question."""
    first = f"? {question.question} {' | '.join(question.options)}"
    if question.options and not question.takes_words:
        options = (f"  {number} {option}" for number, option in enumerate(question.options, 1))
        return [f"? {question.question}", *options]
    return [first, *(shown(question) if is_form(question) else ())]


def shown(question: QuestionAsked) -> list[str]:
    """The lines of a form: what it asks for, and how to answer."""
    lines = [f"{question.source or 'the model'} asks:"]
    if question.url:
        lines += [f"  open {question.url}", "  (`yes` once it is done, `decline`, or `cancel`)"]
        return lines
    for field in question.fields:
        words = field.label or field.name
        kind = f" [{', '.join(field.options)}]" if field.options else f" [{field.kind.replace('_', '/')}]"
        needed = ", needed" if field.required else ""
        lines.append(f"  {field.name}: {words}{kind}{needed}")
    first = question.fields[0].name
    lines.append(f"  (answer: {first}=... for each, or one JSON object; `decline`, or `cancel`)")
    return lines


def answer_of(question: QuestionAsked, line: str, id: str, origin: str) -> Answer:
    """The answer that a line gives. Raises `Unfit` with what to write instead."""
    if question.takes_words:
        return Answer(id, origin, question.id, line)
    word = line.strip().lower()
    if word == "cancel":
        return Answer(id, origin, question.id, "", "cancel")
    if not is_form(question):
        return Answer(id, origin, question.id, _option(question, word))
    if word in ("decline", "no", "n"):
        return Answer(id, origin, question.id, "", "decline")
    if question.url:
        if word not in ("yes", "y", "done"):
            raise Unfit("write yes once the page is open, decline, or cancel")
        return Answer(id, origin, question.id, "")
    return Answer(id, origin, question.id, "", values=values_of(question.fields, _texts(question, line)))


def _option(question: QuestionAsked, word: str) -> str:
    for number, option in enumerate(question.options, 1):
        if word in (str(number), option.lower()):
            return option
    raise Unfit(
        f"first answer this by its number, 1 to {len(question.options)}; then write your prompt again"
    )


def _texts(question: QuestionAsked, line: str) -> dict[str, str]:
    names = [field.name for field in question.fields]
    if line.lstrip().startswith("{"):
        try:
            given = json.loads(line)
        except ValueError as error:
            raise Unfit(f"this is no JSON ({error})") from None
        return {name: _text(given[name]) for name in names if name in given}
    if not re.match(rf"\s*({'|'.join(map(re.escape, names))})=", line):
        if len(names) == 1:
            return {names[0]: line}
        raise Unfit(f"write {names[0]}=... for each field, or one JSON object")
    try:
        pairs = [word.partition("=") for word in shlex.split(line)]
    except ValueError as error:
        raise Unfit(f"the quotes do not match ({error})") from None
    return {name: value for name, _, value in pairs if name in names}


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
