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
    folder only. `sees_open_only`: where nothing describes the build, it finds uses and renames only in
    files it has open, so those that use a symbol are opened before. `named_by` is the project's file
    that names it (empty for a plugin's): such a one also needs a person's yes. Times are seconds.
    """

    name: str
    command: tuple[str, ...]
    install: str = ""
    beside: bool = False
    runs_project: bool = False
    sees_open_only: bool = False
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
    find. `ids` are the protocol's language ids by file suffix where they are not `name`:
    `{".tsx": "typescriptreact"}`.

    `tags`: a definition is `@definition.KIND` (its whole) with `@name`; `@container` is the name of what it
    belongs to where that does not stand around it (a Go receiver), `@within` the node in which all do.

    `imports`: the `@module` a file names, with the `@name` it takes from it (none: the module itself), the
    `@alias` that stands for it, `@star` when all its names come in, `@default` for the nameless export.

    `scopes`: what names mean. `@scope`; `@scope.class`, whose names functions in it do not see, and
    `@scope.members`, whose they do; `@scope.unordered` (a comprehension); `@outside`, what stands in a
    function but is evaluated around it. A name is bound by `@binding`, `@binding.parameter`,
    `@binding.instance` (`self`), `@binding.outer` (in the scope around), `@binding.def` (with its whole as
    `@def`), from the end of `@after` on. Evidence of its class: `@value`, `@type`, `@entered` (a `with`).
    `@receiver` and `@attribute` set a member (`self.x = ...`); `@class` has a `@base`, `@function` a type it
    `@returns`, a `@return` an expression; `@implements` (a type) with `@base` (a trait); `@promoted` is a
    parameter that is a member, too. `@of` has the `@member`; a `@call` its `@callee`, and `@keyword`
    arguments. `@this` is the instance, `@global` a name of the file's scope, `@reference` a name whose
    node's type does not end in `identifier`.
    """

    name: str
    globs: tuple[str, ...]
    servers: tuple[LanguageServer, ...] = ()
    grammar: str = ""
    root_markers: tuple[str, ...] = ()
    queries: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
