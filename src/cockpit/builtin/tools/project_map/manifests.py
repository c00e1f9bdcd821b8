"""Reads manifests: the name and purpose of a project, and how to build, test and run it.

Pure: text in, facts out. A broken manifest yields empty facts instead of an error.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

MAKE_TARGET = re.compile(r"^([A-Za-z][\w.-]*)\s*:(?!=)", re.M)
MAX_LISTED = 12


@dataclass(frozen=True, slots=True)
class ManifestFacts:
    """`kind` is the ecosystem; `entries` are entry points, `commands` build and run it."""

    kind: str
    name: str = ""
    purpose: str = ""
    entries: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    test: str = ""


def read_manifest(name: str, text: str) -> ManifestFacts | None:
    """The facts in the manifest called `name`, or None if the file is not a manifest."""
    read = READERS.get(name) or READERS_BY_ENDING.get(PurePath(name).suffix)
    return read(text) if read else None


def is_manifest(name: str) -> bool:
    return name in READERS or PurePath(name).suffix in READERS_BY_ENDING


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _parse_json(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _get_table(data: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _get_text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _read_pyproject(text: str) -> ManifestFacts:
    data = _parse_toml(text)
    project = _get_table(data, "project") or _get_table(data, "tool", "poetry")
    scripts = _get_table(project, "scripts")
    entries = tuple(f"{name} -> {target}" for name, target in list(scripts.items())[:MAX_LISTED])
    test = "pytest" if "pytest" in text else ""
    build = ("python -m build",) if "build-system" in data else ()
    name, purpose = _get_text(project, "name"), _get_text(project, "description")
    return ManifestFacts("Python", name, purpose, entries, build, test)


def _read_package_json(text: str) -> ManifestFacts:
    data = _parse_json(text)
    binaries = data.get("bin")
    entries = [f"{name} -> {target}" for name, target in _get_table(data, "bin").items()]
    if isinstance(binaries, str):
        entries.append(binaries)
    if main := _get_text(data, "main") or _get_text(data, "module"):
        entries.append(main)
    scripts = _get_table(data, "scripts")
    commands = tuple(f"npm run {name}" for name in list(scripts)[:MAX_LISTED] if name != "test")
    test = f"npm test ({scripts['test']})" if isinstance(scripts.get("test"), str) else ""
    name, purpose = _get_text(data, "name"), _get_text(data, "description")
    return ManifestFacts("JavaScript", name, purpose, tuple(entries), commands, test)


def _read_cargo(text: str) -> ManifestFacts:
    data = _parse_toml(text)
    package = _get_table(data, "package")
    binaries = data.get("bin")
    named = binaries if isinstance(binaries, list) else []
    entries = tuple(f"bin {_get_text(binary, 'name')}" for binary in named if isinstance(binary, dict))
    members = _get_table(data, "workspace").get("members")
    purpose = _get_text(package, "description")
    if isinstance(members, list):
        purpose = purpose or f"workspace of {', '.join(str(member) for member in members[:MAX_LISTED])}"
    commands = ("cargo build", "cargo run")
    return ManifestFacts("Rust", _get_text(package, "name"), purpose, entries, commands, "cargo test")


def _read_go_mod(text: str) -> ManifestFacts:
    module = re.search(r"^module\s+(\S+)", text, re.M)
    name = module[1] if module else ""
    return ManifestFacts("Go", name, commands=("go build ./...",), test="go test ./...")


def _read_makefile(text: str) -> ManifestFacts:
    targets = dict.fromkeys(name for name in MAKE_TARGET.findall(text) if "." not in name)
    commands = tuple(f"make {name}" for name in list(targets)[:MAX_LISTED] if name != "test")
    return ManifestFacts("Make", commands=commands, test="make test" if "test" in targets else "")


def _read_justfile(text: str) -> ManifestFacts:
    recipes = dict.fromkeys(re.findall(r"^@?([a-z][\w-]*)(?: [^:=]*)?:(?!=)", text, re.M))
    return ManifestFacts("just", commands=tuple(f"just {name}" for name in list(recipes)[:MAX_LISTED]))


def _read_cmake(text: str) -> ManifestFacts:
    project = re.search(r"project\s*\(\s*([\w.-]+)", text, re.I)
    binaries = re.findall(r"add_executable\s*\(\s*([\w.-]+)", text, re.I)
    test = "ctest --test-dir build" if "enable_testing" in text.lower() else ""
    name, entries = project[1] if project else "", tuple(binaries[:MAX_LISTED])
    return ManifestFacts("CMake", name, "", entries, ("cmake -B build", "cmake --build build"), test)


def _read_maven(text: str) -> ManifestFacts:
    body = re.sub(r"<parent>.*?</parent>", "", text, flags=re.S)
    name = re.search(r"<artifactId>([^<]+)</artifactId>", body)
    purpose = re.search(r"<description>([^<]+)</description>", body)
    description = purpose[1].strip() if purpose else ""
    return ManifestFacts("Java", name[1] if name else "", description, (), ("mvn package",), "mvn test")


def _read_composer(text: str) -> ManifestFacts:
    data = _parse_json(text)
    scripts = _get_table(data, "scripts")
    test = "composer test" if "test" in scripts else ""
    name, purpose = _get_text(data, "name"), _get_text(data, "description")
    return ManifestFacts("PHP", name, purpose, (), ("composer install",), test)


def _fixed_facts(kind: str, commands: tuple[str, ...] = (), test: str = "") -> Callable[[str], ManifestFacts]:
    return lambda text: ManifestFacts(kind, commands=commands, test=test)


READERS: Mapping[str, Callable[[str], ManifestFacts]] = {
    "pyproject.toml": _read_pyproject,
    "setup.py": _fixed_facts("Python"),
    "setup.cfg": lambda text: ManifestFacts("Python", test="pytest" if "pytest" in text else ""),
    "requirements.txt": lambda text: ManifestFacts("Python", test="pytest" if "pytest" in text else ""),
    "tox.ini": _fixed_facts("Python", (), "tox"),
    "package.json": _read_package_json,
    "deno.json": _fixed_facts("Deno", ("deno task",), "deno test"),
    "Cargo.toml": _read_cargo,
    "go.mod": _read_go_mod,
    "Makefile": _read_makefile,
    "makefile": _read_makefile,
    "GNUmakefile": _read_makefile,
    "justfile": _read_justfile,
    "CMakeLists.txt": _read_cmake,
    "meson.build": _fixed_facts("Meson", ("meson setup build", "ninja -C build"), "meson test -C build"),
    "pom.xml": _read_maven,
    "build.gradle": _fixed_facts("Gradle", ("./gradlew build",), "./gradlew test"),
    "build.gradle.kts": _fixed_facts("Gradle", ("./gradlew build",), "./gradlew test"),
    "composer.json": _read_composer,
    "Gemfile": _fixed_facts("Ruby", ("bundle install",)),
    "mix.exs": _fixed_facts("Elixir", ("mix compile",), "mix test"),
    "pubspec.yaml": _fixed_facts("Dart", ("dart pub get",), "dart test"),
    "Package.swift": _fixed_facts("Swift", ("swift build",), "swift test"),
    "build.zig": _fixed_facts("Zig", ("zig build",), "zig build test"),
    "Dockerfile": _fixed_facts("Docker", ("docker build .",)),
    "docker-compose.yml": _fixed_facts("Docker", ("docker compose up",)),
    "compose.yaml": _fixed_facts("Docker", ("docker compose up",)),
}
READERS_BY_ENDING: Mapping[str, Callable[[str], ManifestFacts]] = {
    ".csproj": _fixed_facts(".NET", ("dotnet build",), "dotnet test"),
    ".sln": _fixed_facts(".NET", ("dotnet build",), "dotnet test"),
    ".cabal": _fixed_facts("Haskell", ("cabal build",), "cabal test"),
    ".gemspec": _fixed_facts("Ruby", ("gem build",)),
}
