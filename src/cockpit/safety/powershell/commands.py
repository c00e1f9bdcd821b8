"""Judges one command of a PowerShell line: a known cmdlet, a shell, a program or a script."""

import re

from cockpit.plugin.tools import Capability
from cockpit.safety.findings import SafetyFinding, ask, deny
from cockpit.safety.powershell import native_programs
from cockpit.safety.powershell.cmdlets import (
    NATIVE_TOO,
    BoundArguments,
    BoundOperand,
    bind_arguments,
    cmdlet_table,
    find_family,
    find_parameters,
    is_file_path,
    parse_parameter,
    resolve_command_name,
)
from cockpit.safety.powershell.expressions import (
    NET_TYPES,
    check_fork_bomb,
    is_command_output,
    judge_computed_removal,
    judge_pieces,
    judge_variables,
)
from cockpit.safety.powershell.locations import check_removed, judge_operand, judge_redirect, locate
from cockpit.safety.powershell.native_programs import base_name, first_values
from cockpit.safety.powershell.reader import BLOCK_KEYWORDS
from cockpit.safety.powershell.scope import PowerShellScope, Values, fold_word
from cockpit.safety.powershell.syntax_tree import (
    PowerShellCommand,
    PowerShellRedirect,
    PowerShellWord,
    WordPiece,
)

URL_HOST = re.compile(r"^(?:https?|ftps?|wss?)://([^/\s:'\"]+)", re.IGNORECASE)


def judge_unknown(
    name: str,
    said: str,
    command: PowerShellCommand,
    arguments: list[str | None],
    scope: PowerShellScope,
    always: SafetyFinding | None,
) -> list[SafetyFinding]:
    """A command in no table: a program, a script or a cmdlet of a module."""
    found = check_mentioned_paths(command, scope)
    for word in command.words[1:]:
        if fold_word(word, scope) is None:
            found += [
                one for one in judge_pieces(word.pieces, scope) if one.level == "deny" or "net" in one.rule
            ]
    if name in native_programs.INFORMATION_PROGRAMS:
        found.append(ask("ps-program", f"{name} shows information about the machine", "fs.read", risk=15))
    if always is not None and "-" not in name:
        found += [one for one in judge_program(said, command, arguments, scope) if one.level == "deny"]
    if always is None:
        found += judge_program(said, command, arguments, scope)
    return found


def check_mentioned_paths(command: PowerShellCommand, scope: PowerShellScope) -> list[SafetyFinding]:
    """Paths in a program's arguments that no program should get: secrets, network paths, the registry."""
    values = (value for word in command.words[1:] for value in fold_word(word, scope) or ())
    return [one for value in values for one in _check_mentioned_path(value, scope)]


def _check_mentioned_path(value: str, scope: PowerShellScope) -> list[SafetyFinding]:
    text = value.rpartition("=")[2] if "=" in value and not value.startswith(("http", "HK")) else value
    text = text.lstrip("@<")
    if not re.search(r"[\\/.~:]", text) or URL_HOST.match(text):
        return []
    seen = locate(text, "read", scope)
    if seen.sort in ("secret", "env-file"):
        scope.seen.reads_secret = True
    if seen.sort in ("secret", "network") and re.search(r"[\\/]|^~|\.", text):
        return (
            [deny(f"ps-{seen.sort}", seen.reason, "secret.read")]
            if "\\\\" in text or seen.sort == "secret"
            else []
        )
    if seen.sort == "registry":
        return native_programs.check_registry((text,), writes=True, removes=False)
    return []


def judge_program(
    said: str, command: PowerShellCommand, arguments: list[str | None], scope: PowerShellScope
) -> list[SafetyFinding]:
    if any(one is None for one in arguments) or any(word.odd for word in command.words):
        return [ask("ps-dynamic", "a part of it is only known when it runs", "shell.opaque", risk=35)]
    # Windows and macOS find a program whatever the case of its name; its rules are in lower case.
    name = said.lower()
    if scope.context.platform == "windows":
        name = re.sub(r"\.(exe|com|cmd|bat)$", "", name)
    argv = (name, *(one for one in arguments if one is not None))
    found, added = native_programs.judge_shared_program(argv, scope)
    if name != said and "-" not in name:
        found.append(ask("ps-name", f"{said} is read as {name}", "code.exec", risk=30))
    dynamic = any(piece.kind not in ("text",) for word in command.words for piece in word.pieces)
    if dynamic or any(word.joined for word in command.words):
        found.append(ask("ps-dynamic", "a part of it is only known when it runs", "shell.opaque", risk=30))
    if added and scope.depth == 0:
        at = (
            command.text.find(command.words[1].text) + len(command.words[1].text)
            if len(command.words) > 1
            else 0
        )
        scope.seen.hardened += ((command.start + at, added),)
    return found


