"""What a held program sees of the machine besides its workspace: which folders are hidden whole, which
toolchains come back into them, read-only. Looks at the disk, changes nothing.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cockpit import paths
from cockpit.workspace import names
from cockpit.workspace.resolver import is_within
from cockpit.workspace.sandbox.values import Surroundings
from cockpit.workspace.words import words

# Where people and services keep what is theirs. /run holds the sockets: docker, dbus, the ssh agent.
HIDDEN = ("/home", "/root", "/run", "/tmp", "/var/tmp", "/var/run", "/var/backups", "/var/spool/cron")
# Readable by root, which a container often is; the kernel still takes us for their owner.
SYSTEM_SECRETS = words(
    """
    /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private
    /etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key
    /etc/krb5.keytab /etc/wireguard /etc/NetworkManager/system-connections /etc/kubernetes
    /var/lib/docker /var/lib/containerd /var/lib/kubelet
    """
)
# Below the home folder: what programs need to start, and the downloads that builds read.
TOOLCHAINS = words(
    """
    .cargo/bin .cargo/env .cargo/registry .cargo/git .cargo/config.toml .rustup .nvm .pyenv .rbenv .nodenv
    .volta .bun .deno .asdf .sdkman .jenv .goenv .juliaup .ghcup .cabal .stack .opam .elan .dotnet .nuget
    .local/bin .local/lib .local/share/pnpm .local/share/uv .local/share/mise .local/share/pipx .local/pipx
    .local/share/fnm .local/share/virtualenvs .virtualenvs .npm/_cacache .npm-global .m2/repository
    .gradle/wrapper .gradle/caches go/bin go/pkg miniconda3 anaconda3 miniforge3 .conda .pixi .rye .poetry
    .cache/ms-playwright .cache/pre-commit .cache/uv .cache/pip .cache/yarn .yarn bin sdk
    """
)
# Secrets that lie within the folders above.
WITHIN = words(".local/share/uv/credentials .volta/hooks.json .rye/credentials .cargo/credentials.toml")
GIT_SETTINGS = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
NAMES_A_KEY = re.compile(rb"://[^/\s@]+@|extraheader|passw|token|secret", re.IGNORECASE)
# Variables that name a toolchain or its certificates.
NAMED = words(
    """
    CARGO_HOME RUSTUP_HOME NVM_DIR PYENV_ROOT VOLTA_HOME BUN_INSTALL DENO_INSTALL PNPM_HOME GOROOT JAVA_HOME
    VIRTUAL_ENV CONDA_PREFIX SDKMAN_DIR ASDF_DATA_DIR MISE_DATA_DIR DOTNET_ROOT SSL_CERT_FILE SSL_CERT_DIR
    NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO PIP_CERT
    """
)
PROGRAM_FOLDERS = frozenset({"bin", "sbin", "shims"})
ALONE = frozenset({".cargo", ".local", ".config", ".m2", ".gradle", "go", ".npm"})


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine as a held program sees it: folders hidden around and in the workspace, what comes back
    into them, and single paths that are masked."""

    outer: tuple[str, ...]
    inner: tuple[str, ...]
    shown: tuple[str, ...]
    masked: tuple[str, ...]


def machine(around: Surroundings, environment: Mapping[str, str], prefixes: tuple[str, ...]) -> Machine:
    """Looked at now: some hundred paths, so that whoever asks often keeps it for a while."""
    outer, inner = hidden(around.home, around.own, around.root)
    masked = (*again_hidden(around.home), *system_secrets())
    return Machine(outer, inner, (*shown(around.home, environment, prefixes), *around.linked), masked)


def scratch(root: str) -> str:
    """The folder that held programs of `root` may write to besides the workspace; each root has its own.
    What lies in it was written by them: whoever reads it follows no link there."""
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return os.path.realpath(paths.cache() / "scratch" / name)


def surroundings(root: str, linked: tuple[str, ...] = ()) -> Surroundings:
    """The folders around `root` (real), as they are now."""
    own = tuple(os.path.realpath(one) for one in (paths.config(), paths.state(), paths.cache()))
    home = os.path.realpath(os.path.expanduser("~"))
    return Surroundings(root, home, own, str(paths.state()), scratch(root), linked)


def hidden(home: str, own: tuple[str, ...], root: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The folders that are emptied for a held program: those around or beside `root`, and those in it."""
    found = {os.path.realpath(one) for one in (*HIDDEN, home, *own)} - {"/", root}
    folders = sorted(one for one in found if os.path.isdir(one))
    inner = [one for one in folders if is_within(one, root)]
    return outermost([one for one in folders if one not in inner]), outermost(inner)


def outermost(folders: list[str]) -> tuple[str, ...]:
    """Sorted `folders`, without those that lie in another."""
    found: list[str] = []
    for folder in folders:
        if not is_below(folder, found):
            found.append(folder)
    return tuple(found)


def shown(home: str, environment: Mapping[str, str], prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """The toolchains that lie in hidden folders and come back: known ones, what `PATH` and the variables
    of toolchains name, and `prefixes` (our own Python). Real paths, outermost only."""
    wanted = [os.path.join(home, one) for one in sorted(TOOLCHAINS)]
    wanted += [environment[name] for name in sorted(NAMED) if environment.get(name)]
    for entry in environment.get("PATH", "").split(os.pathsep):
        wanted += list(_around(entry, home))
    wanted += [*prefixes, *(os.path.join(home, one) for one in GIT_SETTINGS)]
    hides = (*HIDDEN, home)
    real = sorted({os.path.normpath(one) for one in wanted if os.path.isabs(one)})
    return outermost([one for one in real if is_below(one, hides) and _may_be_shown(one, home)])


def again_hidden(home: str) -> tuple[str, ...]:
    """The secrets that lie in toolchains."""
    return tuple(path for one in sorted(WITHIN) if os.path.lexists(path := os.path.join(home, one)))


def system_secrets() -> tuple[str, ...]:
    return tuple(one for one in sorted(SYSTEM_SECRETS) if os.path.exists(one) and os.access(one, os.R_OK))


def sockets(
    hides: tuple[str, ...], seen: tuple[str, ...], listing: str = "/proc/net/unix"
) -> tuple[str, ...]:
    """The sockets of other programs that have a path outside of `hides`, or within `seen`: a namespace of
    the network does not stop who can reach the path."""
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


def _around(entry: str, home: str) -> Iterator[str]:
    """A folder of programs, and with it the installation it is the `bin` of."""
    if not os.path.isabs(entry):
        return
    yield entry
    above = os.path.dirname(entry)
    plain = os.path.basename(above) not in ALONE and os.path.basename(entry) in PROGRAM_FOLDERS
    if plain and above != home and not is_within(home, above):
        yield above


def _may_be_shown(path: str, home: str) -> bool:
    if not os.path.exists(path) or os.path.realpath(path) == "/":
        return False
    real = os.path.realpath(path)
    if is_within(home, real) or is_within(home, path):
        return False
    if is_within(path, home) and (parts := Path(os.path.relpath(path, home)).parts):
        if names.sensitive(parts, in_home=True):
            return False
        if "/".join(parts) in GIT_SETTINGS:
            return _holds_no_key(path)
    return True


def _holds_no_key(path: str) -> bool:
    """A setting of git may hold a password in an address, or a header with a token."""
    try:
        return NAMES_A_KEY.search(Path(path).read_bytes()) is None
    except OSError:
        return False
