"""Lua, a language in one file. An example of `register_languages`.

A language is a value: its file names, its grammar, the queries for the syntax tree, and its server. Nothing
here runs; the index and the servers do the work.
"""

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Language, LanguageServer, Register, Scope

# Definitions. `@name` is the name, `@definition.KIND` the whole definition, `@container` the name of its
# container if that is elsewhere: `function Cart:add()` belongs to Cart.
TAGS = """
(function_declaration name: (identifier) @name) @definition.function
(function_declaration name: (dot_index_expression table: (identifier) @container field: (identifier) @name))
  @definition.function
(function_declaration name: (method_index_expression table: (identifier) @container
  method: (identifier) @name)) @definition.method
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name)))
  @definition.variable)
(chunk (assignment_statement (variable_list name: (identifier) @name)) @definition.variable)
"""

# Imports: the `@module` and its local `@alias`.
IMPORTS = """
(assignment_statement
  (variable_list name: (identifier) @alias)
  (expression_list value: (function_call name: (identifier) @require
    arguments: (arguments (string content: (string_content) @module))))
  (#eq? @require "require"))
"""

# Scopes, the names they bind, members (`@of` a table) and calls.
SCOPES = """
(chunk) @scope
[(function_declaration) (function_definition) (for_statement) (do_statement) (block)] @scope

(function_declaration name: (identifier) @binding.def) @def
(function_declaration name: (dot_index_expression field: (identifier) @binding.def)) @def
(function_declaration name: (method_index_expression method: (identifier) @binding.def)) @def
(parameters name: (identifier) @binding.parameter)
(variable_declaration (assignment_statement (variable_list name: (identifier) @binding))) @after
(chunk (assignment_statement (variable_list name: (identifier) @binding)) @after)
(for_generic_clause (variable_list name: (identifier) @binding))
(for_numeric_clause name: (identifier) @binding)

(return_statement (expression_list (_) @return))
(dot_index_expression table: (_) @of field: (identifier) @member)
(method_index_expression table: (_) @of method: (identifier) @member)
(function_call name: (_) @callee) @call
"""

LUA = Language(
    name="lua",
    globs=("*.lua", "*.rockspec"),
    # The first server whose program is installed answers; `cockpit doctor` prints `install` for the others.
    servers=(
        LanguageServer("lua-language-server", ("lua-language-server",), "brew install lua-language-server"),
    ),
    grammar="tree_sitter_lua",
    root_markers=(".luarc.json", ".luacheckrc", "init.lua"),
    queries={"tags": TAGS, "imports": IMPORTS, "scopes": SCOPES},
)


@hookimpl
def register_languages(register: Register, scope: Scope) -> None:
    register(LUA)
