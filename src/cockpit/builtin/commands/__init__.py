"""The slash commands that are not another plugin's: what there is, what it costs, what to do next."""

from cockpit.builtin.commands import listings, lsp, session, words
from cockpit.plugin import hookimpl
from cockpit.plugin.values import Register, Scope


@hookimpl
def register_commands(register: Register, scope: Scope) -> None:
    for command in (*listings.commands(), *session.commands(), *lsp.commands(), *words.commands()):
        register(command)
