"""Pure rules about names in paths: which files hold secrets, which run code later, which paths are not valid.

A name is compared as the least strict file system would: case folded, Unicode compatibility forms and
invisible characters removed, trailing dots and spaces and an alternate stream cut off. Git guards its own
folder in the same way (path.c, is_ntfs_dotgit and is_hfs_dotgit). The Windows rules follow "Naming Files,
Paths, and Namespaces" and "File path formats on Windows systems" (Microsoft).
"""

import ntpath
import re
import unicodedata
from fnmatch import translate
from functools import lru_cache

from cockpit.workspace.word_set import word_set

SECRET_FILES = word_set(
    """
    .env .envrc .netrc _netrc .git-credentials .pgpass .my.cnf .pypirc .dockercfg .htpasswd .s3cfg .boto
    .vault-token .rhosts .smbcredentials .mysql_history .viminfo .rediscli_history .irb_history
    .databrickscfg .ash_history .fish_history .terraformrc .bash_history .zsh_history .sh_history
    .python_history .psql_history .node_repl_history .lesshst fish_history
    """
)
SECRET_PATTERNS = word_set(
    """
    .env.* .env-* .env_* .env~ ..env.sw? *.env *.pem *.key *.p12 *.pfx *.ppk *.jks *.keystore *.kdbx *.kdb
    *.agekey *.keychain *.keychain-db id_rsa* id_dsa* id_ecdsa* id_ed25519*
    """
)
SECRET_NAMES = re.compile("|".join(map(translate, sorted(SECRET_PATTERNS))))
SECRET_FOLDERS = word_set(
    """
    .ssh .aws .azure .gnupg .kube .password-store .1password .putty keyrings keychains .mozilla
    .thunderbird .terraform.d
    """
)


def _path_tails(words: str) -> tuple[tuple[str, ...], ...]:
    """Paths relative to any folder, as their parts. A + stands for a space."""
    return tuple(tuple(tail.replace("+", " ").split("/")) for tail in words.split())


