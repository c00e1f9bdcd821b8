"""Shells inside of a PowerShell line: PowerShell again, cmd, bash, and programs that are started by name."""

import base64
import binascii
import ntpath
import re
from dataclasses import replace

from cockpit.safety.powershell import cmd
from cockpit.safety.powershell.findings import Finding, ask, deny
from cockpit.safety.powershell.native import on_unix
from cockpit.safety.powershell.scope import Scope, Values

SHELLS = frozenset({"powershell", "pwsh", "powershell_ise", "pwsh-preview"})
POSIX = frozenset({"bash", "sh", "zsh", "dash", "ksh", "wsl", "ash", "fish"})
# Parameters of powershell.exe: name -> takes a value. The first that fits an abbreviation is meant.
PARAMETERS = (
    ("command", True), ("commandwithargs", True), ("encodedcommand", True), ("ec", True),
    ("executionpolicy", True),
    ("ep", True), ("ex", True), ("encodedarguments", True), ("file", True), ("configurationname", True),
    ("configurationfile", True), ("custompipename", True), ("inputformat", True), ("outputformat", True),
    ("psconsolefile", True), ("settingsfile", True), ("version", True), ("windowstyle", True),
    ("workingdirectory", True), ("wd", True), ("noexit", False), ("nologo", False), ("noninteractive", False),
    ("noprofile", False), ("noprofileloadtime", False), ("nop", False), ("sta", False), ("mta", False),
    ("interactive", False), ("login", False), ("sshservermode", False), ("help", False),
)  # fmt: skip
DEPTH = 6


def powershell(arguments: list[str | None], scope: Scope, is_fed: bool) -> list[Finding]:
    """`powershell ...`: what it is told to run is judged too."""
    found = [ask("ps-shell", "it starts another shell", "code.exec", risk=50, forgets=True)]
    at = 0
    while at < len(arguments):
        said = arguments[at]
        if said is None:
            scope.seen.runs_computed = "what the shell runs is computed"
            return found
        if said == "-" or said[:1] not in "-/\u2013\u2014\u2015":
            return found + _command(arguments[at:], scope, is_fed)
        name, takes = _parameter(said[1:].lower())
        value = arguments[at + 1] if at + 1 < len(arguments) else None
        if name in ("encodedcommand", "ec", "encodedarguments"):
            return [*found, *_encoded(value, scope)]
        if name in ("command", "commandwithargs"):
            return found + _command(arguments[at + 1 :], scope, is_fed)
        if name == "file":
            return found + _file(value, scope)
        if name == "windowstyle" and (value or "").lower().startswith("h"):
            found.append(ask("ps-hidden", "it hides its window", "code.exec", risk=70, forgets=True))
        at += 2 if takes else 1
    if is_fed:
        scope.seen.runs_computed = "a shell runs what it is fed"
    return found


def _parameter(said: str) -> tuple[str, bool]:
    said = said.partition(":")[0]
    if said in ("e", "en", "enc"):
        return "encodedcommand", True
    for name, takes in PARAMETERS:
        if said and name.startswith(said):
            return name, takes
    return said, False


def _encoded(value: str | None, scope: Scope) -> list[Finding]:
    text = ""
    try:
        text = base64.b64decode(value or "", validate=False).decode("utf-16-le")
    except (binascii.Error, ValueError):
        text = ""
    if text:
        reread(text, scope)
    said = f": {text.strip()[:80]!r}" if text.strip() else ""
    return [
        deny(
            "ps-encoded", f"its command is encoded{said}", "code.exec", alternative="write the command itself"
        )
    ]


def _command(rest: list[str | None], scope: Scope, is_fed: bool) -> list[Finding]:
    words = [one for one in rest if one is not None]
    if len(words) != len(rest) or words == ["-"] or (not words and is_fed):
        scope.seen.runs_computed = "what the shell runs is computed"
    if words and words != ["-"]:
        reread(" ".join(words), scope)
    return []


def _file(value: str | None, scope: Scope) -> list[Finding]:
    scope.seen.started.add(base_name(value or ""))
    if value and re.match(r"^(\\\\|//|https?:)", value):
        return [deny("ps-code", "it runs a script from the network", "code.remote")]
    return [ask("ps-script", "it runs a script", "code.exec")]


def reread(text: str, scope: Scope) -> None:
    """Judge `text` as PowerShell, one shell deeper."""
    if scope.depth < DEPTH:
        scope.seen.read(text, scope)
        return
    scope.seen.overdeep = True


def bash(arguments: list[str | None], scope: Scope) -> list[Finding]:
    """`bash -c ...` and `wsl ...`: the other shell's rules."""
    from cockpit.safety.engine import judge_line

    words = [one for one in arguments if one is not None]
    found = [ask("ps-shell", "it starts another shell", "code.exec", risk=50, forgets=True)]
    if len(words) != len(arguments):
        scope.seen.runs_computed = "what the shell runs is computed"
    flags = [at for at, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)]
    text = words[flags[0] + 1] if flags and flags[0] + 1 < len(words) else " ".join(_without_flags(words))
    if not text:
        return found
    scope.seen.started.add(base_name(text))
    ground = scope.ground
    if ground.platform == "windows":
        ground = replace(on_unix(ground, "/mnt"), home=f"/home/{ntpath.basename(ground.home) or 'user'}")
    line = judge_line(text, "bash", ground, scope.rules)
    scope.seen.parts += line.verdict.parts
    if line.verdict.level != "deny" and (low := text.lower()) != text:
        # A disk that ignores case has these programs under any case too.
        lower = judge_line(low, "bash", ground, scope.rules)
        line = lower if lower.verdict.level == "deny" else line
    verdict = line.verdict
    if verdict.level == "deny":
        rule = verdict.rules[0] if verdict.rules else "bash"
        found.append(Finding("deny", rule, verdict.reason, verdict.risk, verdict.capabilities, forgets=True))
    return found


def _without_flags(words: list[str]) -> list[str]:
    flat = [word for word in words if word not in ("--", "-e", "--exec", "-l", "-i")]
    return flat[2:] if flat[:1] in (["-d"], ["-u"], ["--distribution"], ["--user"]) else flat


def cmd_commands(arguments: list[str | None], scope: Scope) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The commands behind `cmd /c`."""
    words = [one for one in arguments if one is not None]
    if len(words) != len(arguments):
        scope.seen.runs_computed = "what cmd runs is computed"
    return cmd.commands(" ".join(words), scope.ground.home)


def values_of(folded: list[Values | None]) -> list[str | None]:
    """One value per word."""
    return [None if one is None or not one else one[0] for one in folded]


def base_name(text: str) -> str:
    """The last part of the first word of `text`, for telling whether two commands mean one file."""
    first = text.strip().strip("\"'").split(" ")[0]
    return re.split(r"[\\/]", first.split("?")[0])[-1].lower()
