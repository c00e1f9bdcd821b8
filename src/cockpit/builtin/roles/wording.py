"""What our roles are told alike: how to report, and which tools only look."""

from dataclasses import replace

from cockpit.formats.role_names import ALIASES
from cockpit.plugin.agents import Role
from cockpit.plugin.origin import Origin
from cockpit.protocol.messages import Json

REPORT = """Your last message is your report. It is all that reaches the one who sent you: no greeting, \
no story of your search. Use these headings and leave out those that would be empty:
SUMMARY: the answer, or what came of it, in one to three sentences.
CHANGES: each file you changed, as `path: what and why`.
EVIDENCE: what shows that it is so: `path:line`, the command and what it printed, the test that ran.
RISKS: what may be wrong, what you assumed, what you did not look at.
BLOCKERS: what stopped you, and what you would need."""

LOOKING = (
    "read",
    "search",
    "glob",
    "list",
    "symbols",
    "definition",
    "references",
    "hierarchy",
    "diagnostics",
    "project_map",
    "git",
    "todo",
    "tool_search",
)
RUNNING = ("shell", "job", "run_tests")
WRITING = ("edit", "multi_edit", "write", "apply_patch", "delete", "move")


def ours(role: Role, file: str) -> Role:
    """A role of ours with how it reports, and where it stands."""
    fields: dict[str, Json] = {
        "model": role.model or "inherit",
        "maxTurns": role.max_steps,
        "aliases": list(ALIASES[role.name]),
    }
    if role.tools is not None:
        fields["tools"] = list(role.tools)
    if role.mode is not None:
        fields["permissionMode"] = role.mode
    origin = Origin(file, "built-in", {"description": role.description, **fields})
    instructions = f"{role.instructions.strip()}\n\n{REPORT}"
    return replace(role, instructions=instructions, origin=origin, aliases=ALIASES[role.name])
