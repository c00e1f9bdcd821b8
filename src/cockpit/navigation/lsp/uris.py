"""File URIs and paths. Pure functions."""

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from cockpit.navigation.lsp.shapes import Misshapen


def uri_of(path: str) -> str:
    """The URI of an absolute path."""
    return Path(path).as_uri()


def path_of(uri: str) -> str:
    """The absolute path a `file:` URI names. Raises `Misshapen` for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise Misshapen(f"no address: {uri[:80]}") from error
    if parts.scheme != "file":
        raise Misshapen(f"no file: {uri[:80]}")
    if os.name == "nt":
        return os.path.normpath(url2pathname(unquote(parts.path)))
    return os.path.normpath(unquote(parts.path))


def shown(root: str, path: str) -> str:
    """`path` as rows name it: relative to `root` with `/`, absolute where it lies outside."""
    if path == root or not path.startswith(root.rstrip(os.sep) + os.sep):
        return path.replace(os.sep, "/") if os.sep != "/" else path
    below = path[len(root.rstrip(os.sep)) + 1 :]
    return below.replace(os.sep, "/") if os.sep != "/" else below
