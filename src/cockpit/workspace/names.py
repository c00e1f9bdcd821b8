"""Names that hold secrets, and names that run code later. Pure: knows parts of a path, no disk.

A name is compared as the laxest file system would: case folded, Unicode compatibility forms and
invisible characters removed, trailing dots and spaces and an alternate stream cut. Git guards its
own folder in the same way (git's path.c, is_ntfs_dotgit and is_hfs_dotgit).
"""

import unicodedata
from fnmatch import fnmatchcase
from functools import lru_cache

from cockpit.workspace.words import words

SECRET_FILES = words(
    """
    .env .envrc .netrc _netrc .git-credentials .pgpass .my.cnf .pypirc .dockercfg .htpasswd .s3cfg .boto
    .vault-token .bash_history .zsh_history .sh_history .python_history .psql_history .mysql_history
    .node_repl_history .lesshst fish_history
    """
)
SECRET_PATTERNS = (
    ".env.*",
    ".env-*",
    ".env_*",
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
SECRET_FOLDERS = words(
    """
    .ssh .aws .azure .gnupg .kube .password-store .1password .putty keyrings keychains .mozilla
    .thunderbird .terraform.d
    """
)
SECRET_TAILS = tuple(
    tuple(tail.split("/"))
    for tail in words(
        """
    .docker/config.json .cargo/credentials .cargo/credentials.toml .gem/credentials .config/gcloud
    .config/gh/hosts.yml .config/glab-cli/config.yml .config/hub .config/git/credentials .config/rclone
    .config/op .config/sops .config/google-chrome .config/chromium .config/bravesoftware
    .config/microsoft-edge .config/doctl .m2/settings.xml .m2/settings-security.xml
    .gradle/gradle.properties .streamlit/secrets.toml .claude/.credentials.json .codex/auth.json
    .gemini/oauth_creds.json .local/share/opencode/auth.json .config/github-copilot
    """
    )
)
SAMPLES = (".example", ".sample", ".template", ".dist", ".defaults")
RUN_LATER_FOLDERS = words(
    """
    .git .cockpit .vscode .idea .claude .codex .gemini .cursor .opencode .agents .hg .svn .jj
    """
)
RUN_LATER_FILES = words(
    """
    .mcp.json .lsp.json .gitconfig .gitmodules .ripgreprc .bashrc .bash_profile .bash_login .bash_logout
    .bash_aliases .profile .zshrc .zprofile .zshenv .zlogin .zlogout .kshrc .cshrc .tcshrc .login
    .inputrc .xprofile .xinitrc .xsessionrc .pythonrc crush.json opencode.json
    """
)
RUN_LATER_TAILS = tuple(
    tuple(tail.split("/"))
    for tail in words(
        """
    .config/fish .config/autostart .config/systemd .config/environment.d .config/cockpit .config/git
    library/launchagents .local/state/cockpit .local/share/cockpit powershell/profile.ps1
    """
    )
)


@lru_cache(maxsize=8192)
def folded(name: str) -> str:
    """`name` as the laxest file system reads it."""
    plain = unicodedata.normalize("NFKC", name)
    visible = "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
    return unicodedata.normalize("NFKC", visible.casefold()).split(":")[0].rstrip(" .")


def sensitive(parts: tuple[str, ...], in_home: bool = False) -> str:
    """Why the file must not be read, or "". `in_home` says that `parts` start at the home folder."""
    names = tuple(map(folded, parts))
    if not names:
        return ""
    for name in names:
        if name in SECRET_FOLDERS:
            return f"{name} holds credentials"
    for tail in SECRET_TAILS:
        if _contains(names, tail):
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
    if name.startswith(".env") and name.endswith(SAMPLES):
        return False
    return any(fnmatchcase(name, pattern) for pattern in SECRET_PATTERNS)


def protected(parts: tuple[str, ...]) -> str:
    """Why the file must not be written, or ""."""
    names = tuple(map(folded, parts))
    for name in names:
        if name in RUN_LATER_FOLDERS or _is_short_git(name):
            return f"{name} steers programs that run later"
    if names and names[-1] in RUN_LATER_FILES:
        return f"{names[-1]} steers programs that run later"
    for tail in RUN_LATER_TAILS:
        if _contains(names, tail):
            return f"{'/'.join(tail)} steers programs that run later"
    return ""


def _is_short_git(name: str) -> bool:
    """NTFS's short name of .git: git~1."""
    return name.startswith("git~") and name[4:].isdigit()


def _contains(names: tuple[str, ...], run: tuple[str, ...]) -> bool:
    return any(names[at : at + len(run)] == run for at in range(len(names) - len(run) + 1))


def fault(path: str) -> str:
    """Why `path` is no path that a person could check by eye, or ""."""
    if not path:
        return "the path is empty; use . for the root"
    if "\0" in path:
        return "the path holds a NUL character"
    if len(path) > 4096:
        return "the path is longer than 4096 characters"
    for sign in path:
        if unicodedata.category(sign) == "Cc":
            return f"the path holds the control character U+{ord(sign):04X}"
        if sign in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u2028\u2029":
            return f"the path holds U+{ord(sign):04X}, which hides what it says"
    return ""
