"""Skill files as the standard and Claude write them: one file to one `Skill`, its body unread.

A name or description that breaks the standard's rules is mended and told, because the skill was written
to be used; a file that holds no guidance at all is refused.
"""

import re
from functools import partial
from pathlib import Path
from typing import Literal

from cockpit.formats.fields import Fields
from cockpit.formats.frontmatter import body_of
from cockpit.formats.globs import patterns_of
from cockpit.formats.heads import Heads
from cockpit.formats.model_names import is_tier, model_of
from cockpit.plugin.origin import Fault, Layer, Origin, Unloaded
from cockpit.plugin.values import Skill
from cockpit.settings import plain

# agentskills.io, specification: `name` and `description`.
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1_024
LONGEST_COMPATIBILITY = 500
LARGEST_BODY = 1_000_000
FILE = "SKILL.MD"
EFFORTS = ("low", "medium", "high", "xhigh", "max")


def read_skill(
    path: Path, layer: Layer, *, family: str = "claude", prefix: str = "", heads: Heads | None = None
) -> Skill | Unloaded:
    """The skill in the file `path`, a `SKILL.md` or a flat `name.md`. Only its head is read.

    `prefix` is the bundle it belongs to: `bundle:name`. `family` is whose file it is: opencode counts its
    arguments from 1. Raises nothing.
    """
    called = path.parent.name if is_folder(path) else path.stem
    try:
        document = (heads or Heads()).read(path)
    except OSError as error:
        fault = Fault(
            str(path), 0, f"it cannot be read: {error.strerror or error}", "mend or remove the file"
        )
        return Unloaded(called, Origin(str(path), layer, refused=(fault,)))
    fields = Fields(document)
    if document.faults and not document.fields:
        return Unloaded(called, fields.origin(layer))
    name = _name(fields, called)
    description = _description(fields, is_folder(path))
    if not name or not description:
        return Unloaded(name or called, fields.origin(layer))
    return _skill(fields, f"{prefix}:{name}" if prefix else name, description, path, layer, family)


def is_folder(path: Path) -> bool:
    """Whether the skill is all of the file's folder."""
    return path.name.upper() == FILE


def folder_of(skill: Skill) -> Path | None:
    """The folder that belongs to the skill, None for a flat file."""
    path = Path(skill.path)
    return path.parent if skill.path and is_folder(path) else None


def _skill(fields: Fields, name: str, description: str, path: Path, layer: Layer, family: str) -> Skill:
    _only_told(fields)
    return Skill(
        name=name,
        description=description,
        body=partial(_body, path),
        path=str(path),
        allowed_tools=fields.words("allowed-tools"),
        for_model=not fields.flag("disable-model-invocation"),
        for_person=fields.flag("user-invocable", True),
        denied_tools=fields.words("disallowed-tools") or (),
        when=fields.text("when_to_use") or fields.text("when-to-use"),
        hint=_hint(fields),
        arguments=_arguments(fields),
        paths=_paths(fields),
        fork=fields.choice("context", ("fork", "inline"), "inline") == "fork",
        role=fields.text("agent"),
        background=fields.flag("background"),
        model=_model(fields, layer, family),
        effort=fields.choice("effort", EFFORTS),
        shell=fields.choice("shell", ("bash", "powershell")),
        dialect="opencode" if family == "opencode" else "claude",
        aliases=fields.words("aliases") or (),
        trigger=_trigger(fields),
        keywords=tuple(one.lower() for one in fields.words("keywords") or ()),
        origin=fields.origin(layer),
    )


def _body(path: Path) -> str:
    """The text behind the head. Raises OSError where the file is gone."""
    return body_of(plain.read_text(path, LARGEST_BODY)).strip("\n")


def _name(fields: Fields, called: str) -> str:
    """The name it is loaded under, empty where nothing can be made of what it is called."""
    written = fields.text("name")
    name = mended(written) or mended(called)
    key = "name" if written else ""
    if not name:
        fields.refuse(key, f"{called!r} is no name of a skill", "write `name: my-skill`")
    elif written and written != name:
        fields.faults.append(_fault(fields, key, f"`name` is {written!r}", f"write `name: {name}`", name))
    elif not written and called != name:
        fields.faults.append(_fault(fields, key, f"it is called {called!r}", f"call it {name}", name))
    return name