def judge_cmdlet(
    name: str,
    bound: BoundArguments,
    command: PowerShellCommand,
    scope: PowerShellScope,
    fed: Values | None,
    is_fed: bool,
) -> list[SafetyFinding]:
    found: list[SafetyFinding] = []
    recursive = bool(bound.switches & {"recurse", "rf", "r", "fr", "s"}) or "recurse" in bound.strange
    reads = name in cmdlet_table("readers")
    for operand in bound.operands:
        found += judge_operand(name, operand, recursive, scope)
    if name in ("remove-item", "clear-item") and not any(one.kind == "d" for one in bound.operands):
        found += _check_fed_delete(name, fed, scope)
    if name in ("get-content", "copy-item") and not any(one.kind == "r" for one in bound.operands):
        for value in fed or ():
            found += judge_operand(name, BoundOperand("path", "r", (value,), None), False, scope)
    if name == "new-item":
        found += _check_new_item(bound, scope)
    if bound.strange:
        found.append(
            ask("ps-parameter", f"-{bound.strange[0]} is not known to be harmless", "shell.opaque", risk=35)
        )
    if any(word.odd for word in command.words):
        found.append(ask("ps-odd", "shells could split its words in different ways", "shell.opaque", risk=30))
    for operand in bound.operands:
        removes = operand.kind == "d" or (name == "clear-content" and operand.kind == "w")
        if removes and operand.word is not None and operand.values is None:
            found += judge_computed_removal(operand.word, scope)
    if any(_is_dynamic(operand) for operand in bound.operands):
        found.append(ask("ps-dynamic", "a part of it is only known when it runs", "shell.opaque", risk=30))
    if not reads:
        capability: Capability = (
            "fs.delete" if name in ("remove-item", "move-item", "clear-item") else "fs.write"
        )
        better = "use the delete tool" if name == "remove-item" else ""
        if find_family(name) is None:
            found.append(ask(f"ps-{name}", "it changes files", capability, risk=40, alternative=better))
    return found


def _check_fed_delete(name: str, fed: Values | None, scope: PowerShellScope) -> list[SafetyFinding]:
    found = [ask("ps-fed", "what it removes comes from the pipeline", "fs.delete", risk=60, remember=False)]
    for value in fed or ():
        found += judge_operand(name, BoundOperand("path", "d", (value,), None), True, scope)
    return found


def _check_new_item(bound: BoundArguments, scope: PowerShellScope) -> list[SafetyFinding]:
    folders = [value for one in bound.operands if one.parameter == "path" for value in one.values or ()]
    names = [value for one in bound.operands if one.parameter == "name" for value in one.values or ()]
    both = [f"{folder.rstrip('/')}/{name}" for folder in folders or ["."] for name in names]
    return [
        one
        for value in both
        for one in judge_operand("new-item", BoundOperand("path", "w", (value,), None), False, scope)
    ]


def _is_dynamic(operand: BoundOperand) -> bool:
    if operand.word is None:
        return False
    harmless = ("true", "false", "null")
    if operand.kind == "v" and all(
        piece.kind == "text" or is_command_output(piece) for piece in operand.word.pieces
    ):
        return False
    return operand.values is None or any(
        piece.kind != "text" and not (piece.kind == "var" and piece.text in harmless)
        for piece in operand.word.pieces
    )


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
    command: PowerShellCommand, scope: PowerShellScope, fed: Values | None, is_fed: bool
) -> tuple[str, list[SafetyFinding]]:
    """The command's full name and the findings on it. `fed` are the paths that come from the pipeline."""
    found = [one for redirect in command.redirects for one in judge_redirect(redirect, scope)]
    if not command.words:
        return "", [*found, ask("ps-syntax", "a command is missing", "shell.opaque", risk=45)]
    first = fold_word(command.words[0], scope)
    if first is None or len(first) != 1:
        return "?", [*found, *_judge_computed(command, scope)]
    said = first[0].strip()
    if command.words[0].text.lower() in BLOCK_KEYWORDS:
        found += check_fork_bomb(command, scope)
        return "", [*found, ask("ps-control", "it contains branches or loops", "shell.opaque", risk=20)]
    name = resolve_command_name(said, scope.aliases)
    if command.invoked:
        found.append(ask("ps-invoke", f"it is run by the operator {command.invoked}", "code.exec", risk=40))
    if any(piece.kind != "text" for piece in command.words[0].pieces) or command.words[0].odd:
        found.append(ask("ps-dynamic", "its name is computed", "shell.opaque", risk=50))
    if is_file_path(said):
        scope.seen.started.add(base_name(said))
        found.append(ask("ps-script", f"it runs the file {said}", "code.exec", risk=50))
        found += _check_program_path(said, scope)
    return name, found + _judge_named(name, said, command, scope, fed, is_fed)


