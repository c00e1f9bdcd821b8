"""What a sandboxed program sees of the machine besides its workspace: hidden folders, and toolchains shown
read-only.

Also the scratch folder of each root, the only other place that such a program may write. Whoever reads files
there follows no link: programs wrote them.
"""

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cockpit import paths
from cockpit.workspace import path_names
from cockpit.workspace.resolver import is_within
from cockpit.workspace.sandbox.values import Surroundings
from cockpit.workspace.word_set import word_set

# Where users and services keep their data. /run has the sockets: docker, dbus, the ssh agent.
HIDDEN_FOLDERS = ("/home", "/root", "/run", "/tmp", "/var/tmp", "/var/run", "/var/backups", "/var/spool/cron")
# Readable by root, as which a container often runs: the kernel still treats us as the owner.
SYSTEM_SECRETS = word_set(
    """
    /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private
    /etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key
    /etc/krb5.keytab /etc/wireguard /etc/NetworkManager/system-connections /etc/kubernetes
    /var/lib/docker /var/lib/containerd /var/lib/kubelet
    """
)
# Below the home folder: what programs need to start, and the downloads that builds read.
TOOLCHAINS = word_set(
    """
    .cargo/bin .cargo/env .cargo/registry .cargo/git .cargo/config.toml .rustup .nvm .pyenv .rbenv .nodenv
    .volta .bun .deno .asdf .sdkman .jenv .goenv .juliaup .ghcup .cabal .stack .opam .elan .dotnet .nuget
    .local/bin .local/lib .local/share/pnpm .local/share/uv .local/share/mise .local/share/pipx .local/pipx
    .local/share/fnm .local/share/virtualenvs .virtualenvs .npm/_cacache .npm-global .m2/repository
    .gradle/wrapper .gradle/caches go/bin go/pkg miniconda3 anaconda3 miniforge3 .conda .pixi .rye .poetry
    .cache/ms-playwright .cache/pre-commit .cache/uv .cache/pip .cache/yarn .yarn bin sdk
    """
)
# Secrets inside the folders above.
TOOLCHAIN_SECRETS = word_set(
    ".local/share/uv/credentials .volta/hooks.json .rye/credentials .cargo/credentials.toml"
)
GIT_SETTINGS = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
KEY_IN_GIT_SETTINGS = re.compile(rb"://[^/\s@]+@|extraheader|passw|token|secret", re.IGNORECASE)
# Variables that name a toolchain or its certificates.
TOOLCHAIN_VARIABLES = word_set(
    """
    CARGO_HOME RUSTUP_HOME NVM_DIR PYENV_ROOT VOLTA_HOME BUN_INSTALL DENO_INSTALL PNPM_HOME GOROOT JAVA_HOME
    VIRTUAL_ENV CONDA_PREFIX SDKMAN_DIR ASDF_DATA_DIR MISE_DATA_DIR DOTNET_ROOT SSL_CERT_FILE SSL_CERT_DIR
    NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO PIP_CERT
    """
)
PROGRAM_FOLDERS = frozenset({"bin", "sbin", "shims"})
NOT_INSTALLATIONS = frozenset({".cargo", ".local", ".config", ".m2", ".gradle", "go", ".npm"})


@dataclass(frozen=True, slots=True)
class HostView:
    """The machine as a sandboxed program sees it: folders hidden around and inside the workspace, paths shown
    again in them, and single paths that are masked."""

    outer: tuple[str, ...]
    inner: tuple[str, ...]
    shown: tuple[str, ...]
    masked: tuple[str, ...]


def look_at_host(around: Surroundings, environment: Mapping[str, str], prefixes: tuple[str, ...]) -> HostView:
    """Look now, at some hundred paths; frequent callers cache the result for a while."""
    outer, inner = hidden_folders(around.home, around.own, around.root)
    masked = (*secrets_in_toolchains(around.home), *readable_system_secrets())
    return HostView(
        outer, inner, (*shown_toolchains(around.home, environment, prefixes), *around.linked), masked
    )


def scratch_folder(root: str) -> str:
    """The folder that sandboxed programs of `root` may write besides the workspace."""
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return os.path.realpath(paths.cache() / "scratch" / name)


def find_surroundings(root: str, linked: tuple[str, ...] = ()) -> Surroundings:
    """The folders around `root` (real), as they are now."""
    own = tuple(os.path.realpath(one) for one in (paths.config(), paths.state(), paths.cache()))
    home = os.path.realpath(os.path.expanduser("~"))
    return Surroundings(root, home, own, str(paths.state()), scratch_folder(root), linked)


