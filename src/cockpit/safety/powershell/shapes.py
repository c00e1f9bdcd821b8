"""What may be remembered of a command of a PowerShell line: a rule of its words, as bash lines have it."""

from cockpit.safety.bash.shapes import NEVER
from cockpit.safety.powershell.aliases import is_path
from cockpit.safety.powershell.cmdlets import table
from cockpit.safety.powershell.families import family
from cockpit.safety.powershell.findings import Finding
from cockpit.safety.powershell.scope import Scope
from cockpit.workspace.words import words

# Cmdlets that write what they are given where they are told to: outside of the workspace they ask anew.
ANY_ARGUMENTS = words(
    """
    new-item new-item-folder set-content add-content out-file tee-object copy-item export-csv
    compress-archive expand-archive
    """
)


def of(name: str, argv: tuple[str | None, ...], found: list[Finding], scope: Scope) -> str:
    """`npm test *`, `Copy-Item *`, the whole command; "" for what is asked about each time."""
    known = tuple(one for one in argv if one is not None)
    if not known or len(known) < len(argv) or scope.depth or is_path(known[0]) or name == "foreach-object":
        return ""
    never = NEVER | {"fs.outside"}
    if any(one.level == "deny" or one.forgets or one.capabilities & never for one in found):
        return ""
    if name in ANY_ARGUMENTS:
        return f"{known[0]} *"
    line = scope.seen.programs.get((scope.cwd, *known))
    if line is not None and family(name) is None and name not in table("readers"):
        parts = line.verdict.parts
        said = parts[0].shape if len(parts) == 1 else ""
        return said if said.endswith(" *") or said == " ".join(known) else ""
    # A rule is matched against the words with single blanks between: one with a blank would fit others.
    return "" if any(" " in word or not word for word in known) else " ".join(known)