def _check_program_path(said: str, scope: PowerShellScope) -> list[SafetyFinding]:
    seen = locate(said, "read", scope)
    if seen.sort == "network":
        return [deny("ps-network", seen.reason, "code.remote")]
    return []


def _judge_computed(command: PowerShellCommand, scope: PowerShellScope) -> list[SafetyFinding]:
    """A command whose name is only known when it runs."""
    kinds = {piece.kind for piece in command.words[0].pieces}
    if kinds == {"block"}:
        return [ask("ps-block", "it runs a block", "shell.opaque", risk=30)]
    scope.seen.runs_computed = "what it runs is computed"
    found = [
        ask(
            "ps-computed",
            "what it runs is computed",
            "shell.opaque",
            "code.exec",
            risk=75,
            remember=False,
        )
    ]
    found += judge_pieces(command.words[0].pieces, scope)
    for word in command.words[1:]:
        for value in fold_word(word, scope) or ():
            seen = locate(value, "write", scope)
            if seen.tree in ("root", "system", "home", "above") or seen.sort in ("secret", "protected"):
                found.append(
                    deny("ps-computed", f"a computed command gets the path {seen.real or value}", "fs.delete")
                )
    return found


def _judge_named(
    name: str, said: str, command: PowerShellCommand, scope: PowerShellScope, fed: Values | None, is_fed: bool
) -> list[SafetyFinding]:
    arguments = first_values([fold_word(word, scope) for word in command.words[1:]])
    words = " ".join(one for one in arguments if one is not None)
    found: list[SafetyFinding] = []
    for word in command.words[1:]:
        found += judge_variables(word.pieces, scope)
    if "win32_shadowcopy" in words.lower():
        scope.seen.marks.add("shadow")
    if name.startswith("remove-"):
        scope.seen.marks.add("delete")
    if (always := find_family(name)) is not None:
        found.append(always)
    found += native_programs.check_windows_program(name, words)
    found += _check_network(name, arguments, scope, always)
    found += _note_started(name, arguments, scope)
    if name in native_programs.POWERSHELL_NAMES:
        return found + native_programs.check_powershell(arguments, scope, is_fed)
    if name in native_programs.POSIX_SHELLS:
        if is_fed and not arguments:
            scope.seen.runs_computed = "a shell runs what it reads from the pipeline"
        return found + native_programs.check_posix_shell(arguments, scope)
    if name == "cmd":
        return found + _judge_cmd(arguments, command.words[1:], scope)
    if name in STARTERS:
        found += _judge_started_program(command, arguments, scope)
    if name == "foreach-object" and any((one or "").lower() == "delete" for one in arguments):
        found += [
            one for value in fed or () for one in check_removed(value, True, scope) if one.level == "deny"
        ]
    _update_scope(name, command, scope)
    parameters = find_parameters(name)
    if parameters is not None:
        found += judge_cmdlet(name, bind_arguments(command, parameters, scope), command, scope, fed, is_fed)
        if said.lower() in NATIVE_TOO and scope.context.platform == "posix":
            found += [one for one in judge_program(said, command, arguments, scope) if one.level == "deny"]
        if said.lower() in ("curl", "wget", "sc"):
            found += check_mentioned_paths(command, scope) + native_programs.check_windows_program(
                said.lower(), words
            )
        return found
    return found + judge_unknown(name, said, command, arguments, scope, always)


def _check_network(
    name: str, arguments: list[str | None], scope: PowerShellScope, always: SafetyFinding | None
) -> list[SafetyFinding]:
    hosts = [found[1].lower() for one in arguments if one and (found := URL_HOST.match(one.strip("\"'")))]
    scope.seen.hosts += hosts
    text = " ".join(one for one in arguments if one)
    speaks = bool(hosts) or (always is not None and "net.egress" in always.capabilities)
    speaks = speaks or bool(NET_TYPES.search(text.lower()))
    if not speaks:
        return []
    scope.seen.has_network = True
    scope.seen.saved |= {base for one in arguments if one and "." in (base := base_name(one))}
    return [ask("ps-net", "it connects to the network", "net.egress", risk=55, remember=False)]


