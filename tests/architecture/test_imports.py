"""What must stay out of memory until it is needed: the linter cannot see a deferred import."""

import subprocess
import sys

import pytest

HEAVY = ("textual", "openai", "mcp", "rich", "jsonschema", "keyring", "tree_sitter")


def _loaded(code: str) -> set[str]:
    """The top-level modules that are in memory after `code` ran in a fresh interpreter."""
    script = (
        f"{code}\nimport sys\nprint(','.join(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(ended.stdout.strip().splitlines()[-1].split(","))


@pytest.mark.parametrize(
    "code",
    [
        "from cockpit.cli.main import main\nmain(['--version'])",
        "import cockpit.core.session.session",
        "import cockpit.core.session.deck",
    ],
)
def test_heavy_libraries_stay_out(code: str) -> None:
    assert not _loaded(code) & set(HEAVY)


def test_loading_every_plugin_of_ours_keeps_heavy_libraries_out() -> None:
    code = (
        "from cockpit.plugin import discovery\n"
        "_, found = discovery.load_plugins()\n"
        "assert all(one.state == 'loaded' for one in found), found"
    )
    assert not _loaded(code) & set(HEAVY)


def test_the_version_needs_nothing_but_the_package() -> None:
    code = "from cockpit.cli.main import main\nmain(['--version'])"
    assert not _loaded(code) & {"asyncio", "argparse", "dataclasses", "importlib.metadata", "pluggy"}


def test_judging_a_path_does_not_load_the_reader_of_command_lines() -> None:
    code = (
        "import sys\n"
        "from cockpit.safety.path_classifier import classify_path\n"
        "from cockpit.safety.policy import build_context\n"
        "classify_path('a.py', 'read', build_context('/tmp', reads_git=False))\n"
        "assert 'cockpit.safety.bash' not in sys.modules"
    )
    _loaded(code)
