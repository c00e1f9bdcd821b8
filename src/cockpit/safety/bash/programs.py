"""What single programs do to the machine by their options: git, containers, cockpit itself."""

import re

from cockpit.safety.bash.commands import Command
from cockpit.safety.bash.findings import Finding, ask, deny

GIT_RUNS = re.compile(
    r"core\.(hookspath|fsmonitor|sshcommand|pager|editor|gitproxy|askpass|attributesfile|worktree|"
    r"alternaterefscommand)|"
    r"alias\.|pager\.|credential|filter\.|diff\..*\.(command|textconv)|diff\.external|merge\..*\.driver|"
    r"mergetool\.|difftool\.|gpg\.|include|init\.templatedir|url\..*insteadof|"
    r"remote\..*\.(uploadpack|receivepack|vcs|proxy)|"
    r"sequence\.editor|interactive\.difffilter|browser\.|web\.browser|instaweb|guitool|man\.|"
    r"sendemail|trailer|uploadpack\.|"
    r"protocol\.|safe\.directory|core\.editor|submodule\..*\.update|receive\.|http\..*(proxy|"
    r"sslverify)|user\.signingkey",
    re.I,
)


def git(command: Command) -> list[Finding]:
    """Configuration of git that runs programs, and what loses work."""
    if command.program != "git":
        return []
    given = command.arguments
    found = []
    for at, one in enumerate(given):
        value = (
            given[at + 1] if one == "-c" and at + 1 < len(given) else one[2:] if one.startswith("-c") else ""
        )
        if (
            one in ("-c", "--config-env", "--exec-path")
            or (value and "=" in value)
            or one.startswith(("--exec-path=", "--config-env="))
        ):
            found.append(
                ask(
                    "git.override",
                    "it overrides git's configuration, which can run programs",
                    "code.exec",
                    "vcs.local",
                    risk=75,
                )
            )
            break
    if "config" in given:
        at = given.index("config")
        keys = [one for one in given[at:] if GIT_RUNS.match(one)]
        wide = set(given) & {"--global", "--system"}
        reads = set(given) & {"--get", "--get-all", "--list", "-l", "--get-regexp", "get", "list"}
        if keys and not reads:
            strong = wide and re.match(
                r"(?i)core\.(hookspath|fsmonitor|sshcommand)|alias\..*|filter\.", keys[0]
            )
            shelled = any(one.startswith("!") for one in given)
            if strong and (shelled or not keys[0].lower().startswith("alias.")):
                found.append(
                    deny(
                        "git.config-runs",
                        f"{keys[0]} runs a program in every repository",
                        "persist",
                        "code.exec",
                    )
                )
            found.append(
                ask("git.config-runs", f"{keys[0]} can run programs later", "persist", "code.exec", risk=80)
            )
    return found


def containers(name: str, given: tuple[str, ...]) -> list[Finding]:
    if name not in ("docker", "podman", "nerdctl", "lxc", "kubectl"):
        return []
    text = " ".join(given)
    mounts = re.search(r"(-v|--volume)[ =]/:|(--mount[ =]\S*(source|src)=/(,|\s|$))|-v/:", text)
    secrets = re.search(r"(-v|--volume)[ =]\S*(/etc|/root|\.ssh|\.aws)(/|:)", text)
    if mounts or secrets or ("--privileged" in given and "--pid=host" in given):
        return [
            deny("container.escape", "the container gets the whole machine", "container", "priv", risk=95)
        ]
    if "--privileged" in given or "docker.sock" in text or "--pid=host" in text:
        return [
            ask(
                "container.privileged",
                "the container gets rights over the machine",
                "container",
                "priv",
                risk=85,
            )
        ]
    return []


def cockpit(command: Command) -> list[Finding]:
    """cockpit run by itself: its own switches are a person's."""
    if command.program == "cockpit" and not set(command.arguments) & {"--version", "--help", "-h"}:
        risky = set(command.arguments) & {
            "trust",
            "permissions",
            "settings",
            "--yes",
            "--trust",
            "--mode",
            "audit",
        }
        text = "it starts cockpit itself, with its own rights"
        return [
            deny("agent.self", text, "agent.self")
            if risky
            else ask("agent.self", text, "agent.self", risk=80)
        ]
    return []
