"""What a language is: its files, its grammar, its servers. Plain values, so that they travel to the
processes that parse."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cockpit.protocol.messages import Json


@dataclass(frozen=True, slots=True)
class LanguageServer:
    """A program that speaks the Language Server Protocol on stdio.

    `install` is the one command that installs it. The first server of a language whose program is
    found answers; one that is `beside` runs with it, for its problems, actions and formatting.
    `runs_project`: it executes code of the project (build scripts, plug-ins), so it starts in a trusted
    folder only. `named_by` is the project's file that names it (empty for a plugin's): such a
    one also needs a person's yes. Times are seconds.
    """

    name: str
    command: tuple[str, ...]
    install: str = ""
    beside: bool = False
    runs_project: bool = False
    named_by: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    initialization: Json = None
    settings: Mapping[str, Json] = field(default_factory=dict)
    folder: str = ""
    startup_seconds: float = 10.0
    shutdown_seconds: float = 2.0
    restart: bool = True


@dataclass(frozen=True, slots=True)
class Language:
    """A language. `globs` match a file's name (`*.py`, `Dockerfile`).

    `grammar` is the module of a grammar wheel, with the function that answers the language when it is not
    `language`: `tree_sitter_typescript:language_tsx`. `queries` are tree-sitter queries by what they
    find: `tags` (captures `@definition.KIND` with `@name`), `imports`, `scopes`. `ids` are the
    protocol's language ids by file suffix where they are not `name`: `{".tsx": "typescriptreact"}`.
    """

    name: str
    globs: tuple[str, ...]
    servers: tuple[LanguageServer, ...] = ()
    grammar: str = ""
    root_markers: tuple[str, ...] = ()
    queries: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
