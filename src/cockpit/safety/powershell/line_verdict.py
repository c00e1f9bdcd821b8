"""The verdict on a PowerShell line: every command and expression in it becomes a judged part.

One reader splits the text and never gives up, so that a syntax error cannot hide a command. A line runs
unasked only in the plain form (see `reader.is_plain`) that every reader splits the same way. Runs nothing.
"""

from cockpit.plugin.safety import CommandPart, Level, Verdict
from cockpit.safety.bash.command_verdict import NEVER_REMEMBERED
from cockpit.safety.findings import LEVEL_RANK, SafetyFinding, ask, find_strictest
from cockpit.safety.hidden_characters import describe_misleading_character
from cockpit.safety.powershell.cmdlets import cmdlet_table, find_family, is_file_path
from cockpit.safety.powershell.commands import judge_command
from cockpit.safety.powershell.expressions import is_command_output, judge_expression, list_literals
from cockpit.safety.powershell.locations import judge_redirect
from cockpit.safety.powershell.reader import TOO_DEEP, is_plain, read_script
from cockpit.safety.powershell.scope import LineFacts, PowerShellScope, Values, fold_expression, fold_word
from cockpit.safety.powershell.syntax_tree import (
    PipelineElement,
    PowerShellCommand,
    PowerShellExpression,
    PowerShellScript,
    ScriptReading,
    WordPiece,
    list_pieces,
)
from cockpit.safety.rules.rule import RuleSet
from cockpit.safety.values import ExecutionContext, JudgedLine
from cockpit.workspace.resolver import Access
from cockpit.workspace.word_set import word_set

# Outside of the workspace these cmdlets ask again, so they are remembered with any arguments.
ANY_ARGUMENT_CMDLETS = word_set(
    """
    new-item new-item-folder set-content add-content out-file tee-object copy-item export-csv
    compress-archive expand-archive
    """
)


def make_remembered_rule(
    name: str, argv: tuple[str | None, ...], result: list[SafetyFinding], scope: PowerShellScope
) -> str:
    """The rule stored for an approved command: `npm test *`, `Copy-Item *` or the whole command; "" for a
    command that is asked about every time."""
    known = tuple(word for word in argv if word is not None)
    if (
        not known
        or len(known) < len(argv)
        or scope.depth
        or is_file_path(known[0])
        or name == "foreach-object"
    ):
        return ""
    never = NEVER_REMEMBERED | {"fs.outside"}
    if any(
        finding.level == "deny" or not finding.remember or finding.capabilities & never for finding in result
    ):
        return ""
    if name in ANY_ARGUMENT_CMDLETS:
        return f"{known[0]} *"
    line = scope.facts.programs.get((scope.cwd, *known))
    if line is not None and find_family(name) is None and name not in cmdlet_table("readers"):
        parts = line.verdict.parts
        text = parts[0].shape if len(parts) == 1 else ""
        return text if text.endswith(" *") or text == " ".join(known) else ""
    # A rule is matched against words joined by blanks, so a word that contains a blank would match other
    # commands.
    return "" if any(" " in word or not word for word in known) else " ".join(known)


# From this number on, repeated commands are not judged again.
MAX_PARTS = 300
PATH_SOURCES = frozenset({"get-childitem", "get-item", "resolve-path", "convert-path"})
PATH_FILTERS = frozenset(
    [
        "where-object",
        "select-object",
        "sort-object",
        "get-unique",
        "tee-object",
        "get-item",
        "get-childitem",
        "foreach-object",
    ]
)
PIECE_FINDINGS = {
    "group": ask("ps-group", "a part of it is computed when it runs", "shell.opaque", risk=30),
    "block": ask("ps-block", "it contains a block of code", "shell.opaque", risk=30),
    "hash": ask("ps-hash", "it contains a table", "shell.opaque", risk=25),
}


def judge_script(script: PowerShellScript, scope: PowerShellScope) -> None:
    """Judge everything in `script` and add the parts to `scope.facts`."""
    for pipeline in script.pipelines:
        fed: Values | None = ()
        for at, element in enumerate(pipeline.elements):
            if len(scope.facts.parts) > MAX_PARTS and _is_repeated(element, fed, at > 0, scope):
                continue
            before = len(scope.facts.touched)
            name, findings = _judge_element(element, scope, fed, at > 0)
            if pipeline.background:
                findings.append(
                    ask("ps-background", "it keeps running in the background", "code.exec", risk=40)
                )
            scope.facts.parts.append(_make_part(name, element, findings, scope, scope.facts.touched[before:]))
            fed = _pass_paths(name, element, fed, scope)


