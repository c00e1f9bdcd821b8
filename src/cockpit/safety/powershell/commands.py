"""The findings on one command of a PowerShell line: its operands, its family, what it starts."""

import re

from cockpit.safety.powershell import native, nested
from cockpit.safety.powershell.aliases import NATIVE_TOO, full_name, is_path
from cockpit.safety.powershell.cmdlets import bind, known, parameter_of
from cockpit.safety.powershell.endless import endless
from cockpit.safety.powershell.expressions import NET_TYPES, judge_pieces, judge_variables
from cockpit.safety.powershell.families import family
from cockpit.safety.powershell.filing import judge_cmdlet
from cockpit.safety.powershell.findings import Finding, ask, deny
from cockpit.safety.powershell.nested import base_name, values_of
from cockpit.safety.powershell.operands import judge_redirect, removed
from cockpit.safety.powershell.places import place
from cockpit.safety.powershell.programs import HOST, judge_program, judge_unknown, looked_at_all
from cockpit.safety.powershell.reader import BLOCKS
from cockpit.safety.powershell.scope import Scope, Values, fold_word
from cockpit.safety.powershell.values import Command, Piece, Redirect, Word

STARTERS = frozenset(
    {"start-process", "invoke-item", "start", "runas", "psexec", "forfiles", "conhost", "pcalua"}
)
INTERPRETERS = frozenset(
    [
        "python",
        "python3",
        "py",
        "node",
        "ruby",
        "perl",
        "php",
        "java",
        "dotnet",
        "cscript",
        "wscript",
        "msiexec",
        "regsvr32",
        "rundll32",
        "mshta",
        "wt",
        "bash",
        "sh",
        "import-module",
        "msbuild",
        "installutil",
        "expand-archive",
    ]
)
DOWNLOADERS = frozenset(
    [
        "invoke-webrequest",
        "invoke-restmethod",
        "start-bitstransfer",
        "bitsadmin",
        "certutil",
        "curl",
        "wget",
        "copy-item",
    ]
)


def judge_command(
    command: Command, scope: Scope, fed: Values | None, is_fed: bool
) -> tuple[str, list[Finding]]:
    """The command's full name and what it does. `fed` are the paths that come down the pipeline."""
    found = [one for redirect in command.redirects for one in judge_redirect(redirect, scope)]
    if not command.words:
        return "", [*found, ask("ps-syntax", "a command is missing", "shell.opaque")]
    first = fold_word(command.words[0], scope)
    if first is None or len(first) != 1:
        return "?", [*found, *_computed(command, scope)]
    said = first[0].strip()
    if command.words[0].text.lower() in BLOCKS:
        found += endless(command, scope)
        return "", [*found, ask("ps-control", "it has branches or loops", "shell.opaque", risk=20)]
    name = full_name(said, scope.aliases)
    if command.invoked:
        found.append(ask("ps-invoke", f"it is run by the operator {command.invoked}", "code.exec", risk=40))
    if any(piece.kind != "text" for piece in command.words[0].pieces) or command.words[0].odd:
        found.append(ask("ps-dynamic", "its name is put together", "shell.opaque", risk=50))
    if is_path(said):
        scope.seen.started.add(base_name(said))
        found.append(ask("ps-script", f"it runs the file {said}", "code.exec", risk=50))
        found += _file_place(said, scope)
    return name, found + _named(name, said, command, scope, fed, is_fed)


def _file_place(said: str, scope: Scope) -> list[Finding]:
    seen = place(said, "read", scope)
    if seen.sort == "network":
        return [deny("ps-network", seen.reason, "code.remote")]
    return []


def _computed(command: Command, scope: Scope) -> list[Finding]:
    """A command whose name is known only when it runs."""
    kinds = {piece.kind for piece in command.words[0].pieces}
    if kinds == {"block"}:
        return [ask("ps-block", "it runs a block", "shell.opaque", risk=30)]
    scope.seen.runs_computed = "what it runs is computed"
    found = [
        ask("ps-computed", "what it runs is computed", "shell.opaque", "code.exec", risk=75, forgets=True)
    ]
    found += judge_pieces(command.words[0].pieces, scope)
    for word in command.words[1:]:
        for value in fold_word(word, scope) or ():
            seen = place(value, "write", scope)
            if seen.tree in ("root", "system", "home", "above") or seen.sort in ("secret", "protected"):
                found.append(
                    deny("ps-computed", f"a computed command is given {seen.real or value}", "fs.delete")
                )
    return found


