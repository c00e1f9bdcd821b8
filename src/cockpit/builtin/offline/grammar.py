"""From a prompt to intents. Pure: text in, values out; it never raises and never guesses a change.

Quoted parts are shielded, the prompt is cut into clauses, each clause is freed of polite words and
held against the table of `phrases`; what fits no row is `Unknown`.
"""

import re

from cockpit.builtin.offline import phrases
from cockpit.builtin.offline.intents import WRITING, Create, Intent, Shell, Show, Todo, Unknown
from cockpit.builtin.offline.quoting import Shielded, shield

LONGEST = 20_000
MOST_CLAUSES = 40
MOST_CUTS = 40
COMMAND_LINE = re.compile(
    r"^\s*(?:(?:please\s+|请)?(?:run|execute|exec|shell|cmd|command|运行|执行|命令)(?:命令)?\s*[:：]\s*|[$!]\s*)(?P<command>\S.*)$",
    re.I,
)
THEN = re.compile(r"\s*[;,；，]\s*(?:and\s+)?(?:then\b|然后|接着|再)[,，]?\s*", re.I)
# What certainly parts two requests.
STRONG = re.compile(
    r"\s*[;；]\s*(?:(?:and\s+)?then\b[,:]?\s*|and\s+|然后|接着|再|并)?"
    r"|\n+"
    r"|\s*,?\s*\b(?:and|after that|afterwards)[, ]+then\b[,:]?\s+"
    r"|\s*[,.]\s*(?:then|after that|afterwards|finally|next)\b[,:]?\s+"
    r"|\s+then\s+(?=(?:run|show|search|find|replace|rename|create|delete|move|open|list|git|test|tell|explain)\b)"
    r"|\s*[，,。；]?\s*(?:然后|接着|随后|之后)再?[，,]?\s*"
    r"|\s*[，,。；]\s*(?:再|最后|并且|并|同时)\s*",
    re.I,
)
# What may part two requests: only where both sides are understood.
WEAK = re.compile(
    r"\s*(?:[，。！？,]|[.!?](?=\s))\s*(?:and\s+|also\s+)?|\s+(?:and|also|plus|&&)\s+|\s*(?:并且|并|以及)\s*",
    re.I,
)
NUMBER = re.compile(
    r"^\s*(?:\(?\d{1,2}[.)、）:]\s*|[-*•]\s+|第[一二三四五六七八九十]+[步，、]\s*|[一二三四五六七八九十]、)"
)
POLITE_HEAD = re.compile(
    r"^(?:please|pls|kindly|hey|ok(?:ay)?|so|well|now|also|and|first(?:ly)?(?!\s+\d)|second(?:ly)?|"
    r"then|next|finally|lastly|just|"
    r"(?:could|can|would|will) you(?: please| kindly)?|i(?: woul|')?d like (?:you )?to|"
    r"i (?:want|need) (?:you )?to|"
    r"let'?s|let us|go ahead and|help me(?: to)?|try to|i would like (?:you )?to|would you mind|"
    r"(?:hi|hello)[, ]+(?=\S+\s+\S)|"
    r"请问|请你|请|麻烦你?|劳驾|帮我|帮忙|给我|替我|能不能|能否|可不可以|可以|你能|我想要?|我要|我需要|现在|首先|先|接下来|最后(?!\s*\d)|再(?!见))"
    r"(?=[\s,，:：\u2e80-\uffff\ue000]|$)[\s,，:：]*",
    re.I,
)
POLITE_TAIL = re.compile(
    r"(?:[\s,，]*(?:please|pls|for me|thanks?(?: you)?|thx|if you can|right now|now|"
    r"谢谢|好吗|可以吗|行吗|吧|呢|吗|啊|呀)|"
    r"[\s.!?。！？,，;；:：~]+)$",
    re.I,
)


def parse(prompt: str) -> tuple[Intent, ...]:
    """The intents of `prompt` in order.

    Where a part is not understood, nothing that changes something is kept: the person is told.
    """
    shielded = shield(prompt[:LONGEST])
    intents = _of_text(shielded.text, shielded)
    unknown = [one for one in intents if isinstance(one, Unknown)]
    if not unknown:
        return tuple(intents)
    said = "\n".join(one.text for one in unknown if one.text)
    known = [one for one in intents if not isinstance(one, Unknown)]
    # Mostly not understood: a pasted text, in which a line that looks like a request is none.
    if len(unknown) > len(known):
        return (Unknown(said, held_back=any(isinstance(one, WRITING) for one in known)),)
    reading = [one for one in known if not isinstance(one, WRITING)]
    return (*reading, Unknown(said, held_back=len(reading) < len(known)))


