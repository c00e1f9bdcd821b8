"""A worktree of the session: entered, used, left, merged back with the user's approval, and resumed."""

import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.decks import Driver, driving, script
from tests.support.repositories import Repo

from cockpit.core.session.options import RunOptions
from cockpit.core.session.session import AgentSession
from cockpit.plugin.agents import Role
from cockpit.protocol.content import Diff, plain_text
from cockpit.protocol.events import (
    ApprovalRequested,
    FileChanged,
    Noticed,
    Rewound,
    SessionChanged,
    SessionStarted,
    ToolCallFinished,
    Warned,
)
from cockpit.protocol.messages import Json, Mode, ToolResult
from cockpit.protocol.ops import CallTool, Rewind

Step = Mapping[str, Json]


@pytest.fixture
def repo(root: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setenv("COCKPIT_SCRIPT", str(script(root.parent, {"text": "ok"})))
    return Repo(root)


def options(mode: Mode = "auto-edit", someone: bool = True) -> RunOptions:
    return RunOptions(model="scripted:script", mode=mode, someone=someone, trust=True)


def does(name: str, **arguments: Json) -> Step:
    return {"calls": [{"name": name, "arguments": arguments}]}


def main_of(driver: Driver) -> AgentSession:
    assert isinstance(driver.channel, AgentSession)
    return driver.channel


async def begun(driver: Driver, tool: str, /, **arguments: Json) -> str:
    id = uuid.uuid4().hex
    await driver.channel.submit(CallTool(id, "tui", tool, arguments))
    return id


async def result_of(driver: Driver, tool: str, /, **arguments: Json) -> ToolResult:
    """The result of a call, which nobody has to be asked about."""
    return await ended(driver, await begun(driver, tool, **arguments))


async def ended(driver: Driver, call: str) -> ToolResult:
    found = await driver.until(
        lambda one: isinstance(one.event, ToolCallFinished) and one.event.result.call == call
    )
    assert isinstance(found.event, ToolCallFinished)
    return found.event.result


async def answered(
    driver: Driver, decision: str, tool: str, /, **arguments: Json
) -> tuple[ApprovalRequested, ToolResult]:
    """What a person was asked about a call, and its result after their answer."""
    start = len(driver.seen)
    call = await begun(driver, tool, **arguments)
    asked = await driver.next(ApprovalRequested, start)
    await driver.decide(asked.id, "allow_once" if decision == "yes" else "reject_once")
    return asked, await ended(driver, call)


async def after_resuming(driver: Driver, times: int) -> SessionChanged:
    """What the session says of itself after it was opened again for the `times`th time."""
    start = 0
    for _ in range(times):
        found = await driver.until(
            lambda one: isinstance(one.event, SessionStarted) and one.event.resumed, start
        )
        start = driver.seen.index(found) + 1
    return await driver.next(SessionChanged, start)


async def shown(driver: Driver, command: str, text: str) -> str:
    """What a command shows."""
    start = len(driver.seen)
    await driver.invoke(command, text=text)
    return plain_text((await driver.next(Noticed, start)).content)


async def test_a_session_works_in_the_worktree_it_enters(repo: Repo) -> None:
    repo.write("draft.txt", "a draft\n")
    before = repo.state()
    async with driving(repo.folder, options=options()) as driver:
        said = await result_of(driver, "enter_worktree", name="Fix it")
        assert said.outcome == "ok"
        changed = driver.all(SessionChanged)[-1]
        folder = Path(changed.folder)
        assert (folder, changed.branch) == (repo.folder / ".cockpit/worktrees/fix-it", "cockpit/fix-it-1")
        assert str(folder) in said.text
        written = await result_of(driver, "write", path="draft.txt", content="another\n")
        assert written.outcome == "ok"
        where = await result_of(driver, "shell", command="pwd")
        assert str(folder) in where.text
        assert driver.all(FileChanged)[-1].path == "draft.txt"
        assert main_of(driver).main.root == str(folder)
        assert main_of(driver).services.root == str(repo.folder)
    assert (folder / "draft.txt").read_text() == "another\n"
    assert repo.state() == before


async def test_leaving_with_unmerged_work_needs_a_decision(repo: Repo) -> None:
    async with driving(repo.folder, options=options()) as driver:
        await result_of(driver, "enter_worktree", name="fix")
        await result_of(driver, "write", path="new.txt", content="x\n")
        refused = await result_of(driver, "leave_worktree")
        assert refused.outcome == "error"
        assert "set `keep`, `merge`" in refused.text
        refused = await result_of(driver, "leave_worktree", remove=True)
        assert refused.outcome == "error"
        assert main_of(driver).main.folder.tree is not None
        left = await result_of(driver, "leave_worktree", keep=True)
        assert left.outcome == "ok"
        assert driver.all(SessionChanged)[-1].folder == ""
        assert main_of(driver).main.root == str(repo.folder)
    assert repo.git("show", "cockpit/fix-1:new.txt") == "x\n"
    assert not (repo.folder / "new.txt").exists()


async def test_leaving_an_unchanged_worktree_removes_it(repo: Repo) -> None:
    async with driving(repo.folder, options=options()) as driver:
        await result_of(driver, "enter_worktree", name="fix")
        left = await result_of(driver, "leave_worktree")
        assert "Nothing was done" in left.text
    assert repo.branches() == {"main"}
    assert list((repo.folder / ".cockpit/worktrees").iterdir()) == []


async def test_discarding_work_asks_the_user_in_every_mode(repo: Repo) -> None:
    async with driving(repo.folder, options=options("full")) as driver:
        await result_of(driver, "enter_worktree", name="fix")
        await result_of(driver, "write", path="new.txt", content="x\n")
        _, no = await answered(driver, "no", "leave_worktree", remove=True, discard=True)
        assert no.outcome == "denied"
        assert Path(main_of(driver).main.root, "new.txt").exists()
        _, yes = await answered(driver, "yes", "leave_worktree", remove=True, discard=True)
        assert yes.outcome == "ok"
    assert repo.branches() == {"main"}


async def test_a_merge_is_shown_hunk_by_hunk_and_applied_after_a_yes(repo: Repo) -> None:
    async with driving(repo.folder, options=options("full")) as driver:
        await result_of(driver, "enter_worktree", name="fix")
        await result_of(driver, "edit", path="app.py", old="two", new="TWO")
        await result_of(driver, "write", path="new.txt", content="x\n")
        await result_of(driver, "leave_worktree", keep=True)
        before = repo.state()
        asked, no = await answered(driver, "no", "merge_worktree", branch="fix")
        assert no.outcome == "denied"
        assert repo.state() == before
        assert [part.id for part in asked.parts] == ["app.py", "new.txt"]
        assert asked.whole
        diff = asked.parts[0].diff
        assert diff is not None
        assert "+TWO" in diff.hunks[0].lines
        _, yes = await answered(driver, "yes", "merge_worktree", branch="fix")
        assert yes.outcome == "ok", yes.text
        assert [block.path for block in yes.blocks if isinstance(block, Diff)] == ["app.py", "new.txt"]
        assert {one.path for one in driver.all(FileChanged)[-2:]} == {"app.py", "new.txt"}
    assert (repo.folder / "app.py").read_text() == "one\nTWO\nthree\n"
    assert repo.git("status", "--porcelain") == ""
    assert repo.branches() == {"main"}
    assert list((repo.folder / ".cockpit/worktrees").iterdir()) == []


@pytest.mark.slow
async def test_without_a_user_nothing_is_merged(repo: Repo) -> None:
    async with driving(repo.folder, options=options("full", someone=False)) as driver:
        await result_of(driver, "enter_worktree", name="fix")
        await result_of(driver, "write", path="new.txt", content="x\n")
        await result_of(driver, "leave_worktree", keep=True)
        before = repo.state()
        looked = await result_of(driver, "merge_worktree", branch="fix", dry_run=True)
        assert (looked.outcome, "created new.txt" in looked.text) == ("ok", True)
        assert (await result_of(driver, "merge_worktree", branch="fix")).outcome == "denied"
    assert repo.state() == before


@pytest.mark.slow
async def test_leaving_with_merge_asks_in_the_session_s_own_folder(repo: Repo) -> None:
    async with driving(repo.folder, options=options("full")) as driver:
        await result_of(driver, "enter_worktree", name="fix")
        await result_of(driver, "edit", path="app.py", old="two", new="TWO")
        asked, left = await answered(driver, "yes", "leave_worktree", merge=True)
        assert asked.tool == "merge_worktree"
        assert left.outcome == "ok", left.text
    assert (repo.folder / "app.py").read_text() == "one\nTWO\nthree\n"
    assert repo.branches() == {"main"}


async def test_a_conflict_leaves_the_session_in_its_folder_and_the_work_on_its_branch(repo: Repo) -> None:
    async with driving(repo.folder, options=options("full")) as driver:
        await result_of(driver, "enter_worktree", name="fix")
        await result_of(driver, "edit", path="app.py", old="two", new="theirs")
        repo.write("app.py", "one\nours\nthree\n")
        repo.commit("ours")
        before = repo.state()
        left = await result_of(driver, "leave_worktree", merge=True)
        assert left.outcome == "error"
        assert "conflicts with main in app.py" in left.text
        assert main_of(driver).main.folder.tree is None
    assert repo.state() == before
    assert repo.branches() == {"main", "cockpit/fix-1"}


async def test_a_merge_into_a_tree_with_changes_is_refused(repo: Repo) -> None:
    async with driving(repo.folder, options=options("full")) as driver:
        await result_of(driver, "enter_worktree", name="fix")
        await result_of(driver, "write", path="new.txt", content="x\n")
        await result_of(driver, "leave_worktree", keep=True)
        repo.write("app.py", "mine\n")
        before = repo.state()
        refused = await result_of(driver, "merge_worktree", branch="fix")
        assert (refused.outcome, "uncommitted changes (app.py)" in refused.text) == ("error", True)
        # Nobody was asked for a yes that would come to nothing.
        assert not [one for one in driver.all(ApprovalRequested) if one.tool == "merge_worktree"]
    assert repo.state() == before


async def test_the_approved_change_is_what_is_merged(repo: Repo) -> None:
    async with driving(repo.folder, options=options("full")) as driver:
        await result_of(driver, "enter_worktree", name="fix")
        await result_of(driver, "write", path="new.txt", content="x\n")
        await result_of(driver, "leave_worktree", keep=True)
        call = await begun(driver, "merge_worktree", branch="fix")
        asked = await driver.next(ApprovalRequested)
        tree = repo.folder / ".cockpit/worktrees/fix"
        repo.write("other.txt", "slipped in\n", tree)
        before = repo.state()
        await driver.decide(asked.id, "allow_once")
        refused = await ended(driver, call)
        assert (refused.outcome, "not what was approved" in refused.text) == ("error", True)
    assert repo.state() == before


@pytest.mark.slow
async def test_rewind_undoes_a_merge_by_the_model(repo: Repo) -> None:
    script(repo.folder.parent, does("merge_worktree", branch="fix"), {"text": "merged"})
    async with driving(repo.folder, options=options("full")) as driver:
        await result_of(driver, "enter_worktree", name="fix")
        await result_of(driver, "edit", path="app.py", old="two", new="TWO")
        await result_of(driver, "leave_worktree", keep=True)
        turn = await driver.begin("merge it")
        asked = await driver.next(ApprovalRequested)
        await driver.decide(asked.id, "allow_once")
        await driver.end(turn)
        assert (repo.folder / "app.py").read_text() == "one\nTWO\nthree\n"
        await driver.channel.submit(Rewind("r", "tui", turn, "files"))
        await driver.next(Rewound)
    assert (repo.folder / "app.py").read_text() == "one\ntwo\nthree\n"


async def test_rewind_works_in_the_worktree_too(repo: Repo) -> None:
    script(repo.folder.parent, does("edit", path="app.py", old="two", new="TWO"), {"text": "done"})
    async with driving(repo.folder, options=options()) as driver:
        await result_of(driver, "enter_worktree", name="fix")
        file = Path(main_of(driver).main.root, "app.py")
        turn = await driver.begin("edit it")
        await driver.end(turn)
        assert file.read_text() == "one\nTWO\nthree\n"
        await driver.channel.submit(Rewind("r", "tui", turn, "files"))
        await driver.next(Rewound)
        assert file.read_text() == "one\ntwo\nthree\n"


async def test_a_session_is_resumed_in_its_worktree(repo: Repo) -> None:
    async with driving(repo.folder, options=options()) as driver:
        session = main_of(driver).services.session
        await result_of(driver, "enter_worktree", name="fix")
        folder = main_of(driver).main.root
    async with driving(repo.folder, session, options=options()) as driver:
        assert main_of(driver).main.root == folder
        assert (await after_resuming(driver, 1)).folder == folder
        written = await result_of(driver, "write", path="new.txt", content="x\n")
        assert written.outcome == "ok"
        assert Path(folder, "new.txt").exists()
    repo.git("worktree", "remove", "--force", folder)
    async with driving(repo.folder, session, options=options()) as driver:
        assert main_of(driver).main.root == str(repo.folder)
        assert (await after_resuming(driver, 2)).folder == ""
        warned = [one.text for one in driver.all(Warned) if "no longer exists" in one.text]
        assert len(warned) == 1
    async with driving(repo.folder, session, options=options()) as driver:
        assert (await after_resuming(driver, 3)).folder == ""
        assert [one.text for one in driver.all(Warned) if "no longer exists" in one.text] == warned


async def test_two_sessions_do_not_share_a_worktree(repo: Repo) -> None:
    async with (
        driving(repo.folder, options=options()) as first,
        driving(repo.folder, options=options()) as second,
    ):
        await result_of(first, "enter_worktree", name="fix")
        refused = await result_of(second, "enter_worktree", name="fix")
        assert (refused.outcome, "is in use" in refused.text) == ("error", True)
        assert main_of(second).main.folder.tree is None


@pytest.mark.slow
async def test_the_user_can_do_all_of_it_by_command(repo: Repo) -> None:
    async with driving(repo.folder, options=options()) as driver:
        assert await shown(driver, "worktree", "") == "there are no worktrees"
        assert "You work in the worktree fix now" in await shown(driver, "worktree", "enter fix")
        await result_of(driver, "write", path="new.txt", content="x\n")
        listed = await shown(driver, "worktree", "list")
        assert "1 files not committed" in listed
        assert "you are in fix" in listed
        assert "is on the branch" in await shown(driver, "worktree", "leave keep")
        assert "created new.txt" in await shown(driver, "worktree", "merge fix dry-run")
        start = len(driver.seen)
        await driver.invoke("worktree", text="merge fix")
        asked = await driver.next(ApprovalRequested, start)
        await driver.decide(asked.id, "allow_once")
        assert "merged" in plain_text((await driver.next(Noticed, start)).content)
        await driver.invoke("worktree", text="nonsense")
        await driver.until(
            lambda one: isinstance(one.event, Warned) and "does not understand" in one.event.text
        )
    assert (repo.folder / "new.txt").exists()


async def test_arguments_of_other_agents_are_understood(repo: Repo) -> None:
    async with driving(repo.folder, options=options()) as driver:
        await result_of(driver, "EnterWorktree", path="../trees/theirs", base="main")
        assert Path(main_of(driver).main.root).name == "theirs"
        await result_of(driver, "write", path="new.txt", content="x\n")
        left = await result_of(driver, "ExitWorktree", action="keep")
        assert left.outcome == "ok", left.text
        looked = await result_of(driver, "WorktreeMergeBack", source_branch="cockpit/theirs-1", dry_run=True)
        assert "created new.txt" in looked.text
        pruned = await result_of(driver, "worktree_prune", max_age_hours=0, dry_run=True)
        assert "not merged" in pruned.text


@pytest.mark.slow
async def test_two_subagents_edit_one_file_and_the_second_conflicts(repo: Repo) -> None:
    """Both work at once; the first is merged, the second learns of the conflict and is merged after a fix."""
    others: dict[str, list[Step]] = {
        "the first task": [does("edit", path="app.py", old="two", new="first"), {"text": "first"}],
        "the second task": [does("edit", path="app.py", old="two", new="second"), {"text": "second"}],
    }
    script(repo.folder.parent, {"text": "ok"}, **others)
    async with driving(repo.folder, options=options("full")) as driver:
        agents = main_of(driver).main.agents
        role = Role("worker", "works", "You are the worker.")
        both = [
            await agents.open(role, f"the {name} task", background=True, isolation="worktree")
            for name in ("first", "second")
        ]
        for one in both:
            await one.wait()
        first, second = (one.branch for one in agents.all())
        _, merged = await answered(driver, "yes", "merge_worktree", branch=first)
        assert merged.outcome == "ok", merged.text
        before = repo.state()
        refused = await result_of(driver, "merge_worktree", branch=second)
        assert (refused.outcome, "conflicts with main in app.py" in refused.text) == ("error", True)
        assert repo.state() == before
        looked = await result_of(driver, "merge_worktree", branch=second, dry_run=True)
        assert "conflicts in 1 files, nothing was changed:\n  app.py" in looked.text
    assert (repo.folder / "app.py").read_text() == "one\nfirst\nthree\n"
    # A person settles it in the worktree, as the message says.
    tree = repo.folder / ".cockpit/worktrees" / second.removeprefix("cockpit/").rpartition("-")[0]
    repo.git("merge", "--quiet", "--strategy-option=ours", "-m", "settled", "main", at=tree)
    async with driving(repo.folder, options=options("full")) as driver:
        _, merged = await answered(driver, "yes", "merge_worktree", branch=second)
        assert merged.outcome == "ok", merged.text
    assert (repo.folder / "app.py").read_text() == "one\nsecond\nthree\n"
    assert repo.branches() == {"main"}
