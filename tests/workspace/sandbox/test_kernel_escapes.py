"""A sandboxed program reaches no network, no process of the host and no unsafe system call."""

import contextlib
import os
import platform
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.workspace.sandbox.box import Box

from cockpit.plugin.workspace import Launch, Profile
from cockpit.workspace.sandbox import kernel_limits, seccomp

CALL = (
    "import ctypes, os, sys; libc = ctypes.CDLL(None, use_errno=True)\n"
    "def call(*a):\n"
    "    r = libc.syscall(*a); print(r, ctypes.get_errno(), flush=True); return r\n"
    "print('tried', flush=True)\n"
)
X86 = {
    "keyctl": "call(250, 0, -3, 1)",
    "add_key": "call(248, b'user', b'a', b'b', 1, -2)",
    "io_uring": "call(425, 8, ctypes.create_string_buffer(200))",
    "ptrace": "call(101, 0, 0, 0, 0)",
    "bpf": "call(321, 0, 0, 0)",
    "perf": "call(298, ctypes.create_string_buffer(128), 0, -1, -1, 0)",
    "userfaultfd": "call(323, 0)",
    "unshare": "call(272, 0x10000000)",
    "clone a user namespace": "call(56, 0x10000000 | 17, 0, 0, 0, 0)",
    "mount": "call(165, b'none', b'/tmp', b'tmpfs', 0, 0)",
    "setns": "call(308, 0, 0)",
    "kexec": "call(246, 0, 0, 0, 0)",
    "module": "call(175, 0, 0, b'')",
    "process memory": "call(310, 1, 0, 0, 0, 0, 0)",
    "typing into a terminal": "call(16, 0, 0x5412, b'x')",
    "typing into a terminal, wide": "call(16, 0, ctypes.c_ulong(0xf00005412), b'x')",
    "unix socket by x32": "call(0x40000000 | 41, 1, 1, 0)",
    "vsock": "call(41, 40, 1, 0)",
    "packets": "call(41, 17, 3, 0)",
    "netlink of the firewall": "call(41, 16, 3, 12)",
}
PROBES = {
    "a node of a device": "import os; os.mknod('disk', 0o60600, os.makedev(8, 0)); print('ESCAPED')",
    "proc/sys": (
        "p = '/proc/sys/kernel/randomize_va_space'; v = open(p).read();"
        "open(p, 'w').write(v); print('ESCAPED')"
    ),
    "sysrq": "open('/proc/sysrq-trigger', 'w').write('h'); print('ESCAPED')",
    "a terminal": "open('/dev/tty'); print('ESCAPED')",
    "a disk": "import glob; [open(one, 'rb') for one in ['/dev/sda', '/dev/vda']]; print('ESCAPED')",
    "signals": "import os; os.kill({pid}, 0); print('ESCAPED')",
    "being root": "import os; os.setuid(0); print('ESCAPED')",
    "names": "import socket; socket.getaddrinfo('example.com', 80); print('ESCAPED')",
    "tcp": "import socket; socket.create_connection(('127.0.0.1', {tcp}), 2); print('ESCAPED')",
    "udp": (
        "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(1);"
        "s.sendto(b'x', ('127.0.0.1', {udp})); s.recv(9); print('ESCAPED')"
    ),
    "a socket with a path": "import socket; socket.socket(1).connect('{path}'); print('ESCAPED')",
    "a socket in the home": "import socket; socket.socket(1).connect('{homely}'); print('ESCAPED')",
    "an abstract socket": "import socket; socket.socket(1).connect('\\0{name}'); print('ESCAPED')",
}


@pytest.fixture
def listeners(box: Box) -> Iterator[dict[str, object]]:
    """Servers of the host: TCP, UDP that answers, sockets with a path, an abstract one."""
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        said = {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1], "pid": os.getpid()}
        for key, address in (
            ("path", str(box.root / "db.sock")),
            ("homely", str(box.home / "agent.sock")),
            ("name", f"\0cockpit-probe-{os.getpid()}"),
        ):
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(address)
            server.listen()
            said[key] = address.lstrip("\0")

        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    data, sender = udp.recvfrom(9)
                    udp.sendto(data, sender)

        threading.Thread(target=answer, daemon=True).start()
        yield said


@pytest.mark.parametrize("profile", ["read", "build"])
@pytest.mark.parametrize("name", PROBES)
async def test_no_escape_by_network_or_processes(
    box: Box, name: str, profile: Profile, listeners: dict[str, object]
) -> None:
    await box.require_sandbox(profile)
    ended = await box.python("print('tried', flush=True); " + PROBES[name].format(**listeners), profile)
    assert ended.isolation == f"bwrap {profile}" and ended.output.startswith("tried\n"), ended.output
    assert "ESCAPED" not in ended.output, ended.output
    assert ended.code != 0