SECRET_TAILS = _path_tails(
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
URL_PATTERN = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/[/\\]")
IGNORABLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u3164\uffa0")
SAMPLE_SUFFIXES = (".example", ".sample", ".template", ".dist", ".defaults")
SAMPLE_FILES = frozenset(f"{name[1:]}.env" for name in (*SAMPLE_SUFFIXES, ".default", ".test.example"))
RUN_LATER_FOLDERS = word_set(
    ".git .cockpit .vscode .idea .claude .codex .gemini .cursor .opencode .agents .hg .svn .jj"
)
SHORT_NAME_HEADS = frozenset(name.lstrip(".")[:6] for name in RUN_LATER_FOLDERS)
RUN_LATER_FILES = word_set(
    """
    .mcp.json .lsp.json .gitconfig .gitmodules .ripgreprc .bashrc .bash_profile .bash_login .bash_logout
    .bash_aliases .profile .zshrc .zprofile .zshenv .zlogin .zlogout .kshrc .cshrc .tcshrc .login
    .inputrc .xprofile .xinitrc .xsessionrc .pythonrc .pam_environment .xsession .tmux.conf .screenrc
    .vimrc .exrc .nanorc .emacs .gdbinit .lldbinit .curlrc .wgetrc .forward .selected_editor .dircolors
    .bash_completion  .lessfilter .psqlrc .irbrc .rprofile .hgrc
    crush.json opencode.json profile.ps1 microsoft.powershell_profile.ps1 microsoft.vscode_profile.ps1
    """
)
# Edited by hand every day, and run by the next install, commit or container start: the user is asked.
INSTALLS_FOLDERS = word_set(".husky .devcontainer .yarn .githooks .circleci")
INSTALLS_FILES = word_set(
    """
    .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs .pre-commit-config.yaml .lefthook.yml lefthook.yml
    sitecustomize.py usercustomize.py
    """
)
# Secrets in cockpit's own folders whose names alone do not say so.
OWN_SECRETS = re.compile(r"^(keys\.json|credentials|token|secret|auth|mcp-tokens|key(ring)?$)")
RUN_LATER_TAILS = _path_tails(
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
# Cockpit's own folders on Windows, relative to the home folder.
OWN_ON_WINDOWS = (("appdata", "local", "cockpit"), ("appdata", "roaming", "cockpit"), (".config", "cockpit"))


@lru_cache(maxsize=8192)
def fold_name(name: str) -> str:
    """`name` as the least strict file system reads it."""
    plain = unicodedata.normalize("NFKC", name)
    visible = "".join(character for character in plain if not _is_ignorable(character))
    return unicodedata.normalize("NFKC", visible.casefold()).split(":")[0].rstrip(" .")


def _is_ignorable(character: str) -> bool:
    """Whether Unicode calls it a format character or default-ignorable."""
    if character.isascii():
        return False
    is_variation = "\ufe00" <= character <= "\ufe0f"
    return is_variation or character in IGNORABLE or unicodedata.category(character) == "Cf"


def secret_reason(parts: tuple[str, ...], in_home: bool = False) -> str:
    """Why a file with these path parts must not be read, or "". `in_home`: they start at the home folder."""
    names = tuple(map(fold_name, parts))
    if not names:
        return ""
    for name in names:
        if name in SECRET_FOLDERS:
            return f"{name} holds credentials"
    if tail := _find_tail(names, SECRET_BY_FIRST):
        return f"{'/'.join(tail)} holds credentials"
    if in_home and names[-1] == ".npmrc":
        return "~/.npmrc holds credentials"
    for name in names:
        if _is_secret_file(name):
            return f"{name} is a file name used for secrets"
    return ""


def _is_secret_file(name: str) -> bool:
    if name in SECRET_FILES:
        return True
    if (name.startswith(".env") and name.endswith(SAMPLE_SUFFIXES)) or name in SAMPLE_FILES:
        return False
    return bool(SECRET_NAMES.match(name))


def protected_reason(parts: tuple[str, ...]) -> str:
    """Why a file with these path parts must not be written, or ""."""
    names = tuple(map(fold_name, parts))
    for name in names:
        if name in RUN_LATER_FOLDERS or _is_short_name(name):
            return f"{name} controls programs that run later"
    if names and names[-1] in RUN_LATER_FILES:
        return f"{names[-1]} controls programs that run later"
    if tail := _find_tail(names, RUN_LATER_BY_FIRST):
        return f"{'/'.join(tail)} controls programs that run later"
    return ""


def _is_short_name(name: str) -> bool:
    """Whether it is the NTFS short (8.3) name of a protected folder, as git~1 for .git."""
    head, tilde, count = name.partition("~")
    return bool(tilde) and count.isdigit() and head in SHORT_NAME_HEADS


def install_hook_reason(parts: tuple[str, ...]) -> str:
    """Why the user should approve a write to the file, or ""."""
    names = tuple(map(fold_name, parts))
    folder = next((name for name in names[:-1] if name in INSTALLS_FOLDERS), "")
    name = names[-1] if names and names[-1] in INSTALLS_FILES else folder
    return f"{name} controls what runs at the next install, commit or start" if name else ""


def is_own_secret(parts: tuple[str, ...]) -> bool:
    """Whether a file in one of cockpit's own folders holds keys or tokens."""
    return any(OWN_SECRETS.match(fold_name(part)) for part in parts)


def is_own_secret_on_windows(from_home: tuple[str, ...]) -> bool:
    """Like `is_own_secret`, for parts that start at a Windows home folder."""
    folded_parts = tuple(map(fold_name, from_home))
    return any(
        folded_parts[: len(folder)] == folder and is_own_secret(from_home[len(folder) :])
        for folder in OWN_ON_WINDOWS
    )


def _group_by_first(tails: tuple[tuple[str, ...], ...]) -> dict[str, tuple[tuple[str, ...], ...]]:
    return {first: tuple(tail for tail in tails if tail[0] == first) for first in {tail[0] for tail in tails}}


SECRET_BY_FIRST, RUN_LATER_BY_FIRST = _group_by_first(SECRET_TAILS), _group_by_first(RUN_LATER_TAILS)


def _find_tail(names: tuple[str, ...], tails: dict[str, tuple[tuple[str, ...], ...]]) -> tuple[str, ...]:
    """The tail that occurs in `names`, or ()."""
    for at, name in enumerate(names):
        for tail in tails.get(name, ()):
            if names[at : at + len(tail)] == tail:
                return tail
    return ()


def find_path_problem(path: str) -> str:
    """Why `path` is refused before anything is opened, or ""."""
    if not path:
        return "the path is empty; use . for the root"
    if "\0" in path:
        return "the path contains a NUL character"
    if len(path) > 4096:
        return "the path is longer than 4096 characters"
    if any(len(part.encode("utf-8", "surrogatepass")) > 255 for part in re.split(r"[/\\]", path)):
        return "a name in the path is longer than 255 bytes"
    if URL_PATTERN.match(path):
        return "it is a URL; pass a path, or use a network tool"
    for character in path:
        code = f"U+{ord(character):04X}"
        if "\ud800" <= character <= "\udfff" and not "\udc80" <= character <= "\udcff":
            return f"the path contains {code}, half of a surrogate pair"
        if unicodedata.category(character) == "Cc":
            return f"the path contains the control character {code}"
        if character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u2028\u2029":
            return f"the path contains the invisible character {code}"
    return ""


WINDOWS_DEVICES = re.compile(
    r"^(con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(\..*)?$", re.IGNORECASE
)
WINDOWS_SHORT_NAME = re.compile(r"^[^.~\s]{1,6}~\d{1,2}(\.[^.]{0,3})?$")
WINDOWS_SYSTEM_FOLDERS = frozenset(
    ["windows", "program files", "program files (x86)", "programdata", "$recycle.bin", "boot", "recovery"]
)
WINDOWS_SECRETS = re.compile(
    r"^windows\\(system32|sysnative|syswow64|repair)\\(config\\)?(regback\\)?(sam|security|system|default)(\.\w+)?$"
    r"|(^|\\)ntds(\.dit)?(\\|$)|(^|\\)(ntuser|usrclass)\.dat"
    r"|\\appdata\\(local|roaming|locallow)\\microsoft\\(credentials|protect|vault|crypto|systemcertificates)(\\|$)"
    r"|(^|\\)(login data|web data|cookies|local state|key4\.db|logins\.json|cookies\.sqlite)$"
    r"|\\appdata\\(local|roaming)\\(google\\chrome|chromium|bravesoftware|mozilla|microsoft\\edge|gnupg|gcloud)(\\|$)"
    r"|(^|\\)(unattend|sysprep|autounattend)\.(xml|inf)$|(^|\\)lsass[^\\]*\.dmp$|(^|\\)pagefile\.sys$"
    r"|\\psreadline\\[^\\]*history[^\\]*$|\\windowspowershell\\credentials|\\sshd?_host_[a-z0-9]*_key$"
)


def find_windows_path_problem(path: str) -> str:
    """Why Windows would open something other than `path` appears to name, or ""."""
    flat = path.replace("/", "\\")
    if flat.startswith(("\\\\?\\", "\\\\.\\", "\\??\\")):
        return "device paths are not opened"
    if flat.startswith("\\\\"):
        return "network (UNC) paths are not opened: they send the user's credentials to the host"
    drive, rest = ntpath.splitdrive(flat)
    if drive and not rest.startswith("\\"):
        return f"{drive} without a \\ means the current folder of that drive; write the whole path"
    for part in rest.split("\\"):
        if reason := _find_part_problem(part):
            return reason
    return ""


def _find_part_problem(part: str) -> str:
    if part in ("", ".", ".."):
        return ""
    if ":" in part:
        return f"{part} names an alternate data stream"
    if set(part) & set('<>"|?*'):
        return f"{part} contains a character that Windows reserves"
    if part.endswith((" ", ".")):
        return f"{part!r} ends in a space or a dot, which Windows drops"
    if WINDOWS_DEVICES.match(part):
        return f"{part} is a device"
    if WINDOWS_SHORT_NAME.match(part):
        return f"{part} is a short (8.3) name; write the whole name"
    return ""


def windows_absolute(path: str, root: str, home: str) -> str:
    """`path` as an absolute path, with `~`, `..` and the root resolved lexically."""
    if path == "~" or path.startswith(("~/", "~\\")):
        path = home + path[1:]
    drive, rest = ntpath.splitdrive(path)
    if not drive and rest.startswith(("\\", "/")):
        path = ntpath.splitdrive(root)[0] + path
    return ntpath.normpath(ntpath.join(root, path))


def is_within_windows(path: str, root: str) -> bool:
    """Whether absolute `path` is `root` or inside it, part by part, ignoring case."""
    folder = ntpath.normcase(ntpath.normpath(root)).rstrip("\\")
    inner = ntpath.normcase(ntpath.normpath(path))
    return inner == folder or inner.startswith(folder + "\\")


def windows_parts(path: str) -> tuple[str, ...]:
    """The names in an absolute path, without the drive."""
    return tuple(part for part in ntpath.splitdrive(path)[1].replace("/", "\\").split("\\") if part)


def is_windows_system(path: str) -> bool:
    """Whether absolute `path` belongs to the system or its programs."""
    names = windows_parts(path)
    return bool(names) and names[0].casefold() in WINDOWS_SYSTEM_FOLDERS


def is_windows_secret(path: str) -> bool:
    """Whether absolute `path` is a store in which Windows or a browser keeps passwords."""
    return bool(WINDOWS_SECRETS.search("\\".join(windows_parts(path)).casefold()))