def _of_text(text: str, shielded: Shielded) -> list[Intent]:
    if (whole := _with_body(text, shielded)) is not None:
        return whole
    intents: list[Intent] = []
    for line in text.split("\n"):
        if command := COMMAND_LINE.match(NUMBER.sub("", line)):
            intents += _commands(command["command"], shielded)
        else:
            intents += [one for clause in _clauses(line) for one in _of_clause(clause, shielded)]
        if len(intents) > MOST_CLAUSES:
            return [Unknown(shielded.raw(text))]
    return intents


def _with_body(text: str, shielded: Shielded) -> list[Intent] | None:
    """`create FILE with:` and all that follows on its own lines, or in one fence."""
    head, _, body = text.strip().partition("\n")
    if not body.strip():
        return None
    clauses = _clauses(head)
    found = phrases.match(_plain(clauses[-1] if clauses else ""), shielded)
    if not isinstance(found, Create) or found.content:
        return None
    if not re.search(
        r"(?:with|containing|content|contents|内容|为|是)?\s*(?:[:：]|with|containing|内容)\s*$", head, re.I
    ):
        return None
    before = [one for clause in clauses[:-1] for one in _of_clause(clause, shielded)]
    first, _, rest = body.strip("\n").partition("\n")
    if (part := shielded.held(first)) and part.is_fence:
        after = _of_text(rest, shielded) if rest.strip() else []
        return [*before, Create(found.path, part.inner, found.overwrite), *after]
    content = shielded.raw(body.strip("\n"))
    return [*before, Create(found.path, content + "\n", found.overwrite)]


def _commands(command: str, shielded: Shielded) -> list[Intent]:
    """A command line to its end; a request after `, then` that is understood is a request."""
    for cut in THEN.finditer(command):
        after = _of_text(command[cut.end() :], shielded)
        if after and not any(isinstance(one, Unknown) for one in after):
            return [Shell(shielded.inner(command[: cut.start()])), *after]
    return [Shell(shielded.inner(command))]


def _clauses(line: str) -> list[str]:
    return [part for part in STRONG.split(NUMBER.sub("", line)) if part and _plain(part)]


def _of_clause(clause: str, shielded: Shielded) -> list[Intent]:
    cuts = list(WEAK.finditer(clause))
    # With that many commas it is prose, and trying each of them would take long.
    if len(cuts) <= MOST_CUTS and (both := _parted(clause, cuts, shielded)):
        return both
    plain = _plain(clause)
    if not plain:
        return []
    return [phrases.match(plain, shielded) or Unknown(shielded.raw(plain))]


def _parted(clause: str, cuts: list[re.Match[str]], shielded: Shielded) -> list[Intent]:
    """Two requests joined by a comma come before one that swallows both in its last word."""
    for cut in cuts:
        left, right = _plain(clause[: cut.start()]), clause[cut.end() :]
        if not left or not _plain(right):
            continue
        first = phrases.match(left, shielded)
        # What follows in a list of things to do is one of them, however much it reads like a request.
        if first is None or isinstance(first, Todo):
            continue
        if not isinstance(first, Show) and not phrases.starts_request(_plain(right)):
            continue
        rest = _of_clause(right, shielded)
        goes_on = isinstance(first, Show) and all(isinstance(one, Show) for one in rest)
        if not goes_on and not phrases.starts_request(_plain(right)):
            continue
        if not any(isinstance(one, Unknown) for one in rest):
            return [first, *rest]
        # What is not understood now is not understood behind the next comma either.
        return []
    return []


def _plain(clause: str) -> str:
    """The clause without polite words and end marks."""
    text = NUMBER.sub("", clause).strip()
    while True:
        shorter = POLITE_HEAD.sub("", text)
        # `now?` alone, or `ok`: nothing is left to ask for, so it is kept and not understood.
        shorter = POLITE_TAIL.sub("", shorter).strip() or text
        if shorter == text:
            return text
        text = shorter
