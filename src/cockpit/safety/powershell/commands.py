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
from cockpit.safety.powershell.locations import (
    PROTECTED_TREES,
    check_removed,
    judge_operand,
    judge_redirect,
    locate,
)
from cockpit.safety.powershell.native_programs import base_name, first_values
from cockpit.safety.powershell.reader import BLOCK_KEYWORDS
from cockpit.safety.powershell.scope import PowerShellScope, Values, fold_word
from cockpit.safety.powershell.syntax_tree import (
    PowerShellCommand,
    PowerShellRedirect,
    PowerShellWord,
    WordPiece,
)
from cockpit.workspace.word_set import word_set

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
            pieces = judge_pieces(word.pieces, scope)
            findings += [item for item in pieces if item.level == "deny" or "net" in item.rule]
    if name in native_programs.INFORMATION_PROGRAMS:
        findings.append(ask("ps-program", f"{name} shows information about the machine", "fs.read", risk=15))
    if always is None:
        findings += judge_program(name_text, command, arguments, scope)
    elif "-" not in name:
        findings += _select_denied(judge_program(name_text, command, arguments, scope))
    return findings


def _select_denied(findings: list[SafetyFinding]) -> list[SafetyFinding]:
    return [finding for finding in findings if finding.level == "deny"]


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
        denied = location.sort == "secret" or "\\\\" in text
        return [deny(f"ps-{location.sort}", location.reason, "secret.read")] if denied else []
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
    pieces = (piece for word in command.words for piece in word.pieces)
    if any(piece.kind != "text" for piece in pieces) or any(word.joined for word in command.words):
        findings.append(ask("ps-dynamic", "a part of it is only known when it runs", "shell.opaque", risk=30))
    if added and scope.depth == 0:
        subcommand = command.words[1].text if len(command.words) > 1 else ""
        at = command.text.find(subcommand) + len(subcommand) if subcommand else 0
        scope.facts.hardened += ((command.start + at, added),)
    return findings


def judge_cmdlet(
    name: str, bound: BoundArguments, command: PowerShellCommand, scope: PowerShellScope, fed: Values | None
) -> list[SafetyFinding]:
    findings: list[SafetyFinding] = []
    recursive = bool(bound.switches & {"recurse", "rf", "r", "fr", "s"}) or "recurse" in bound.strange
    kinds = {operand.kind for operand in bound.operands}

    def judge_value(kind: str, value: str, below: bool = False) -> list[SafetyFinding]:
        return judge_operand(name, BoundOperand("path", kind, (value,), None), below, scope)

    for operand in bound.operands:
        findings += judge_operand(name, operand, recursive, scope)
    if name in ("remove-item", "clear-item") and "d" not in kinds:
        reason = "what it removes comes from the pipeline"
        findings.append(ask("ps-fed", reason, "fs.delete", risk=60, remember=False))
        findings += [item for value in fed or () for item in judge_value("d", value, True)]
    if name in ("get-content", "copy-item") and "r" not in kinds:
        findings += [item for value in fed or () for item in judge_value("r", value)]
    if name == "new-item":
        findings += [item for value in _list_new_items(bound) for item in judge_value("w", value)]
    if bound.strange:
        reason = f"-{bound.strange[0]} is not known to be harmless"
        findings.append(ask("ps-parameter", reason, "shell.opaque", risk=35))
    if any(word.ambiguous for word in command.words):
        reason = "shells could split its words in different ways"
        findings.append(ask("ps-odd", reason, "shell.opaque", risk=30))
    for operand in bound.operands:
        removes = operand.kind == "d" or (name == "clear-content" and operand.kind == "w")
        if removes and operand.word is not None and operand.values is None:
            findings += judge_computed_removal(operand.word, scope)
    if any(_is_dynamic(operand) for operand in bound.operands):
        findings.append(ask("ps-dynamic", "a part of it is only known when it runs", "shell.opaque", risk=30))
    if name not in cmdlet_table("readers") and find_family(name) is None:
        deletes = name in ("remove-item", "move-item", "clear-item")
        capability: Capability = "fs.delete" if deletes else "fs.write"
        better = "use the delete tool" if name == "remove-item" else ""
        findings.append(ask(f"ps-{name}", "it changes files", capability, risk=40, alternative=better))
    return findings


def _list_new_items(bound: BoundArguments) -> list[str]:
    """The paths that `New-Item -Path folder -Name name` creates."""
    values: dict[str, list[str]] = {"path": [], "name": []}
    for operand in bound.operands:
        values.setdefault(operand.parameter, []).extend(operand.values or ())
    return [f"{folder.rstrip('/')}/{name}" for folder in values["path"] or ["."] for name in values["name"]]


def _is_dynamic(operand: BoundOperand) -> bool:
    if operand.word is None:
        return False
    pieces = operand.word.pieces
    if operand.kind == "v" and all(piece.kind == "text" or is_command_output(piece) for piece in pieces):
        return False
    return operand.values is None or any(
        piece.kind != "text" and not (piece.kind == "var" and piece.text in ("true", "false", "null"))
        for piece in pieces
    )


