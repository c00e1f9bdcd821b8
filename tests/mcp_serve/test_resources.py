"""Resources and prompts: what a client may read without calling a tool."""

from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import GetPromptResult, ResourceTemplateReference, TextContent, TextResourceContents
from tests.support.decks import distribution
from tests.support.serving import ERAS, Era, serving

SKILLS = """
from cockpit.plugin import hookimpl
from cockpit.plugin.values import Skill

@hookimpl
def register_skills(register, scope):
    body = "Tidy $what in $where. !`touch ran`"
    register(Skill("tidy", "Tidies up", lambda: body, arguments=("what", "where")))
    register(Skill("secret", "Of the agent alone", lambda: "no", for_user=False))
"""


def said(result: GetPromptResult) -> str:
    content = result.messages[0].content
    assert isinstance(content, TextContent)
    return content.text


@pytest.fixture
def project(root: Path) -> Path:
    (root / "a b.py").write_text("def f():\n    return 1\n", encoding="utf-8")
    (root / "pic.bin").write_bytes(b"\0\1\2")
    return root


@pytest.mark.parametrize("era", ERAS)
async def test_a_file_and_its_outline_are_read_as_resources(project: Path, era: Era) -> None:
    async with serving(project, era) as (client, _):
        templates = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
        assert templates == {"cockpit://outline/{+path}", "cockpit://file/{+path}"}
        (whole,) = (await client.read_resource("cockpit://file/a%20b.py")).contents
        assert isinstance(whole, TextResourceContents) and whole.text == "def f():\n    return 1\n"
        (outline,) = (await client.read_resource("cockpit://outline/a%20b.py")).contents
        assert isinstance(outline, TextResourceContents) and outline.text == "1-2\tfunction\tf"
        assert [one.uri for one in (await client.list_resources()).resources] == ["cockpit://problems"]
        assert (await client.read_resource("cockpit://problems")).contents


@pytest.mark.parametrize(("era", "code"), [("legacy", -32002), ("auto", -32602)])
@pytest.mark.parametrize(
    "uri", ["cockpit://file/nope.py", "cockpit://file/", "test://other", "cockpit://nope"]
)
async def test_missing_resource_has_the_error_code_of_the_protocol_version(
    project: Path, era: Era, code: int, uri: str
) -> None:
    async with serving(project, era) as (client, _):
        with pytest.raises(MCPError) as failed:
            await client.read_resource(uri)
    assert failed.value.code == code and failed.value.data == {"uri": uri}


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside.txt", "%2e%2e/outside.txt", "pic.bin"])
async def test_file_that_read_refuses_is_not_a_resource(project: Path, path: str) -> None:
    (project.parent / "outside.txt").write_text("outside", encoding="utf-8")
    async with serving(project) as (client, _):
        with pytest.raises(MCPError) as failed:
            await client.read_resource(f"cockpit://file/{path}")
    assert "outside" not in str(failed.value.data) or "outside.txt" in str(failed.value.data)


async def test_without_read_there_are_no_resources(project: Path) -> None:
    async with serving(project, expose=("search",)) as (client, _):
        assert not (await client.list_resources()).resources
        assert not (await client.list_resource_templates()).resource_templates
        with pytest.raises(MCPError):
            await client.read_resource("cockpit://file/a%20b.py")


async def test_paths_are_completed(project: Path) -> None:
    async with serving(project) as (client, _):
        ref = ResourceTemplateReference(type="ref/resource", uri="cockpit://file/{+path}")
        found = await client.complete(ref, {"name": "path", "value": "a"})
    assert "a b.py" in found.completion.values


@pytest.mark.parametrize("era", ERAS)
async def test_skills_are_prompts_with_their_arguments_and_run_nothing(
    project: Path, plugins: Path, era: Era
) -> None:
    distribution(plugins, "skilled", SKILLS)
    async with serving(project, era) as (client, _):
        prompts = {one.name: one for one in (await client.list_prompts()).prompts}
        assert "tidy" in prompts and "secret" not in prompts
        assert [one.name for one in prompts["tidy"].arguments or ()] == ["what", "where"]
        told = said(await client.get_prompt("tidy", {"what": "all of it; rm -rf", "where": "src"}))
        assert told.startswith("Tidy all of it; rm -rf in src.") and "!`touch ran`" in told
        for name in ("nope", "secret", "help"):
            with pytest.raises(MCPError, match="Unknown prompt"):
                await client.get_prompt(name)
    assert not (project / "ran").exists()
