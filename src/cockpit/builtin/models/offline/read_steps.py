"""The steps of the intents that only read: the tool calls to make, and the answer made of their results.

Definitions, uses and outlines are searched by symbol first. If that finds nothing, they are searched by text,
with regular expressions that cover all languages at once.
"""

import re

from cockpit.builtin.models.offline import answers
from cockpit.builtin.models.offline.intents import (
    AnswerStep,
    DefineIntent,
    FindFileIntent,
    FindIntent,
    GitIntent,
    ListFolderIntent,
    MapIntent,
    NextStep,
    OutlineIntent,
    ProblemsIntent,
    RunTestsIntent,
    ShowIntent,
    StepContext,
    ToolStep,
    UsesIntent,
)
from cockpit.protocol.messages import Json

MODIFIER_PATTERN = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|final|abstract|async|inline|unsafe|"
    r"const|extern|virtual|override|open|sealed|data|partial|pub(?:\([a-z]+\))?)\s+)*"
)
KEYWORD_PATTERN = (
    r"(?:def|class|function\*?|func(?:\s*\([^)]*\))?|fn|struct|enum|trait|interface|type|union|impl|mod|module|"
    r"namespace|object|record|protocol|typedef|macro_rules!|let(?:\s+mut)?|const|var|val|static|package|defmodule|defp?)"
)
HEADING_PATTERN = r"^#{1,6}\s+\S"
CODE_PATTERN = (
    rf"^\s*{MODIFIER_PATTERN}(?:def|class|function\*?|func|fn|struct|enum|trait|interface|type|impl|mod|module|namespace|"
    r"object|record|protocol|defmodule|defp?)\b\s*\S"
)
SCRIPT_VALUE_PATTERN = (
    r"^(?:export\s+)?(?:const|let|var)\s+\w+\s*=\s*(?:async\s*)?(?:\(|function|class|\w+\s*=>)"
)
PYTHON_VALUE_PATTERN = r"^[A-Z][A-Z0-9_]+\s*(?::[^=]+)?="
C_FUNCTION_PATTERN = r"^[A-Za-z_][\w\s\*&:<>,~]*\([^;]*\)\s*(?:const)?\s*\{?\s*$"
OUTLINE_BY_ENDING = {
    ("md", "markdown", "mdx"): HEADING_PATTERN,
    ("py", "pyi"): rf"{CODE_PATTERN}|{PYTHON_VALUE_PATTERN}",
    ("js", "jsx", "mjs", "cjs", "ts", "tsx"): rf"{CODE_PATTERN}|{SCRIPT_VALUE_PATTERN}",
    ("c", "h", "cc", "cpp", "hpp", "cxx"): rf"{CODE_PATTERN}|{C_FUNCTION_PATTERN}|^#define\s+\w+",
    ("toml", "ini", "cfg"): r"^\[.+\]",
    ("yml", "yaml"): r"^[\w.-]+:",
    ("sh", "bash", "zsh"): r"^(?:function\s+)?[\w-]+\s*\(\)",
    ("css", "scss"): r"^[^\s@{}][^{}]*\{",
    ("rst",): r"^(?:\.\. \w+::|[=~\-^]{3,}$)",
    ("mk",): r"^[A-Za-z][\w.-]*\s*:",
}


def definition_pattern(name: str) -> str:
    """A pattern for the lines that define `name`, or the last part of a dotted name."""
    last = re.split(r"[.:#]+", name)[-1] or name
    word = re.escape(last)
    return (
        rf"^\s*{MODIFIER_PATTERN}{KEYWORD_PATTERN}\s+{word}\b"
        rf"|^\s*{word}\s*(?::[^=:]+)?=[^=~]"
        rf"|^\s*{word}\s*\(\)\s*\{{"
        rf"|^\s*#define\s+{word}\b"
        rf"|^[A-Za-z_][\w\s\*&:<>,]*[\s\*&:]{word}\s*\([^;]*$"
    )


def whole_word_pattern(name: str) -> str:
    return rf"\b{re.escape(name)}\b"


