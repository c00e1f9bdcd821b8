"""A root with one language, whose server is `faulty_server`."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.navigation.lsp.small import QUICK, Make, language

from cockpit.navigation.lsp.language_servers import LanguageServers
from cockpit.navigation.lsp.limits import LspLimits
from cockpit.plugin.languages import Language, LanguageServer


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    file = tmp_path / "notes"
    file.touch()
    return file


@pytest.fixture
async def make(root: Path, tmp_path: Path) -> AsyncIterator[Make]:
    """Makes the servers of `root`, and ends them."""
    made: list[LanguageServers] = []

    def servers(
        *known: LanguageServer | Language,
        trusted: bool = True,
        limits: LspLimits = QUICK,
        at: Path | None = None,
    ) -> LanguageServers:
        languages = [one for one in known if isinstance(one, Language)]
        loose = [one for one in known if isinstance(one, LanguageServer)]
        if loose:
            languages.append(language(*loose))
        made.append(LanguageServers(str(at or root), languages, lambda: trusted, tmp_path / "state", limits))
        return made[-1]

    yield servers
    for one in made:
        await one.close()
