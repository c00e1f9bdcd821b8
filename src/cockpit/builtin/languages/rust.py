"""Rust: items, impl blocks and use trees."""

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Language, LanguageServer, Register, Scope

TAGS = """
(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.method
(struct_item name: (type_identifier) @name) @definition.struct
(union_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(enum_variant name: (identifier) @name) @definition.constant
(field_declaration name: (field_identifier) @name) @definition.field
(trait_item name: (type_identifier) @name) @definition.trait
(type_item name: (type_identifier) @name) @definition.type
(mod_item name: (identifier) @name) @definition.module
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.variable
(macro_definition name: (identifier) @name) @definition.macro
(impl_item type: [(type_identifier) @container (generic_type type: (type_identifier) @container)]) @within
"""

IMPORTS = """
(use_declaration argument: (scoped_identifier path: (_) @module name: (identifier) @name))
(use_declaration argument: (use_as_clause path: (scoped_identifier path: (_) @module
  name: (identifier) @name) alias: (identifier) @alias))
(use_declaration argument: (scoped_use_list path: (_) @module list: (use_list (identifier) @name)))
(use_declaration argument: (scoped_use_list path: (_) @module
  list: (use_list (use_as_clause path: (identifier) @name alias: (identifier) @alias))))
(use_declaration argument: (use_wildcard (_) @module) @star)
"""

SCOPES = """
(source_file) @scope
(mod_item body: (declaration_list) @scope)
(field_declaration_list) @scope.class
(enum_variant_list) @scope.class
(trait_item body: (declaration_list) @scope.class)
(impl_item body: (declaration_list) @scope.class)
[(function_item) (closure_expression) (block) (for_expression) (match_arm) (if_expression)
 (while_expression)] @scope

(function_item name: (identifier) @binding.def) @def
(function_signature_item name: (identifier) @binding.def) @def
(struct_item name: (type_identifier) @binding.def) @def
(enum_item name: (type_identifier) @binding.def) @def
(enum_variant name: (identifier) @binding)
(union_item name: (type_identifier) @binding.def) @def
(trait_item name: (type_identifier) @binding.def) @def
(type_item name: (type_identifier) @binding.def) @def
(mod_item name: (identifier) @binding.def) @def
(const_item name: (identifier) @binding.def) @def
(static_item name: (identifier) @binding.def) @def
(macro_definition name: (identifier) @binding.def) @def
(field_declaration name: (field_identifier) @binding type: (_) @type)
(parameter pattern: (identifier) @binding.parameter type: (_) @type)
(let_declaration pattern: (identifier) @binding type: (_) @type) @after
(let_declaration pattern: (identifier) @binding value: (_) @value) @after
(let_declaration pattern: (identifier) @binding) @after
(let_declaration pattern: (tuple_pattern (identifier) @binding)) @after
(for_expression pattern: (identifier) @binding)
(closure_parameters (identifier) @binding.parameter)
(mut_pattern (identifier) @binding)
(match_pattern (identifier) @binding)
(tuple_struct_pattern (identifier) @type . (identifier) @binding)

(impl_item trait: (_) @base type: (type_identifier) @implements)
(trait_item bounds: (trait_bounds (_) @base)) @class
(function_item return_type: (_) @returns) @function
(field_expression value: (_) @of field: (field_identifier) @member)
(scoped_identifier path: (_) @of name: (identifier) @member)
(scoped_type_identifier path: (_) @of name: (type_identifier) @member)
(call_expression function: (_) @callee) @call
(struct_expression name: (_) @callee) @call
(struct_expression name: (_) @callee body: (field_initializer_list
  (field_initializer field: (field_identifier) @keyword)))
(macro_invocation macro: (identifier) @callee) @call
(self) @this
"""

ANALYZER = LanguageServer(
    "rust-analyzer",
    ("rust-analyzer",),
    install="rustup component add rust-analyzer",
    runs_project=True,
    startup_seconds=30.0,
)

RUST = Language(
    name="rust",
    globs=("*.rs",),
    servers=(ANALYZER,),
    grammar="tree_sitter_rust",
    root_markers=("Cargo.toml",),
    queries={"tags": TAGS, "imports": IMPORTS, "scopes": SCOPES},
)


@hookimpl
def register_languages(register: Register, scope: Scope) -> None:
    register(RUST)
