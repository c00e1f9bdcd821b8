"""Django's sources, on which the figures are stated: 885 files, 5.7 MB, installed once next to the venv."""

import shutil
import subprocess
import sys
from pathlib import Path

from bench.environment import BUILD

VERSION = "5.2.19"


def django() -> Path:
    """A folder that holds the package `django` and nothing else."""
    root = BUILD / f"django-{VERSION}"
    if not (root / "django").is_dir():
        print("fetching Django's sources ...", file=sys.stderr)
        fetched = root.with_suffix(".new")
        install = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ]
        command = [*install, "--no-compile", "--target", str(fetched), f"Django=={VERSION}"]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        root.mkdir(parents=True, exist_ok=True)
        (fetched / "django").rename(root / "django")
        shutil.rmtree(fetched, ignore_errors=True)
    return root


def copy(folder: Path) -> Path:
    """A copy that may be changed."""
    shutil.copytree(django(), folder)
    return folder
