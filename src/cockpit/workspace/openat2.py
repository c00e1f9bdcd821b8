"""Linux's openat2(2): one call that opens a path and refuses any symbolic link on the way. Where the
kernel (before 5.6) or a seccomp filter has none, `opened` says so and the caller walks."""

import errno
import os
import sys
from functools import cache
from typing import Protocol

# The number is the same on every architecture that Linux has had since 5.6.
NUMBER = 437
NO_MAGICLINKS, NO_SYMLINKS = 0x02, 0x04
MISSING = (errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG)


class Syscall(Protocol):
    def __call__(self, path: bytes, flags: int) -> int:
        """A descriptor, or the negative errno."""
        ...


@cache
def syscall() -> Syscall | None:
    """The call, None where it is not there."""
    if sys.platform != "linux":
        return None
    import ctypes

    class How(ctypes.Structure):
        _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]

    library = ctypes.CDLL(None, use_errno=True)

    def call(path: bytes, flags: int) -> int:
        how = How(flags | os.O_CLOEXEC, 0, NO_SYMLINKS | NO_MAGICLINKS)
        got = library.syscall(NUMBER, -100, path, ctypes.byref(how), ctypes.sizeof(how))
        return int(got) if got >= 0 else -ctypes.get_errno()

    root = call(b"/", os.O_PATH | os.O_DIRECTORY)
    if root < 0:
        return None
    os.close(root)
    return call


def opened(path: str, flags: int) -> int | None:
    """A descriptor of what stands at absolute `path`, no link followed; None where there is no such call.

    Raises OSError: ELOOP for a link anywhere in it.
    """
    call = syscall()
    if call is None:
        return None
    got = call(os.fsencode(path), flags)
    if got >= 0:
        return got
    if -got in MISSING:
        return None
    raise OSError(-got, os.strerror(-got), path)
