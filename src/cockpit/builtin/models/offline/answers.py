"""The texts of the offline model in English and Chinese, and the parsing and formatting of tool results."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cockpit.protocol.messages import ToolMessage

AnswerLanguage = Literal["en", "zh"]

SENTENCES: dict[str, tuple[str, str]] = {
    "hello": (
        "Hello. I am cockpit's offline model: fixed rules, not a language model. I can map this project, "
        "find definitions, search, run tests, show changes and edit files. `help` lists the requests; "
        "`/connect` attaches a model.",
        "你好。我是 cockpit 的离线模型：只有固定规则，不是语言模型。"
        "我可以介绍项目、查找定义、搜索、运行测试、查看改动、修改文件。"
        "输入“帮助”查看全部；`/connect` 可接入模型。",
    ),
    "thanks": ("You are welcome.", "不客气。"),
    "bye": ("Goodbye. Ctrl+D closes the cockpit; the session is kept.", "再见。Ctrl+D 关闭，会话会保留。"),
    "who": (
        "I am the offline model built into cockpit: fixed rules that turn plain requests into tool calls. "
        "I am not a language model; `/connect` attaches one.",
        "我是 cockpit 内置的离线模型：用固定规则把请求变成工具调用。"
        "我不是语言模型；`/connect` 可以接入一个。",
    ),
    "unknown": ("I did not understand: {text}", "我没有理解：{text}"),
    "held_back": (
        "Nothing was changed or run, because a part of the prompt was not understood. Send the change alone.",
        "因为有一部分没有理解，所以没有做任何修改或执行。请单独发送修改请求。",
    ),
    "attach": (
        "I follow fixed rules. `/connect` attaches a language model for everything else.",
        "我只按固定规则工作。其他请求请用 `/connect` 接入语言模型。",
    ),
    "stopped": (
        "Stopped here: no more tool calls are allowed in this turn.",
        "到此为止：本轮不再允许调用工具。",
    ),
    "failed": ("`{tool}` failed: {text}", "`{tool}` 失败：{text}"),
    "denied": (
        "`{tool}` was not run: {text}\nNothing was changed. Send the request again to be asked again, "
        "or change the mode (Shift+Tab).",
        "`{tool}` 没有执行：{text}\n没有任何改动。可以再次提出请求，或切换模式（Shift+Tab）。",
    ),
    "defined": ("`{name}` is defined in {count} place(s):", "`{name}` 定义在 {count} 处："),
    "undefined": (
        "No definition of `{name}` found by text. It occurs here:",
        "没有按文本找到 `{name}` 的定义。它出现在：",
    ),
    "absent": ("`{name}` does not occur in the searched files.", "在可搜索的文件中没有找到 `{name}`。"),
    "used": (
        "`{name}` occurs in {count} line(s) of {files} file(s):",
        "`{name}` 出现在 {files} 个文件的 {count} 行：",
    ),
    "used_by": (
        "`{name}` is used in {count} place(s) of {files} file(s):",
        "`{name}` 在 {files} 个文件中有 {count} 处引用：",
    ),
    "renamed_symbol": (
        "Renamed `{old}` to `{new}` and its uses in {count} file(s):",
        "已把符号 `{old}` 重命名为 `{new}`，共 {count} 个文件：",
    ),
    "found": (
        "{count} match(es) for `{name}` in {files} file(s):",
        "`{name}` 共 {count} 处匹配，{files} 个文件：",
    ),
    "shown": ("`{path}`:", "`{path}`："),
    "files": ("{count} file(s) match `{name}`:", "{count} 个文件匹配 `{name}`："),
    "no_file": ("No file matches `{name}`.", "没有文件匹配 `{name}`。"),
    "no_outline": (
        "No definitions or headings found in `{path}`; `show {path}` shows its lines.",
        "`{path}` 中没有找到定义或标题；`显示 {path}` 可查看内容。",
    ),
    "outline": ("Outline of `{path}` ({count}):", "`{path}` 的大纲（{count}）："),
    "many": (
        "`{old}` occurs in {count} places, so nothing was changed. Write "
        "`replace all {old} by {new} in FILE` or quote more of the line you mean:",
        "`{old}` 出现在 {count} 处，因此没有修改。请说“把 FILE 中的所有 {old} 替换为 {new}”，"
        "或引用更多上下文：",
    ),
    "too_many": (
        "{count} places are too many for one change: name a folder or a file. Nothing was changed.",
        "{count} 处太多，不能一次修改：请指定目录或文件。没有修改任何内容。",
    ),
    "too_long": (
        "These lines are too long to be changed safely from a search, so nothing was changed:",
        "这些行太长，无法安全修改，因此没有修改任何内容：",
    ),
    "replaced": ("Replaced `{old}` by `{new}` in {path}.", "已在 {path} 中把 `{old}` 替换为 `{new}`。"),
    "renamed": (
        "Changed `{old}` to `{new}` in {count} line(s) of {files} file(s), as text (whole words):",
        "已把 `{old}` 改为 `{new}`：{files} 个文件的 {count} 行（按文本、整词）：",
    ),
    "exists": (
        "`{path}` already exists, so nothing was written. Write `overwrite {path} with ...` "
        "to replace all of it.",
        "`{path}` 已经存在，没有写入。要全部替换请说“覆盖 {path}，内容是 ...”。",
    ),
    "created": ("Wrote `{path}`.", "已写入 `{path}`。"),
    "deleted": ("Deleted `{path}`.", "已删除 `{path}`。"),
    "moved": ("Moved `{path}` to `{to}`.", "已把 `{path}` 移动到 `{to}`。"),
    "meant": ("Which file do you mean? Nothing was changed.", "指的是哪一个？没有做任何修改。"),
    "no_todo": ("The list is empty. `todo: first, second` fills it.", "列表为空。用“待办：甲，乙”添加。"),
    "todo": ("The list:", "列表："),
    "no_done": ("The list has no item `{name}`.", "列表中没有 `{name}`。"),
    "tests_next": ("Next: `show {place}`.", "下一步：`显示 {place}`。"),
    "map_next": (
        "Next: `outline of FILE`, `where is NAME defined`, `run the tests`.",
        "下一步：`FILE 的大纲`、`NAME 在哪里定义`、`运行测试`。",
    ),
}

HELP_TEXTS: dict[AnswerLanguage, str] = {
    "en": """I am cockpit's offline model: fixed rules, not a language model. What I understand:

