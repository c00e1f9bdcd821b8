"""docs/extend/hooks.md against the hookspecs: every hook, every argument, every field, every example."""

import dataclasses
import inspect
from typing import Any

import pytest
from tests.docs.pages import blocks, own, read, rows, section

from cockpit.plugin import hookspecs
from cockpit.plugin.context import Context
from cockpit.plugin.hookspecs import HOOKS
from cockpit.plugin.models import ModelFacts, ModelRequest
from cockpit.plugin.safety import Guarded, Judged, Verdict
from cockpit.plugin.tools import Done, Preview
from cockpit.plugin.values import AgentTask, Invoked, Register, ResidentContext, Scope, Source, name_of

PAGE = read("hooks.md")
BESIDE = {
    "## Scope": Scope,
    "## Source": Source,
    "## Context": Context,
    "### Done": Done,
    "### Preview": Preview,
    "### ModelRequest": ModelRequest,
    "### ModelFacts": ModelFacts,
    "### Invoked": Invoked,
    "### Guarded": Guarded,
    "### Judged": Judged,
    "### Verdict": Verdict,
    "### ResidentContext": ResidentContext,
    "### AgentTask": AgentTask,
}


def fields(cls: Any) -> list[str]:
    return [one.name for one in dataclasses.fields(cls)]


def test_every_hookspec_has_its_section_and_its_row_in_the_same_order() -> None:
    specs = [name for name in vars(hookspecs) if name.startswith("register_")]
    headings = [line[3:] for line in PAGE.splitlines() if line.startswith("## register_")]
    assert headings == specs == list(HOOKS)
    assert rows(PAGE.partition("## register")[0]) == specs


@pytest.mark.parametrize("hook", HOOKS)
def test_a_section_names_the_hooks_arguments_and_its_value(hook: str) -> None:
    spec = getattr(hookspecs, hook)
    arguments = ", ".join(inspect.signature(spec).parameters)
    text = section(PAGE, f"## {hook}")
    assert f"`{hook}({arguments})`" in text
    assert f"takes `{HOOKS[hook].__name__}`" in text


@pytest.mark.parametrize("hook", HOOKS)
def test_a_section_names_every_field_of_its_value_and_no_other(hook: str) -> None:
    named = [row for row in rows(own(section(PAGE, f"## {hook}"))) if "(" not in row]
    assert named == fields(HOOKS[hook])


@pytest.mark.parametrize("heading", BESIDE)
def test_every_nested_value_is_named_field_by_field(heading: str) -> None:
    assert rows(own(section(PAGE, heading))) == fields(BESIDE[heading])


def test_register_is_explained_call_by_call() -> None:
    assert {name for name in vars(Register) if inspect.isfunction(vars(Register)[name])} >= {
        "__call__",
        "changed",
    }
    assert rows(section(PAGE, "## register")) == ["register(value)", "register.changed()"]


def test_every_capability_and_kind_is_named() -> None:
    from typing import get_args

    from cockpit.plugin.safety import Point, Ruling
    from cockpit.plugin.tools import Capability
    from cockpit.protocol.messages import Kind

    tools, guards = section(PAGE, "## register_tools"), section(PAGE, "## register_guards")
    assert all(f"`{one}`" in tools for one in (*get_args(Capability), *get_args(Kind)))
    assert all(f"`{one}`" in guards for one in get_args(Point))
    assert all(f"`{one.__name__}(" in guards for one in get_args(Ruling))


@pytest.mark.parametrize("hook", HOOKS)
def test_the_example_registers_a_value_of_its_kind(hook: str) -> None:
    (example,) = blocks(section(PAGE, f"## {hook}"), "python")
    # A module of its own, as a plugin is: dataclasses look their annotations up there.
    module: dict[str, Any] = {"__name__": f"example_of_{hook}"}
    exec(compile(example, f"docs/extend/hooks.md ({hook})", "exec"), module)
    registered: list[object] = []
    module[hook](registered.append, Scope("/project", False, {}, "/cache", "/state"))
    (value,) = registered
    assert isinstance(value, HOOKS[hook]) and name_of(value)
    assert len(example.splitlines()) <= 32
