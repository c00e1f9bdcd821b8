"""JavaScript and TypeScript, with and without JSX: four grammars, one server."""

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Language, LanguageServer, Register, Scope

JS_TAGS = """
(class_declaration name: (_) @name) @definition.class
(method_definition name: (_) @name) @definition.method
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(program (lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)]) @definition.function))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)]) @definition.function)))
(program (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(program (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)
  @definition.variable)))
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]) @definition.function
"""

JS_FIELDS = """
(field_definition property: (property_identifier) @name) @definition.field
"""

TS_TAGS = """
(public_field_definition name: (property_identifier) @name) @definition.field
(abstract_class_declaration name: (_) @name) @definition.class
(interface_declaration name: (_) @name) @definition.interface
(type_alias_declaration name: (_) @name) @definition.type
(enum_declaration name: (_) @name) @definition.enum
(enum_body name: (property_identifier) @name @definition.constant)
(enum_assignment name: (property_identifier) @name) @definition.constant
(internal_module name: (_) @name) @definition.namespace
(module name: (identifier) @name) @definition.namespace
(function_signature name: (identifier) @name) @definition.function
(method_signature name: (property_identifier) @name) @definition.method
(abstract_method_signature name: (property_identifier) @name) @definition.method
(property_signature name: (property_identifier) @name) @definition.field
(ambient_declaration (lexical_declaration (variable_declarator name: (identifier) @name)
  @definition.variable))
"""

IMPORTS = """
(import_statement (import_clause (identifier) @alias @default) source: (string (string_fragment) @module))
(import_statement (import_clause (namespace_import (identifier) @alias))
  source: (string (string_fragment) @module))
(import_statement (import_clause (named_imports (import_specifier name: (_) @name !alias)))
  source: (string (string_fragment) @module))
(import_statement (import_clause (named_imports (import_specifier name: (_) @name alias: (_) @alias)))
  source: (string (string_fragment) @module))
(export_statement (export_clause (export_specifier name: (_) @name !alias))
  source: (string (string_fragment) @module))
(export_statement (export_clause (export_specifier name: (_) @name alias: (_) @alias))
  source: (string (string_fragment) @module))
(export_statement "*" @star source: (string (string_fragment) @module))
(variable_declarator name: (identifier) @alias
  value: (call_expression function: (identifier) @require arguments: (arguments
    (string (string_fragment) @module))) (#eq? @require "require"))
(variable_declarator
  name: (object_pattern (shorthand_property_identifier_pattern) @name)
  value: (call_expression function: (identifier) @require arguments: (arguments
    (string (string_fragment) @module))) (#eq? @require "require"))
"""

JS_SCOPES = """
(program) @scope
(class_body) @scope.class
(statement_block) @scope
[(function_declaration) (function_expression) (arrow_function) (method_definition)
 (generator_function_declaration) (generator_function) (for_statement) (for_in_statement)
 (catch_clause)] @scope

(class_declaration name: (_) @binding.def) @def
(function_declaration name: (identifier) @binding.def) @def
(generator_function_declaration name: (identifier) @binding.def) @def
(method_definition name: (property_identifier) @binding.def) @def
(function_expression name: (identifier) @binding)
(variable_declarator name: (identifier) @binding !value)
(variable_declarator name: (identifier) @binding value: (_) @value) @after
(shorthand_property_identifier_pattern) @binding
(pair_pattern value: (identifier) @binding)
(array_pattern (identifier) @binding)
(rest_pattern (identifier) @binding)
(assignment_pattern left: (identifier) @binding)
(object_assignment_pattern left: (shorthand_property_identifier_pattern) @binding)
(arrow_function parameter: (identifier) @binding.parameter)
(for_in_statement left: (identifier) @binding)
(catch_clause parameter: (identifier) @binding)

(assignment_expression left: (member_expression object: (this) @receiver
  property: (property_identifier) @attribute) right: (_) @value)
(assignment_expression left: (member_expression object: (identifier) @receiver
  property: (property_identifier) @attribute) right: [(function_expression) (arrow_function)] @value)

(return_statement (_) @return)
(member_expression object: (_) @of property: (property_identifier) @member)
(member_expression object: (_) @of property: (private_property_identifier) @member)
(call_expression function: (_) @callee) @call
(new_expression constructor: (_) @callee) @call
(this) @this
(export_statement "default" [(class_declaration name: (_) @default) (function_declaration name: (_) @default)
  (identifier) @default])
"""

