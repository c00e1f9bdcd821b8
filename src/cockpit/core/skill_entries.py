"""Skills among what is registered: those that are switched off, and the `/name` that each of them is.

Whoever registers a skill (a folder's file, a bundle, a plugin) need not register a command for it. What a
skill does when it is used is the command `/skill`'s part, whoever registers that.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from cockpit.plugin.context import Context
from cockpit.plugin.values import Command, CommandAnswer, Invoked, Skill

if TYPE_CHECKING:
    from cockpit.core.catalog import Entry

COMMAND = "skill"


def with_skills(entries: "Iterable[Entry]", disabled: Collection[str]) -> "list[Entry]":
    """`entries` with a command for each skill that a person may use. A skill goes before a command's file
    of its name and layer; what is registered in code keeps its name."""
    entries = [_switched_off(one) if one.name in disabled else one for one in entries]
    using = next((one.value for one in entries if _is_command(one) and one.name == COMMAND), None)
    if not isinstance(using, Command):
        return entries
    taken = {(one.name, one.layer) for one in entries if _is_command(one) and one.origin is None}
    made = {
        (one.name, one.layer): replace(one, hook="register_commands", value=_command(one.value, using))
        for one in entries
        if isinstance(one.value, Skill) and one.value.for_person and (one.name, one.layer) not in taken
    }
    kept = [one for one in entries if not (_is_command(one) and (one.name, one.layer) in made)]
    return [*kept, *made.values()]


def _is_command(entry: "Entry") -> bool:
    return isinstance(entry.value, Command)


def _switched_off(entry: "Entry") -> "Entry":
    """The same skill, listed and used by nobody."""
    skill = entry.value
    if not isinstance(skill, Skill):
        return entry
    origin = skill.origin
    if origin is not None:
        origin = replace(origin, fields={**origin.fields, "enabled": False})
    off = replace(skill, for_model=False, for_person=False, origin=origin)
    return replace(entry, value=off, origin=origin)


def _command(skill: Skill, using: Command) -> Command:
    async def run(invoked: Invoked, context: Context) -> CommandAnswer:
        return await using.run(Invoked(f"{skill.name} {invoked.text}", invoked.arguments), context)

    return Command(skill.name, skill.description, run, skill.hint, skill.aliases, origin=skill.origin)
