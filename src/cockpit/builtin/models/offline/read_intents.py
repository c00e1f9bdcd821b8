"""The intents that only read: the tool calls to make, and the answer made of their results.

Definitions, uses and outlines are searched by symbol first. If that finds nothing, they are searched by text,
with regular expressions that cover all languages at once.
"""

import re
from dataclasses import dataclass
from typing import Literal

from cockpit.builtin.models.offline import answers
from cockpit.builtin.models.offline.intents import AnswerStep, Intent, NextStep, StepContext, ToolStep
from cockpit.protocol.messages import Json

MODIFIER_PATTERN = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|final|abstract|async|inline|unsafe|"
    r"const|extern|virtual|override|open|sealed|data|partial|pub(?:\([a-z]+\))?)\s+)*"
)
KEYWORD_PATTERN = (
    r"(?:def|class|function\*?|func(?:\s*\([^)]*\))?|fn|struct|enum|trait|interface|type|union|impl|mod|module|"
    r"namespace|object|record|protocol|typedef|macro_rules!|let(?:\s+mut)?|const|var|val|static|package|defmodule|defp?)"
)
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
    ("md", "markdown", "mdx"): r"^#{1,6}\s+\S",
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


@dataclass(frozen=True, slots=True)
class MapIntent(Intent):
    path: str = "."

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            return ToolStep("project_map", {"path": self.path})
        head, _, rest = now.last.text.partition("\n")
        return AnswerStep(f"**{head}**\n\n{answers.fence(rest)}\n{now.say('map_next')}")


@dataclass(frozen=True, slots=True)
class DefineIntent(Intent):
    name: str

    def handles_fault(self, now: StepContext) -> bool:
        return now.stage == 1

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            return ToolStep("definition", {"symbol": self.name})
        hits, count = _symbol_hits(now)
        return self._step_read(hits, count, now) if hits else self._step_by_text(now.by_text())

    def _step_by_text(self, now: StepContext) -> NextStep:
        if not now.stage:
            return _search(definition_pattern(self.name), 50)
        hits, count, _ = answers.parse_hits(now.results[0].text)
        if hits:
            return self._step_read(hits, count, now)
        if now.stage == 1:
            return _search(whole_word_pattern(self.name), 40)
        mentions, _, _ = answers.parse_hits(now.last.text)
        if not mentions:
            return AnswerStep(now.say("absent", name=self.name))
        return AnswerStep(f"{now.say('undefined', name=self.name)}\n{answers.format_places(mentions)}")

    def _step_read(self, hits: tuple[answers.SearchHit, ...], count: int, now: StepContext) -> NextStep:
        """List the definitions; a single definition is read and shown too."""
        if now.stage == 1 and count == 1:
            return ToolStep("read", {"path": hits[0].path, "start": hits[0].line, "lines": DEFINITION_LINES})
        text = f"{now.say('defined', name=self.name, count=count)}\n{answers.format_places(hits)}"
        if now.stage == 2 and not now.last.is_error:
            # `read` ends with a note about further lines.
            shown = re.sub(r"\n\[lines \d+ to [^\]]*\]\s*$", "", now.last.text)
            text += f"\n\n{answers.fence(shown)}"
        return AnswerStep(text)


def _symbol_hits(now: StepContext) -> tuple[tuple[answers.SearchHit, ...], int]:
    """The hits of the first call, which searches by symbol; none if it failed."""
    return ((), 0) if now.results[0].is_error else answers.parse_symbols(now.results[0].text)


def _search(pattern: str, limit: int) -> ToolStep:
    return ToolStep("search", {"pattern": pattern, "case": "sensitive", "limit": limit})


@dataclass(frozen=True, slots=True)
class UsesIntent(Intent):
    name: str

    def handles_fault(self, now: StepContext) -> bool:
        return now.stage == 1

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            return ToolStep("references", {"symbol": self.name})
        hits, count = _symbol_hits(now)
        if hits:
            files = len({hit.path for hit in hits})
            text = now.say("used_by", name=self.name, count=count, files=files)
            return AnswerStep(f"{text}\n{answers.format_places(hits)}")
        if now.stage == 1:
            return _search(whole_word_pattern(self.name), 200)
        return _answer_hits(now, "used", self.name)


@dataclass(frozen=True, slots=True)
class FindIntent(Intent):
    """Search for `text`, which is a regular expression if `regex`."""

    text: str
    path: str = ""
    glob: str = ""
    regex: bool = False

    def step(self, now: StepContext) -> NextStep:
        if now.stage:
            return _answer_hits(now, "found", self.text)
        arguments: dict[str, Json] = {"pattern": self.text, "path": self.path or "."}
        if self.glob:
            arguments["glob"] = self.glob
        return ToolStep("search", arguments if self.regex else {**arguments, "literal": True})


