"""A project migrated from another agent: many skills, roles, commands and servers."""

import json
import sys
from pathlib import Path

SKILLS, ROLES, COMMANDS, SERVERS = 100, 50, 20, 10
BODY = "Read what the task touches, then do it in small steps and check each of them.\n\n" * 40


def furnish(project: Path) -> None:
    """Write them into `project`, in Claude's folders."""
    claude = project / ".claude"
    for number in range(SKILLS):
        folder = claude / "skills" / f"skill-{number:03}"
        folder.mkdir(parents=True)
        head = (
            f"name: skill-{number:03}\ndescription: Does the task number {number} the way this team likes it."
        )
        (folder / "SKILL.md").write_text(f"---\n{head}\nallowed-tools: Read, Grep\n---\n{BODY}", "utf-8")
    for number in range(ROLES):
        path = claude / "agents" / f"role-{number:02}.md"
        path.parent.mkdir(exist_ok=True)
        head = f"name: role-{number:02}\ndescription: Knows part {number}.\ntools: Read, Grep, Bash"
        path.write_text(f"---\n{head}\nmodel: inherit\n---\n{BODY}", "utf-8")
    for number in range(COMMANDS):
        path = claude / "commands" / f"command-{number:02}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"---\ndescription: Command {number}\nargument-hint: '[file]'\n---\nLook at $1.\n", "utf-8"
        )
    servers = {
        f"server-{number}": {"command": sys.executable, "args": ["-m", "http.server", str(9000 + number)]}
        for number in range(SERVERS)
    }
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
