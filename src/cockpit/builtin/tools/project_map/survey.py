"""Walks a project once, within limits of files and time, and counts files, lines, languages and folders."""

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from cockpit.builtin.tools.project_map.manifests import ManifestFacts, is_manifest, read_manifest
from cockpit.builtin.tools.text_reads import read_text
from cockpit.plugin.context import FileEntry, Files

LANGUAGES = """
Python .py .pyi .pyx; JavaScript .js .mjs .cjs .jsx; TypeScript .ts .mts .cts .tsx; Go .go; Rust .rs
Java .java; Kotlin .kt .kts; Scala .scala .sc; C .c .h; C++ .cc .cpp .cxx .hpp .hh .hxx; C# .cs; F# .fs .fsx
Swift .swift; Objective-C .m .mm; Ruby .rb .rake Rakefile Gemfile; PHP .php; Perl .pl .pm; Lua .lua; R .r .rmd
Julia .jl; Elixir .ex .exs; Erlang .erl .hrl; Haskell .hs; OCaml .ml .mli; Clojure .clj .cljs .cljc .edn
Dart .dart; Zig .zig; Nim .nim; Shell .sh .bash .zsh .fish; PowerShell .ps1 .psm1; SQL .sql; HTML .html .htm
CSS .css .scss .sass .less; Vue .vue; Svelte .svelte; Markdown .md .mdx; reStructuredText .rst; TOML .toml
YAML .yaml .yml; JSON .json .jsonc; XML .xml; Protobuf .proto; Terraform .tf; Jupyter .ipynb
CMake .cmake CMakeLists.txt; Make Makefile makefile GNUmakefile; Docker Dockerfile; Groovy Jenkinsfile
"""
# By suffix (`.py`) or by file name.
LANGUAGE_BY_FILE = {
    file: language
    for language, *files in map(str.split, re.split("[;\n]+", LANGUAGES.strip()))
    for file in files
}
# Documentation and configuration, listed after the code.
NON_CODE_LANGUAGES = frozenset(
    {"Markdown", "reStructuredText", "TOML", "YAML", "JSON", "XML", "HTML", "CSS", "Make", "Docker"}
)


def detect_language(path: str) -> str:
    """The language of a file by its name, or an empty string."""
    file = PurePosixPath(path)
    return LANGUAGE_BY_FILE.get(file.name) or LANGUAGE_BY_FILE.get(file.suffix.lower(), "")


MAX_FILES = 50_000
SURVEY_SECONDS = 4.0
MAX_FILES_READ = 4_000
MAX_FILE_BYTES = 1_000_000
BYTES_PER_LINE = 35
MAX_MANIFESTS = 16
README_NAMES = ("README.md", "README.rst", "README.txt", "README", "readme.md")
FOLDER_PURPOSES = {
    folder: purpose
    for purpose, folders in {
        "tests": "tests test spec",
        "documentation": "docs doc",
        "examples": "examples",
        "scripts": "scripts",
        "programs": "bin cmd",
        "assets": "assets",
        "static files": "static public",
        "database migrations": "migrations",
        "benchmarks": "bench benches",
        "other people's code": "vendor third_party",
    }.items()
    for folder in folders.split()
}


@dataclass
class ProjectSurvey:
    """The counts. `whole`: no limit was reached. `estimated`: some line counts are computed from sizes."""

    files: int = 0
    bytes: int = 0
    whole: bool = True
    estimated: bool = False
    by_language: Counter[str] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    folders: Counter[str] = field(default_factory=Counter)
    largest: list[tuple[int, str]] = field(default_factory=list)
    manifests: list[tuple[str, ManifestFacts]] = field(default_factory=list)
    purposes: dict[str, str] = field(default_factory=dict)
    readme: str = ""


