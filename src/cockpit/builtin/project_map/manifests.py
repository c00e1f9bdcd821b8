"""What a manifest says of its project: name, purpose, how to build, test and run. Pure: text in,
facts out; a broken manifest says nothing rather than failing."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

TARGET = re.compile(r"^([A-Za-z][\w.-]*)\s*:(?!=)", re.M)
MOST = 12


@dataclass(frozen=True, slots=True)
class Facts:
    """`kind` is the ecosystem; `entries` are what starts it, `commands` what is run on it."""

    kind: str
    name: str = ""
    purpose: str = ""
    entries: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    test: str = ""


def facts_of(name: str, text: str) -> Facts | None:
    """The facts in the manifest called `name`, or None for a file that is none."""
    read = READERS.get(name) or next((BY_ENDING[end] for end in BY_ENDING if name.endswith(end)), None)
    return read(text) if read else None


def is_manifest(name: str) -> bool:
    return name in READERS or name.endswith(tuple(BY_ENDING))


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _table(found: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _word(found: Mapping[str, Any], key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""


def _pyproject(text: str) -> Facts:
    found = _toml(text)
    project = _table(found, "project") or _table(found, "tool", "poetry")
    scripts = _table(project, "scripts")
    entries = tuple(f"{name} -> {target}" for name, target in list(scripts.items())[:MOST])
    test = "pytest" if "pytest" in text else ""
    build = ("python -m build",) if "build-system" in found else ()
    return Facts("Python", _word(project, "name"), _word(project, "description"), entries, build, test)


def _package(text: str) -> Facts:
    found = _json(text)
    binaries = found.get("bin")
    entries = [f"{name} -> {target}" for name, target in _table(found, "bin").items()]
    if isinstance(binaries, str):
        entries.append(binaries)
    if main := _word(found, "main") or _word(found, "module"):
        entries.append(main)
    scripts = _table(found, "scripts")
    commands = tuple(f"npm run {name}" for name in list(scripts)[:MOST] if name != "test")
    test = f"npm test ({scripts['test']})" if isinstance(scripts.get("test"), str) else ""
    name, purpose = _word(found, "name"), _word(found, "description")
    return Facts("JavaScript", name, purpose, tuple(entries), commands, test)


def _cargo(text: str) -> Facts:
    found = _toml(text)
    package = _table(found, "package")
    binaries = found.get("bin")
    named = binaries if isinstance(binaries, list) else []
    entries = tuple(f"bin {_word(one, 'name')}" for one in named if isinstance(one, dict))
    members = _table(found, "workspace").get("members")
    purpose = _word(package, "description")
    if isinstance(members, list):
        purpose = purpose or f"workspace of {', '.join(str(member) for member in members[:MOST])}"
    return Facts("Rust", _word(package, "name"), purpose, entries, ("cargo build", "cargo run"), "cargo test")


def _go(text: str) -> Facts:
    found = re.search(r"^module\s+(\S+)", text, re.M)
    return Facts("Go", found[1] if found else "", commands=("go build ./...",), test="go test ./...")


def _make(text: str) -> Facts:
    targets = dict.fromkeys(name for name in TARGET.findall(text) if "." not in name)
    test = "make test" if "test" in targets else ""
    return Facts(
        "Make", commands=tuple(f"make {name}" for name in list(targets)[:MOST] if name != "test"), test=test
    )


def _just(text: str) -> Facts:
    recipes = dict.fromkeys(re.findall(r"^@?([a-z][\w-]*)(?: [^:=]*)?:(?!=)", text, re.M))
    return Facts("just", commands=tuple(f"just {name}" for name in list(recipes)[:MOST]))


def _cmake(text: str) -> Facts:
    project = re.search(r"project\s*\(\s*([\w.-]+)", text, re.I)
    binaries = re.findall(r"add_executable\s*\(\s*([\w.-]+)", text, re.I)
    test = "ctest --test-dir build" if "enable_testing" in text.lower() else ""
    commands = ("cmake -B build", "cmake --build build")
    return Facts("CMake", project[1] if project else "", "", tuple(binaries[:MOST]), commands, test)


def _maven(text: str) -> Facts:
    body = re.sub(r"<parent>.*?</parent>", "", text, flags=re.S)
    name = re.search(r"<artifactId>([^<]+)</artifactId>", body)
    purpose = re.search(r"<description>([^<]+)</description>", body)
    said = purpose[1].strip() if purpose else ""
    return Facts("Java", name[1] if name else "", said, (), ("mvn package",), "mvn test")


def _gradle(text: str) -> Facts:
    return Facts("Gradle", commands=("./gradlew build",), test="./gradlew test")


def _composer(text: str) -> Facts:
    found = _json(text)
    scripts = _table(found, "scripts")
    test = "composer test" if "test" in scripts else ""
    return Facts("PHP", _word(found, "name"), _word(found, "description"), (), ("composer install",), test)


def _named(kind: str, commands: tuple[str, ...] = (), test: str = "") -> Callable[[str], Facts]:
    return lambda text: Facts(kind, commands=commands, test=test)


READERS: Mapping[str, Callable[[str], Facts]] = {
    "pyproject.toml": _pyproject,
    "setup.py": _named("Python", (), ""),
    "setup.cfg": lambda text: Facts("Python", test="pytest" if "pytest" in text else ""),
    "requirements.txt": lambda text: Facts("Python", test="pytest" if "pytest" in text else ""),
    "tox.ini": _named("Python", (), "tox"),
    "package.json": _package,
    "deno.json": _named("Deno", ("deno task",), "deno test"),
    "Cargo.toml": _cargo,
    "go.mod": _go,
    "Makefile": _make,
    "makefile": _make,
    "GNUmakefile": _make,
    "justfile": _just,
    "CMakeLists.txt": _cmake,
    "meson.build": _named("Meson", ("meson setup build", "ninja -C build"), "meson test -C build"),
    "pom.xml": _maven,
    "build.gradle": _gradle,
    "build.gradle.kts": _gradle,
    "composer.json": _composer,
    "Gemfile": _named("Ruby", ("bundle install",), ""),
    "mix.exs": _named("Elixir", ("mix compile",), "mix test"),
    "pubspec.yaml": _named("Dart", ("dart pub get",), "dart test"),
    "Package.swift": _named("Swift", ("swift build",), "swift test"),
    "build.zig": _named("Zig", ("zig build",), "zig build test"),
    "Dockerfile": _named("Docker", ("docker build .",)),
    "docker-compose.yml": _named("Docker", ("docker compose up",)),
    "compose.yaml": _named("Docker", ("docker compose up",)),
}
BY_ENDING: Mapping[str, Callable[[str], Facts]] = {
    ".csproj": _named(".NET", ("dotnet build",), "dotnet test"),
    ".sln": _named(".NET", ("dotnet build",), "dotnet test"),
    ".cabal": _named("Haskell", ("cabal build",), "cabal test"),
    ".gemspec": _named("Ruby", ("gem build",)),
}
