"""Languages: their files, grammars and servers. Plain values that can be sent to the processes that parse."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cockpit.protocol.messages import Json


@dataclass(frozen=True, slots=True)
class LanguageServer:
    """A program that speaks the Language Server Protocol on stdio.

    `install` is the command that installs it. The first server of a language whose program is found answers;
    one that is `beside` runs with it, for its diagnostics, actions and formatting. `runs_project`: it
    executes code of the project (build scripts, plug-ins), so it starts only in a trusted folder.
    `sees_open_only`: if nothing describes the build, it finds uses and renames only in open files, so files
    that use a symbol are opened first. `named_by` is the project's file that names it (empty for a plugin's):
    such a server also needs the user's approval. Times are in seconds.
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
    """A language. `globs` match the name of a file (`*.py`, `Dockerfile`).

    `grammar` is the module of a grammar wheel, with the function that returns the language if it is not
    `language`: `tree_sitter_typescript:language_tsx`. `queries` are tree-sitter queries by their purpose.
    `ids` are the protocol's language ids by file suffix where they differ from `name`: `{".tsx":
    "typescriptreact"}`.

    `tags`: a definition is `@definition.KIND` (the whole) with `@name`; `@container` is the name of the
    container if that is not around it (a Go receiver), `@within` the node that contains them all.

    `imports`: the `@module` that a file names, with the `@name` it takes from it (none: the module itself),
    the `@alias` for it, `@star` if all its names are imported, `@default` for the nameless export.

    `scopes`: what names mean. `@scope`; `@scope.class`, whose names functions in it do not see, and
    `@scope.members`, whose names they do; `@scope.unordered` (a comprehension); `@outside`, which is inside a
    function but evaluated around it. A name is bound by `@binding`, `@binding.parameter`, `@binding.instance`
    (`self`), `@binding.outer` (in the scope around), `@binding.def` (with the whole as `@def`), from the end
    of `@after` on. Evidence of its class: `@value`, `@type`, `@entered` (a `with`). `@receiver` and
    `@attribute` set a member (`self.x = ...`); `@class` has a `@base`, `@function` a type that it `@returns`,
    a `@return` an expression; `@implements` (a type) with `@base` (a trait); `@promoted` is a parameter that
    is also a member. `@of` has the `@member`; a `@call` its `@callee`, and `@keyword` arguments. `@this` is
    the instance, `@global` a name of the file's scope, `@reference` a name whose node type does not end in
    `identifier`.
    """

    name: str
    globs: tuple[str, ...]
    servers: tuple[LanguageServer, ...] = ()
    grammar: str = ""
    root_markers: tuple[str, ...] = ()
    queries: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
