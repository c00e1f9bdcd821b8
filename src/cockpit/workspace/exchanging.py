"""Two names of one folder swapped in one step, so that what somebody put there a moment ago is in our
hands and not gone: renameat2(2) with RENAME_EXCHANGE on Linux, renameatx_np(2) with RENAME_SWAP on macOS."""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import cache

EXCHANGE = 2  # the flag has this value on both
MISSING = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)
Swap = Callable[[int, bytes, int, bytes, int], int]


@cache
def _function() -> Swap | None:
    name = {"linux": "renameat2", "darwin": "renameatx_np"}.get(sys.platform, "")
    if not name:
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    swap: Swap = function
    return swap


def exchange(name: str, other: str, folder: int) -> bool:
    """Swap them; False where the platform or the file system cannot. Raises OSError."""
    function = _function()
    if function is None:
        return False
    if function(folder, os.fsencode(name), folder, os.fsencode(other), EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in MISSING:
        return False
    raise OSError(code, os.strerror(code), name)