JS_ONLY_SCOPES = """
(formal_parameters (identifier) @binding.parameter)
(field_definition property: (property_identifier) @binding value: (_) @value)
(field_definition property: (property_identifier) @binding !value)
(class_declaration (class_heritage (_) @base)) @class
(jsx_opening_element name: (identifier) @reference)
"""

TS_SCOPES = """
[(interface_body) (enum_body)] @scope.class
(internal_module body: (statement_block) @scope.class)
(abstract_class_declaration name: (_) @binding.def) @def
(interface_declaration name: (_) @binding.def) @def
(type_alias_declaration name: (_) @binding.def value: (_) @type) @def
(enum_declaration name: (_) @binding.def) @def
(internal_module name: (_) @binding.def) @def
(function_signature name: (identifier) @binding.def) @def
(method_signature name: (property_identifier) @binding.def) @def
(abstract_method_signature name: (property_identifier) @binding.def) @def
(property_signature name: (property_identifier) @binding type: (type_annotation (_) @type))
(enum_body name: (property_identifier) @binding)
(enum_assignment name: (property_identifier) @binding)
(required_parameter (accessibility_modifier) pattern: (identifier) @promoted)
(required_parameter pattern: (identifier) @binding.parameter type: (type_annotation (_) @type))
(optional_parameter pattern: (identifier) @binding.parameter type: (type_annotation (_) @type))
(required_parameter pattern: (identifier) @binding.parameter !type)
(optional_parameter pattern: (identifier) @binding.parameter !type)
(variable_declarator name: (identifier) @binding type: (type_annotation (_) @type)) @after
(public_field_definition name: (property_identifier) @binding type: (type_annotation (_) @type))
(public_field_definition name: (property_identifier) @binding value: (_) @value)
(public_field_definition name: (property_identifier) @binding)
(class_declaration (class_heritage (extends_clause value: (_) @base))) @class
(class_declaration (class_heritage (implements_clause (_) @base))) @class
(abstract_class_declaration (class_heritage (extends_clause value: (_) @base))) @class
(abstract_class_declaration (class_heritage (implements_clause (_) @base))) @class
(interface_declaration (extends_type_clause type: (_) @base)) @class
(function_declaration return_type: (type_annotation (_) @returns)) @function
(method_definition return_type: (type_annotation (_) @returns)) @function
(method_signature return_type: (type_annotation (_) @returns)) @function
(nested_type_identifier module: (_) @of name: (_) @member)
"""

SERVER = LanguageServer(
    "typescript-language-server",
    ("typescript-language-server", "--stdio"),
    # This server needs tsserver, which npm's current typescript 7 does not have.
    install="npm install -g typescript-language-server typescript@5",
    runs_project=True,
    # The separate syntax process would answer at once, but wrongly, while the project loads.
    initialization={"tsserver": {"useSyntaxServer": "never"}},
    startup_seconds=20.0,
)
MARKERS = ("package.json", "tsconfig.json", "jsconfig.json", "deno.json")
TYPESCRIPT_QUERIES = {"tags": JS_TAGS + TS_TAGS, "imports": IMPORTS, "scopes": JS_SCOPES + TS_SCOPES}

JAVASCRIPT = Language(
    name="javascript",
    globs=("*.js", "*.jsx", "*.mjs", "*.cjs"),
    servers=(SERVER,),
    grammar="tree_sitter_javascript",
    root_markers=MARKERS,
    queries={"tags": JS_TAGS + JS_FIELDS, "imports": IMPORTS, "scopes": JS_SCOPES + JS_ONLY_SCOPES},
    ids={".jsx": "javascriptreact"},
)
TYPESCRIPT = Language(
    name="typescript",
    globs=("*.ts", "*.mts", "*.cts"),
    servers=(SERVER,),
    grammar="tree_sitter_typescript:language_typescript",
    root_markers=MARKERS,
    queries=TYPESCRIPT_QUERIES,
)
TSX = Language(
    name="tsx",
    globs=("*.tsx",),
    servers=(SERVER,),
    grammar="tree_sitter_typescript:language_tsx",
    root_markers=MARKERS,
    queries=TYPESCRIPT_QUERIES,
    ids={".tsx": "typescriptreact"},
)


@hookimpl
def register_languages(register: Register, scope: Scope) -> None:
    for language in (JAVASCRIPT, TYPESCRIPT, TSX):
        register(language)
