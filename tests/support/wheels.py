"""Wheels for tests, written by hand: what an installer takes, without a build."""

import base64
import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

TOOL = """
from cockpit.plugin import hookimpl
from cockpit.plugin.values import Command, Show
from cockpit.protocol.content import Text


async def run(invoked, context):
    return Show((Text("{said}"),))


@hookimpl
def register_commands(register, scope):
    register(Command("{name}", "Says something", run))
"""


def command(name: str, said: str = "hello") -> str:
    """The source of a plugin with the command `name`, which says `said`."""
    return TOOL.format(name=name, said=said)


def wheel(
    folder: Path,
    name: str,
    files: Mapping[str, str],
    version: str = "1.0",
    needs: Sequence[str] = (),
    points: Mapping[str, str] | None = None,
) -> Path:
    """A wheel of `files` in `folder`; `points` are entry points of the group `cockpit`."""
    stem = f"{name.replace('-', '_')}-{version}"
    facts = f"{stem}.dist-info"
    requires = "".join(f"Requires-Dist: {one}\n" for one in needs)
    inside = dict(files)
    inside[f"{facts}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}"
    inside[f"{facts}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    if points:
        lines = "".join(f"{key} = {value}\n" for key, value in points.items())
        inside[f"{facts}/entry_points.txt"] = f"[cockpit]\n{lines}"
    record = "".join(f"{path},sha256={_digest(text)},{len(text.encode())}\n" for path, text in inside.items())
    inside[f"{facts}/RECORD"] = f"{record}{facts}/RECORD,,\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in inside.items():
            archive.writestr(file, text)
    return path


def plugin(
    folder: Path, name: str, source: str = "", version: str = "1.0", needs: Sequence[str] = ()
) -> Path:
    """A wheel with one plugin: the distribution `cockpit-NAME`, its module `cockpit_NAME`."""
    module = f"cockpit_{name.replace('-', '_')}"
    text = source or command(name)
    files = {f"{module}/__init__.py": text}
    return wheel(folder, f"cockpit-{name}", files, version, ("cockpit-agent", *needs), {name: module})


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