- **Look around**: `explain this project` · `outline of {file}` · `list src/` · `find file *.py`
- **Read**: `show {file} lines 1-20` · `{file}:12-30` · `last 20 lines of {file}`
- **Find**: `where is NAME defined` · `who uses NAME` · `search for "text" in {folder}` · `what problems`
- **Git**: `what changed` · `diff of {file}` · `last 5 commits` · `who wrote {file}:12`
- **Run**: `run the tests` · `run the tests of {folder}` · `run: ls -la`
- **Change** (you approve each): `replace "a" by "b" in {file}` · `replace all "a" by "b" in *.md` · \
`rename OLD to NEW` · `format {file}` · `create notes.md with "text"` · `move A to B` · `delete A`
- **Several at once**: `...; then ...`, numbered lines. `todo: first, second` keeps a list.

`/connect` attaches a language model for everything else.""",
    "zh": """我是 cockpit 的离线模型：只有固定规则，不是语言模型。我能理解：

- **浏览**：`介绍这个项目` · `{file} 的大纲` · `列出 src/` · `查找文件 *.py`
- **阅读**：`显示 {file} 第1-20行` · `{file}:12-30` · `{file} 的最后20行`
- **查找**：`NAME 在哪里定义` · `谁调用了 NAME` · `在 {folder} 中搜索 "文本"` · `有什么问题`
- **Git**：`改了什么` · `{file} 的差异` · `最近5次提交` · `{file} 第12行是谁写的`
- **运行**：`运行测试` · `运行命令 ls -la`
- **修改**（每次都会请你确认）：`把 {file} 中的 "a" 替换为 "b"` · `把 OLD 重命名为 NEW` · `格式化 {file}` · \
`创建文件 notes.md，内容是"文本"` · `把 A 移动到 B` · `删除 A`
- **多个请求**：用分号、“然后”或编号列表。`待办：甲，乙` 记录列表。

