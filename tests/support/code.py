"""A small shop in Python, and navigators on it: real servers, a real index, a server with faults."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from tests.navigation.lsp.small import small

from cockpit import paths
from cockpit.builtin.languages.python import PYTHON
from cockpit.navigation.navigator import LiveNavigator, ManagedNavigator, NavigatorConfig
from cockpit.plugin.languages import Language
from cockpit.workspace.local import LocalWorkspace

SHOP = '''"""A shop."""


class Cart:
    """What a customer takes."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def total(self) -> int:
        """The sum."""
        return sum(self.rows)

    def add(self, price: int) -> None:
        self.rows.append(price)


def unused() -> int:
    return 3
'''
APP = """from shop import Cart


def main() -> None:
    cart = Cart()
    cart.add(3)
    print(cart.total())
"""
TY = replace(PYTHON, servers=PYTHON.servers[:1])
NO_SERVER = replace(PYTHON, servers=())


def with_faults(*faults: str, notes: Path | None = None) -> Language:
    """Python, served by the small server with these faults."""
    return replace(PYTHON, servers=(small(*faults, notes=notes),))


def shop(root: Path) -> Path:
    (root / "shop.py").write_text(SHOP, encoding="utf-8")
    (root / "app.py").write_text(APP, encoding="utf-8")
    return root


@asynccontextmanager
async def opened(root: Path, *languages: Language, trusted: bool = True) -> AsyncIterator[ManagedNavigator]:
    """A root with its navigator; servers and index end with it."""
    workspace = LocalWorkspace(str(root))
    made = ManagedNavigator(
        NavigatorConfig(workspace, languages, trusted, str(paths.state()), str(paths.cache()))
    )
    try:
        yield made
    finally:
        await made.navigator.life.close()
        await workspace.close()


async def ready(navigator: LiveNavigator) -> None:
    """Wait until a server answers for Python."""
    found = await navigator.related("definition", await navigator.locate("app.py:5:12"), "lsp")
    assert found.rows, found.note
