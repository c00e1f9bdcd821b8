"""Regular expressions that find definitions and outlines by their text, for all languages at once."""

import re

MODIFIERS = (
    r"(?:(?:export|default|declare|public|private|protected|internal|static|final|abstract|async|inline|unsafe|"
    r"const|extern|virtual|override|open|sealed|data|partial|pub(?:\([a-z]+\))?)\s+)*"
)
KEYWORDS = (
    r"(?:def|class|function\*?|func(?:\s*\([^)]*\))?|fn|struct|enum|trait|interface|type|union|impl|mod|module|"
    r"namespace|object|record|protocol|typedef|macro_rules!|let(?:\s+mut)?|const|var|val|static|package|defmodule|defp?)"
)
HEADINGS = r"^#{1,6}\s+\S"
CODE = (
    rf"^\s*{MODIFIERS}(?:def|class|function\*?|func|fn|struct|enum|trait|interface|type|impl|mod|module|namespace|"
    r"object|record|protocol|defmodule|defp?)\b\s*\S"
)
SCRIPT_VALUES = r"^(?:export\s+)?(?:const|let|var)\s+\w+\s*=\s*(?:async\s*)?(?:\(|function|class|\w+\s*=>)"
PYTHON_VALUES = r"^[A-Z][A-Z0-9_]+\s*(?::[^=]+)?="
C_FUNCTIONS = r"^[A-Za-z_][\w\s\*&:<>,~]*\([^;]*\)\s*(?:const)?\s*\{?\s*$"
BY_ENDING = {
    ("md", "markdown", "mdx"): HEADINGS,
    ("py", "pyi"): rf"{CODE}|{PYTHON_VALUES}",
    ("js", "jsx", "mjs", "cjs", "ts", "tsx"): rf"{CODE}|{SCRIPT_VALUES}",
    ("c", "h", "cc", "cpp", "hpp", "cxx"): rf"{CODE}|{C_FUNCTIONS}|^#define\s+\w+",
    ("toml", "ini", "cfg"): r"^\[.+\]",
    ("yml", "yaml"): r"^[\w.-]+:",
    ("sh", "bash", "zsh"): r"^(?:function\s+)?[\w-]+\s*\(\)",
    ("css", "scss"): r"^[^\s@{}][^{}]*\{",
    ("rst",): r"^(?:\.\. \w+::|[=~\-^]{3,}$)",
    ("mk",): r"^[A-Za-z][\w.-]*\s*:",
}


def definition(name: str) -> str:
    """Lines that define `name`; the last part of a dotted one."""
    last = re.split(r"[.:#]+", name)[-1] or name
    word = re.escape(last)
    return (
        rf"^\s*{MODIFIERS}{KEYWORDS}\s+{word}\b"
        rf"|^\s*{word}\s*(?::[^=:]+)?=[^=~]"
        rf"|^\s*{word}\s*\(\)\s*\{{"
        rf"|^\s*#define\s+{word}\b"
        rf"|^[A-Za-z_][\w\s\*&:<>,]*[\s\*&:]{word}\s*\([^;]*$"
    )


def whole_word(name: str) -> str:
    return rf"\b{re.escape(name)}\b"


def outline(path: str) -> str:
    """Lines that make an outline of the file at `path`."""
    name = path.rsplit("/", 1)[-1]
    ending = name.rsplit(".", 1)[-1].lower()
    if name.lower() in ("makefile", "gnumakefile"):
        return BY_ENDING[("mk",)]
    return next((pattern for endings, pattern in BY_ENDING.items() if ending in endings), CODE)
