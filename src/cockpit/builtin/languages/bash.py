"""Bash and plain shell scripts: functions, variables and sourced files."""

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Language, LanguageServer, Register, Scope

TAGS = """
(function_definition name: (word) @name) @definition.function
(program (variable_assignment name: (variable_name) @name) @definition.variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @definition.variable)
"""

IMPORTS = """
(command name: (command_name (word) @source) argument: (word) @module @star (#any-of? @source "source" "."))
(command name: (command_name (word) @source) argument: (string) @module @star
  (#any-of? @source "source" "."))
"""

SCOPES = """
(program) @scope
(function_definition name: (word) @binding.def) @def
(variable_assignment name: (variable_name) @binding)
(for_statement variable: (variable_name) @binding)
(command_name (word) @reference)
(variable_name) @reference
(function_definition name: (word) @reference)
(command name: (command_name (word) @callee)) @call
"""

SERVER = LanguageServer(
    "bash-language-server",
    ("bash-language-server", "start"),
    install="npm install -g bash-language-server",
    startup_seconds=20.0,
)

BASH = Language(
    name="bash",
    globs=("*.sh", "*.bash", "*.zsh", ".bashrc", ".bash_profile", ".profile", "PKGBUILD"),
    servers=(SERVER,),
    grammar="tree_sitter_bash",
    queries={"tags": TAGS, "imports": IMPORTS, "scopes": SCOPES},
    ids={".sh": "shellscript", ".bash": "shellscript", ".zsh": "shellscript"},
)


@hookimpl
def register_languages(register: Register, scope: Scope) -> None:
    register(BASH)
