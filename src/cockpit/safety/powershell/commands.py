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
    name_text: str,
    command: PowerShellCommand,
    arguments: list[str | None],
    scope: PowerShellScope,
    always: SafetyFinding | None,
) -> list[SafetyFinding]:
    """A command in no table: a program, a script or a cmdlet of a module."""
    findings = check_mentioned_paths(command, scope)
    for word in command.words[1:]:
        if fold_word(word, scope) is None:
            findings += [
                finding
                for finding in judge_pieces(word.pieces, scope)
                if finding.level == "deny" or "net" in finding.rule
            ]
    if name in native_programs.INFORMATION_PROGRAMS:
        findings.append(ask("ps-program", f"{name} shows information about the machine", "fs.read", risk=15))
    if always is not None and "-" not in name:
        findings += [
            finding
            for finding in judge_program(name_text, command, arguments, scope)
            if finding.level == "deny"
        ]
    if always is None:
        findings += judge_program(name_text, command, arguments, scope)
    return findings


def check_mentioned_paths(command: PowerShellCommand, scope: PowerShellScope) -> list[SafetyFinding]:
    """Paths in a program's arguments that no program should get: secrets, network paths, the registry."""
    values = (value for word in command.words[1:] for value in fold_word(word, scope) or ())
    return [item for value in values for item in _check_mentioned_path(value, scope)]


def _check_mentioned_path(value: str, scope: PowerShellScope) -> list[SafetyFinding]:
    text = value.rpartition("=")[2] if "=" in value and not value.startswith(("http", "HK")) else value
    text = text.lstrip("@<")
    if not re.search(r"[\\/.~:]", text) or URL_HOST.match(text):
        return []
    location = locate(text, "read", scope)
    if location.sort in ("secret", "env-file"):
        scope.facts.reads_secret = True
    if location.sort in ("secret", "network") and re.search(r"[\\/]|^~|\.", text):
        return (
            [deny(f"ps-{location.sort}", location.reason, "secret.read")]
            if "\\\\" in text or location.sort == "secret"
            else []
        )
    if location.sort == "registry":
        return native_programs.check_registry((text,), writes=True, removes=False)
    return []


def judge_program(
    name_text: str, command: PowerShellCommand, arguments: list[str | None], scope: PowerShellScope
) -> list[SafetyFinding]:
    if any(argument is None for argument in arguments) or any(word.ambiguous for word in command.words):
        return [ask("ps-dynamic", "a part of it is only known when it runs", "shell.opaque", risk=35)]
    # Windows and macOS find a program whatever the case of its name; its rules are in lower case.
    name = name_text.lower()
    if scope.context.platform == "windows":
        name = re.sub(r"\.(exe|com|cmd|bat)$", "", name)
    argv = (name, *(argument for argument in arguments if argument is not None))
    findings, added = native_programs.judge_shared_program(argv, scope)
    if name != name_text and "-" not in name:
        findings.append(ask("ps-name", f"{name_text} is read as {name}", "code.exec", risk=30))
    dynamic = any(piece.kind not in ("text",) for word in command.words for piece in word.pieces)
    if dynamic or any(word.joined for word in command.words):
        findings.append(ask("ps-dynamic", "a part of it is only known when it runs", "shell.opaque", risk=30))
    if added and scope.depth == 0:
        at = (
            command.text.find(command.words[1].text) + len(command.words[1].text)
            if len(command.words) > 1
            else 0
        )
        scope.facts.hardened += ((command.start + at, added),)
    return findings


def judge_cmdlet(
    name: str,
    bound: BoundArguments,
    command: PowerShellCommand,
    scope: PowerShellScope,
    fed: Values | None,
    is_fed: bool,
) -> list[SafetyFinding]:
    findings: list[SafetyFinding] = []
    recursive = bool(bound.switches & {"recurse", "rf", "r", "fr", "s"}) or "recurse" in bound.strange
    reads = name in cmdlet_table("readers")
    for operand in bound.operands:
        findings += judge_operand(name, operand, recursive, scope)
    if name in ("remove-item", "clear-item") and not any(operand.kind == "d" for operand in bound.operands):
        findings += _check_fed_delete(name, fed, scope)
    if name in ("get-content", "copy-item") and not any(operand.kind == "r" for operand in bound.operands):
        for value in fed or ():
            findings += judge_operand(name, BoundOperand("path", "r", (value,), None), False, scope)
    if name == "new-item":
        findings += _check_new_item(bound, scope)
    if bound.strange:
        findings.append(
            ask("ps-parameter", f"-{bound.strange[0]} is not known to be harmless", "shell.opaque", risk=35)
        )
    if any(word.ambiguous for word in command.words):
        findings.append(
            ask("ps-odd", "shells could split its words in different ways", "shell.opaque", risk=30)
        )
    for operand in bound.operands:
        removes = operand.kind == "d" or (name == "clear-content" and operand.kind == "w")
        if removes and operand.word is not None and operand.values is None:
            findings += judge_computed_removal(operand.word, scope)
    if any(_is_dynamic(operand) for operand in bound.operands):
        findings.append(ask("ps-dynamic", "a part of it is only known when it runs", "shell.opaque", risk=30))
    if not reads:
        capability: Capability = (
            "fs.delete" if name in ("remove-item", "move-item", "clear-item") else "fs.write"
        )
        better = "use the delete tool" if name == "remove-item" else ""
        if find_family(name) is None:
            findings.append(ask(f"ps-{name}", "it changes files", capability, risk=40, alternative=better))
    return findings