def _note_started(name: str, arguments: list[str | None], scope: PowerShellScope) -> list[SafetyFinding]:
    if name in STARTERS or name in INTERPRETERS:
        scope.seen.started |= {base for one in arguments if one and "." in (base := base_name(one))}
    return []


def _judge_cmd(
    arguments: list[str | None], texts: tuple[PowerShellWord, ...], scope: PowerShellScope
) -> list[SafetyFinding]:
    """`cmd /c ...`: each of its commands is judged as the cmdlet or program it is."""
    from cockpit.safety.powershell.native_programs import CMD_EQUIVALENTS

    found = [ask("ps-shell", "it starts another shell", "code.exec", risk=50, remember=False)]
    if scope.depth >= native_programs.MAX_SHELL_DEPTH:
        scope.seen.overdeep = True
        return found
    scope.depth += 1
    said_there = [one if one is not None else word.text for one, word in zip(arguments, texts, strict=False)]
    for words, files in native_programs.read_cmd_commands(list(said_there), scope):
        same = CMD_EQUIVALENTS.get(words[0].lower()) if words else ""
        rest = words[1:]
        if same:
            rest = tuple(word for word in rest if not re.match(r"^[/-][A-Za-z](:|$|[A-Za-z-]*$)", word))
        recursive = ("-Recurse",) if same == "remove-item" and len(rest) < len(words) - 1 else ()
        said = tuple(_quoted_word(word) for word in ((same or words[0]), *rest, *recursive)) if words else ()
        redirects = tuple(PowerShellRedirect(">", _quoted_word(file)) for file in files)
        if said:
            inner = PowerShellCommand(said, redirects, " ".join(words), 0)
            found += [one for one in judge_command(inner, scope, (), False)[1] if one.level != "allow"]
    scope.depth -= 1
    return found


def _quoted_word(text: str) -> PowerShellWord:
    return PowerShellWord((WordPiece("text", text),), text, quoted=not text.startswith("-"))


def _judge_started_program(
    command: PowerShellCommand, arguments: list[str | None], scope: PowerShellScope
) -> list[SafetyFinding]:
    """`Start-Process file arguments`: judge the started program like a command."""
    found: list[SafetyFinding] = []
    if any((one or "").lower() == "runas" for one in arguments):
        found.append(
            ask(
                "ps-priv",
                "it asks for administrator rights",
                "priv",
                risk=75,
                remember=False,
            )
        )
    plain = [word for word in command.words[1:] if parse_parameter(word) is None]
    values = [value for word in plain for value in (fold_word(word, scope) or ("",))]
    values = [value for value in values if value.lower() not in ("runas", "hidden", "open")]
    if values and scope.depth < native_programs.MAX_SHELL_DEPTH:
        scope.depth += 1
        pieces = [one for value in values[1:] for one in value.split()]
        inner = PowerShellCommand(
            tuple(_literal_word(one) for one in (values[0], *pieces)), (), command.text, command.start
        )
        found += [one for one in judge_command(inner, scope, (), False)[1] if one.level == "deny"]
        scope.depth -= 1
    return found


def _literal_word(text: str) -> PowerShellWord:
    return PowerShellWord((WordPiece("text", text),), text)


def _update_scope(name: str, command: PowerShellCommand, scope: PowerShellScope) -> None:
    """Update what later commands of the line depend on: aliases, variables, the folder."""
    plain = [word for word in command.words[1:] if parse_parameter(word) is None]
    values = [fold_word(word, scope) for word in plain]
    if name in ("set-alias", "new-alias") and len(values) > 1 and values[0] and values[1]:
        scope.aliases[values[0][0].lower()] = values[1][0]
    elif name in ("set-variable", "new-variable") and len(values) > 1 and values[0] and values[1]:
        scope.variables[values[0][0].lower()] = values[1]
    elif name in ("set-location", "push-location"):
        _change_folder(values[0] if values else None, scope)
    elif name == "pop-location":
        scope.cwd = None


def _change_folder(values: Values | None, scope: PowerShellScope) -> None:
    if not values or len(values) != 1 or values[0] == "-":
        scope.cwd = None
        return
    seen = locate(values[0], "read", scope)
    scope.cwd = seen.real or None
