"""Which language a file is in, by its name."""

from pathlib import PurePosixPath

BY_ENDING = {
    ending: language
    for language, endings in {
        "Python": "py pyi pyx",
        "JavaScript": "js mjs cjs jsx",
        "TypeScript": "ts mts cts tsx",
        "Go": "go",
        "Rust": "rs",
        "Java": "java",
        "Kotlin": "kt kts",
        "Scala": "scala sc",
        "C": "c h",
        "C++": "cc cpp cxx hpp hh hxx",
        "C#": "cs",
        "F#": "fs fsx",
        "Swift": "swift",
        "Objective-C": "m mm",
        "Ruby": "rb rake",
        "PHP": "php",
        "Perl": "pl pm",
        "Lua": "lua",
        "R": "r rmd",
        "Julia": "jl",
        "Elixir": "ex exs",
        "Erlang": "erl hrl",
        "Haskell": "hs",
        "OCaml": "ml mli",
        "Clojure": "clj cljs cljc edn",
        "Dart": "dart",
        "Zig": "zig",
        "Nim": "nim",
        "Shell": "sh bash zsh fish",
        "PowerShell": "ps1 psm1",
        "SQL": "sql",
        "HTML": "html htm",
        "CSS": "css scss sass less",
        "Vue": "vue",
        "Svelte": "svelte",
        "Markdown": "md mdx",
        "reStructuredText": "rst",
        "TOML": "toml",
        "YAML": "yaml yml",
        "JSON": "json jsonc",
        "XML": "xml",
        "Protobuf": "proto",
        "Terraform": "tf",
        "Jupyter": "ipynb",
        "CMake": "cmake",
    }.items()
    for ending in endings.split()
}
BY_NAME = {
    "Makefile": "Make",
    "makefile": "Make",
    "GNUmakefile": "Make",
    "Dockerfile": "Docker",
    "CMakeLists.txt": "CMake",
    "Rakefile": "Ruby",
    "Gemfile": "Ruby",
    "Jenkinsfile": "Groovy",
}
# What describes or configures a project rather than being it: listed after the code.
NOT_CODE = frozenset(
    {"Markdown", "reStructuredText", "TOML", "YAML", "JSON", "XML", "HTML", "CSS", "Make", "Docker"}
)


def language_of(path: str) -> str:
    """The language's name, or "" where the name does not say."""
    file = PurePosixPath(path)
    return BY_NAME.get(file.name) or BY_ENDING.get(file.suffix[1:].lower(), "")