def mended(text: str) -> str:
    """`text` as the standard wants a name: `PDF_Tools` as `pdf-tools`."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:LONGEST_NAME].rstrip("-")


def _fault(fields: Fields, key: str, reason: str, remedy: str, name: str) -> Fault:
    rule = f"{reason}, and a name is {LONGEST_NAME} letters a-z, digits and single - at most"
    return fields.document.fault(key, f"{rule}; it is loaded as {name}", remedy)


def _description(fields: Fields, is_whole_folder: bool) -> str:
    """When it is useful. A `SKILL.md` without one says it in its first paragraph, as Claude has it."""
    text = " ".join(fields.text("description").split())
    document = fields.document
    if text:
        if len(text) > LONGEST_DESCRIPTION:
            reason = (
                f"`description` has {len(text):,} characters, the standard allows {LONGEST_DESCRIPTION:,}"
            )
            fields.faults.append(
                document.fault("description", f"{reason}; its end is left out", "shorten it")
            )
        return text[:LONGEST_DESCRIPTION]
    remedy = "say in `description: ...` when it is useful"
    if not is_whole_folder and not document.fields:
        reason = "it begins with no `---`, so that it is a text and no skill"
        fields.faults.append(Fault(document.file, 1, reason, f"{remedy}, or move it out of this folder"))
    elif not is_whole_folder or not document.body:
        fields.faults.append(Fault(document.file, 1, "it has no description", remedy))
    else:
        reason = "it has no description; its first paragraph is used"
        fields.faults.append(Fault(document.file, 1, reason, remedy))
        return document.body[:LONGEST_DESCRIPTION]
    return ""


def _hint(fields: Fields) -> str:
    """`argument-hint`: text, or the list that YAML makes of `[issue] [priority]`."""
    value = fields.document.fields.get("argument-hint")
    if isinstance(value, list):
        fields.understood["argument-hint"] = hint = " ".join(f"[{one}]" for one in value)
        return hint
    return fields.text("argument-hint")


def _arguments(fields: Fields) -> tuple[str, ...]:
    """The names of the words behind `/name`. Some write `- name: x` and say more of it."""
    value = fields.document.fields.get("arguments")
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        names = [str(one.get("name", "")) if isinstance(one, dict) else str(one) for one in value]
        fields.understood["arguments"] = list(names)
        return tuple(names)
    return fields.words("arguments") or ()


def _paths(fields: Fields) -> tuple[str, ...]:
    value = fields.document.fields.get("paths")
    if value is None:
        return ()
    found = patterns_of(value)
    if not found:
        fields.refuse("paths", f"`paths` is {value!r}", "write globs: `paths: src/**/*.ts, *.md`")
        return ()
    fields.understood["paths"] = list(found)
    return found


def _model(fields: Fields, layer: Layer, family: str) -> str:
    """A tier, or `provider:model`; "" for the one in force. A folder does not say who reads a person's
    words, and what it costs (docs/adr/0008): a project's skill names a tier."""
    model = model_of(fields.text("model"), family)
    if layer == "project" and not is_tier(model):
        remedy = "name fast, medium or strong: what they mean stands in your settings"
        fields.refuse("model", "a project's skill names no model but a tier", remedy)
        return ""
    return model


def _trigger(fields: Fields) -> Literal["", "auto", "match"]:
    """smallcode's: `auto` is always in force, `match` where a prompt holds a keyword."""
    match fields.choice("trigger", ("auto", "match", "manual")):
        case "auto":
            return "auto"
        case "match":
            return "match"
        case _:
            return ""


def _only_told(fields: Fields) -> None:
    """What is of no effect here and shown all the same."""
    fields.text("license")
    fields.table("metadata")
    compatibility = fields.text("compatibility")
    if len(compatibility) > LONGEST_COMPATIBILITY:
        reason = f"`compatibility` has {len(compatibility):,} characters"
        remedy = f"shorten it to {LONGEST_COMPATIBILITY}"
        fields.faults.append(fields.document.fault("compatibility", reason, remedy))
    if fields.document.fields.get("hooks"):
        remedy = "put them into .cockpit/hooks.json, where `cockpit hooks list` shows them"
        fields.refuse("hooks", "the hooks of a skill are shown and never run", remedy)