@pytest.mark.parametrize("name", X86)
async def test_the_kernel_refuses_calls_that_no_build_needs(box: Box, name: str) -> None:
    await box.require_sandbox("read")
    if platform.machine() != "x86_64":
        pytest.skip("the numbers of the calls are those of x86_64")
    ended = await box.python(CALL + X86[name], "read")
    assert ended.output.startswith("tried\n-1 "), ended.output
    # EPERM, ENOSYS or EAFNOSUPPORT: the filter's answers, not a complaint about the arguments.
    assert ended.output.split()[2] in ("1", "38", "97"), ended.output


async def test_no_file_of_the_workspace_becomes_setuid(box: Box) -> None:
    await box.require_sandbox()
    tries = "chmod 4755 a; python3 -c 'import os; os.open(\"b\", os.O_CREAT | os.O_WRONLY, 0o4755)'"
    ended = await box.run(f"touch a; {tries}; install -m 4755 a c; chmod 755 a; ls; true")
    found = {path.name: path.stat().st_mode & 0o7000 for path in box.root.iterdir() if path.is_file()}
    assert "a" in found and not any(found.values()), (found, ended.output)


async def test_only_builds_can_create_unix_sockets(box: Box) -> None:
    await box.require_sandbox("read")
    script = "import socket; socket.socketpair(); print('pair'); socket.socket(1); print('socket')"
    assert "socket" not in (await box.python(script, "read")).output.split()
    assert (await box.python(script, "build")).output.split() == ["pair", "socket"]


async def test_it_has_no_capabilities_and_sees_only_its_own_processes(box: Box) -> None:
    await box.require_sandbox("read")
    ended = await box.run(
        "id -u; grep -E '^(Cap(Eff|Prm|Bnd)|NoNewPrivs|Seccomp):' /proc/self/status; ls /proc", "read"
    )
    words = ended.output.split()
    assert words[0] != "0"
    status = dict(zip(words[1:11:2], words[2:11:2], strict=True))
    zero = "0" * 16
    assert (status["CapEff:"], status["CapPrm:"], status["CapBnd:"]) == (zero, zero, zero)
    assert (status["NoNewPrivs:"], status["Seccomp:"]) == ("1", "2")
    assert len([one for one in words if one.isdigit() and one != zero]) < 12


async def test_it_inherits_no_open_file_and_no_terminal(box: Box, tmp_path: Path) -> None:
    await box.require_sandbox("read")
    secret = os.open(tmp_path / "open", os.O_CREAT | os.O_RDWR)
    os.set_inheritable(secret, True)
    try:
        ended = await box.run("ls -l /proc/self/fd; readlink /proc/self/fd/0; tty", "read")
    finally:
        os.close(secret)
    assert str(tmp_path) not in ended.output and "memfd" not in ended.output, ended.output
    assert "/dev/null\nnot a tty" in ended.output


