"""A separate program: confines its own process with Landlock and a seccomp filter, then becomes another
program. Standard library only; imported by nothing, started by `kernel_limits.launcher_argv`.

This is not done between fork and exec of cockpit itself: in a forked child of a process with threads, Python
may wait forever for a lock.
"""

import ctypes
import json
import os
import resource
import struct
import sys
from collections.abc import Mapping

CREATE, ADD, RESTRICT = 444, 445, 446
EXECUTE, WRITE, READ, LIST = 1, 2, 4, 8
FILES_1, REFER, TRUNCATE, DEVICE = (1 << 13) - 1, 1 << 13, 1 << 14, 1 << 15
ON_FILES = EXECUTE | WRITE | READ | TRUNCATE | DEVICE
NO_NEW_PRIVILEGES, SECCOMP, FILTER, DROP_BOUND = 38, 22, 2, 24
CAPSET = {"x86_64": 126, "aarch64": 91}
libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    fd = int(sys.argv[1])
    with open(fd, "rb") as file:
        plan = json.load(file)
    for name, value in plan["limits"].items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    _drop_privileges()
    _checked(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")
    _fence(plan)
    _refuse(bytes.fromhex(plan["refusals"]))
    argv = plan["argv"]
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"{argv[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


def _drop_privileges() -> None:
    """Drop root's capabilities; `no_new_privs` keeps the next program from getting them back."""
    if os.geteuid() != 0:
        return
    for number in range(64):
        libc.prctl(DROP_BOUND, number, 0, 0, 0)
    header, none = struct.pack("=Ii", 0x20080522, 0), bytes(24)
    _checked(libc.syscall(CAPSET[os.uname().machine], header, none), "capset")


def _fence(plan: Mapping[str, object]) -> None:
    abi = libc.syscall(CREATE, None, ctypes.c_size_t(0), 1)
    files = FILES_1 | (REFER if abi >= 2 else 0) | (TRUNCATE if abi >= 3 else 0) | (DEVICE if abi >= 5 else 0)
    network = 3 if abi >= 4 and not plan["connects"] else 0
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = struct.pack("=QQQ", files, network, 3 if abi >= 6 else 0)[:size]
    ruleset = libc.syscall(CREATE, rules, ctypes.c_size_t(size), 0)
    _checked(ruleset, "landlock_create_ruleset")
    for paths, access in (
        (plan["reads"], EXECUTE | READ | LIST),
        (plan["writes"], files),
        (plan["devices"], READ | WRITE | DEVICE),
    ):
        for path in paths if isinstance(paths, list) else ():
            _allow(ruleset, path, access & files)
    _checked(libc.syscall(RESTRICT, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        access &= ON_FILES
    _checked(libc.syscall(ADD, ruleset, 1, struct.pack("=Qi", access, fd), 0), f"landlock_add_rule {path}")
    os.close(fd)


def _refuse(program: bytes) -> None:
    if not program:
        return
    code = ctypes.create_string_buffer(program, len(program))
    pointer = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _checked(libc.prctl(SECCOMP, FILTER, ctypes.c_char_p(pointer), 0, 0), "seccomp")


def _checked(result: int, what: str) -> None:
    if result < 0:
        # The command must not run with less protection than was reported.
        print(f"cockpit: {what} failed: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        os._exit(126)


if __name__ == "__main__":
    main()