其他请求请用 `/connect` 接入语言模型。""",
}


ENGLISH_START = re.compile(
    r"\s*(?:\d+[.)]\s*|[-*]\s+)?(?:please|can|could|would|let|i|hi|hello|hey|ok|first|now|where|what|which|who|how|"
    r"is|are|do|the|show|open|print|read|view|see|list|search|look|find|locate|replace|change|rename|create|make|"
    r"write|add|touch|delete|remove|move|run|execute|test|explain|describe|map|outline|tell|put|overwrite|mark|give)\b",
    re.I,
)


def detect_answer_language(prompt: str) -> AnswerLanguage:
    """The language of the answer: Chinese if the prompt has Chinese text outside quotes. A prompt that begins
    with an English word is English; it may name a Chinese path."""
    bare = re.sub(r"`[^`]*`|\"[^\"]*\"|“[^”]*”", "", prompt)
    return "zh" if re.search(r"[\u4e00-\u9fff]", bare) and not ENGLISH_START.match(bare) else "en"


def format_sentence(language: AnswerLanguage, key: str, **values: object) -> str:
    sentence = SENTENCES[key][language == "zh"]
    if language == "en" and "count" in values:
        sentence = _apply_plurals(sentence, values)
    # Not `str.format`: values and the examples in sentences may contain code in braces.
    return re.sub(r"\{(\w+)\}", lambda match: str(values.get(match[1], match[0])), sentence)


def _apply_plurals(sentence: str, values: dict[str, object]) -> str:
    """Resolve the `(s)` and `(es)` after each number: `1 place`, `2 places`."""

    def pluralize(match: re.Match[str]) -> str:
        return match[1] + ("" if values.get(match[2]) == 1 else match[3])

    return re.sub(r"(\{(\w+)\}[^{(]*)\((s|es)\)", pluralize, sentence)


HIT_LINE = re.compile(r"^(?P<path>.+?):(?P<line>\d+): (?P<text>.*)$")
TOTAL_LINE = re.compile(r"^(\d+) match(?:es)? in (\d+) files?")
SYMBOL_TOTAL = re.compile(r"^(\d+) (?:symbol|definition|reference|caller)s?\b")
SYMBOL_ROW = re.compile(r"^ +(?P<line>\d+)(?:-\d+)?: (?P<text>.*)$")
DENIED_RESULT = re.compile(
    r"^(?:denied\b|refused\b|the (?:person|user) rejected|the call was rejected)", re.I
)
MAX_PLACES = 60
MAX_FENCED_LINES = 400


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A line in a result of `search`."""

    path: str
    line: int
    text: str

    @property
    def is_cut(self) -> bool:
        # `search` shortens long lines around the match.
        return len(self.text) >= 240 and (self.text.startswith("…") or self.text.endswith("…"))

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"


def parse_hits(text: str) -> tuple[tuple[SearchHit, ...], int, int]:
    """The hits of a `search` result, and its counts of matches and files."""
    lines = text.split("\n")
    total = TOTAL_LINE.match(lines[0])
    hits = tuple(
        SearchHit(match["path"], int(match["line"]), match["text"])
        for line in lines[1:]
        if (match := HIT_LINE.match(line.removesuffix("\r")))
    )
    return (hits, int(total[1]), int(total[2])) if total else ((), 0, 0)


def parse_symbols(text: str) -> tuple[tuple[SearchHit, ...], int]:
    """The rows of a result by symbol, and their total."""
    lines = text.split("\n")
    total = SYMBOL_TOTAL.match(lines[0])
    hits: list[SearchHit] = []
    path = ""
    for line in lines[1:] if total else ():
        if (match := SYMBOL_ROW.match(line)) and path:
            hits.append(SearchHit(path, int(match["line"]), match["text"]))
        elif line.startswith(("```", "implementations:")):
            break
        elif line and not line.startswith((" ", "[")):
            path = line
    return tuple(hits), int(total[1]) if total else 0


def format_places(hits: Sequence[SearchHit], most: int = MAX_PLACES) -> str:
    """A list of `path:line` and text."""
    lines: list[str] = []
    for hit in hits[:most]:
        text = hit.text.strip()
        shown = text if len(text) <= 160 else text[:159] + "…"
        lines.append(f"- `{hit.place}` " + (f"`{shown}`" if shown and "`" not in shown else shown))
    if len(hits) > most:
        lines.append(f"... +{len(hits) - most}")
    return "\n".join(lines)


def fence(text: str, language: str = "") -> str:
    """`text` in a code fence longer than any fence in it."""
    lines = text.rstrip("\n").split("\n")
    if len(lines) > MAX_FENCED_LINES:
        lines = [*lines[:MAX_FENCED_LINES], f"... +{len(lines) - MAX_FENCED_LINES}"]
    body = "\n".join(lines)
    ticks = max((len(match) for match in re.findall(r"^\s*(`{3,})", body, re.M)), default=2) + 1
    return f"{'`' * ticks}{language}\n{body}\n{'`' * ticks}"


def format_fault(result: ToolMessage, language: AnswerLanguage) -> str:
    """The answer for a call that was denied or failed."""
    key = "denied" if DENIED_RESULT.match(result.text) else "failed"
    reason = "\n".join(result.text.strip().splitlines()[:12]) or "?"
    return format_sentence(language, key, tool=result.name, text=reason)


def format_tests(text: str, language: AnswerLanguage) -> str:
    """The result of a test run: the counts, then the failing tests."""
    lines = [line for line in text.splitlines() if not line.startswith("the whole output:")]
    head, rest = lines[0] if lines else "?", lines[1:]
    parts = [f"**{head}**"]
    failing = [line for line in rest if line.startswith(("FAILED ", "ERROR "))]
    for line in rest:
        if line.startswith(("FAILED ", "ERROR ")):
            parts.append("- " + re.sub(r"^(\w+) (\S+:\d+) (?=.)", r"\1 `\2` ", line))
        else:
            parts.append(f"      {line.strip()}" if failing else line)
    if failing and (place := re.match(r"\w+ (\S+:\d+) ", failing[0])):
        parts += ["", format_sentence(language, "tests_next", place=place[1])]
    return "\n".join(parts)
