"""What is imported before the first paint: Textual, and the modules that draw an empty cockpit."""

import subprocess
import sys

HEAVY = (
    "httpx2", "openai", "mcp", "keyring", "jsonschema", "pluggy", "pygments", "markdown_it", "rich.markdown",
    "textual.widgets._markdown", "watchfiles", "tomlkit",
    "cockpit.core", "cockpit.builtin", "cockpit.workspace", "cockpit.plugin",
    "cockpit.protocol.events", "cockpit.protocol.wire",
    "cockpit.tui.controller", "cockpit.tui.state", "cockpit.tui.screens", "cockpit.tui.session_link",
)  # fmt: skip


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_nothing_heavy_is_imported_before_the_first_paint() -> None:
    found = modules_after("import cockpit.tui.run, cockpit.tui.app")
    assert not [name for name in HEAVY if name in found]


def test_the_frontend_knows_nothing_of_the_core() -> None:
    found = modules_after(
        "import cockpit.tui.controller, cockpit.tui.screens.settings, cockpit.tui.screens.reader"
    )
    rooms = ("cockpit.core", "cockpit.builtin", "cockpit.workspace", "cockpit.navigation", "cockpit.headless")
    assert not [name for name in found if name.startswith(rooms)]
