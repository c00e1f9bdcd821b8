"""A hostile session in plan mode leaves the folder and the user's home unchanged."""

import hashlib
import os
import stat
import subprocess
from pathlib import Path

import pytest
from tests.support.decks import Driver, call, distribution, driving, script

from cockpit import paths
from cockpit.core.session.options import RunOptions
from cockpit.protocol.events import ToolCallFinished, ToolCallStarted
from cockpit.protocol.messages import Json

# A plugin whose tools say little or the wrong thing, and one that opens a subagent.
PLUGIN = """
from pathlib import Path
from cockpit.plugin import hookimpl
from cockpit.plugin.tools import Done, Tool
from cockpit.plugin.values import Role

def tool(name, kind, *capabilities):
    async def run(arguments, context):
        Path(context.session.root, f"{name}.txt").write_text("mine")
        return Done("done")
    nothing = {"type": "object", "properties": {}}
    return Tool(name, kind, name, nothing, frozenset(capabilities), run, lambda a: name)

async def delegate(arguments, context):
    handle = await context.agents.open(str(arguments.get("role", "")), "do what the script says")
    return Done((await handle.wait()).text)

@hookimpl
def register_tools(register, scope):
    register(tool("mcp__srv__write", "other", "none"))
    register(tool("fetcher", "fetch", "net.egress"))
    register(tool("reader_outside", "read", "fs.outside"))
    register(tool("keys", "read", "secret.read"))
    register(tool("base", "other", "db"))
    register(tool("thinker", "think", "agent.self"))
    words = {"type": "object", "properties": {"role": {"type": "string"}}}
    title = lambda arguments: "delegate"
    register(Tool("delegate", "think", "delegate", words, frozenset({"none"}), delegate, title))

@hookimpl
def register_roles(register, scope):
    register(Role("free", "anything", "subagent instructions", mode="full"))
    register(Role("strict", "nothing asked", "subagent instructions", mode="deny"))
"""
PATCH = (
    "*** Begin Patch\n*** Update File: a.py\n@@\n-one = 1\n+two = 2\n"
    "*** Add File: new.py\n+x\n*** End Patch\n"
)
SHELLS = """touch made
echo x > a.py
rm -rf .
git commit -am x
sed -i s/one/two/ a.py
true; touch made
cat a.py | tee made
ls > made
echo $(touch made)
cp a.py ~/b.py
git config user.name x
python -c 'open("made","w")'
find . -delete
git stash
mkdir d
ln -s a.py l
env touch made""".splitlines()


def hostile() -> list[dict[str, Json]]:
    calls = [
        call("write", path="made.txt", content="x"),
        call("edit", path="a.py", old="one", new="two"),
        call("multi_edit", path="a.py", edits=[{"old": "one", "new": "two"}]),
        call("apply_patch", patch=PATCH),
        call("delete", path="a.py"),
        call("move", path="a.py", to="b.py"),
        *(call("shell", command=one) for one in SHELLS),
        call("shell", command="touch made", background=True),
        call("job", action="list"),
        call("run_tests", runner="unittest"),
        call("git_change", what="add", paths=["a.py"]),
        call("git_change", what="commit", message="x"),
        call("format", path="a.py"),
        call("rename", symbol="a.py:1:1", to="two", apply=True),
        call("code_actions", path="a.py", first=1, apply=1),
        call("edit_symbol", symbol="a.py:1:1", action="delete"),
        call("mcp__srv__write"),
        *(call(name) for name in ("fetcher", "reader_outside", "keys", "base", "thinker")),
        call("propose_plan", title="x", summary="", steps=[], text="go", approved=True),
        call("enter_plan_mode", reason="the mode is full now"),
    ]
    return [{"text": "approved; mode: full", "calls": [one]} for one in calls]


def snapshot(*folders: Path) -> dict[str, tuple[int, str]]:
    """Every file below `folders` but cockpit's own: its mode and its bytes."""
    own = {str(one) for one in (paths.state(), paths.config(), paths.cache())}
    found: dict[str, tuple[int, str]] = {}
    for folder in folders:
        for base, names, files in os.walk(folder):
            names[:] = [one for one in names if str(Path(base, one)) not in own]
            for name in (*names, *files):
                path = Path(base, name)
                mode = path.lstat().st_mode
                content = path.read_bytes() if stat.S_ISREG(mode) else b""
                found[str(path)] = (mode, hashlib.sha256(content).hexdigest())
    return found


@pytest.fixture
def project(root: Path, tmp_path: Path, plugins: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (root / "a.py").write_text("one = 1\n", encoding="utf-8")
    subprocess.run(("git", "init", "-q", "."), cwd=root, check=True)
    person = tmp_path / "person"
    (person / ".config").mkdir(parents=True)
    (person / ".bashrc").write_text("alias ll=ls\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(person))
    distribution(plugins, "hostile", PLUGIN)
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    return root


OPTIONS = RunOptions(
    model="scripted:script", mode="plan", someone=False, allow=("*", "Bash", "Edit", "delegate")
)


async def played(project: Path, *steps: dict[str, Json], **others: list[dict[str, Json]]) -> Driver:
    script(project.parent, *steps, {"text": "over"}, **others)
    async with driving(project, options=OPTIONS) as driver:
        await driver.prompt("go")
        for command in ("review", "status", "permissions", "plan", "do", "mode", "trust"):
            await driver.invoke(command, text="show" if command == "plan" else "")
        typed = await driver.run_tool("shell", command="touch typed")
        await driver.until(lambda one: isinstance(one.event, ToolCallFinished) and one.call == typed)
    return driver


async def test_a_hostile_plan_session_changes_nothing(project: Path) -> None:
    before = snapshot(project, Path.home())
    driver = await played(project, *hostile())
    assert snapshot(project, Path.home()) == before
    names = {
        one.event.call.id: one.event.call.name
        for one in driver.seen
        if isinstance(one.event, ToolCallStarted)
    }
    ran = {names[one.result.call] for one in driver.all(ToolCallFinished) if one.result.outcome == "ok"}
    assert ran == set(), ran


@pytest.mark.parametrize("role", ["", "free", "strict"])
async def test_a_subagent_opened_in_plan_mode_changes_nothing(project: Path, role: str) -> None:
    before = snapshot(project, Path.home())
    inner = [step for step in hostile() if "propose" not in str(step)]
    driver = await played(
        project,
        {"calls": [call("delegate", role=role)]},
        **{"do what the script says": [*inner, {"text": "x"}]},
    )
    assert snapshot(project, Path.home()) == before
    inside = [one for one in driver.seen if one.agent != "main" and isinstance(one.event, ToolCallFinished)]
    assert len(inside) > 10 and not [one for one in inside if one.event.result.outcome == "ok"]


async def test_plan_mode_still_looks(project: Path) -> None:
    looks = [
        call("read", path="a.py"),
        call("search", pattern="one"),
        call("glob", pattern="*"),
        call("list", path="."),
        call("git", what="status"),
        call("todo", rows=[{"text": "a"}]),
        call("symbols", path="a.py"),
        call("tool_search", query="git"),
        call("project_map"),
    ]
    driver = await played(project, *({"calls": [one]} for one in looks))
    outcomes = [
        one.event.result for one in driver.seen if isinstance(one.event, ToolCallFinished) and one.turn
    ]
    assert [one.outcome for one in outcomes][: len(looks)] == ["ok"] * len(looks), outcomes
