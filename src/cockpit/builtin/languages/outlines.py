"""JSON, YAML, TOML and Markdown: only outlines of keys and headings, no language servers."""

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Language, Register, Scope

JSON = Language(
    name="json",
    globs=("*.json", "*.jsonc", "*.webmanifest", "*.ipynb"),
    grammar="tree_sitter_json",
    queries={"tags": "(pair key: (string (string_content) @name)) @definition.key"},
    ids={".jsonc": "jsonc"},
)
YAML = Language(
    name="yaml",
    globs=("*.yaml", "*.yml"),
    grammar="tree_sitter_yaml",
    queries={
        "tags": """
(block_mapping_pair key: (flow_node) @name) @definition.key
(flow_pair key: (flow_node) @name) @definition.key
"""
    },
)
TOML = Language(
    name="toml",
    globs=("*.toml", "Pipfile", "Cargo.lock", "poetry.lock", "uv.lock"),
    grammar="tree_sitter_toml",
    queries={
        "tags": """
(table . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.table
(table_array_element . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.table
(pair . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.key
"""
    },
)
MARKDOWN = Language(
    name="markdown",
    globs=("*.md", "*.markdown", "*.mdx"),
    grammar="tree_sitter_markdown",
    queries={
        "tags": """
(section . (atx_heading heading_content: (_) @name)) @definition.heading
(section (setext_heading heading_content: (_) @name) @definition.heading)
"""
    },
)


@hookimpl
def register_languages(register: Register, scope: Scope) -> None:
    for language in (JSON, YAML, TOML, MARKDOWN):
        register(language)
