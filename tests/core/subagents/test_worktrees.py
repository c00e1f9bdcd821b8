"""Subagents in worktrees: they see the user's files and do not change them."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.decks import Driver, driving, script
from tests.support.repositories import Repo

from cockpit.core.agent.plugin_context import build_context
from cockpit.core.agent.worktrees import isolate_subagent
from cockpit.core.session.options import RunOptions
from cockpit.core.session.session import AgentSession
from cockpit.core.turn.context import collect_context
from cockpit.errors import CockpitError
from cockpit.plugin.agents import AgentHandle, Role
from cockpit.protocol.events import FileChanged, ToolCallFinished
from cockpit.protocol.messages import Json, Mode, ToolResult
from cockpit.protocol.queries import ChangeRows, Changes
from cockpit.settings.files import user_file

Step = Mapping[str, Json]
DONE: dict[str, list[Step]] = {"do it": [{"text": "done"}]}
WORKER = Role("worker", "works", "You are the worker.")


@pytest.fixture
def repo(root: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setenv("COCKPIT_SCRIPT", str(root.parent / "script.json"))
    made = Repo(root)
    made.write("src/secret/key.txt", "the hidden line\n")
    made.commit("more")
    return made


def options(mode: Mode = "full", **others: bool) -> RunOptions:
    return RunOptions(model="scripted:script", mode=mode, someone=others.get("someone", False), trust=True)


def plays(repo: Repo, *steps: Step, **others: list[Step]) -> None:
    """What subagents do, by a word of their task; `steps` for any."""
    script(repo.folder.parent, {"text": "main"}, **(others or {"do it": list(steps)}))


def does(name: str, **arguments: Json) -> Step:
    return {"calls": [{"name": name, "arguments": arguments}]}


def main_of(driver: Driver) -> AgentSession:
    assert isinstance(driver.channel, AgentSession)
    return driver.channel


async def opened(driver: Driver, task: str = "do it") -> AgentHandle:
    return await main_of(driver).main.agents.open(WORKER, task, isolation="worktree")


def results(driver: Driver) -> list[ToolResult]:
    return [one.result for one in driver.all(ToolCallFinished)]


async def test_it_works_in_its_worktree_and_the_tree_stays(repo: Repo) -> None:
    repo.write("src/draft.py", "draft = 1\n")
    plays(
        repo,
        does("read", path="src/draft.py"),
        does("edit", path="app.py", old="two", new="TWO"),
        does("shell", command="pwd > where.txt; git branch --show-current >> where.txt"),
        {"text": "It is done."},
    )
    before = repo.state()
    async with driving(repo.folder, options=options()) as driver:
        handle = await opened(driver)
        report = await handle.wait()
        (state,) = main_of(driver).main.agents.all()
        assert [one.outcome for one in results(driver)] == ["ok", "ok", "ok"], results(driver)
        changes = await driver.channel.ask(Changes())
    assert "draft = 1" in results(driver)[0].text
    assert repo.state() == before
    assert state.branch.startswith("cockpit/worker-")
    assert repo.git("show", f"{state.branch}:app.py") == "one\nTWO\nthree\n"
    where = repo.git("show", f"{state.branch}:where.txt").split()
    assert where[0].startswith(str(repo.folder / ".cockpit/worktrees"))
    assert where[1] == state.branch
    assert "It is done." in report.text
    assert f"on the branch {state.branch} (2 files +3 -1)" in report.text
    assert all(one.path.startswith(".cockpit/worktrees/") for one in driver.all(FileChanged))
    assert isinstance(changes, ChangeRows)
    assert changes.rows == ()


@pytest.mark.parametrize("mode", ["ask", "auto-edit", "full"])
async def test_no_edit_leaks_into_the_tree_it_was_made_from(repo: Repo, mode: Mode) -> None:
    named = str(repo.folder / "app.py")
    plays(
        repo,
        does("edit", path=named, old="two", new="LEAKED"),
        does("write", path=str(repo.folder / "new.py"), content="LEAKED\n"),
        does("delete", path="../../../app.py"),
        does("move", path="app.py", to="../../../moved.py"),
        {"text": "tried"},
    )
    before = repo.state()
    async with driving(repo.folder, options=options(mode)) as driver:
        await opened(driver)
        assert {one.outcome for one in results(driver)} <= {"denied", "error"}
        assert len(results(driver)) == 4
        if mode == "full":
            assert "use app.py instead" in results(driver)[0].text
    assert repo.state() == before


async def test_no_command_leaks_into_the_tree_it_was_made_from(repo: Repo) -> None:
    tree = repo.folder
    lines = (
        f"echo LEAKED > '{tree}/app.py'",
        f"cd '{tree}' && rm app.py",
        "sed -i s/two/LEAKED/ ../../../app.py",
        f"python3 -c \"open('{tree}/app.py', 'w').write('LEAKED')\"",
        "echo LEAKED > own.txt",
    )
    plays(repo, *(does("shell", command=line) for line in lines), {"text": "tried"})
    before = repo.state()
    async with driving(repo.folder, options=options()) as driver:
        await opened(driver)
        outcomes = [one.outcome for one in results(driver)]
        branch = main_of(driver).main.agents.all()[0].branch
    assert outcomes == ["denied", "denied", "denied", "denied", "ok"]
    assert repo.state() == before
    assert repo.git("show", f"{branch}:own.txt") == "LEAKED\n"


async def test_a_subagent_that_changed_nothing_leaves_no_worktree(repo: Repo) -> None:
    plays(repo, does("read", path="app.py"), {"text": "looked"})
    async with driving(repo.folder, options=options()) as driver:
        report = await (await opened(driver)).wait()
        assert "nothing was changed" in report.text
        assert main_of(driver).main.agents.all()[0].branch == ""
    assert repo.branches() == {"main"}
    assert list((repo.folder / ".cockpit/worktrees").iterdir()) == []


async def test_two_at_once_each_in_their_own(repo: Repo) -> None:
    plays(
        repo,
        first=[does("edit", path="app.py", old="one", new="ONE"), {"text": "first"}],
        second=[does("edit", path="app.py", old="three", new="THREE"), {"text": "second"}],
    )
    async with driving(repo.folder, options=options()) as driver:
        agents = main_of(driver).main.agents
        both = [
            await agents.open(WORKER, f"the {name} task", background=True, isolation="worktree")
            for name in ("first", "second")
        ]
        for one in both:
            await one.wait()
        branches = [one.branch for one in agents.all()]
    assert repo.git("show", f"{branches[0]}:app.py") == "ONE\ntwo\nthree\n"
    assert repo.git("show", f"{branches[1]}:app.py") == "one\ntwo\nTHREE\n"
    assert (repo.folder / "app.py").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("absolute", [False, True])
async def test_a_rule_that_denies_a_path_denies_it_in_the_worktree(repo: Repo, absolute: bool) -> None:
    pattern = f"/{repo.folder}/src/secret/**" if absolute else "src/secret/**"
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(f'[permissions]\ndeny = ["Read({pattern})", "Edit({pattern})"]\n')
    plays(
        repo,
        does("read", path="src/secret/key.txt"),
        does("read", path=str(repo.folder / "src/secret/key.txt")),
        does("search", pattern="hidden line"),
        does("write", path="src/secret/new.txt", content="x\n"),
        does("edit", path="src/part.py", old="1", new="2"),
        {"text": "tried"},
    )
    async with driving(repo.folder, options=options()) as driver:
        await opened(driver)
        found = results(driver)
        branch = main_of(driver).main.agents.all()[0].branch
        assert [one.outcome for one in found] == ["denied", "denied", "ok", "denied", "ok"]
        assert not any("the hidden line" in one.text for one in found)
        # And from the tree, no way leads through the worktree either.
        name = branch.removeprefix("cockpit/").rpartition("-")[0]
        await driver.run_tool("read", path=f".cockpit/worktrees/{name}/src/secret/key.txt")
        last = await driver.until(lambda one: isinstance(one.event, ToolCallFinished) and one.agent == "main")
        assert isinstance(last.event, ToolCallFinished)
        assert last.event.result.outcome == "denied"


async def test_tools_of_the_main_folder_write_into_no_worktree(repo: Repo) -> None:
    async with driving(repo.folder, options=options()) as driver:
        standing = await isolate_subagent(main_of(driver).main, "main/x-1")
        inside = str(Path(standing.root, "app.py"))
        await driver.run_tool("edit", path=inside, old="two", new="LEAKED")
        result = (await driver.next(ToolCallFinished)).result
        assert result.outcome in ("denied", "error")
        assert "LEAKED" not in Path(inside).read_text()


async def test_it_reads_installed_packages_and_writes_none(repo: Repo) -> None:
    repo.write(".gitignore", "node_modules/\n")
    repo.commit("ignores")
    repo.write("node_modules/p/index.js", "installed\n")
    plays(
        repo,
        does("shell", command="cat node_modules/p/index.js"),
        does("write", path="node_modules/p/index.js", content="LEAKED\n"),
        does("shell", command="echo LEAKED > node_modules/p/index.js"),
        {"text": "tried"},
    )
    async with driving(repo.folder, options=options("auto-edit")) as driver:
        isolation = await main_of(driver).services.home.workspace.processes.isolation()
        await opened(driver)
        found = results(driver)
    if isolation.level == "full":
        assert "installed" in found[0].text
    assert found[1].outcome in ("denied", "error")
    assert (repo.folder / "node_modules/p/index.js").read_text() == "installed\n"


async def test_its_session_root_and_surroundings_are_its_worktree(repo: Repo) -> None:
    async with driving(repo.folder, options=options()) as driver:
        main = main_of(driver).main
        main.folder = await isolate_subagent(main, "main/x-1")
        view = build_context(main).session
        assert view.root == main.folder.root == str(repo.folder / ".cockpit/worktrees/x-1")
        assert view.trusted
        now = view.worktrees.now
        assert now is not None
        assert (now.branch, now.origin, now.is_own) == ("cockpit/x-1-1", str(repo.folder), True)
        said = (await collect_context(main, first_step=True)).suffix
        assert f"Folder: {main.folder.root}" in said
        assert "Git branch: cockpit/x-1-1" in said
        assert f"the worktree x-1 of {repo.folder}. It is yours alone" in said


async def test_a_session_in_a_subfolder_works_in_that_subfolder_of_the_worktree(repo: Repo) -> None:
    async with driving(repo.folder / "src", options=options()) as driver:
        standing = await isolate_subagent(main_of(driver).main, "main/x-1")
        assert standing.root == str(repo.folder / ".cockpit/worktrees/x-1/src")


async def test_its_worktree_is_used_again_after_a_restart(repo: Repo) -> None:
    async with driving(repo.folder, options=options()) as driver:
        session = main_of(driver).services.session
        first = await isolate_subagent(main_of(driver).main, "main/x-1")
        repo.write("half.py", "half done\n", first.root)
    async with driving(repo.folder, session, options=options()) as driver:
        again = await isolate_subagent(main_of(driver).main, "main/x-1")
        assert (again.root, again.branch) == (first.root, first.branch)
        assert Path(again.root, "half.py").exists()
        other = await isolate_subagent(main_of(driver).main, "main/x-2")
        assert other.root != first.root


async def test_plan_mode_makes_no_worktree(repo: Repo) -> None:
    before = repo.state()
    async with driving(repo.folder, options=options("plan")) as driver:
        with pytest.raises(CockpitError, match="plan mode"):
            await isolate_subagent(main_of(driver).main, "main/x-1")
    assert repo.state() == before
    assert repo.branches() == {"main"}


async def test_without_a_repository_it_is_a_report_that_says_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(root.parent, {"text": "main"}, **DONE)))
    async with driving(root, options=options()) as driver:
        handle = await opened(driver)
        report = await handle.wait()
        assert "not in a git repository" in report.text
        assert "git init" in report.text