def _is_repeated(element: PipelineElement, fed: Values | None, is_fed: bool, scope: PowerShellScope) -> bool:
    """Whether the same plain command was judged before in the same state. In a very long line it is not
    judged again, and the line is asked about."""
    if not isinstance(element, PowerShellCommand) or fed:
        return False
    if any(piece.kind != "text" for piece in list_pieces(element)):
        return False
    key = (element.text, is_fed, scope.cwd, scope.depth, tuple(scope.aliases.items()))
    if key in scope.facts.told:
        scope.facts.overlong = True
        return True
    scope.facts.told.add(key)
    return False


def _judge_element(
    element: PipelineElement, scope: PowerShellScope, fed: Values | None, is_fed: bool
) -> tuple[str, list[SafetyFinding]]:
    inner = scope.below(fed or ())
    pieces = list_pieces(element)
    findings = [
        PIECE_FINDINGS[piece.kind]
        for piece in pieces
        if piece.kind in PIECE_FINDINGS
        and not (isinstance(element, PowerShellCommand) and is_command_output(piece))
    ]
    if isinstance(element, PowerShellCommand):
        _judge_pieces(pieces, inner, scope)
        name, more = judge_command(element, scope, fed, is_fed)
        scope.facts.names.append(name)
        return name, findings + more
    if element.assigned is not None:
        judge_script(element.assigned, scope)
    _judge_pieces(pieces, inner, scope)
    findings += [finding for redirect in element.redirects for finding in judge_redirect(redirect, scope)]
    return "", findings + judge_expression(element, scope)


def _judge_pieces(pieces: tuple[WordPiece, ...], inner: PowerShellScope, scope: PowerShellScope) -> None:
    before = inner.cwd
    for piece in pieces:
        if piece.script is not None:
            judge_script(piece.script, inner if piece.kind == "block" else scope)
    # A block may change the folder, and it is not known whether the block ran.
    if inner.cwd != before:
        scope.cwd = None


def _make_part(
    name: str,
    element: PipelineElement,
    findings: list[SafetyFinding],
    scope: PowerShellScope,
    touched: list[tuple[Access, str]],
) -> CommandPart:
    argv: tuple[str | None, ...] = ()
    if isinstance(element, PowerShellCommand):
        folded = [fold_word(word, scope) for word in element.words]
        argv = tuple(None if value is None or len(value) != 1 else value[0] for value in folded)
    reads, writes = (
        tuple(dict.fromkeys(real for access, real in touched if access == item)) for item in ("read", "write")
    )
    if not findings:
        return CommandPart(
            element.text, argv, "allow", rules=("ps-reader",), reason="it only reads", reads=reads
        )
    worst = find_strictest(findings)
    capabilities = frozenset(capability for finding in findings for capability in finding.capabilities)
    rules = tuple(dict.fromkeys(finding.rule for finding in findings if finding.level == worst.level))
    return CommandPart(
        element.text, argv, worst.level, worst.risk, capabilities, rules, worst.reason,
        worst.alternative, reads, writes, scope.facts.hosts[-1] if scope.facts.hosts else "",
        make_remembered_rule(name, argv, findings, scope),
    )  # fmt: skip


def _pass_paths(
    name: str, element: PipelineElement, fed: Values | None, scope: PowerShellScope
) -> Values | None:
    """The paths that an element passes down the pipeline, as far as they are literal."""
    if isinstance(element, PowerShellExpression):
        value = fold_expression(element, scope)
        return value if value is not None else tuple(list_literals(element.pieces))
    if name in PATH_SOURCES:
        values = [value for word in element.words[1:] for value in (fold_word(word, scope) or ())]
        return tuple(value for value in values if not value.startswith("-")) or (fed or (".",))
    return fed if name in PATH_FILTERS else ()


MAX_LETTERS = 60_000


def judge_powershell(text: str, context: ExecutionContext, rules: RuleSet) -> JudgedLine:
    """The verdict on `text` as PowerShell reads it."""
    location = LineFacts(_judge_inner)
    scope = PowerShellScope(context, rules, location, context.cwd)
    reading = read_script(text)
    judge_script(reading.script, scope)
    parts = [*location.parts, *_check_combinations(text, location), *_check_text(text, reading)]
    if not parts:
        parts.append(CommandPart(text, (), "ask", 10, frozenset(), ("ps-empty",), "it contains no command"))
    elif all(part.level == "allow" for part in parts) and not is_plain(text):
        parts.append(
            _whole_line_part(
                text,
                "ask",
                40,
                "ps-syntax",
                "it is not in the plain form that every PowerShell reads the same way",
            )
        )
    script, environment = _harden_line(text, location)
    return JudgedLine(_combine_parts(tuple(parts), location), script, environment)


