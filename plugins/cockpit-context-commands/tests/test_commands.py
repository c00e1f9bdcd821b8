"""Commands are read from real project files."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from cockpit.trial import Trial

pytestmark = pytest.mark.slow

PLUGIN = Path(__file__).parents[1]


def test_commands_are_read_from_every_kind_of_file(tmp_path: Path) -> None:
    spec = spec_from_file_location("commands", PLUGIN / "src" / "cockpit_context_commands" / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "Makefile").write_text(
        "CC := gcc\n.PHONY: test\ntest: all\n\tpytest\nall:\n", encoding="utf-8"
    )
    (tmp_path / "package.json").write_text('{"scripts": {"lint": "eslint ."}}', encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.poe.tasks]\nserve = 'x'\n", encoding="utf-8")
    assert module.find_commands(tmp_path) == ["make test", "make all", "npm run lint", "poe serve"]
    (tmp_path / "package.json").write_text("[broken", encoding="utf-8")
    assert "npm run lint" not in module.find_commands(tmp_path)


def test_source_is_registered_only_in_a_trusted_folder(tmp_path: Path) -> None:
    trial = Trial(PLUGIN, tmp_path)
    assert trial.plugin("project_commands")["registers"] == []
    trial.prompt("hello", flags=("--trust",))
    assert trial.plugin("project_commands")["registers"] == ["context: project-commands"]
