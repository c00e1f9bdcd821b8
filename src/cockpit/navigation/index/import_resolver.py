"""Resolves the module of an import to the files it means."""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from cockpit.navigation.index.file_facts import FileCatalog
from cockpit.navigation.index.name_search import count_common_folders
from cockpit.navigation.index.parsed_file import ParsedFile
from cockpit.settings import file_io

SCRIPT_SUFFIXES = ("ts", "tsx", "d.ts", "mts", "js", "jsx", "mjs", "cjs", "json")
MAX_FILES = 3
# Files that represent their folder.
FOLDER_FILES = ("mod.rs", "lib.rs", "init.lua", "index.js")
SOURCE_ROOTS = ("", "src", "lib", "python")


class ImportResolver:
    """Modules of one root. Files are looked up on disk, because the index may still be incomplete."""

    def __init__(self, root: str, catalog: FileCatalog) -> None:
        self.root = root
        self.catalog = catalog
        self._tails: tuple[int, dict[str, list[str]]] = (-1, {})

    def files(self, parsed: ParsedFile, module: str) -> list[str]:
        """The files that `module` means in an import of `parsed`, the best first; empty if it is outside the
        root."""
        if parsed.language == "python":
            file = self._python(parsed.path, module)
            return [file] if file else []
        if (module.startswith((".", "/")) and "/" in module) or module in (".", ".."):
            return self._script(posixpath.dirname(parsed.path), module)
        if parsed.language in ("javascript", "typescript", "tsx"):
            return self._bare(parsed.path, module)
        if parsed.language == "go":
            return self._go(parsed.path, module)
        return self._by_tail(parsed.path, module)

    def _go(self, path: str, module: str) -> list[str]:
        """The files of a package, by the nearest `go.mod` above whose name begins the import path."""
        folder = posixpath.dirname(path)
        while True:
            name = self._go_module(folder)
            if name and (module == name or module.startswith(name + "/")):
                package_folder = posixpath.normpath(posixpath.join(folder, "." + module[len(name) :]))
                package_folder = "" if package_folder == "." else package_folder
                files = (
                    file for file in list(self.catalog.files) if posixpath.dirname(file) == package_folder
                )
                return sorted(
                    file for file in files if file.endswith(".go") and not file.endswith("_test.go")
                )
            if not folder:
                return []
            folder = posixpath.dirname(folder)

    def _go_module(self, folder: str) -> str:
        try:
            text = file_io.read_text(Path(self.root, folder, "go.mod"))
        except OSError:
            return ""
        match = re.search(r"(?m)^module\s+(\S+)", text)
        return match[1] if match else ""

    def submodule(self, path: str, name: str) -> str:
        """The Python module `name` in the package whose `__init__` is at `path`; empty if there is none."""
        folder, _, file = path.rpartition("/")
        return self._module(f"{folder}/{name}" if folder else name) if file.startswith("__init__.") else ""

    def package_of(self, path: str) -> str:
        """The dotted Python module name of a file."""
        parts = path.rsplit(".", 1)[0].split("/")
        if parts[-1] == "__init__":
            parts.pop()
        return ".".join(parts)

    def _python(self, path: str, module: str) -> str:
        dots = len(module) - len(module.lstrip("."))
        steps = [step.strip() for step in module.lstrip(".").split(".") if step.strip()]
        if dots:
            folders = path.split("/")
            return self._module("/".join([*folders[:-dots], *steps])) if dots <= len(folders) else ""
        for start in self._import_roots(path):
            if file := self._module("/".join(filter(None, [start, *steps]))):
                return file
        # The root may be the package itself.
        if steps and steps[0] == posixpath.basename(self.root) and self._is_file("__init__.py"):
            return self._module("/".join(steps[1:]))
        return ""

    def _import_roots(self, path: str) -> Iterator[str]:
        """Where absolute imports of a file start: above its package, then where projects usually put
        sources."""
        folder = posixpath.dirname(path)
        while folder and self._is_file(f"{folder}/__init__.py"):
            folder = posixpath.dirname(folder)
        yield folder
        while folder:
            folder = posixpath.dirname(folder)
            yield folder
        yield from SOURCE_ROOTS

    def _module(self, base: str) -> str:
        if not base:
            return "__init__.py" if self._is_file("__init__.py") else ""
        for candidate in (f"{base}/__init__.py", f"{base}.py", f"{base}/__init__.pyi", f"{base}.pyi"):
            if self._is_file(candidate):
                return candidate
        # A folder without `__init__` is a namespace package: it has submodules but no file.
        return f"{base}/__init__.py" if Path(self.root, base).is_dir() else ""

    def _is_file(self, path: str) -> bool:
        return Path(self.root, path).is_file()

    def _script(self, folder: str, module: str) -> list[str]:
        base = posixpath.normpath(posixpath.join(folder, module))
        if base.startswith(".."):
            return []
        base = "" if base == "." else base
        if base and self._is_file(base):
            return [base]
        stem = re.sub(r"\.[cm]?js$", "", base)
        for name in (stem, f"{base}/index", "index" if not base else ""):
            for suffix in SCRIPT_SUFFIXES:
                if name and self._is_file(f"{name}.{suffix}"):
                    return [f"{name}.{suffix}"]
        return []

    def _bare(self, path: str, module: str) -> list[str]:
        """`@/a/b`, `~/a/b` and `src/a/b` mean files of the project; a package name does not."""
        rest = re.sub(r"^[@~]/", "", module)
        if "/" not in module and rest == module:
            return []
        for start in ("", "src"):
            if files := self._script(start, f"./{rest}"):
                return files
        return []

    def _by_tail(self, path: str, module: str) -> list[str]:
        """The files whose path ends with the parts of `a.b.C`, `crate::a::b` or `dir/x.h`."""
        plain = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
        if self._is_file(plain):
            return [plain]
        stem = re.sub(r"\.\w{1,3}$", "", module) if "/" in module or "::" not in module else module
        for candidate in dict.fromkeys((stem, module)):
            parts = re.split(r"[./:\\]+", candidate)
            parts = [part for part in parts if part and part not in ("crate", "self", "super")]
            while parts:
                if files := self._ending(parts, path):
                    return files[:MAX_FILES]
                if len(parts) < 3:
                    break
                parts = parts[1:]
        return []

    def _ending(self, steps: list[str], importer: str) -> list[str]:
        tail = "/" + "/".join(steps)
        matches = []
        for path in self._by_last().get(steps[-1], ()):
            stem = "/" + path.rsplit(".", 1)[0]
            folder = "/" + posixpath.dirname(path)
            in_folder = folder.endswith(tail) and posixpath.basename(path) in FOLDER_FILES
            if stem.endswith(tail) or in_folder:
                matches.append(path)
        return sorted(matches, key=lambda path: (-count_common_folders(path, importer), len(path), path))

    def _by_last(self) -> dict[str, list[str]]:
        """Known files by the last part of their name and of their folder."""
        version, tails = self._tails
        if version != self.catalog.version:
            tails = {}
            for path in list(self.catalog.files):
                folder, _, name = path.rpartition("/")
                for step in {name.rsplit(".", 1)[0], posixpath.basename(folder)}:
                    tails.setdefault(step, []).append(path)
            self._tails = (self.catalog.version, tails)
        return tails