def _named(
    name: str, said: str, command: Command, scope: Scope, fed: Values | None, is_fed: bool
) -> list[Finding]:
    arguments = values_of([fold_word(word, scope) for word in command.words[1:]])
    words = " ".join(one for one in arguments if one is not None)
    found: list[Finding] = []
    for word in command.words[1:]:
        found += judge_variables(word.pieces, scope)
    if "win32_shadowcopy" in words.lower():
        scope.seen.marks.add("shadow")
    if name.startswith("remove-"):
        scope.seen.marks.add("delete")
    if (always := family(name)) is not None:
        found.append(always)
    found += native.of_windows(name, words)
    found += _network(name, arguments, scope, always)
    found += _started(name, arguments, scope)
    if name in nested.SHELLS:
        return found + nested.powershell(arguments, scope, is_fed)
    if name in nested.POSIX:
        if is_fed and not arguments:
            scope.seen.runs_computed = "a shell runs what it is fed"
        return found + nested.bash(arguments, scope)
    if name == "cmd":
        return found + _cmd(arguments, command.words[1:], scope)
    if name in STARTERS:
        found += _start(command, arguments, scope)
    if name == "foreach-object" and any((one or "").lower() == "delete" for one in arguments):
        found += [one for value in fed or () for one in removed(value, True, scope) if one.level == "deny"]
    _remember(name, command, scope)
    parameters = known(name)
    if parameters is not None:
        found += judge_cmdlet(name, bind(command, parameters, scope), command, scope, fed, is_fed)
        if said.lower() in NATIVE_TOO and scope.ground.platform == "posix":
            found += [one for one in judge_program(said, command, arguments, scope) if one.level == "deny"]
        if said.lower() in ("curl", "wget", "sc"):
            found += looked_at_all(command, scope) + native.of_windows(said.lower(), words)
        return found
    return found + judge_unknown(name, said, command, arguments, scope, always)


def _network(name: str, arguments: list[str | None], scope: Scope, always: Finding | None) -> list[Finding]:
    hosts = [found[1].lower() for one in arguments if one and (found := HOST.match(one.strip("\"'")))]
    scope.seen.hosts += hosts
    text = " ".join(one for one in arguments if one)
    speaks = bool(hosts) or (always is not None and "net.egress" in always.capabilities)
    speaks = speaks or bool(NET_TYPES.search(text.lower()))
    if not speaks:
        return []
    scope.seen.has_network = True
    scope.seen.saved |= {base for one in arguments if one and "." in (base := base_name(one))}
    return [ask("ps-net", "it speaks to the network", "net.egress", risk=55, forgets=True)]


def _started(name: str, arguments: list[str | None], scope: Scope) -> list[Finding]:
    if name in STARTERS or name in INTERPRETERS:
        scope.seen.started |= {base for one in arguments if one and "." in (base := base_name(one))}
    return []


def _cmd(arguments: list[str | None], texts: tuple[Word, ...], scope: Scope) -> list[Finding]:
    """`cmd /c ...`: each of its commands is judged as the cmdlet or program it is."""
    from cockpit.safety.powershell.cmd import SAME

    found = [ask("ps-shell", "it starts another shell", "code.exec", risk=50, forgets=True)]
    if scope.depth >= nested.DEPTH:
        scope.seen.overdeep = True
        return found
    scope.depth += 1
    said_there = [one if one is not None else word.text for one, word in zip(arguments, texts, strict=False)]
    for words, files in nested.cmd_commands(list(said_there), scope):
        same = SAME.get(words[0].lower()) if words else ""
        rest = words[1:]
        if same:
            rest = tuple(word for word in rest if not re.match(r"^[/-][A-Za-z](:|$|[A-Za-z-]*$)", word))
        recursive = ("-Recurse",) if same == "remove-item" and len(rest) < len(words) - 1 else ()
        said = tuple(_word(word) for word in ((same or words[0]), *rest, *recursive)) if words else ()
        redirects = tuple(Redirect(">", _word(file)) for file in files)
        if said:
            inner = Command(said, redirects, " ".join(words), 0)
            found += [one for one in judge_command(inner, scope, (), False)[1] if one.level != "allow"]
    scope.depth -= 1
    return found


def _word(text: str) -> Word:
    return Word((Piece("text", text),), text, quoted=not text.startswith("-"))


def _start(command: Command, arguments: list[str | None], scope: Scope) -> list[Finding]:
    """`Start-Process file arguments`: the program it starts, judged as if it stood there."""
    found: list[Finding] = []
    if any((one or "").lower() == "runas" for one in arguments):
        found.append(
            ask("ps-priv", "it asks for the rights of an administrator", "priv", risk=75, forgets=True)
        )
    plain = [word for word in command.words[1:] if parameter_of(word) is None]
    values = [value for word in plain for value in (fold_word(word, scope) or ("",))]
    values = [value for value in values if value.lower() not in ("runas", "hidden", "open")]
    if values and scope.depth < nested.DEPTH:
        scope.depth += 1
        pieces = [one for value in values[1:] for one in value.split()]
        inner = Command(tuple(_literal(one) for one in (values[0], *pieces)), (), command.text, command.start)
        found += [one for one in judge_command(inner, scope, (), False)[1] if one.level == "deny"]
        scope.depth -= 1
    return found


def _literal(text: str) -> Word:
    return Word((Piece("text", text),), text)


def _remember(name: str, command: Command, scope: Scope) -> None:
    """What later commands of the line see differently: aliases, variables, the folder."""
    plain = [word for word in command.words[1:] if parameter_of(word) is None]
    values = [fold_word(word, scope) for word in plain]
    if name in ("set-alias", "new-alias") and len(values) > 1 and values[0] and values[1]:
        scope.aliases[values[0][0].lower()] = values[1][0]
    elif name in ("set-variable", "new-variable") and len(values) > 1 and values[0] and values[1]:
        scope.variables[values[0][0].lower()] = values[1]
    elif name in ("set-location", "push-location"):
        _go(values[0] if values else None, scope)
    elif name == "pop-location":
        scope.cwd = None


def _go(values: Values | None, scope: Scope) -> None:
    if not values or len(values) != 1 or values[0] == "-":
        scope.cwd = None
        return
    seen = place(values[0], "read", scope)
    scope.cwd = seen.real or None
