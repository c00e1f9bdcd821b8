"""Tests the queries against the grammar, without cockpit's internals."""

import importlib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import tree_sitter

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[1] / "src" / "cockpit_lang_lua" / "__init__.py"


def test_every_query_fits_the_grammar_and_matches() -> None:
    spec = spec_from_file_location("cockpit_lang_lua", SOURCE)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    grammar = tree_sitter.Language(importlib.import_module(module.LUA.grammar).language())
    text = b'local m = require("a.b")\nfunction m.f(x) return m.g(x) end\n'
    tree = tree_sitter.Parser(grammar).parse(text)
    for source in module.LUA.queries.values():
        query = tree_sitter.Query(grammar, source)
        assert tree_sitter.QueryCursor(query).matches(tree.root_node)
