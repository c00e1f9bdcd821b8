"""Python: ty with ruff; if ty is not installed, basedpyright, pyright, jedi or pylsp."""

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Language, LanguageServer, Register, Scope

TAGS = """
(class_definition name: (identifier) @name) @definition.class
(function_definition name: (identifier) @name) @definition.function
(module (expression_statement (assignment left: (identifier) @name) @definition.variable))
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @definition.variable))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name)
  @definition.field)))
(module (type_alias_statement left: (type (identifier) @name)) @definition.type)
"""

IMPORTS = """
(import_statement name: (dotted_name) @module)
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias))
(import_from_statement module_name: (_) @module name: (dotted_name (identifier) @name))
(import_from_statement module_name: (_) @module
  name: (aliased_import name: (dotted_name (identifier) @name) alias: (identifier) @alias))
(import_from_statement module_name: (_) @module (wildcard_import) @star)
"""

SCOPES = """
(module) @scope
(class_definition body: (block) @scope.class)
(function_definition) @scope
(lambda) @scope
[(list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)] @scope.unordered

(default_parameter value: (_) @outside)
(typed_default_parameter value: (_) @outside)
(typed_parameter type: (_) @outside)
(typed_default_parameter type: (_) @outside)
(function_definition return_type: (_) @outside)

(class_definition name: (identifier) @binding.def) @def
(function_definition name: (identifier) @binding.def) @def
(class_definition body: (block (function_definition
  parameters: (parameters . (identifier) @binding.instance))))
(class_definition body: (block (decorated_definition (function_definition
  parameters: (parameters . (identifier) @binding.instance)))))
(parameters (identifier) @binding.parameter)
(lambda_parameters (identifier) @binding.parameter)
(default_parameter name: (identifier) @binding.parameter value: (_) @value)
(typed_parameter . (identifier) @binding.parameter type: (type (_) @type))
(typed_default_parameter name: (identifier) @binding.parameter type: (type (_) @type))
(list_splat_pattern (identifier) @binding)
(dictionary_splat_pattern (identifier) @binding.parameter)
(assignment left: (identifier) @binding type: (type (_) @type)) @after
(assignment left: (identifier) @binding right: (_) @value) @after
(assignment left: [(pattern_list (identifier) @binding) (tuple_pattern (identifier) @binding)]) @after
(pattern_list (identifier) @binding)
(tuple_pattern (identifier) @binding)
(list_pattern (identifier) @binding)
(augmented_assignment left: (identifier) @binding) @after
(named_expression name: (identifier) @binding value: (_) @value) @after
(for_statement left: (identifier) @binding right: (_) @element)
(for_in_clause left: (identifier) @binding right: (_) @element)
(as_pattern (_) @entered alias: (as_pattern_target (identifier) @binding))
(case_pattern (dotted_name . (identifier) @binding .))
(type_alias_statement left: (type (identifier) @binding))
(global_statement (identifier) @global)
(nonlocal_statement (identifier) @global)

(assignment left: (attribute object: (identifier) @receiver attribute: (identifier) @attribute)
  right: (_) @value)
(assignment left: (attribute object: (identifier) @receiver attribute: (identifier) @attribute)
  type: (type (_) @type))
(assignment left: (pattern_list
  (attribute object: (identifier) @receiver attribute: (identifier) @attribute)))
(augmented_assignment left: (attribute object: (identifier) @receiver attribute: (identifier) @attribute))
(with_item value: (as_pattern alias: (as_pattern_target
  (attribute object: (identifier) @receiver attribute: (identifier) @attribute))))

(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript) (call)] @base)) @class
(function_definition return_type: (type (_) @returns)) @function
(return_statement (_) @return)
(attribute object: (_) @of attribute: (identifier) @member)
(call function: (_) @callee) @call
(call function: (_) @callee arguments: (argument_list (keyword_argument name: (identifier) @keyword)))
"""

TY = LanguageServer("ty", ("ty", "server"), install="pip install ty")
RUFF = LanguageServer("ruff", ("ruff", "server"), install="pip install ruff", beside=True)
BASEDPYRIGHT = LanguageServer(
    "basedpyright", ("basedpyright-langserver", "--stdio"), install="pip install basedpyright"
)
PYRIGHT = LanguageServer("pyright", ("pyright-langserver", "--stdio"), install="npm install -g pyright")
JEDI = LanguageServer(
    "jedi",
    ("jedi-language-server",),
    install="pip install jedi-language-server",
    runs_project=True,
    startup_seconds=20.0,
)
PYLSP = LanguageServer(
    "pylsp", ("pylsp",), install="pip install python-lsp-server", runs_project=True, startup_seconds=20.0
)

PYTHON = Language(
    name="python",
    globs=("*.py", "*.pyi", "*.pyw", "SConstruct", "SConscript", "wscript"),
    servers=(TY, RUFF, BASEDPYRIGHT, PYRIGHT, JEDI, PYLSP),
    grammar="tree_sitter_python",
    root_markers=("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "ty.toml"),
    queries={"tags": TAGS, "imports": IMPORTS, "scopes": SCOPES},
)


@hookimpl
def register_languages(register: Register, scope: Scope) -> None:
    register(PYTHON)
