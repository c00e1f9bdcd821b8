"""Programs, scripts and cmdlets of modules: whatever stands in no table of ours."""

import re

from cockpit.safety.powershell import native
from cockpit.safety.powershell.expressions import judge_pieces
from cockpit.safety.powershell.findings import Finding, ask, deny
from cockpit.safety.powershell.places import place
from cockpit.safety.powershell.scope import Scope, fold_word
from cockpit.safety.powershell.values import Command

HOST = re.compile(r"^(?:https?|ftps?|wss?)://([^/\s:'\"]+)", re.IGNORECASE)


def judge_unknown(
    name: str, said: str, command: Command, arguments: list[str | None], scope: Scope, always: Finding | None
) -> list[Finding]:
    """A command in no table: a program, a script or a cmdlet of a module."""
    found = looked_at_all(command, scope)
    for word in command.words[1:]:
        if fold_word(word, scope) is None:
            found += [
                one for one in judge_pieces(word.pieces, scope) if one.level == "deny" or "net" in one.rule
            ]
    if name in native.PLAIN:
        found.append(ask("ps-program", f"{name} shows things of the machine", "fs.read", risk=15))
    if always is not None and "-" not in name:
        found += [one for one in judge_program(said, command, arguments, scope) if one.level == "deny"]
    if always is None:
        found += judge_program(said, command, arguments, scope)
    return found


def looked_at_all(command: Command, scope: Scope) -> list[Finding]:
    """What the words of a program name that no program is given: secrets, the network, the registry."""
    values = (value for word in command.words[1:] for value in fold_word(word, scope) or ())
    return [one for value in values for one in _looked_at(value, scope)]


def _looked_at(value: str, scope: Scope) -> list[Finding]:
    text = value.rpartition("=")[2] if "=" in value and not value.startswith(("http", "HK")) else value
    text = text.lstrip("@<")
    if not re.search(r"[\\/.~:]", text) or HOST.match(text):
        return []
    seen = place(text, "read", scope)
    if seen.sort in ("secret", "env-file"):
        scope.seen.reads_secret = True
    if seen.sort in ("secret", "network") and re.search(r"[\\/]|^~|\.", text):
        return (
            [deny(f"ps-{seen.sort}", seen.reason, "secret.read")]
            if "\\\\" in text or seen.sort == "secret"
            else []
        )
    if seen.sort == "registry":
        return native.registry((text,), writes=True, removes=False)
    return []


def judge_program(said: str, command: Command, arguments: list[str | None], scope: Scope) -> list[Finding]:
    if any(one is None for one in arguments) or any(word.odd for word in command.words):
        return [ask("ps-dynamic", "a part of it is known only when it runs", "shell.opaque", risk=35)]
    # Windows and macOS find a program whatever the case of its name; its rules are written in lower case.
    name = said.lower()
    if scope.ground.platform == "windows":
        name = re.sub(r"\.(exe|com|cmd|bat)$", "", name)
    argv = (name, *(one for one in arguments if one is not None))
    found, added = native.shared(argv, scope)
    if name != said and "-" not in name:
        found.append(ask("ps-name", f"{said} is read as {name}", "code.exec", risk=30))
    dynamic = any(piece.kind not in ("text",) for word in command.words for piece in word.pieces)
    if dynamic or any(word.joined for word in command.words):
        found.append(ask("ps-dynamic", "a part of it is known only when it runs", "shell.opaque", risk=30))
    if added and scope.depth == 0:
        at = (
            command.text.find(command.words[1].text) + len(command.words[1].text)
            if len(command.words) > 1
            else 0
        )
        scope.seen.hardened += ((command.start + at, added),)
    return found
