"""Lending the terminal to a person's editor: a text goes out in a file and comes back."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path


def edited(command: str, text: str) -> tuple[str, str]:
    """`text` as the editor left it, and what went wrong (then the text is as it was)."""
    descriptor, name = tempfile.mkstemp(suffix=".md", prefix="prompt-")
    path = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        code = subprocess.run([*shlex.split(command, posix=os.name != "nt"), name], check=False).returncode
        if code:
            return text, f"{command} ended with {code}; the draft is as it was"
        return path.read_text("utf-8", "replace").rstrip("\n"), ""
    except OSError as error:
        return text, f"{command} did not start: {error.strerror}; set $EDITOR"
    finally:
        path.unlink(missing_ok=True)
