"""The machine as a sandboxed program sees it outside of its workspace: hidden folders, visible toolchains.

Also the scratch folder of each root, the only other place that such a program may write. Files there are read
without following links.
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
    """Folders hidden around (`outer`) and inside (`inner`) the workspace, paths shown again in them, and
    single paths that are masked."""

    outer: tuple[str, ...]
    inner: tuple[str, ...]
    shown: tuple[str, ...]
    masked: tuple[str, ...]


def look_at_host(around: Surroundings, environment: Mapping[str, str], prefixes: tuple[str, ...]) -> HostView:
    """The current view; looks at some hundred paths, so cache it for a while."""
    outer, inner = hidden_folders(around.home, around.own, around.root)
    toolchain_secrets = (os.path.join(around.home, name) for name in sorted(TOOLCHAIN_SECRETS))
    masked = [path for path in toolchain_secrets if os.path.lexists(path)]
    masked += [path for path in sorted(SYSTEM_SECRETS) if os.path.exists(path) and os.access(path, os.R_OK)]
    shown = (*shown_toolchains(around.home, environment, prefixes), *around.linked)
    return HostView(outer, inner, shown, tuple(masked))


def scratch_folder(root: str) -> str:
    """The folder that sandboxed programs of `root` may write besides the workspace."""
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return os.path.realpath(paths.cache() / "scratch" / name)


def find_surroundings(root: str, linked: tuple[str, ...] = ()) -> Surroundings:
    """The folders around `root` (real), as they are now."""
    own = tuple(map(os.path.realpath, (paths.config(), paths.state(), paths.cache())))
    home = os.path.realpath(os.path.expanduser("~"))
    return Surroundings(root, home, own, str(paths.state()), scratch_folder(root), linked)


def hidden_folders(home: str, own: tuple[str, ...], root: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The folders that appear empty to a sandboxed program: those outside of `root`, and those inside it."""
    candidates = set(map(os.path.realpath, (*HIDDEN_FOLDERS, home, *own))) - {"/", root}
    folders = sorted(filter(os.path.isdir, candidates))
    inner = [folder for folder in folders if is_within(folder, root)]
    return outermost_folders([folder for folder in folders if folder not in inner]), outermost_folders(inner)


def outermost_folders(folders: list[str]) -> tuple[str, ...]:
    """Sorted `folders` without those inside another."""
    outermost: list[str] = []
    for folder in folders:
        if not is_below(folder, outermost):
            outermost.append(folder)
    return tuple(outermost)


def shown_toolchains(home: str, environment: Mapping[str, str], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """The toolchains inside hidden folders that are shown: known ones, those in `PATH` and toolchain
    variables, and `prefixes` (our own Python). Real paths, outermost only."""
    wanted = [os.path.join(home, name) for name in sorted(TOOLCHAINS)]
    wanted += [environment[name] for name in sorted(TOOLCHAIN_VARIABLES) if environment.get(name)]
    for entry in environment.get("PATH", "").split(os.pathsep):
        wanted += list(_installation_folders(entry, home))
    wanted += [*prefixes, *(os.path.join(home, name) for name in GIT_SETTINGS)]
    hides = (*HIDDEN_FOLDERS, home)
    real = sorted({os.path.normpath(path) for path in wanted if os.path.isabs(path)})
    return outermost_folders([path for path in real if is_below(path, hides) and _may_be_shown(path, home)])


def reachable_sockets(
    hides: tuple[str, ...], shown: tuple[str, ...], listing: str = "/proc/net/unix"
) -> tuple[str, ...]:
    """The sockets of other programs with a path outside of `hides` or inside `shown`: a network namespace
    does not stop a program that can reach the path."""
    try:
        lines = Path(listing).read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
    except OSError:
        return ()
    paths = {fields[7] for line in lines if len(fields := line.split(maxsplit=7)) == 8}
    absolute = (path for path in paths if path.startswith("/"))
    visible = (path for path in absolute if is_below(path, shown) or not is_below(path, hides))
    return tuple(sorted(path for path in visible if os.path.exists(path) and os.path.realpath(path) == path))


def is_below(path: str, folders: tuple[str, ...] | list[str]) -> bool:
    return any(is_within(path, folder) for folder in folders)


def _installation_folders(entry: str, home: str) -> Iterator[str]:
    """A folder in PATH, and the installation whose `bin` it is."""
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
            # Git settings may contain a password in a URL, or a header with a token.
            try:
                return KEY_IN_GIT_SETTINGS.search(Path(path).read_bytes()) is None
            except OSError:
                return False
    return True


MAX_SCRATCH_CHARACTERS = 64_000_000


def scratch_file_path(root: str, name: str) -> str:
    """The path of the file `name` in the scratch folder of `root`."""
    return os.path.join(scratch_folder(os.path.realpath(root)), name)


def prepare_scratch_file(path: str) -> None:
    """Create the folder of the file and remove the file. Call it before a run."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def consume_scratch_file(path: str) -> str:
    """The text that a run wrote to `path`, "" if it is not a regular file. Removes the file."""
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
