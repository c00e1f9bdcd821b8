"""Every private attribute of a dependency that cockpit uses: the only list, and proof that each exists.

A private attribute may change with any release of its library. When one of these tests fails after an update,
look at the module named beside the attribute.
"""

import ast
import atexit
import inspect
import os
from pathlib import Path

import mcp.client.auth.oauth2
import pylsp_jsonrpc.endpoint
import pylsp_jsonrpc.streams
import pytest
import textual._xterm_parser
import textual.driver
import textual.screen
import textual.widget

ROOT = Path(__file__).parents[2] / "src"
# The attribute, its owner, and the module of cockpit that uses it.
ATTRIBUTES = [
    ("_repaint_required", textual.widget.Widget, "cockpit/tui/render/widgets.py"),
    ("_layout_required", textual.widget.Widget, "cockpit/tui/render/widgets.py"),
    ("_scroll_update", textual.screen.Screen, "cockpit/tui/render/widgets.py"),
    ("_dirty_widgets", textual.screen.Screen, "cockpit/tui/render/widgets.py"),
    ("_on_timer_update", textual.screen.Screen, "cockpit/tui/render/widgets.py"),
    ("_debug", textual.driver.Driver, "cockpit/tui/terminal/driver.py"),
    ("_sequence_to_key_events", textual._xterm_parser.XTermParser, "cockpit/tui/terminal/driver.py"),
    ("_rfile", pylsp_jsonrpc.streams.JsonRpcStreamReader, "cockpit/navigation/lsp/connection.py"),
    ("_server_request_futures", pylsp_jsonrpc.endpoint.Endpoint, "cockpit/navigation/lsp/connection.py"),
    ("_consumer", pylsp_jsonrpc.endpoint.Endpoint, "cockpit/navigation/lsp/connection.py"),
    ("_handle_response", pylsp_jsonrpc.endpoint.Endpoint, "cockpit/navigation/lsp/connection.py"),
    ("_add_auth_header", mcp.client.auth.oauth2.OAuthClientProvider, "cockpit/mcp/oauth/provider.py"),
    ("_run_exitfuncs", atexit, "cockpit/cli/main.py"),
    ("_exit", os, ""),
]
# Documented methods of named tuples.
DOCUMENTED = {"_replace", "_asdict", "_fields"}


@pytest.mark.parametrize(("name", "owner", "module"), ATTRIBUTES, ids=lambda value: str(value))
def test_the_library_still_has_the_attribute(name: str, owner: type, module: str) -> None:
    if not hasattr(owner, name):
        # An attribute that `__init__` sets on each object is not an attribute of the class.
        assert f"self.{name}" in inspect.getsource(owner)
    assert not module or name in (ROOT / module).read_text(encoding="utf-8"), "remove it from the list"


@pytest.mark.slow
def test_no_other_private_attribute_of_a_library_is_used() -> None:
    listed = {name for name, _, _ in ATTRIBUTES} | DOCUMENTED
    strangers = []
    for path in ROOT.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        own = _own_names(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own | listed:
                strangers.append(f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}")
            if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("cockpit"):
                strangers += [f"{path}: {alias.name}" for alias in node.names if _is_private(alias.name)]
    assert not strangers


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _own_names(tree: ast.AST) -> set[str]:
    """The private names that a module defines itself: functions, fields and attributes of `self`."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                names.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names