def _answer_hits(now: StepContext, key: str, name: str) -> NextStep:
    hits, count, files = answers.parse_hits(now.last.text)
    if not count:
        return AnswerStep(now.say("absent", name=name))
    return AnswerStep(f"{now.say(key, name=name, count=count, files=files)}\n{answers.format_places(hits)}")


@dataclass(frozen=True, slots=True)
class ShowIntent(Intent):
    """Show lines `start` to `end` (0: all), or the last `tail` lines."""

    path: str
    start: int = 0
    end: int = 0
    tail: int = 0

    def handles_fault(self, now: StepContext) -> bool:
        return True

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            return self._read(self.path)
        # If the file does not exist, the suggested one is read instead.
        suggestion = SUGGESTED_PATH.search(now.results[0].text) if now.results[0].is_error else None
        path = suggestion[1].strip() if suggestion else self.path
        if not now.last.is_error:
            return AnswerStep(f"{now.say('shown', path=path)}\n{answers.fence(now.last.text)}")
        if now.stage == 1 and suggestion:
            return self._read(path)
        return AnswerStep(answers.format_fault(now.last, now.language))

    def _read(self, path: str) -> ToolStep:
        if self.tail:
            return ToolStep("read", {"path": path, "start": -self.tail, "lines": self.tail})
        if self.start:
            return ToolStep("read", {"path": path, "start": self.start, "lines": self.end - self.start + 1})
        return ToolStep("read", {"path": path})


@dataclass(frozen=True, slots=True)
class ListFolderIntent(Intent):
    path: str = "."

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            return ToolStep("list", {"path": self.path})
        return AnswerStep(f"{now.say('shown', path=self.path)}\n{answers.fence(now.last.text)}")


@dataclass(frozen=True, slots=True)
class FindFileIntent(Intent):
    """Find a file by a glob, a path or a part of its name."""

    name: str

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            is_pattern = re.search(r"[*?\[{/]", self.name)
            return ToolStep("glob", {"pattern": self.name if is_pattern else f"*{self.name}*"})
        paths = parse_paths(now.last.text)
        if not paths:
            return AnswerStep(now.say("no_file", name=self.name))
        listed = "\n".join(f"- `{path}`" for path in paths[:100])
        more = f"\n... +{len(paths) - 100}" if len(paths) > 100 else ""
        return AnswerStep(f"{now.say('files', name=self.name, count=len(paths))}\n{listed}{more}")


def parse_paths(text: str) -> tuple[str, ...]:
    """The paths in a `glob` result."""
    if text.startswith("no file matches"):
        return ()
    return tuple(line for line in text.splitlines() if line and not line.startswith("["))


@dataclass(frozen=True, slots=True)
class OutlineIntent(Intent):
    path: str

    def handles_fault(self, now: StepContext) -> bool:
        return now.stage == 1

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            return ToolStep("symbols", {"path": self.path})
        hits_by_symbol, count = _symbol_hits(now)
        if hits_by_symbol:
            listed = "\n".join(now.results[0].text.split("\n")[2:])
        elif now.stage == 1:
            search = _search(outline_pattern(self.path), 500)
            return ToolStep("search", {**search.arguments, "path": self.path})
        else:
            hits, count, _ = answers.parse_hits(now.last.text)
            if not hits:
                return AnswerStep(now.say("no_outline", path=self.path))
            listed = "\n".join(f"{hit.line:>5}  {hit.text.rstrip()}" for hit in hits)
        return AnswerStep(f"{now.say('outline', path=self.path, count=count)}\n{answers.fence(listed)}")


@dataclass(frozen=True, slots=True)
class ProblemsIntent(Intent):
    path: str = ""

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            return ToolStep("diagnostics", {"path": self.path} if self.path else {})
        head, _, rest = now.last.text.partition("\n")
        return AnswerStep(f"**{head}**\n\n{answers.fence(rest)}" if rest else f"**{head}**")


@dataclass(frozen=True, slots=True)
class GitIntent(Intent):
    what: Literal["status", "diff", "log", "show", "blame"]
    path: str = ""
    ref: str = ""
    line: int = 0
    limit: int = 0
    staged: bool = False

    def step(self, now: StepContext) -> NextStep:
        if now.stage:
            language = "diff" if self.what in ("diff", "show") else ""
            return AnswerStep(answers.fence(now.last.text, language))
        arguments: dict[str, Json] = {
            "what": self.what,
            "path": self.path,
            "ref": self.ref,
            "limit": self.limit,
            "staged": self.staged,
            "start": self.line,
            "end": self.line,
        }
        return ToolStep("git", {name: value for name, value in arguments.items() if value})


@dataclass(frozen=True, slots=True)
class RunTestsIntent(Intent):
    target: str = ""

    def step(self, now: StepContext) -> NextStep:
        if not now.stage:
            return ToolStep("run_tests", {"target": self.target} if self.target else {})
        return AnswerStep(answers.format_tests(now.last.text, now.language))
