"""Claude Code plugins ("bundles"): folders with `.claude-plugin/plugin.json` that bring skills, agents,
commands, hooks and servers.

Lists what a bundle contains and where; the readers of each kind read it. Runs nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cockpit import paths
from cockpit.formats.config_files import ConfigFile, parse_config
from cockpit.formats.hooks import HookFile
from cockpit.plugin import discovery
from cockpit.plugin.origin import FileProblem, Origin, Unloaded
from cockpit.protocol.messages import Json
from cockpit.settings import file_io

MANIFEST = ".claude-plugin/plugin.json"
BundleKind = Literal["skills", "agents", "commands"]
# The folder of each kind, and whether paths in the manifest add to it or replace it.
KIND_FOLDERS: tuple[tuple[BundleKind, bool], ...] = (("skills", True), ("agents", False), ("commands", False))
NAME_PATTERN = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
IGNORED_KEYS = ("outputStyles", "themes", "monitors", "userConfig", "dependencies", "channels", "workflows")


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle. `places` are files and folders by kind; `hooks`, `servers` (MCP) and `languages` (LSP) are
    files that define them. `source` says where it was installed from, `file` is its manifest."""

    name: str
    folder: Path
    file: Path
    description: str = ""
    version: str = ""
    source: str = ""
    places: dict[BundleKind, tuple[Path, ...]] = field(default_factory=dict)
    hooks: tuple[HookFile, ...] = ()
    servers: tuple[Path, ...] = ()
    languages: tuple[Path, ...] = ()
    faults: tuple[FileProblem, ...] = ()

    def environment(self, root: str) -> dict[str, str]:
        """The values of `${NAME}` in its files in addition to the environment."""
        data = paths.data() / "bundles-kept" / self.name
        return {
            "CLAUDE_PLUGIN_ROOT": str(self.folder),
            "CLAUDE_PLUGIN_DATA": str(data),
            "CLAUDE_PROJECT_DIR": root,
        }


def read_bundle(folder: Path, source: str = "") -> Bundle | Unloaded:
    """The bundle in `folder`. Without a manifest it is named after its folder."""
    file = folder / MANIFEST
    try:
        located = parse_config(file_io.read_text(file), str(file))
    except FileNotFoundError:
        located = ConfigFile(str(file), {})
    except OSError as error:
        fault = FileProblem(str(file), 0, f"it cannot be read: {error.strerror}", "fix the file")
        located = ConfigFile(str(file), faults=(fault,))
    if located.faults or not isinstance(located.value, dict):
        fault = FileProblem(str(file), 1, "the manifest is not a table", 'write {"name": "..."}')
        faults = located.faults or (fault,)
        return Unloaded(folder.name, Origin(str(file), "plugin", refused=faults))
    return _ManifestReader(folder, located).bundle(source)


def list_bundles(home: Path, root: Path | None = None) -> tuple[Bundle, ...]:
    """The installed bundles that are not switched off: those of `cockpit plugins install`, then Claude
    Code's. A bundle that Claude Code installed for a project applies only there."""
    return tuple(bundle for bundle in read_installed_bundles(home, root) if isinstance(bundle, Bundle))


def read_installed_bundles(home: Path, root: Path | None = None) -> Iterator[Bundle | Unloaded]:
    """The same, including those that cannot be read. The first of a name wins."""
    names: set[str] = set()
    for folder, source in (*_list_own_folders(), *_list_claude_folders(home, root)):
        bundle = read_bundle(folder, source)
        if bundle.name not in names:
            names.add(bundle.name)
            yield bundle


def _list_own_folders() -> Iterator[tuple[Path, str]]:
    try:
        folders = sorted(discovery.bundles_folder().iterdir())
    except OSError:
        return
    for folder in folders:
        if not folder.name.startswith(".") and folder.is_dir():
            yield folder, "cockpit plugins"


def _list_claude_folders(home: Path, root: Path | None) -> Iterator[tuple[Path, str]]:
    """The bundles that `~/.claude/plugins/installed_plugins.json` lists and settings do not disable."""
    listed = _load_json(home / ".claude" / "plugins" / "installed_plugins.json")
    enabled = _load_json(home / ".claude" / "settings.json").table("enabledPlugins")
    for key, rows in listed.table("plugins").items():
        if enabled.get(key) is False:
            continue
        for row in rows if isinstance(rows, list) else [rows]:
            if isinstance(row, dict) and _applies_to(row, root):
                folder = Path(str(row.get("installPath") or ""))
                if folder.is_absolute() and folder.is_dir():
                    yield folder, f"Claude Code ({key})"


