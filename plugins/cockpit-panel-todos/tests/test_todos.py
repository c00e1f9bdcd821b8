"""Notes in a folder with text and binary files."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


def test_notes_are_found_only_in_text_files(tmp_path: Path) -> None:
    spec = spec_from_file_location("todos", PLUGIN / "src" / "cockpit_panel_todos" / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "a.py").write_text("x = 1\n# TODO: name it\n# FIXME(ada) now\n", encoding="utf-8")
    (tmp_path / "b.bin").write_bytes(b"\xff\xfe TODO no")
    rows = [(row.text, row.state) for row in module.build_rows(tmp_path)]
    assert rows == [("a.py:2  name it", "todo"), ("a.py:3  ada) now", "fixme")]


def test_only_a_trusted_folder_is_scanned(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    assert trial.plugin("todos")["registers"] == ["panels: todos"]
    trial.prompt("hello", flags=("--trust",))
    assert trial.plugin("todos")["registers"] == ["residents: todos", "panels: todos"]
