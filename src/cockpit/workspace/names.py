"""Names that hold secrets, and names that run code later. Pure: knows parts of a path, no disk.

A name is compared as the laxest file system would: case folded, Unicode compatibility forms and
invisible characters removed, trailing dots and spaces and an alternate stream cut. Git guards its
own folder in the same way (git's path.c, is_ntfs_dotgit and is_hfs_dotgit).
"""

import re
import unicodedata
from fnmatch import translate
from functools import lru_cache

from cockpit.workspace.words import words

SECRET_FILES = words(
    """
    .env .envrc .netrc _netrc .git-credentials .pgpass .my.cnf .pypirc .dockercfg .htpasswd .s3cfg .boto
    .vault-token .rhosts .smbcredentials .mysql_history .viminfo .rediscli_history .irb_history
    .databrickscfg
    .ash_history .fish_history .terraformrc
    .bash_history .zsh_history .sh_history .python_history .psql_history .mysql_history
    .node_repl_history .lesshst fish_history
    """
)
SECRET_PATTERNS = (
    ".env.*",
    ".env-*",
    ".env_*",
    ".env~",
    "..env.sw?",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.kdb",
    "*.agekey",
    "*.keychain",
    "*.keychain-db",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
)
SECRET_NAMES = re.compile("|".join(map(translate, SECRET_PATTERNS)))
SECRET_FOLDERS = words(
    """
    .ssh .aws .azure .gnupg .kube .password-store .1password .putty keyrings keychains .mozilla
    .thunderbird .terraform.d
    """
)
# A + in these stands for a blank.
SECRET_TAILS = tuple(
    tuple(tail.replace("+", " ").split("/"))
    for tail in words(
        """
    .docker/config.json .cargo/credentials .cargo/credentials.toml .gem/credentials .config/gcloud
    .config/gh/hosts.yml .config/glab-cli/config.yml .config/hub .config/git/credentials .config/rclone
    .config/op .config/sops .config/google-chrome .config/chromium .config/bravesoftware
    .config/microsoft-edge .config/doctl .m2/settings.xml .m2/settings-security.xml
    .config/openstack .config/scaleway .config/linode-cli .config/hcloud .config/vercel .config/netlify
    .config/fly .fly/config.yml .config/filezilla .config/pypoetry/auth.toml .config/1password
    .local/share/keyrings .config/containers/auth.json .databricks .vault-tokens .kaggle/kaggle.json
    .huggingface/token .cache/huggingface/token .config/configstore .oci/config .ansible/vault
    .config/anthropic .config/openai library/keychains library/cookies .bundle/config .nuget/nuget.config
    .gradle/gradle.properties .streamlit/secrets.toml .claude/.credentials.json .codex/auth.json
    .gemini/oauth_creds.json .local/share/opencode/auth.json .config/github-copilot
    appdata/roaming/gcloud appdata/roaming/rclone appdata/local/github-copilot github+cli/hosts.yml
    """
    )
)
URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/[/\\]")
IGNORABLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u3164\uffa0")
SAMPLES = (".example", ".sample", ".template", ".dist", ".defaults")
SAMPLE_FILES = frozenset(f"{name[1:]}.env" for name in (*SAMPLES, ".default", ".test.example"))
RUN_LATER_FOLDERS = words(
    """
    .git .cockpit .vscode .idea .claude .codex .gemini .cursor .opencode .agents .hg .svn .jj
    """
)
SHORT_HEADS = frozenset(name.lstrip(".")[:6] for name in RUN_LATER_FOLDERS)
RUN_LATER_FILES = words(
    """
    .mcp.json .lsp.json .gitconfig .gitmodules .ripgreprc .bashrc .bash_profile .bash_login .bash_logout
    .bash_aliases .profile .zshrc .zprofile .zshenv .zlogin .zlogout .kshrc .cshrc .tcshrc .login
    .inputrc .xprofile .xinitrc .xsessionrc .pythonrc .pam_environment .xsession .tmux.conf .screenrc
    .vimrc .exrc .nanorc .emacs .gdbinit .lldbinit .curlrc .wgetrc .forward .selected_editor .dircolors
    .bash_completion  .lessfilter .psqlrc .irbrc .rprofile .hgrc
    crush.json opencode.json profile.ps1 microsoft.powershell_profile.ps1 microsoft.vscode_profile.ps1
    """
)
# Written by hand every day, and run by the next install, commit or start of a container: asked about.
INSTALLS_FOLDERS = words(".husky .devcontainer .yarn .githooks .circleci")
INSTALLS_FILES = words(
    """
    .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs .pre-commit-config.yaml .lefthook.yml lefthook.yml
    sitecustomize.py usercustomize.py
    """
)
# What a settings folder of cockpit's holds that is no secret by its name.
OWN_SECRETS = re.compile(r"^(keys\.json|credentials|token|secret|auth|mcp-tokens|key(ring)?$)")
RUN_LATER_TAILS = tuple(
    tuple(tail.replace("+", " ").split("/"))
    for tail in words(
        """
    .config/fish .config/autostart .config/systemd .config/environment.d .config/cockpit .config/git
    library/launchagents library/launchdaemons .local/state/cockpit .local/share/cockpit
    .local/share/applications .local/bin .config/plasma-workspace .config/sway .config/i3 .config/hypr
    .config/powershell documents/powershell documents/windowspowershell powershell/profile.ps1
    .config/nvim .config/pip .config/containers .config/zsh .config/direnv .config/nushell
    .config/code/user .config/cursor/user appdata/roaming/code/user appdata/roaming/cursor/user
    appdata/local/cockpit appdata/roaming/cockpit appdata/roaming/npm appdata/local/microsoft/windowsapps
    library/application+support/code/user library/application+support/cockpit .cargo/bin .cargo/env
    programs/startup
    """
    )
)
# Where cockpit keeps its own on Windows, as seen from the home folder.
OWN_ON_WINDOWS = (("appdata", "local", "cockpit"), ("appdata", "roaming", "cockpit"), (".config", "cockpit"))