def _applies_to(row: dict[str, Json], root: Path | None) -> bool:
    project = row.get("projectPath")
    if row.get("scope", "user") == "user" or not isinstance(project, str):
        return True
    return root is not None and root.is_relative_to(project)


def _load_json(file: Path) -> ConfigFile:
    try:
        return parse_config(file_io.read_text(file), str(file))
    except OSError:
        return ConfigFile(str(file))


class _ManifestReader:
    """Reads the manifest of a bundle."""

    def __init__(self, folder: Path, located: ConfigFile) -> None:
        self._folder = folder
        self._located = located
        self._faults: list[FileProblem] = []

    def bundle(self, source: str) -> Bundle:
        name = self._name()
        places = {kind: self._places(kind, besides) for kind, besides in KIND_FOLDERS}
        if (self._folder / "SKILL.md").is_file():
            places["skills"] = (*places["skills"], self._folder / "SKILL.md")
        hooks = tuple(self._hooks(name))
        servers = self._files("mcpServers", ".mcp.json")
        languages = self._files("lspServers", ".lsp.json")
        for key in IGNORED_KEYS:
            if self._located.at(key) is not None:
                self._refuse(key, f"`{key}` is ignored", "the rest of the bundle works without it")
        return Bundle(
            name=name,
            folder=self._folder,
            file=self._folder / MANIFEST,
            description=self._text("description"),
            version=self._text("version"),
            source=source,
            places=places,
            hooks=hooks,
            servers=servers,
            languages=languages,
            faults=tuple(self._faults),
        )

    def _name(self) -> str:
        """The bundle's name. Other names and folders are derived from it, so it must be plain."""
        name, folder = self._text("name"), self._folder.name
        if NAME_PATTERN.fullmatch(name):
            return name
        if self._located.table():
            fault = f"{name!r} is not a valid name" if name else "it has no `name`"
            self._refuse("name", fault, f"write letters, digits and `-`; {folder} is used")
        return folder

    def _text(self, key: str) -> str:
        value = self._located.at(key)
        if value is not None and not isinstance(value, str):
            self._refuse(key, f"`{key}` is not text", "write it in quotes")
        return value if isinstance(value, str) else ""

    def _places(self, kind: BundleKind, besides: bool) -> tuple[Path, ...]:
        """Files and folders of a kind: the default folder, and what the manifest names."""
        usual = self._folder / kind
        named = self._named(kind)
        folders = [usual] if usual.is_dir() and (besides or not named) else []
        return tuple(dict.fromkeys((*folders, *named)))

    def _files(self, key: str, usual: str) -> tuple[Path, ...]:
        """Files that define servers; the manifest itself if they are in it."""
        file = self._folder / usual
        files = [file] if file.is_file() else []
        if isinstance(self._located.at(key), dict):
            return (*files, self._folder / MANIFEST)
        return tuple(dict.fromkeys((*files, *self._named(key))))

    def _hooks(self, name: str) -> Iterator[HookFile]:
        usual = self._folder / "hooks" / "hooks.json"
        files = [usual] if usual.is_file() else []
        if isinstance(self._located.at("hooks"), dict):
            files.append(self._folder / MANIFEST)
        else:
            files += self._named("hooks")
        for file in dict.fromkeys(files):
            yield HookFile(file, "plugin", root=str(self._folder), prefix=name)

    def _named(self, key: str) -> list[Path]:
        """The paths that the manifest names, all of them inside the bundle."""
        value = self._located.at(key)
        if value is None or isinstance(value, dict):
            if isinstance(value, dict) and key in ("agents", "commands", "skills"):
                self._refuse(key, f"`{key}` is a table", 'name folders or files: ["./more"]')
            return []
        named: list[Path] = []
        for item in value if isinstance(value, list) else [value]:
            path = self._folder / item if isinstance(item, str) else None
            if path is None or not path.resolve().is_relative_to(self._folder.resolve()):
                self._refuse(key, f"`{key}` names {item!r}", "name a path in the bundle: ./more")
            elif not path.exists():
                self._refuse(key, f"`{key}` names {item!r}, which does not exist", "fix the path")
            else:
                named.append(path)
        return named

    def _refuse(self, key: str, reason: str, remedy: str) -> None:
        self._faults.append(self._located.fault((key,), reason, remedy))
