"""Inline Markdown to text and spans: emphasis, code, links, addresses and `path:line` places.

One pass, no tree. What does not close stays as it was written. Block structure is `markdown`'s.
"""

import re

from cockpit.tui.trace.layout import Span

_SIGNS = ("*", "_", "`", "[", "<", "\\", "&", "~~", "://", ":")

_TOKEN = re.compile(
    r"""
    (?P<escape>\\[!-/:-@\[-`{-~])
  | (?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)
  | !?\[(?P<label>[^\[\]\n]{0,500})\]\((?P<url>[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+"[^"]*")?\)
  | <(?P<address>https?://[^\s<>]+)>
  | (?P<bare>https?://[^\s<>\[\]`*"]*[^\s<>\[\]`*".,;:!?)'，。、；：！？）」』】》])
  | (?P<run>\*{1,3}|_{1,3}|~~)
  | (?P<place>(?<![\w/.:])(?:[\w.@+-]{0,80}/)*[\w@+-][\w.@+-]{0,80}\.[A-Za-z]\w{0,5}:\d+(?::\d+)?(?!\w))
  | &(?P<entity>amp|lt|gt|quot|nbsp|\#39);
    """,
    re.VERBOSE | re.DOTALL,
)
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "nbsp": " ", "#39": "'"}
_FLAG = {1: "i", 2: "b", 3: "bi"}


class _Run:
    """A run of `*`, `_` or `~~` that may open or close emphasis; `at` is its piece."""

    __slots__ = ("at", "sign")

    def __init__(self, at: int, sign: str) -> None:
        self.at = at
        self.sign = sign


def inline(source: str, key: str = "body") -> tuple[str, list[Span]]:
    """The text that `source` shows, and the spans of it whose style is not `key`."""
    if not any(sign in source for sign in _SIGNS):
        return source, []
    texts: list[str] = []
    kinds: list[str] = []
    flags: list[str] = []
    open_runs: list[_Run] = []
    position = 0

    def put(text: str, kind: str = "") -> None:
        texts.append(text)
        kinds.append(kind)
        flags.append("")

    for match in _TOKEN.finditer(source):
        if match.start() > position:
            put(source[position : match.start()])
        position = match.end()
        if match.lastgroup == "run" or match["run"]:
            _emphasise(source, match, texts, kinds, flags, open_runs)
            continue
        for text, kind in _shown(match):
            put(text, kind)
    if position < len(source):
        put(source[position:])
    return _joined(texts, kinds, flags, key)


def _shown(match: re.Match[str]) -> list[tuple[str, str]]:
    """What a token other than emphasis shows: texts with the name of their style."""
    if match["escape"]:
        return [(match["escape"][1], "")]
    if match["code"] is not None:
        code = match["code"].replace("\n", " ")
        if len(code) > 2 and code[0] == code[-1] == " " and code.strip():
            code = code[1:-1]
        return [(code, "code")]
    if match["label"] is not None:
        label, url = match["label"], match["url"]
        if not label or label == url:
            return [(url or label, "link")]
        return [(label, "link"), (f" ({url})", "faint")] if url else [(label, "link")]
    if match["address"] or match["bare"]:
        return [(match["address"] or match["bare"], "link")]
    if match["place"]:
        return [(match["place"], "place")]
    return [(_ENTITIES[match["entity"]], "")]


def _emphasise(
    source: str,
    match: re.Match[str],
    texts: list[str],
    kinds: list[str],
    flags: list[str],
    open_runs: list[_Run],
) -> None:
    """Close the nearest equal run, or remember this one as a possible opening; see CommonMark 6.2."""
    sign = match["run"]
    before = source[match.start() - 1] if match.start() else " "
    after = source[match.end()] if match.end() < len(source) else " "
    opens, closes = not after.isspace(), not before.isspace()
    if sign[0] == "_" or (sign == "*" and before.isalnum() and after.isalnum()):
        # A star inside a word is arithmetic or a glob far more often than emphasis.
        opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
    if closes:
        for number in range(len(open_runs) - 1, -1, -1):
            run = open_runs[number]
            if run.sign != sign or run.at == len(texts) - 1:
                continue
            del open_runs[number:]
            texts[run.at] = ""
            flag = "s" if sign == "~~" else _FLAG[len(sign)]
            for index in range(run.at + 1, len(texts)):
                flags[index] += flag
            return
    if opens:
        open_runs.append(_Run(len(texts), sign))
    texts.append(sign)
    kinds.append("")
    flags.append("")


def _joined(texts: list[str], kinds: list[str], flags: list[str], key: str) -> tuple[str, list[Span]]:
    spans: list[Span] = []
    position = 0
    for text, kind, flag in zip(texts, kinds, flags, strict=True):
        end = position + len(text)
        if text and (kind or flag):
            spans.append(Span(position, end, _styled(kind or key, flag)))
        position = end
    return "".join(texts), spans


def _styled(kind: str, flag: str) -> str:
    letters = "".join(sorted(set(flag)))
    if not letters:
        return kind
    return f"{kind}{letters}" if "+" in kind else f"{kind}+{letters}"
