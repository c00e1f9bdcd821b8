"""Java. A file is a class of its package."""

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Language, LanguageServer, Register, Scope

TAGS = """
(class_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(record_declaration name: (identifier) @name) @definition.class
(enum_constant name: (identifier) @name) @definition.constant
(constructor_declaration name: (identifier) @name) @definition.constructor
(method_declaration name: (identifier) @name) @definition.method
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
"""

IMPORTS = """
(import_declaration (scoped_identifier scope: (_) @module name: (identifier) @name) .)
(import_declaration (_) @module (asterisk) @star)
"""

SCOPES = """
(program) @scope
[(class_body) (interface_body) (enum_body) (annotation_type_body)] @scope.members
[(method_declaration) (constructor_declaration) (lambda_expression) (block) (for_statement)
 (enhanced_for_statement) (catch_clause) (try_with_resources_statement)] @scope

(class_declaration name: (identifier) @binding.def) @def
(interface_declaration name: (identifier) @binding.def) @def
(enum_declaration name: (identifier) @binding.def) @def
(record_declaration name: (identifier) @binding.def) @def
(annotation_type_declaration name: (identifier) @binding.def) @def
(method_declaration name: (identifier) @binding.def) @def
(enum_constant name: (identifier) @binding)
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @binding))
(local_variable_declaration type: (_) @type
  declarator: (variable_declarator name: (identifier) @binding value: (_) @value)) @after
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @binding))
(formal_parameter type: (_) @type name: (identifier) @binding.parameter)
(spread_parameter (variable_declarator name: (identifier) @binding.parameter))
(catch_formal_parameter name: (identifier) @binding.parameter)
(enhanced_for_statement type: (_) @type name: (identifier) @binding)
(lambda_expression parameters: (identifier) @binding.parameter)
(inferred_parameters (identifier) @binding.parameter)
(resource type: (_) @type name: (identifier) @binding)

(class_declaration superclass: (superclass (_) @base)) @class
(class_declaration interfaces: (super_interfaces (type_list (_) @base))) @class
(interface_declaration (extends_interfaces (type_list (_) @base))) @class
(enum_declaration interfaces: (super_interfaces (type_list (_) @base))) @class
(method_declaration type: (_) @returns) @function
(field_access object: (_) @of field: (identifier) @member)
(method_invocation object: (_) @of name: (identifier) @member)
(method_invocation name: (identifier) @callee) @call
(object_creation_expression type: (_) @callee) @call
(this) @this
"""

JDTLS = LanguageServer(
    "jdtls", ("jdtls",), install="brew install jdtls", runs_project=True, startup_seconds=60.0
)

JAVA = Language(
    name="java",
    globs=("*.java",),
    servers=(JDTLS,),
    grammar="tree_sitter_java",
    root_markers=("pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle"),
    queries={"tags": TAGS, "imports": IMPORTS, "scopes": SCOPES},
)


@hookimpl
def register_languages(register: Register, scope: Scope) -> None:
    register(JAVA)
