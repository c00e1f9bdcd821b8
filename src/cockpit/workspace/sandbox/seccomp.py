"""The seccomp filter of sandboxed processes, as bytes. Pure: loads nothing.

A list of refusals, not of permissions: it refuses kernel interfaces that no build needs (key rings, io_uring,
tracing, mounting, namespaces, modules) in addition to what the namespaces already confine. The layout is
`struct sock_filter` and `struct seccomp_data` (linux/filter.h, linux/seccomp.h).
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

LOAD, EQUAL, ATLEAST, ANY, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, MACHINE, FIRST, SECOND, THIRD, FOURTH = 0, 4, 16, 24, 32, 40
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
X32 = 0x40000000
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
NEW_USER = 0x10000000
SETUID = 0o4000
CREATES = 0o100 | 0o20000000  # O_CREAT, __O_TMPFILE: only then does open(2) look at its mode
TERMINAL_INPUT_IOCTLS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: typing into a terminal


@dataclass(frozen=True, slots=True)
class SyscallTable:
    """The numbers of one architecture: its AUDIT_ARCH and those of system calls.

    `modes` are calls that set permission bits, each with the argument that holds them; `opens` are those that
    set them when they create a file, with the arguments for flags and bits.
    """

    audit: int
    refused: tuple[int, ...]
    unknown: tuple[int, ...]
    socket: int
    ioctl: int
    clone: int
    modes: tuple[tuple[int, int], ...]
    opens: tuple[tuple[int, int, int], ...]


# The calls from 424 on have one number everywhere (asm-generic/unistd.h).
# open_tree move_mount fsopen fsconfig fsmount fspick pidfd_getfd mount_setattr
LATE_REFUSED = (428, 429, 430, 431, 432, 433, 438, 442)


def _syscall_numbers(text: str) -> tuple[int, ...]:
    """The numbers in words `name:number`, then those of `LATE_REFUSED`."""
    return (*(int(word.partition(":")[2]) for word in text.split()), *LATE_REFUSED)


# clone3 and openat2 hide their flags from a filter, io_uring makes other calls: they fail like unknown calls,
# so that programs use the older ones.
LATE_UNKNOWN = (425, 426, 427, 435, 437)
FCHMODAT2 = (452, THIRD)
X86_64 = SyscallTable(
    0xC000003E,
    _syscall_numbers(
        """
        ptrace:101 syslog:103 uselib:134 vhangup:153 modify_ldt:154 pivot_root:155 chroot:161 acct:163
        settimeofday:164 mount:165 umount2:166 swapon:167 swapoff:168 reboot:169 sethostname:170
        setdomainname:171 iopl:172 ioperm:173 init_module:175 delete_module:176 quotactl:179
        lookup_dcookie:212 clock_settime:227 kexec_load:246 add_key:248 request_key:249 keyctl:250
        unshare:272 perf_event_open:298 fanotify_init:300 open_by_handle_at:304 setns:308
        process_vm_readv:310 process_vm_writev:311 kcmp:312 finit_module:313 kexec_file_load:320
        bpf:321 userfaultfd:323
        """
    ),
    LATE_UNKNOWN,
    socket=41,
    ioctl=16,
    clone=56,
    # chmod fchmod fchmodat fchmodat2 creat mknod mknodat
    modes=((90, SECOND), (91, SECOND), (268, THIRD), FCHMODAT2, (85, SECOND), (133, SECOND), (259, THIRD)),
    opens=((2, SECOND, THIRD), (257, THIRD, FOURTH)),
)
AARCH64 = SyscallTable(
    0xC00000B7,
    _syscall_numbers(
        """
        lookup_dcookie:18 umount2:39 mount:40 pivot_root:41 chroot:51 vhangup:58 quotactl:60 acct:89
        unshare:97 kexec_load:104 init_module:105 delete_module:106 clock_settime:112 syslog:116
        ptrace:117 reboot:142 sethostname:161 setdomainname:162 settimeofday:170 add_key:217
        request_key:218 keyctl:219 swapon:224 swapoff:225 perf_event_open:241 fanotify_init:262
        open_by_handle_at:265 setns:268 process_vm_readv:270 process_vm_writev:271 kcmp:272
        finit_module:273 bpf:280 userfaultfd:282 kexec_file_load:294
        """
    ),
    LATE_UNKNOWN,
    socket=198,
    ioctl=29,
    clone=220,
    # fchmod fchmodat fchmodat2 mknodat
    modes=((52, SECOND), (53, THIRD), FCHMODAT2, (33, THIRD)),
    opens=((56, THIRD, FOURTH),),
)
SYSCALL_TABLES: Mapping[str, SyscallTable] = {"x86_64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}

BpfInstruction = tuple[int, int, int, int]


def build_filter(machine: str, *, unix: bool, internet: bool = True) -> bytes:
    """The filter for `machine` (as `platform.machine()` names it); b"" for an unknown one.

    `unix` and `internet` say which sockets can be created; a pair of unix sockets always can. Of netlink only
    routing is allowed: programs list their interfaces with it.
    """
    table = SYSCALL_TABLES.get(machine)
    if table is None:
        return b""
    steps: list[BpfInstruction] = [
        (LOAD, 0, 0, MACHINE),
        (EQUAL, 1, 0, table.audit),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ]
    if table is X86_64:
        steps += [(ATLEAST, 0, 1, X32), _fail(ENOSYS)]
    for number in table.refused:
        steps += [(EQUAL, 0, 1, number), _fail(EPERM)]
    for number in table.unknown:
        steps += [(EQUAL, 0, 1, number), _fail(ENOSYS)]
    steps += _for_syscall(table.ioctl, _ioctl())
    steps += _for_syscall(table.clone, [(LOAD, 0, 0, FIRST), (ANY, 0, 1, NEW_USER), _fail(EPERM), _allow()])
    for number, bits in table.modes:
        steps += _for_syscall(number, _unless_setuid(bits))
    for number, flags, bits in table.opens:
        creating = [(LOAD, 0, 0, flags), (ANY, 1, 0, CREATES), _allow(), *_unless_setuid(bits)]
        steps += _for_syscall(number, creating)
    families = ((AF_UNIX,) if unix else ()) + ((AF_INET, AF_INET6) if internet else ())
    steps += _for_syscall(table.socket, _socket(families))
    steps.append(_allow())
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _for_syscall(number: int, steps: list[BpfInstruction]) -> list[BpfInstruction]:
    """`steps`, which end in returns, for one system call; other calls skip them."""
    return [(EQUAL, 0, len(steps), number), *steps]


def _unless_setuid(bits: int) -> list[BpfInstruction]:
    """Outside the sandbox a setuid file in the workspace would pass on the rights of the user."""
    return [(LOAD, 0, 0, bits), (ANY, 0, 1, SETUID), _fail(EPERM), _allow()]


def _ioctl() -> list[BpfInstruction]:
    steps: list[BpfInstruction] = [(LOAD, 0, 0, SECOND)]
    for command in TERMINAL_INPUT_IOCTLS:
        steps += [(EQUAL, 0, 1, command), _fail(EPERM)]
    return [*steps, _allow()]


def _socket(families: tuple[int, ...]) -> list[BpfInstruction]:
    steps: list[BpfInstruction] = [(LOAD, 0, 0, FIRST)]
    for family in families:
        steps += [(EQUAL, 0, 1, family), _allow()]
    routing = [(LOAD, 0, 0, THIRD), (EQUAL, 0, 1, 0), _allow()]
    return [*steps, *_for_syscall(AF_NETLINK, [*routing, _fail(EAFNOSUPPORT)]), _fail(EAFNOSUPPORT)]


def _fail(number: int) -> BpfInstruction:
    return (RETURN, 0, 0, FAIL | number)


def _allow() -> BpfInstruction:
    return (RETURN, 0, 0, ALLOW)