def _judge_inner(text: str, scope: PowerShellScope) -> None:
    """Judge the text given to an inner shell, in the scope of the outer line."""
    inner = PowerShellScope(scope.context, scope.rules, scope.facts, scope.cwd, depth=scope.depth + 1)
    reading = read_script(text)
    judge_script(reading.script, inner)
    scope.facts.parts += _check_text(text, reading)


def _check_text(text: str, reading: ScriptReading) -> list[CommandPart]:
    """Findings on the text as a whole: hidden characters, syntax errors, its length."""
    result: list[CommandPart] = []
    if "\0" in text:
        result.append(_whole_line_part(text, "deny", 90, "nul", "it contains a NUL character"))
    if reason := describe_misleading_character(text):
        result.append(_whole_line_part(text, "ask", 60, "invisible", reason))
    if TOO_DEEP in reading.faults:
        result.append(_whole_line_part(text, "deny", 90, "ps-deep", f"{TOO_DEEP} to be read completely"))
    elif reading.faults:
        result.append(_whole_line_part(text, "ask", 45, "ps-syntax", reading.faults[0]))
    if len(text) > MAX_LETTERS:
        result.append(
            _whole_line_part(text, "ask", 60, "ps-long", f"it is longer than {MAX_LETTERS:,} characters")
        )
    return result


def _whole_line_part(text: str, level: Level, risk: int, rule: str, reason: str) -> CommandPart:
    return CommandPart(text[:200], (), level, risk, frozenset({"shell.opaque"}), (rule,), reason)


def _check_combinations(text: str, location: LineFacts) -> list[CommandPart]:
    """Findings that only show in the whole line: download and run, secret and network."""
    result: list[CommandPart] = []
    if location.has_network and location.runs_computed:
        result.append(
            _whole_line_part(
                text, "deny", 100, "ps-download-run", f"it downloads, and {location.runs_computed}"
            )
        )
    if location.has_network and (both := location.saved & location.started - {""}):
        reason = f"it downloads {min(both)} and runs it"
        result.append(_whole_line_part(text, "deny", 100, "ps-download-run", reason))
    if location.has_network and location.reads_secret:
        result.append(
            _whole_line_part(
                text, "deny", 100, "ps-secret-net", "it reads a secret and connects to the network"
            )
        )
    if {"shadow", "delete"} <= location.marks:
        result.append(_whole_line_part(text, "deny", 95, "ps-shadow", "it deletes backups"))
    if {"get-credential", "export-clixml"} <= set(location.names):
        result.append(_whole_line_part(text, "deny", 90, "ps-credentials", "it stores a password in a file"))
    if location.overlong:
        result.append(
            _whole_line_part(
                text, "ask", 60, "ps-long", "it contains more commands than are judged one by one"
            )
        )
    if location.overdeep:
        result.append(_whole_line_part(text, "deny", 90, "ps-deep", "it is nested too deeply to be read"))
    return result


def _combine_parts(parts: tuple[CommandPart, ...], location: LineFacts) -> Verdict:
    worst = max(parts, key=lambda part: (LEVEL_RANK[part.level], part.risk))
    capabilities = frozenset(capability for part in parts for capability in part.capabilities)
    counted = capabilities - {"shell.opaque", "fs.read"}
    risk = worst.risk + 10 * max(0, len(counted) - 1)
    if {"secret.read", "net.egress"} <= capabilities:
        risk += 30
    matched = tuple(dict.fromkeys(rule for part in parts if part.level == worst.level for rule in part.rules))
    if worst.level == "allow":
        return Verdict("allow", "it only reads", 0, capabilities, matched, sandbox="read", parts=parts)
    alone = capabilities & {"priv", "container", "host.mutate"}
    net = capabilities & {"net.egress", "pkg.install", "vcs.remote"}
    return Verdict(
        worst.level, worst.reason, min(100, risk), capabilities, matched, worst.alternative,
        sandbox="none" if alone else "net" if net else "build",
        may_remember=worst.level == "ask" and all(part.shape for part in parts if part.level == "ask"),
        user_only="invisible" in matched,
        parts=parts, destination=location.hosts[0] if location.hosts else "",
    )  # fmt: skip


def _harden_line(text: str, location: LineFacts) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The line with the options that harden its git readers, inserted from the end."""
    for at, words in sorted(location.hardened, reverse=True):
        text = f"{text[:at]} {' '.join(words)}{text[at:]}"
    return text, location.environment