@lru_cache(maxsize=8192)
def folded(name: str) -> str:
    """`name` as the laxest file system reads it."""
    plain = unicodedata.normalize("NFKC", name)
    visible = "".join(sign for sign in plain if not _is_ignorable(sign))
    return unicodedata.normalize("NFKC", visible.casefold()).split(":")[0].rstrip(" .")


def _is_ignorable(sign: str) -> bool:
    """Format characters, and what else Unicode calls default-ignorable."""
    if sign.isascii():
        return False
    return unicodedata.category(sign) == "Cf" or sign in IGNORABLE or "\ufe00" <= sign <= "\ufe0f"


def sensitive(parts: tuple[str, ...], in_home: bool = False) -> str:
    """Why the file must not be read, or "". `in_home` says that `parts` start at the home folder."""
    names = tuple(map(folded, parts))
    if not names:
        return ""
    for name in names:
        if name in SECRET_FOLDERS:
            return f"{name} holds credentials"
    if tail := _contained(names, SECRET_BY_FIRST):
        return f"{'/'.join(tail)} holds credentials"
    if in_home and names[-1] == ".npmrc":
        return "~/.npmrc holds credentials"
    for name in names:
        if _is_secret_file(name):
            return f"{name} is a name for secrets"
    return ""


def _is_secret_file(name: str) -> bool:
    if name in SECRET_FILES:
        return True
    if (name.startswith(".env") and name.endswith(SAMPLES)) or name in SAMPLE_FILES:
        return False
    return bool(SECRET_NAMES.match(name))


def protected(parts: tuple[str, ...]) -> str:
    """Why the file must not be written, or ""."""
    names = tuple(map(folded, parts))
    for name in names:
        if name in RUN_LATER_FOLDERS or _is_short_name(name):
            return f"{name} steers programs that run later"
    if names and names[-1] in RUN_LATER_FILES:
        return f"{names[-1]} steers programs that run later"
    if tail := _contained(names, RUN_LATER_BY_FIRST):
        return f"{'/'.join(tail)} steers programs that run later"
    return ""


def _is_short_name(name: str) -> bool:
    """NTFS's short (8.3) name of a protected folder: git~1 for .git, cockpi~1 for .cockpit."""
    head, tilde, count = name.partition("~")
    return bool(tilde) and count.isdigit() and head in SHORT_HEADS


def installs(parts: tuple[str, ...]) -> str:
    """Why a person should see a write to the file first, or ""."""
    names = tuple(map(folded, parts))
    found = next((name for name in names[:-1] if name in INSTALLS_FOLDERS), "")
    if names and names[-1] in INSTALLS_FILES:
        found = names[-1]
    return f"{found} says what runs at the next install, commit or start" if found else ""


def own_secret(parts: tuple[str, ...]) -> bool:
    """Whether a file of cockpit's own, as seen from its folder, is one that holds keys or tokens."""
    return any(OWN_SECRETS.match(folded(part)) for part in parts)


def own_secret_on_windows(from_home: tuple[str, ...]) -> bool:
    """As `own_secret`, of parts that start at a home folder of Windows."""
    folded_parts = tuple(map(folded, from_home))
    return any(
        folded_parts[: len(own)] == own and own_secret(from_home[len(own) :]) for own in OWN_ON_WINDOWS
    )


def _by_first(tails: tuple[tuple[str, ...], ...]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """The tails by the name they begin with."""
    return {first: tuple(one for one in tails if one[0] == first) for first in {one[0] for one in tails}}


SECRET_BY_FIRST, RUN_LATER_BY_FIRST = _by_first(SECRET_TAILS), _by_first(RUN_LATER_TAILS)


def _contained(names: tuple[str, ...], tails: dict[str, tuple[tuple[str, ...], ...]]) -> tuple[str, ...]:
    """The tail that stands somewhere in `names`, or ()."""
    for at, name in enumerate(names):
        for tail in tails.get(name, ()):
            if names[at : at + len(tail)] == tail:
                return tail
    return ()


def fault(path: str) -> str:
    """Why `path` is no path that a person could check by eye, or ""."""
    if not path:
        return "the path is empty; use . for the root"
    if "\0" in path:
        return "the path holds a NUL character"
    if len(path) > 4096:
        return "the path is longer than 4096 characters"
    if any(len(part.encode("utf-8", "surrogatepass")) > 255 for part in re.split(r"[/\\]", path)):
        return "a name in the path is longer than 255 bytes"
    if URL.match(path):
        return "it is a URL, not a path; use a path, or a tool for the network"
    for sign in path:
        if "\ud800" <= sign <= "\udfff" and not "\udc80" <= sign <= "\udcff":
            return f"the path holds U+{ord(sign):04X}, which is half a character"
        if unicodedata.category(sign) == "Cc":
            return f"the path holds the control character U+{ord(sign):04X}"
        if sign in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u2028\u2029":
            return f"the path holds U+{ord(sign):04X}, which hides what it says"
    return ""