def _check_fed_delete(name: str, fed: Values | None, scope: PowerShellScope) -> list[SafetyFinding]:
    findings = [
        ask("ps-fed", "what it removes comes from the pipeline", "fs.delete", risk=60, remember=False)
    ]
    for value in fed or ():
        findings += judge_operand(name, BoundOperand("path", "d", (value,), None), True, scope)
    return findings


def _check_new_item(bound: BoundArguments, scope: PowerShellScope) -> list[SafetyFinding]:
    folders = [
        value for operand in bound.operands if operand.parameter == "path" for value in operand.values or ()
    ]
    names = [
        value for operand in bound.operands if operand.parameter == "name" for value in operand.values or ()
    ]
    both = [f"{folder.rstrip('/')}/{name}" for folder in folders or ["."] for name in names]
    return [
        finding
        for value in both
        for finding in judge_operand("new-item", BoundOperand("path", "w", (value,), None), False, scope)
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


def judge_command(
    command: PowerShellCommand, scope: PowerShellScope, fed: Values | None, is_fed: bool
) -> tuple[str, list[SafetyFinding]]:
    """The command's full name and the findings on it. `fed` are the paths that come from the pipeline."""
    findings = [finding for redirect in command.redirects for finding in judge_redirect(redirect, scope)]
    if not command.words:
        return "", [*findings, ask("ps-syntax", "a command is missing", "shell.opaque", risk=45)]
    first = fold_word(command.words[0], scope)
    if first is None or len(first) != 1:
        return "?", [*findings, *_judge_computed(command, scope)]
    name_text = first[0].strip()
    if command.words[0].text.lower() in BLOCK_KEYWORDS:
        findings += check_fork_bomb(command, scope)
        return "", [*findings, ask("ps-control", "it contains branches or loops", "shell.opaque", risk=20)]
    name = resolve_command_name(name_text, scope.aliases)
    if command.invoked:
        findings.append(
            ask("ps-invoke", f"it is run by the operator {command.invoked}", "code.exec", risk=40)
        )
    if any(piece.kind != "text" for piece in command.words[0].pieces) or command.words[0].ambiguous:
        findings.append(ask("ps-dynamic", "its name is computed", "shell.opaque", risk=50))
    if is_file_path(name_text):
        scope.facts.started.add(base_name(name_text))
        findings.append(ask("ps-script", f"it runs the file {name_text}", "code.exec", risk=50))
        findings += _check_program_path(name_text, scope)
    return name, findings + _judge_named(name, name_text, command, scope, fed, is_fed)


def _check_program_path(name_text: str, scope: PowerShellScope) -> list[SafetyFinding]:
    location = locate(name_text, "read", scope)
    if location.sort == "network":
        return [deny("ps-network", location.reason, "code.remote")]
    return []


def _judge_computed(command: PowerShellCommand, scope: PowerShellScope) -> list[SafetyFinding]:
    """A command whose name is only known when it runs."""
    kinds = {piece.kind for piece in command.words[0].pieces}
    if kinds == {"block"}:
        return [ask("ps-block", "it runs a block", "shell.opaque", risk=30)]
    scope.facts.runs_computed = "what it runs is computed"
    findings = [
        ask(
            "ps-computed",
            "what it runs is computed",
            "shell.opaque",
            "code.exec",
            risk=75,
            remember=False,
        )
    ]
    findings += judge_pieces(command.words[0].pieces, scope)
    for word in command.words[1:]:
        for value in fold_word(word, scope) or ():
            location = locate(value, "write", scope)
            if location.tree in ("root", "system", "home", "above") or location.sort in (
                "secret",
                "protected",
            ):
                findings.append(
                    deny(
                        "ps-computed",
                        f"a computed command gets the path {location.real or value}",
                        "fs.delete",
                    )
                )
    return findings


def _judge_named(
    name: str,
    name_text: str,
    command: PowerShellCommand,
    scope: PowerShellScope,
    fed: Values | None,
    is_fed: bool,
) -> list[SafetyFinding]:
    arguments = first_values([fold_word(word, scope) for word in command.words[1:]])
    words = " ".join(argument for argument in arguments if argument is not None)
    findings: list[SafetyFinding] = []
    for word in command.words[1:]:
        findings += judge_variables(word.pieces, scope)
    if "win32_shadowcopy" in words.lower():
        scope.facts.marks.add("shadow")
    if name.startswith("remove-"):
        scope.facts.marks.add("delete")
    if (always := find_family(name)) is not None:
        findings.append(always)
    findings += native_programs.check_windows_program(name, words)
    findings += _check_network(name, arguments, scope, always)
    findings += _note_started(name, arguments, scope)
    if name in native_programs.POWERSHELL_NAMES:
        return findings + native_programs.check_powershell(arguments, scope, is_fed)
    if name in native_programs.POSIX_SHELLS:
        if is_fed and not arguments:
            scope.facts.runs_computed = "a shell runs what it reads from the pipeline"
        return findings + native_programs.check_posix_shell(arguments, scope)
    if name == "cmd":
        return findings + _judge_cmd(arguments, command.words[1:], scope)
    if name in STARTERS:
        findings += _judge_started_program(command, arguments, scope)
    if name == "foreach-object" and any((argument or "").lower() == "delete" for argument in arguments):
        findings += [
            finding
            for value in fed or ()
            for finding in check_removed(value, True, scope)
            if finding.level == "deny"
        ]
    _update_scope(name, command, scope)
    parameters = find_parameters(name)
    if parameters is not None:
        findings += judge_cmdlet(
            name, bind_arguments(command, parameters, scope), command, scope, fed, is_fed
        )
        if name_text.lower() in NATIVE_TOO and scope.context.platform == "posix":
            findings += [
                finding
                for finding in judge_program(name_text, command, arguments, scope)
                if finding.level == "deny"
            ]
        if name_text.lower() in ("curl", "wget", "sc"):
            findings += check_mentioned_paths(command, scope) + native_programs.check_windows_program(
                name_text.lower(), words
            )
        return findings
    return findings + judge_unknown(name, name_text, command, arguments, scope, always)


def _check_network(
    name: str, arguments: list[str | None], scope: PowerShellScope, always: SafetyFinding | None
) -> list[SafetyFinding]:
    hosts = [
        findings[1].lower()
        for argument in arguments
        if argument and (findings := URL_HOST.match(argument.strip("\"'")))
    ]
    scope.facts.hosts += hosts
    text = " ".join(argument for argument in arguments if argument)
    speaks = bool(hosts) or (always is not None and "net.egress" in always.capabilities)
    speaks = speaks or bool(NET_TYPES.search(text.lower()))
    if not speaks:
        return []
    scope.facts.has_network = True
    scope.facts.saved |= {base for argument in arguments if argument and "." in (base := base_name(argument))}
    return [ask("ps-net", "it connects to the network", "net.egress", risk=55, remember=False)]


def _note_started(name: str, arguments: list[str | None], scope: PowerShellScope) -> list[SafetyFinding]:
    if name in STARTERS or name in INTERPRETERS:
        scope.facts.started |= {
            base for argument in arguments if argument and "." in (base := base_name(argument))
        }
    return []


def _judge_cmd(
    arguments: list[str | None], texts: tuple[PowerShellWord, ...], scope: PowerShellScope
) -> list[SafetyFinding]:
    """`cmd /c ...`: each of its commands is judged as the cmdlet or program it is."""
    from cockpit.safety.powershell.native_programs import CMD_EQUIVALENTS

    findings = [ask("ps-shell", "it starts another shell", "code.exec", risk=50, remember=False)]
    if scope.depth >= native_programs.MAX_SHELL_DEPTH:
        scope.facts.overdeep = True
        return findings
    scope.depth += 1
    said_there = [
        argument if argument is not None else word.text
        for argument, word in zip(arguments, texts, strict=False)
    ]
    for words, files in native_programs.read_cmd_commands(list(said_there), scope):
        same = CMD_EQUIVALENTS.get(words[0].lower()) if words else ""
        rest = words[1:]
        if same:
            rest = tuple(word for word in rest if not re.match(r"^[/-][A-Za-z](:|$|[A-Za-z-]*$)", word))
        recursive = ("-Recurse",) if same == "remove-item" and len(rest) < len(words) - 1 else ()
        name_text = (
            tuple(_quoted_word(word) for word in ((same or words[0]), *rest, *recursive)) if words else ()
        )
        redirects = tuple(PowerShellRedirect(">", _quoted_word(file)) for file in files)
        if name_text:
            inner = PowerShellCommand(name_text, redirects, " ".join(words), 0)
            findings += [
                finding for finding in judge_command(inner, scope, (), False)[1] if finding.level != "allow"
            ]
    scope.depth -= 1
    return findings


def _quoted_word(text: str) -> PowerShellWord:
    return PowerShellWord((WordPiece("text", text),), text, quoted=not text.startswith("-"))


def _judge_started_program(
    command: PowerShellCommand, arguments: list[str | None], scope: PowerShellScope
) -> list[SafetyFinding]:
    """`Start-Process file arguments`: judge the started program like a command."""
    findings: list[SafetyFinding] = []
    if any((argument or "").lower() == "runas" for argument in arguments):
        findings.append(
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
        pieces = [part for value in values[1:] for part in value.split()]
        inner = PowerShellCommand(
            tuple(_literal_word(value) for value in (values[0], *pieces)), (), command.text, command.start
        )
        findings += [
            finding for finding in judge_command(inner, scope, (), False)[1] if finding.level == "deny"
        ]
        scope.depth -= 1
    return findings


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
    location = locate(values[0], "read", scope)
    scope.cwd = location.real or None
