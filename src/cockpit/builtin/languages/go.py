"""Go. A folder is a package."""

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Language, LanguageServer, Register, Scope

TAGS = """
(function_declaration name: (identifier) @name) @definition.function
(method_declaration receiver: (parameter_list (parameter_declaration
  type: [(type_identifier) @container (pointer_type (type_identifier) @container)
         (generic_type type: (type_identifier) @container)
         (pointer_type (generic_type type: (type_identifier) @container))]))
  name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name type: (struct_type)) @definition.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(field_declaration name: (field_identifier) @name) @definition.field
(method_elem name: (field_identifier) @name) @definition.method
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.variable)))
(source_file (const_declaration (const_spec name: (identifier) @name) @definition.constant))
"""

IMPORTS = """
(import_spec name: (package_identifier) @alias path: (_ (_) @module))
(import_spec !name path: (_ (_) @module))
"""

SCOPES = """
(source_file) @scope
(struct_type) @scope.class
(interface_type) @scope.class
[(function_declaration) (method_declaration) (func_literal) (block) (if_statement) (for_statement)
 (expression_case) (type_case) (communication_case) (default_case)] @scope

(function_declaration name: (identifier) @binding.def) @def
(type_spec name: (type_identifier) @binding.def) @def
(type_alias name: (type_identifier) @binding.def) @def
(field_declaration name: (field_identifier) @binding type: (_) @type)
(method_elem name: (field_identifier) @binding.def) @def
(parameter_declaration name: (identifier) @binding.parameter type: (_) @type)
(variadic_parameter_declaration name: (identifier) @binding.parameter)
(short_var_declaration left: (expression_list . (identifier) @binding)
  right: (expression_list . (_) @value)) @after
(short_var_declaration left: (expression_list (identifier) @binding)) @after
(range_clause left: (expression_list (identifier) @binding))
(var_spec name: (identifier) @binding type: (_) @type) @after
(var_spec name: (identifier) @binding value: (expression_list . (_) @value)) @after
(const_spec name: (identifier) @binding) @after

(function_declaration result: (_) @returns) @function
(method_declaration result: (_) @returns) @function
(field_declaration !name type: (_) @embedded)
(selector_expression operand: (_) @of field: (field_identifier) @member)
(qualified_type package: (_) @of name: (type_identifier) @member)
(call_expression function: (_) @callee) @call
(composite_literal type: (_) @callee) @call
(composite_literal type: (type_identifier) @callee body: (literal_value
  (keyed_element key: (literal_element (identifier) @keyword))))
"""

GOPLS = LanguageServer(
    "gopls",
    ("gopls",),
    install="go install golang.org/x/tools/gopls@latest",
    runs_project=True,
    startup_seconds=30.0,
)

GO = Language(
    name="go",
    globs=("*.go",),
    servers=(GOPLS,),
    grammar="tree_sitter_go",
    root_markers=("go.work", "go.mod"),
    queries={"tags": TAGS, "imports": IMPORTS, "scopes": SCOPES},
)


@hookimpl
def register_languages(register: Register, scope: Scope) -> None:
    register(GO)
