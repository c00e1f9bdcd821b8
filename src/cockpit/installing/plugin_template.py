"""Creates a new plugin in a folder: metadata, a hook, its test and a readme; the tests pass at once.

The templates are `scaffold/HOOK.txt`: the module, a line `=== tests`, then its test.
"""

import keyword
import re
import sys
from pathlib import Path

from cockpit.errors import CockpitError
from cockpit.installing.environment import normalize_name

TEMPLATES = Path(__file__).with_name("scaffold")
DISTRIBUTION_PREFIX = "cockpit-"
TEST_MARKER = "=== tests\n"
METADATA = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{{DISTRIBUTION}}"
version = "0.1.0"
description = "A plugin for cockpit"
readme = "README.md"
requires-python = ">=3.11"
license = { text = "MIT" }
dependencies = ["cockpit-agent"]

# This line makes it a plugin: its name, and the module that holds the hooks.
[project.entry-points.cockpit]
{{NAME}} = "{{MODULE}}"

[tool.hatch.build.targets.wheel]
packages = ["src/{{MODULE}}"]
"""
README = """# {{DISTRIBUTION}}

A plugin for cockpit.

```
python -m pytest                           # its tests
cockpit plugins install --editable .       # use it while you work on it
cockpit plugins info {{NAME}}
cockpit plugins doctor {{NAME}}
```

Its settings are in the table `[plugins.{{NAME}}]`; the plugin reads them as `scope.settings`.
"""
GITIGNORE = "__pycache__/\n*.egg-info/\nbuild/\ndist/\n.pytest_cache/\n"


def list_hooks() -> list[str]:
    """The hooks a new plugin can start with, by the names of the templates."""
    return sorted(path.stem for path in TEMPLATES.glob("*.txt"))


def write_plugin(name: str, hook: str, into: Path) -> list[Path]:
    """Write the plugin `name` to a new folder below `into` and return its files, the folder first.

    Raises `CockpitError` for an invalid name and for a folder that exists.
    """
    short = normalize_name(name).removeprefix(DISTRIBUTION_PREFIX)
    identifier = short.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9-]*", short) or keyword.iskeyword(identifier):
        reason = f"{name!r} is not a valid plugin name"
        raise CockpitError(reason, "use letters, digits and `-`, starting with a letter")
    if identifier in sys.stdlib_module_names and name.startswith(DISTRIBUTION_PREFIX):
        raise CockpitError(f"{name!r} is the name of a Python module", "choose another name")
    distribution, module = f"{DISTRIBUTION_PREFIX}{short}", f"cockpit_{identifier}"
    folder = into / distribution
    if folder.exists():
        raise CockpitError(f"{folder} exists already", "choose another name, or another folder with --into")
    code, test = (TEMPLATES / f"{hook}.txt").read_text(encoding="utf-8").split(TEST_MARKER)
    words = {
        "NAME": short,
        "IDENT": identifier,
        "MODULE": module,
        "DISTRIBUTION": distribution,
        "TITLE": short.replace("-", " ").capitalize(),
    }
    files = {
        "pyproject.toml": METADATA,
        "README.md": README,
        ".gitignore": GITIGNORE,
        f"src/{module}/__init__.py": code,
        f"src/{module}/py.typed": "",
        f"tests/test_{identifier}.py": test,
    }
    written = [folder]
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        filled = re.sub(r"\{\{(\w+)\}\}", lambda match: words[match[1]], text)
        target.write_text(filled, encoding="utf-8", newline="\n")
        written.append(target)
    return written