def hidden_folders(home: str, own: tuple[str, ...], root: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The folders that appear empty to a sandboxed program: those around or beside `root`, and those inside
    it."""
    found = {os.path.realpath(one) for one in (*HIDDEN_FOLDERS, home, *own)} - {"/", root}
    folders = sorted(one for one in found if os.path.isdir(one))
    inner = [one for one in folders if is_within(one, root)]
    return outermost_folders([one for one in folders if one not in inner]), outermost_folders(inner)


def outermost_folders(folders: list[str]) -> tuple[str, ...]:
    """Sorted `folders` without those inside another."""
    found: list[str] = []
    for folder in folders:
        if not is_below(folder, found):
            found.append(folder)
    return tuple(found)


def shown_toolchains(home: str, environment: Mapping[str, str], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """The toolchains inside hidden folders that are shown: known ones, what `PATH` and toolchain variables
    name, and `prefixes` (our own Python). Real paths, outermost only."""
    wanted = [os.path.join(home, one) for one in sorted(TOOLCHAINS)]
    wanted += [environment[name] for name in sorted(TOOLCHAIN_VARIABLES) if environment.get(name)]
    for entry in environment.get("PATH", "").split(os.pathsep):
        wanted += list(_installation_folders(entry, home))
    wanted += [*prefixes, *(os.path.join(home, one) for one in GIT_SETTINGS)]
    hides = (*HIDDEN_FOLDERS, home)
    real = sorted({os.path.normpath(one) for one in wanted if os.path.isabs(one)})
    return outermost_folders([one for one in real if is_below(one, hides) and _may_be_shown(one, home)])


def secrets_in_toolchains(home: str) -> tuple[str, ...]:
    """The secrets inside toolchains."""
    return tuple(
        path for one in sorted(TOOLCHAIN_SECRETS) if os.path.lexists(path := os.path.join(home, one))
    )


def readable_system_secrets() -> tuple[str, ...]:
    return tuple(one for one in sorted(SYSTEM_SECRETS) if os.path.exists(one) and os.access(one, os.R_OK))


def reachable_sockets(
    hides: tuple[str, ...], seen: tuple[str, ...], listing: str = "/proc/net/unix"
) -> tuple[str, ...]:
    """The sockets of other programs with a path outside of `hides` or inside `seen`: a network namespace does
    not stop a program that can reach the path."""
    try:
        lines = Path(listing).read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
    except OSError:
        return ()
    found = {fields[7] for line in lines if len(fields := line.split(maxsplit=7)) == 8}
    absolute = (one for one in found if one.startswith("/"))
    open_ones = (one for one in absolute if is_below(one, seen) or not is_below(one, hides))
    return tuple(sorted(one for one in open_ones if os.path.exists(one) and os.path.realpath(one) == one))


def is_below(path: str, folders: tuple[str, ...] | list[str]) -> bool:
    return any(is_within(path, one) for one in folders)


def _installation_folders(entry: str, home: str) -> Iterator[str]:
    """A folder of programs, and the installation whose `bin` it is."""
    if not os.path.isabs(entry):
        return
    yield entry
    above = os.path.dirname(entry)
    plain = os.path.basename(above) not in NOT_INSTALLATIONS and os.path.basename(entry) in PROGRAM_FOLDERS
    if plain and above != home and not is_within(home, above):
        yield above


def _may_be_shown(path: str, home: str) -> bool:
    if not os.path.exists(path) or os.path.realpath(path) == "/":
        return False
    real = os.path.realpath(path)
    if is_within(home, real) or is_within(home, path):
        return False
    if is_within(path, home) and (parts := Path(os.path.relpath(path, home)).parts):
        if path_names.secret_reason(parts, in_home=True):
            return False
        if "/".join(parts) in GIT_SETTINGS:
            return _holds_no_key(path)
    return True


def _holds_no_key(path: str) -> bool:
    """Git settings may contain a password in a URL, or a header with a token."""
    try:
        return KEY_IN_GIT_SETTINGS.search(Path(path).read_bytes()) is None
    except OSError:
        return False


MAX_SCRATCH_CHARACTERS = 64_000_000


def scratch_file_path(root: str, name: str) -> str:
    """Where a program that runs in `root` may leave a file called `name`."""
    return os.path.join(scratch_folder(os.path.realpath(root)), name)


def prepare_scratch_file(path: str) -> None:
    """Before a run: create the folder and remove the file."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def consume_scratch_file(path: str) -> str:
    """What a run left at `path`, which is removed; "" if it is not a regular file."""
    if not path:
        return ""
    # Non-blocking: opening a pipe would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        fd = os.open(path, flags)
    except OSError:
        return ""
    with open(fd, encoding="utf-8", errors="replace") as file:
        text = file.read(MAX_SCRATCH_CHARACTERS) if stat.S_ISREG(os.fstat(fd).st_mode) else ""
    with contextlib.suppress(OSError):
        os.unlink(path)
    return text