async def test_numbers_of_processes_and_output_are_limited(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    await box.require_sandbox()
    monkeypatch.setattr(kernel_limits, "MAX_PROCESSES", 40)
    storm = (
        "import os, time\n"
        "made = 0\n"
        "try:\n"
        "    for n in range(300):\n"
        "        if os.fork() == 0: time.sleep(30); os._exit(0)\n"
        "        made += 1\n"
        "except OSError: pass\n"
        "print(made)\n"
    )
    limits = kernel_limits.resource_limits(os.getuid())
    if os.getuid() == 0 and not limits.outside:
        assert "not limited" in limits.missing
        pytest.skip("root needs a control group, and none can be made here")
    made = await box.python(storm)
    assert int(made.output) < 40, made.output
    flood = await box.run("head -c 5000000 /dev/zero | tr '\\0' x; ulimit -c")
    assert flood.dropped > 3_000_000 and flood.output.endswith("x0\n")


def test_the_filter_is_complete_for_each_supported_machine() -> None:
    for machine in ("x86_64", "aarch64"):
        made = seccomp.build_filter(machine, unix=False)
        assert len(made) % 8 == 0 and len(made) // 8 < 4096
        assert made[-8:] == b"\x06\x00\x00\x00" + seccomp.ALLOW.to_bytes(4, "little")
        assert (
            made
            != seccomp.build_filter(machine, unix=True)
            != seccomp.build_filter(machine, unix=True, internet=False)
        )
    assert seccomp.build_filter("riscv64", unix=True) == b""


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_returns_the_documented_answers(machine: str) -> None:
    """The program run by hand, for the machine this is not."""
    known = seccomp.SYSCALL_TABLES[machine]
    program = seccomp.build_filter(machine, unix=False)
    assert run(program, known.audit, known.refused[0]) == seccomp.FAIL | seccomp.EPERM
    assert run(program, known.audit, 425) == seccomp.FAIL | seccomp.ENOSYS
    assert run(program, known.audit, known.socket, 1, 1, 0) == seccomp.FAIL | seccomp.EAFNOSUPPORT
    assert run(program, known.audit, known.socket, 2, 1, 0) == seccomp.ALLOW
    assert run(program, known.audit, known.socket, 16, 3, 0) == seccomp.ALLOW
    assert run(program, known.audit, known.socket, 16, 3, 9) == seccomp.FAIL | seccomp.EAFNOSUPPORT
    assert run(program, known.audit, known.ioctl, 0, 0x5412, 0) == seccomp.FAIL | seccomp.EPERM
    assert run(program, known.audit, known.ioctl, 0, 0x5401, 0) == seccomp.ALLOW
    assert run(program, known.audit, known.clone, 0x10000011) == seccomp.FAIL | seccomp.EPERM
    assert run(program, known.audit, known.clone, 17) == seccomp.ALLOW
    for number, bits in known.modes:
        place = (bits - seccomp.FIRST) // 8
        for mode, answer in ((0o4755, seccomp.FAIL | seccomp.EPERM), (0o2755, seccomp.ALLOW)):
            assert run(program, known.audit, number, *[0] * place, mode) == answer, number
    for number, flags, bits in known.opens:
        first, second = (flags - seccomp.FIRST) // 8, (bits - seccomp.FIRST) // 8
        held = [0] * (second + 1)
        held[second] = 0o4644
        assert run(program, known.audit, number, *held) == seccomp.ALLOW
        held[first] = 0o102
        assert run(program, known.audit, number, *held) == seccomp.FAIL | seccomp.EPERM
    assert run(program, 0x40000003, 11) == seccomp.KILL
    assert run(program, known.audit, 63) == seccomp.ALLOW


def run(program: bytes, audit: int, number: int, *arguments: int) -> int:
    """What the kernel would answer: classic BPF over `struct seccomp_data`."""
    import struct

    held = struct.pack("=IIQ6Q", number, audit, 0, *(*arguments, *[0] * (6 - len(arguments))))
    at, value = 0, 0
    while True:
        code, yes, no, constant = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        match code:
            case seccomp.LOAD:
                value = struct.unpack_from("=I", held, constant)[0]
            case seccomp.EQUAL:
                at += yes if value == constant else no
            case seccomp.ATLEAST:
                at += yes if value >= constant else no
            case seccomp.ANY:
                at += yes if value & constant else no
            case seccomp.RETURN:
                return int(constant)
            case _:
                raise AssertionError(f"an unknown instruction {code:#x}")


async def test_sockets_outside_of_hidden_folders_are_masked(box: Box) -> None:
    """A socket of a service beside its data, as databases make it."""
    await box.require_sandbox()
    with socket.socket(socket.AF_UNIX) as server:
        path = Path("/var/lib/cockpit-probe.sock") if os.access("/var/lib", os.W_OK) else box.root / "a.sock"
        path.unlink(missing_ok=True)
        server.bind(str(path))
        server.listen()
        try:
            script = f"import socket; socket.socket(1).connect('{path}'); print('ESCAPED')"
            launch = Launch(("python3", "-c", script), str(box.root), (), "build")
            ended = await box.processes.run_sealed(launch, launch.seal())
        finally:
            path.unlink()
    assert "ESCAPED" not in ended.output and ended.code != 0


async def test_memory_is_limited_and_devices_cannot_be_added(box: Box) -> None:
    await box.require_sandbox()
    script = "import os; print([(one.f_blocks * one.f_frsize >> 20) for one in map(os.statvfs, {})])"
    folders = ["/tmp", "/run", "/dev/shm"]
    ended = await box.python(script.format(folders) + "; open('/dev/null', 'w'); os.openpty()")
    refused = await box.run("echo ESCAPED > /dev/new && cat /dev/new")
    assert ended.output.splitlines()[0] == "[2048, 64, 2048]", ended.output
    assert "ESCAPED" not in refused.output, refused.output