def outline_pattern(path: str) -> str:
    """A pattern for the lines that make an outline of the file at `path`."""
    name = path.rsplit("/", 1)[-1]
    ending = name.rsplit(".", 1)[-1].lower()
    if name.lower() in ("makefile", "gnumakefile"):
        return OUTLINE_BY_ENDING[("mk",)]
    return next(
        (pattern for endings, pattern in OUTLINE_BY_ENDING.items() if ending in endings), CODE_PATTERN
    )


DEFINITION_LINES = 12
SUGGESTED_PATH = re.compile(r"did you mean ([^,?]+)\?")


def step_map(intent: MapIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("project_map", {"path": intent.path})
    head, _, rest = now.last.text.partition("\n")
    return AnswerStep(f"**{head}**\n\n{answers.fence(rest)}\n{now.say('map_next')}")


def step_define(intent: DefineIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("definition", {"symbol": intent.name})
    hits, count = _symbol_hits(now)
    if not hits:
        return _step_define_by_text(intent, now.by_text())
    return _step_read_definition(intent, hits, count, now)


def _symbol_hits(now: StepContext) -> tuple[tuple[answers.SearchHit, ...], int]:
    """The hits of the first call, which searches by symbol; none if it failed."""
    return ((), 0) if now.results[0].is_error else answers.parse_symbols(now.results[0].text)


def _step_define_by_text(intent: DefineIntent, now: StepContext) -> NextStep:
    if not now.stage:
        pattern = definition_pattern(intent.name)
        return ToolStep("search", {"pattern": pattern, "case": "sensitive", "limit": 50})
    hits, count, _ = answers.parse_hits(now.results[0].text)
    if hits:
        return _step_read_definition(intent, hits, count, now)
    if now.stage == 1:
        return ToolStep("search", _word_search(intent.name, 40))
    mentions, _, _ = answers.parse_hits(now.last.text)
    if not mentions:
        return AnswerStep(now.say("absent", name=intent.name))
    return AnswerStep(f"{now.say('undefined', name=intent.name)}\n{answers.format_places(mentions)}")


def _step_read_definition(
    intent: DefineIntent, hits: tuple[answers.SearchHit, ...], count: int, now: StepContext
) -> NextStep:
    """List the definitions; a single definition is read and shown too."""
    if now.stage == 1 and count == 1:
        return ToolStep("read", {"path": hits[0].path, "start": hits[0].line, "lines": DEFINITION_LINES})
    text = f"{now.say('defined', name=intent.name, count=count)}\n{answers.format_places(hits)}"
    if now.stage == 2 and not now.last.is_error:
        text += f"\n\n{answers.fence(_strip_note(now.last.text))}"
    return AnswerStep(text)


def _strip_note(text: str) -> str:
    """The result of `read` without the note about further lines."""
    return re.sub(r"\n\[lines \d+ to [^\]]*\]\s*$", "", text)


def _word_search(name: str, limit: int) -> dict[str, Json]:
    return {"pattern": whole_word_pattern(name), "case": "sensitive", "limit": limit}


def step_uses(intent: UsesIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("references", {"symbol": intent.name})
    hits, count = _symbol_hits(now)
    if hits:
        files = len({hit.path for hit in hits})
        text = now.say("used_by", name=intent.name, count=count, files=files)
        return AnswerStep(f"{text}\n{answers.format_places(hits)}")
    if now.stage == 1:
        return ToolStep("search", _word_search(intent.name, 200))
    return _answer_hits(now, "used", intent.name)


def step_find(intent: FindIntent, now: StepContext) -> NextStep:
    if not now.stage:
        arguments: dict[str, Json] = {"pattern": intent.text, "path": intent.path or "."}
        if intent.glob:
            arguments["glob"] = intent.glob
        if not intent.regex:
            arguments["literal"] = True
        return ToolStep("search", arguments)
    return _answer_hits(now, "found", intent.text)


def _answer_hits(now: StepContext, key: str, name: str) -> NextStep:
    hits, count, files = answers.parse_hits(now.last.text)
    if not count:
        return AnswerStep(now.say("absent", name=name))
    return AnswerStep(f"{now.say(key, name=name, count=count, files=files)}\n{answers.format_places(hits)}")


def step_show(intent: ShowIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("read", _read_arguments(intent, intent.path))
    # If the file does not exist, the suggested one is read instead.
    suggestion = SUGGESTED_PATH.search(now.results[0].text) if now.results[0].is_error else None
    if now.last.is_error:
        if now.stage == 1 and suggestion:
            return ToolStep("read", _read_arguments(intent, suggestion[1].strip()))
        return AnswerStep(answers.format_fault(now.last, now.language))
    path = suggestion[1].strip() if suggestion else intent.path
    return AnswerStep(f"{now.say('shown', path=path)}\n{answers.fence(now.last.text)}")


def _read_arguments(intent: ShowIntent, path: str) -> dict[str, Json]:
    if intent.tail:
        return {"path": path, "start": -intent.tail, "lines": intent.tail}
    if intent.start:
        return {"path": path, "start": intent.start, "lines": intent.end - intent.start + 1}
    return {"path": path}


def step_list_folder(intent: ListFolderIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("list", {"path": intent.path})
    return AnswerStep(f"{now.say('shown', path=intent.path)}\n{answers.fence(now.last.text)}")


def step_find_file(intent: FindFileIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("glob", {"pattern": file_name_pattern(intent.name)})
    paths = parse_paths(now.last.text)
    if not paths:
        return AnswerStep(now.say("no_file", name=intent.name))
    listed = "\n".join(f"- `{path}`" for path in paths[:100])
    more = f"\n... +{len(paths) - 100}" if len(paths) > 100 else ""
    return AnswerStep(f"{now.say('files', name=intent.name, count=len(paths))}\n{listed}{more}")


def file_name_pattern(name: str) -> str:
    """The glob for a file name; a part of a name matches anywhere in it."""
    if re.search(r"[*?\[{]", name) or "/" in name:
        return name
    return f"*{name}*"


def parse_paths(text: str) -> tuple[str, ...]:
    """The paths in a `glob` result."""
    if text.startswith("no file matches"):
        return ()
    return tuple(line for line in text.splitlines() if line and not line.startswith("["))


def step_outline(intent: OutlineIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("symbols", {"path": intent.path})
    hits_by_symbol, total = _symbol_hits(now)
    if hits_by_symbol:
        listed = "\n".join(now.results[0].text.split("\n")[2:])
        return AnswerStep(f"{now.say('outline', path=intent.path, count=total)}\n{answers.fence(listed)}")
    if now.stage == 1:
        pattern = outline_pattern(intent.path)
        return ToolStep(
            "search", {"pattern": pattern, "path": intent.path, "case": "sensitive", "limit": 500}
        )
    hits, count, _ = answers.parse_hits(now.last.text)
    if not hits:
        return AnswerStep(now.say("no_outline", path=intent.path))
    return AnswerStep(f"{now.say('outline', path=intent.path, count=count)}\n{answers.format_outline(hits)}")


def step_problems(intent: ProblemsIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("diagnostics", {"path": intent.path} if intent.path else {})
    head, _, rest = now.last.text.partition("\n")
    return AnswerStep(f"**{head}**\n\n{answers.fence(rest)}" if rest else f"**{head}**")


def step_git(intent: GitIntent, now: StepContext) -> NextStep:
    if not now.stage:
        arguments: dict[str, Json] = {"what": intent.what}
        if intent.path:
            arguments["path"] = intent.path
        if intent.ref:
            arguments["ref"] = intent.ref
        if intent.limit:
            arguments["limit"] = intent.limit
        if intent.staged:
            arguments["staged"] = True
        if intent.line:
            arguments |= {"start": intent.line, "end": intent.line}
        return ToolStep("git", arguments)
    return AnswerStep(answers.fence(now.last.text, "diff" if intent.what in ("diff", "show") else ""))


def step_run_tests(intent: RunTestsIntent, now: StepContext) -> NextStep:
    if not now.stage:
        return ToolStep("run_tests", {"target": intent.target} if intent.target else {})
    return AnswerStep(answers.format_tests(now.last.text, now.language))
