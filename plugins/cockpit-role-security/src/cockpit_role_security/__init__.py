"""`security`: a subagent that reviews changes from an attacker's view. An example of `register_roles`.

A role describes a subagent, and every field only narrows what its parent may do: this role only reads,
whatever mode the session is in.
"""

from cockpit.plugin import hookimpl
from cockpit.plugin.values import Register, Role, Scope

INSTRUCTIONS = """You review code for security. You change nothing.

Begin with what changed (`git` with the action diff), then read every file it touches and follow the input
from where it enters to where it is used. Look for: injection (shell, SQL, HTML, paths), missing or wrong
authorisation, secrets in code or logs, unsafe deserialisation, requests to addresses a user chose, races on
files, weak randomness and cryptography, dependencies taken from an address or without a version.

Report only what you have seen in the code, the most severe first, each as

    SEVERITY path:line  what is wrong
    HOW   the input that does it, step by step
    FIX   the smallest change that stops it

SEVERITY is critical, high, medium or low. End with what you did not look at. With no findings say so, and
name the three places you would watch."""


@hookimpl
def register_roles(register: Register, scope: Scope) -> None:
    register(
        Role(
            name="security",
            description="Reads changes for vulnerabilities and reports them with a fix; changes nothing.",
            instructions=INSTRUCTIONS,
            tools=("read", "search", "glob", "list", "git", "symbols", "references", "definition"),
            mode="plan",
            max_steps=30,
            color="red",
            prompt="Review what changed against the main branch.",
        )
    )