STARTERS = word_set("start-process invoke-item start runas psexec forfiles conhost pcalua")
INTERPRETERS = word_set(
    "python python3 py node ruby perl php java dotnet cscript wscript msiexec regsvr32 rundll32 mshta wt "
    "bash sh import-module msbuild installutil expand-archive"
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
        reason = f"it is run by the operator {command.invoked}"
        findings.append(ask("ps-invoke", reason, "code.exec", risk=40))
    if any(piece.kind != "text" for piece in command.words[0].pieces) or command.words[0].ambiguous:
        findings.append(ask("ps-dynamic", "its name is computed", "shell.opaque", risk=50))
    if is_file_path(name_text):
        scope.facts.started.add(base_name(name_text))
        findings.append(ask("ps-script", f"it runs the file {name_text}", "code.exec", risk=50))
        location = locate(name_text, "read", scope)
        if location.sort == "network":
            findings.append(deny("ps-network", location.reason, "code.remote"))
    return name, findings + _judge_named(name, name_text, command, scope, fed, is_fed)


def _judge_computed(command: PowerShellCommand, scope: PowerShellScope) -> list[SafetyFinding]:
    """A command whose name is only known when it runs."""
    kinds = {piece.kind for piece in command.words[0].pieces}
    if kinds == {"block"}:
        return [ask("ps-block", "it runs a block", "shell.opaque", risk=30)]
    reason = scope.facts.runs_computed = "what it runs is computed"
    findings = [ask("ps-computed", reason, "shell.opaque", "code.exec", risk=75, remember=False)]
    findings += judge_pieces(command.words[0].pieces, scope)
    for word in command.words[1:]:
        for value in fold_word(word, scope) or ():
            location = locate(value, "write", scope)
            if location.tree in PROTECTED_TREES or location.sort in ("secret", "protected"):
                reason = f"a computed command gets the path {location.real or value}"
                findings.append(deny("ps-computed", reason, "fs.delete"))
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
    findings += _check_network(arguments, scope, always)
    if name in STARTERS or name in INTERPRETERS:
        scope.facts.started |= _list_file_names(arguments)
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
        for value in fed or ():
            findings += _select_denied(check_removed(value, True, scope))
    _update_scope(name, command, scope)
    parameters = find_parameters(name)
    if parameters is None:
        return findings + judge_unknown(name, name_text, command, arguments, scope, always)
    findings += judge_cmdlet(name, bind_arguments(command, parameters, scope), command, scope, fed)
    written = name_text.lower()
    if written in NATIVE_TOO and scope.context.platform == "posix":
        findings += _select_denied(judge_program(name_text, command, arguments, scope))
    if written in ("curl", "wget", "sc"):
        findings += check_mentioned_paths(command, scope)
        findings += native_programs.check_windows_program(written, words)
    return findings


def _list_file_names(arguments: list[str | None]) -> set[str]:
    """The arguments that look like file names, without their folders."""
    return {base for argument in arguments if argument and "." in (base := base_name(argument))}


def _check_network(
    arguments: list[str | None], scope: PowerShellScope, always: SafetyFinding | None
) -> list[SafetyFinding]:
    texts = [argument for argument in arguments if argument]
    urls = (URL_HOST.match(text.strip("\"'")) for text in texts)
    hosts = [match[1].lower() for match in urls if match]
    scope.facts.hosts += hosts
    is_known = always is not None and "net.egress" in always.capabilities
    if not hosts and not is_known and not NET_TYPES.search(" ".join(texts).lower()):
        return []
    scope.facts.has_network = True
    scope.facts.saved |= _list_file_names(arguments)
    return [ask("ps-net", "it connects to the network", "net.egress", risk=55, remember=False)]


def _judge_cmd(
    arguments: list[str | None], texts: tuple[PowerShellWord, ...], scope: PowerShellScope
) -> list[SafetyFinding]:
    """`cmd /c ...`: each of its commands is judged as the cmdlet or program it is."""
    findings = [ask("ps-shell", "it starts another shell", "code.exec", risk=50, remember=False)]
    if scope.depth >= native_programs.MAX_SHELL_DEPTH:
        scope.facts.overdeep = True
        return findings
    scope.depth += 1
    line = " ".join(
        word.text if argument is None else argument for argument, word in zip(arguments, texts, strict=False)
    )
    for words, files in native_programs.split_cmd_commands(line, scope.context.home):
        if not words:
            continue
        same, rest = native_programs.CMD_EQUIVALENTS.get(words[0].lower()), words[1:]
        if same:
            rest = tuple(word for word in rest if not re.match(r"^[/-][A-Za-z](:|$|[A-Za-z-]*$)", word))
        recursive = ("-Recurse",) if same == "remove-item" and len(rest) < len(words) - 1 else ()
        redirects = tuple(PowerShellRedirect(">", _quoted_word(file)) for file in files)
        inner_words = tuple(map(_quoted_word, (same or words[0], *rest, *recursive)))
        inner = PowerShellCommand(inner_words, redirects, " ".join(words), 0)
        findings += [item for item in judge_command(inner, scope, (), False)[1] if item.level != "allow"]
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
        findings.append(ask("ps-priv", "it asks for administrator rights", "priv", risk=75, remember=False))
    plain = [word for word in command.words[1:] if parse_parameter(word) is None]
    values = [value for word in plain for value in (fold_word(word, scope) or ("",))]
    values = [value for value in values if value.lower() not in ("runas", "hidden", "open")]
    if values and scope.depth < native_programs.MAX_SHELL_DEPTH:
        scope.depth += 1
        words = (values[0], *(part for value in values[1:] for part in value.split()))
        inner = PowerShellCommand(tuple(map(_literal_word, words)), (), command.text, command.start)
        findings += _select_denied(judge_command(inner, scope, (), False)[1])
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
        target = values[0] if values else None
        known = target[0] if target is not None and len(target) == 1 and target[0] != "-" else None
        scope.cwd = None if known is None else locate(known, "read", scope).real or None
    elif name == "pop-location":
        scope.cwd = None