async def survey_project(
    start: str, depth: int, files: Files, seconds: float = SURVEY_SECONDS
) -> ProjectSurvey:
    """Survey the folder `start`, with folders down to `depth`. Raises `PathRefused` and `OSError`."""
    survey, deadline = ProjectSurvey(), time.monotonic() + seconds
    prefix = "" if start in ("", ".") else start.rstrip("/") + "/"
    heads: dict[str, list[str]] = {}
    async for entry in files.walk(start or "."):
        if survey.files >= MAX_FILES or time.monotonic() > deadline:
            survey.whole = False
            break
        if entry.kind == "file":
            await _count_file(survey, entry, files, time.monotonic() < deadline - seconds / 3)
            _count_folders(survey, heads, entry.path.removeprefix(prefix), depth)
            name = entry.path.rsplit("/", 1)[-1]
            if is_manifest(name) and len(survey.manifests) < MAX_MANIFESTS:
                facts = read_manifest(name, await read_text(entry.path, files))
                survey.manifests += [(entry.path, facts)] if facts is not None else []
    survey.largest = sorted(survey.largest, reverse=True)[:8]
    survey.manifests.sort(key=lambda manifest: (manifest[0].count("/"), manifest[0]))
    survey.readme = await _first_description(files, [prefix + name for name in README_NAMES])
    await _find_purposes(survey, prefix, heads, files)
    return survey


async def _count_file(survey: ProjectSurvey, entry: FileEntry, files: Files, may_read: bool) -> None:
    survey.files += 1
    survey.bytes += entry.size
    language = detect_language(entry.path)
    if not language:
        return
    survey.by_language[language] += 1
    survey.largest.append((entry.size, entry.path))
    if len(survey.largest) > 2_000:
        survey.largest = sorted(survey.largest, reverse=True)[:50]
    if may_read and survey.files <= MAX_FILES_READ and entry.size <= MAX_FILE_BYTES:
        text = await read_text(entry.path, files)
        survey.lines[language] += text.count("\n") + (not text.endswith("\n") and bool(text))
    else:
        survey.estimated = True
        survey.lines[language] += entry.size // BYTES_PER_LINE


def _count_folders(survey: ProjectSurvey, heads: dict[str, list[str]], path: str, depth: int) -> None:
    """Count the file in each folder above it, down to `depth`; note the files that describe a folder."""
    *parts, name = path.split("/")
    for at in range(1, min(len(parts), depth) + 1):
        survey.folders["/".join(parts[:at])] += 1
    if 0 < len(parts) <= depth and (
        name in README_NAMES or name in ("__init__.py", "doc.go", "mod.rs", "lib.rs")
    ):
        heads.setdefault("/".join(parts), []).append(name)


async def _find_purposes(
    survey: ProjectSurvey, prefix: str, heads: dict[str, list[str]], files: Files
) -> None:
    for folder in sorted(survey.folders)[:60]:
        names = sorted(heads.get(folder, ()), key=lambda name: name not in README_NAMES)
        description = await _first_description(files, [f"{prefix}{folder}/{name}" for name in names])
        description = description or FOLDER_PURPOSES.get(folder.rsplit("/", 1)[-1].lower(), "")
        if description:
            survey.purposes[folder] = description


async def _first_description(files: Files, paths: list[str]) -> str:
    for path in paths:
        if description := first_sentence(path, await read_text(path, files)):
            return description
    return ""


def first_sentence(path: str, text: str) -> str:
    """The first line of prose in a README, or of a module's docstring or comment."""
    if path.endswith(".py"):
        docstring = re.match(r'\s*[rR]?("""|\'\'\')(.*?)\1', text, re.S)
        text = docstring[2] if docstring else ""
    elif path.endswith(".go"):
        text = "\n".join(line[2:] for line in text.splitlines() if line.startswith("//"))
    elif path.endswith(".rs"):
        text = "\n".join(line[3:] for line in text.splitlines() if line.startswith("//!"))
    paragraphs = re.split(r"\n\s*\n", re.sub(r"<!--.*?-->|```.*?```", "", text, flags=re.S))
    for paragraph in paragraphs:
        lines = [line.strip() for line in paragraph.splitlines()]
        prose = " ".join(
            line for line in lines if line and not line.startswith(("#", "=", "-", "[!", "![", "<", "|", ">"))
        )
        prose = re.sub(r"\[([^\]]*)\]\([^)]*\)|[*_`]{1,2}", r"\1", prose).strip()
        if prose:
            sentence = re.split(r"(?<=[.!?])\s|(?<=[。！？])", prose)[0]
            return sentence if len(sentence) <= 160 else sentence[:159] + "…"
    return ""
