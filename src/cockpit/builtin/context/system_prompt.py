"""How this kind of project is tested, checked and built, from the names and texts of its manifests."""

import json
import re
from pathlib import Path

from cockpit.settings import file_io

MAX_MANIFEST_BYTES = 200_000
MAX_HINTS = 600


def describe_project(root: Path) -> str:
    """A few lines, or "" where no manifest is known."""
    lines = [*_python(root), *_javascript(root), *_others(root), *_make(root)]
    return ("Project:\n" + "\n".join(f"- {line}" for line in lines))[:MAX_HINTS] if lines else ""


def _read_manifest(path: Path) -> str:
    try:
        return file_io.read_text(path, MAX_MANIFEST_BYTES)
    except OSError:
        return ""


def _python(root: Path) -> list[str]:
    manifest = _read_manifest(root / "pyproject.toml")
    if not manifest and not any(
        (root / name).is_file() for name in ("setup.py", "setup.cfg", "requirements.txt")
    ):
        return []
    tools = [
        name for name in ("ruff", "mypy", "black", "pyright", "basedpyright") if f"tool.{name}" in manifest
    ]
    runner = "uv" if (root / "uv.lock").is_file() else "poetry" if "tool.poetry" in manifest else ""
    said = "Python project: test with pytest (`run_tests`)"
    said += f"; check with {', '.join(tools)}" if tools else ""
    said += f"; run programs with `{runner} run`" if runner else ""
    said += "; its interpreter is .venv" if (root / ".venv").is_dir() else ""
    return [said]


def _javascript(root: Path) -> list[str]:
    try:
        manifest = json.loads(_read_manifest(root / "package.json") or "null")
    except ValueError:
        return []
    if not isinstance(manifest, dict):
        return []
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "bun.lock": "bun"}
    program = next((name for lock, name in locks.items() if (root / lock).is_file()), "npm")
    scripts = manifest.get("scripts")
    named = [str(name)[:40] for name in scripts][:10] if isinstance(scripts, dict) else []
    language = "TypeScript" if (root / "tsconfig.json").is_file() else "JavaScript"
    said = f"{language} project: {program}"
    return [said + (f"; scripts: {', '.join(named)}" if named else "")]


def _others(root: Path) -> list[str]:
    known = {
        "Cargo.toml": "Rust project: `cargo test`, `cargo clippy`, `cargo fmt`",
        "go.mod": "Go project: `go test ./...`, `go vet ./...`, `gofmt`",
        "pom.xml": "Java project: `mvn test`",
        "build.gradle": "Gradle project: `./gradlew test`",
        "build.gradle.kts": "Gradle project: `./gradlew test`",
        "CMakeLists.txt": "CMake project: `cmake -B build && cmake --build build`, `ctest --test-dir build`",
        "mix.exs": "Elixir project: `mix test`",
        "Gemfile": "Ruby project: `bundle exec`",
        "composer.json": "PHP project: `composer`",
    }
    return [said for name, said in known.items() if (root / name).is_file()]


def _make(root: Path) -> list[str]:
    targets = dict.fromkeys(re.findall(r"^([a-z][\w-]*)\s*:(?!=)", _read_manifest(root / "Makefile"), re.M))
    return [f"make targets: {', '.join(list(targets)[:10])}"] if targets else []
