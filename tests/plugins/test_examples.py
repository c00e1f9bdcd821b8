"""Each example plugin in a real session: its values are registered and do what its readme says."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.decks import call, driving, script

from cockpit.core.session.options import RunOptions
from cockpit.protocol.content import Table, plain_text
from cockpit.protocol.events import (
    ApprovalRequested,
    MessageFinished,
    Noticed,
    PanelChanged,
    ToolCallFinished,
    TurnFinished,
    TurnStarted,
)
from cockpit.protocol.messages import AssistantMessage
from cockpit.protocol.queries import Complete, Completions, Listing, ListingRows, PluginRows, Plugins
from cockpit.tui.render import themes

FULL = RunOptions(model="scripted:script", mode="full", someone=False)
TRUSTED = RunOptions(model="scripted:script", trust=True)


def use(monkeypatch: pytest.MonkeyPatch, home: Path, name: str, settings: str = "") -> None:
    """Load the plugin `name` only, with its table in the user's settings."""
    monkeypatch.setenv("COCKPIT_PLUGINS", name)
    if settings:
        (home / "config").mkdir(exist_ok=True)
        (home / "config" / "settings.toml").write_text(f"[plugins.{name}]\n{settings}\n", encoding="utf-8")


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    ended = subprocess.run(("git", *who, *arguments), cwd=folder, check=True, capture_output=True, text=True)
    return ended.stdout.strip()


def repository(folder: Path, message: str = "Raise the tax") -> str:
    """Create a repository with one commit on `main` and return the commit's short hash."""
    git(folder, "init", "--quiet", "-b", "main")
    git(folder, "config", "user.email", "ada@example.org")
    (folder / "tax.py").write_text("TAX = 7\n", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", message)
    return git(folder, "rev-parse", "--short", "HEAD")


async def test_decider_blocks_commits_to_main(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "branch")
    repository(project)
    commit = call("shell", command="git commit --allow-empty -m more")
    script(project.parent, {"calls": [commit, call("read", path="tax.py")]}, {"text": "so be it"})
    async with driving(project, options=FULL) as driver:
        await driver.prompt("commit")
        rows = await driver.channel.ask(Plugins())
    refused, read = [row.result for row in driver.all(ToolCallFinished)]
    assert refused.outcome == "denied" and "create a branch first" in refused.text and read.outcome == "ok"
    assert isinstance(rows, PluginRows)
    row = next(row for row in rows.rows if row.name == "branch")
    # It judged both calls, and its time is reported.
    assert row.calls == {"deciders": 2} and row.spent["deciders"] >= 0 and "deciders" in row.hooks


async def test_model_answers_with_the_output_of_a_program(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = [sys.executable, "-c", "import sys; print(len(sys.stdin.read().split('User: ')), 'heard')"]
    use(monkeypatch, home, "pipe", f"command = {json.dumps(echo)}")
    async with driving(project, options=RunOptions(model="pipe:echo")) as driver:
        await driver.prompt("hello")
        await driver.prompt("again")
    messages = [row.message for row in driver.all(MessageFinished)]
    answers = [row.text.strip() for row in messages if isinstance(row, AssistantMessage)]
    assert answers == ["2 heard", "3 heard"]


async def test_role_is_listed_with_its_description(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "role_security")
    script(project.parent, {"text": "hi"})
    async with driving(project) as driver:
        roles = await driver.channel.ask(Listing("roles"))
    assert isinstance(roles, ListingRows)
    row = next(row for row in roles.rows if row.name == "security")
    assert row.layer == "plugin" and "vulnerabilities" in row.description


async def test_skills_are_listed(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, home, "skills_python")
    script(project.parent, {"text": "hi"})
    async with driving(project) as driver:
        skills = await driver.channel.ask(Listing("skills"))
    assert isinstance(skills, ListingRows)
    names = [row.name for row in skills.rows if row.plugin == "skills_python"]
    assert names == ["python-packaging", "python-profiling", "python-typing"]


async def test_mention_completes_and_adds_the_commit_to_the_prompt(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "mention_commit")
    name = repository(project)
    script(project.parent, {"text": "because"})
    async with driving(project) as driver:
        offered = await driver.channel.ask(Complete("#", "#tax", 4))
        await driver.prompt(f"why #{name}, and what is #{'0' * 40}?")
    assert isinstance(offered, Completions)
    assert [row.insert for row in offered.rows] == [f"#{name} "]
    (started,) = driver.all(TurnStarted)
    text = plain_text(started.content)
    assert "Raise the tax" in text and "+TAX = 7" in text


async def test_command_asks_for_a_note_on_recent_work(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "standup", 'since = "2.days"')
    script(project.parent, {"text": "I raised the tax."})
    async with driving(project) as driver:
        await driver.invoke("standup")
        assert "Nothing since 2.days" in plain_text((await driver.next(Noticed)).content)
        repository(project)
        (project / "new.py").write_text("", encoding="utf-8")
        await driver.invoke("standup", text="yesterday")
        started = await driver.next(TurnStarted)
    assert "- Raise the tax" in plain_text(started.content) and "?? new.py" in plain_text(started.content)


async def test_context_lists_the_commands_of_a_trusted_project_only(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "project_commands")
    (project / "Makefile").write_text("check:\n\ttrue\n", encoding="utf-8")
    script(project.parent, {"text": "hi"})
    async with driving(project, options=TRUSTED) as driver:
        trusted = await driver.channel.ask(Listing("context"))
        await driver.prompt("hello")
        rows = await driver.channel.ask(Plugins())
    async with driving(project, options=RunOptions(model="scripted:script", trust=False)) as driver:
        untrusted = await driver.channel.ask(Listing("context"))
    assert isinstance(trusted, ListingRows) and isinstance(untrusted, ListingRows)
    assert "project-commands" in [row.name for row in trusted.rows]
    assert "project-commands" not in [row.name for row in untrusted.rows]
    assert isinstance(rows, PluginRows)
    assert next(row for row in rows.rows if row.name == "project_commands").calls["context"] >= 1


async def test_guard_sends_the_model_back_while_the_check_fails(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "done", 'command = "grep -q right answer.txt"')
    wrong, right = (call("write", path="answer.txt", content=text) for text in ("wrong", "right"))
    script(project.parent, {"calls": [wrong]}, {"text": "Done."}, {"calls": [right]}, {"text": "Now."})
    async with driving(project, options=FULL) as driver:
        ended = await driver.prompt("answer")
    assert ended.stop_reason == "end_turn" and (project / "answer.txt").read_text("utf-8") == "right"
    checks = [row.result for row in driver.all(ToolCallFinished) if row.result.name == "shell"]
    assert [row.outcome for row in checks] == ["error", "ok"]


async def test_guard_lets_the_user_refuse_the_check(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "done", 'command = "touch checked"')
    script(project.parent, {"calls": [call("write", path="a.txt", content="a")]}, {"text": "Done."})
    options = RunOptions(model="scripted:script", mode="auto-edit")
    async with driving(project, options=options) as driver:
        turn = await driver.begin("write")
        approval = await driver.next(ApprovalRequested)
        await driver.decide(approval.id, "reject_once")
        assert (await driver.end(turn)).stop_reason == "end_turn"
    assert not (project / "checked").exists()


async def test_observer_writes_a_row_for_every_turn(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = project.parent / "ledger.csv"
    use(monkeypatch, home, "ledger", f'file = "{ledger.as_posix()}"')
    script(
        project.parent, {"text": "one", "usage": {"input": 10, "output": 5, "cost": 0.25}}, {"text": "two"}
    )
    async with driving(project) as driver:
        await driver.prompt("one")
        await driver.prompt("two")
    head, first, second = ledger.read_text(encoding="utf-8").splitlines()
    assert head.startswith("time,project,session") and ",10,0,5,0.250000,end_turn" in first
    assert second.endswith("end_turn")


async def test_resident_runs_a_program_as_long_as_the_session(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "awake")
    tools = project.parent / "tools"
    tools.mkdir()
    (tools / "caffeinate").write_text('#!/bin/sh\nexec cat "$0.pipe"\n', encoding="utf-8")
    (tools / "caffeinate").chmod(0o755)
    subprocess.run(("mkfifo", str(tools / "caffeinate.pipe")), check=True)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    script(project.parent, {"text": "hi"})
    async with driving(project) as driver:
        await driver.until(
            lambda row: (
                isinstance(row.event, PanelChanged)
                and any(row.state == "kept awake by caffeinate" for row in row.event.rows)
            )
        )


async def test_runner_gives_the_task_of_a_role_to_a_program(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shouts = [sys.executable, "-c", "import sys; print(sys.argv[-1].splitlines()[-1].upper())"]
    use(monkeypatch, home, "program", f"command = {json.dumps(shouts)}")
    script(project.parent, {"calls": [call("delegate", role="outside", task="count cats")]}, {"text": "ok"})
    async with driving(project, options=FULL) as driver:
        await driver.prompt("ask them")
    (result,) = [row.result for row in driver.all(ToolCallFinished)]
    assert "COUNT CATS" in result.text


async def test_panel_lists_the_notes_of_a_trusted_folder(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "todos")
    (project / "a.py").write_text("# TODO: name it\n", encoding="utf-8")
    script(project.parent, {"text": "hi"})
    async with driving(project, options=TRUSTED) as driver:
        changed = await driver.until(
            lambda row: isinstance(row.event, PanelChanged) and row.event.panel == "todos"
        )
        panels = await driver.channel.ask(Listing("panels"))
    assert isinstance(changed.event, PanelChanged) and isinstance(panels, ListingRows)
    assert [(row.text, row.state) for row in changed.event.rows] == [("a.py:1  name it", "todo")]
    assert "todos" in [row.name for row in panels.rows]


async def test_renderer_shows_a_table_and_the_model_reads_the_text(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "renderer_csv")
    (project / "prices.tsv").write_text("name\tprice\ntea\t3.5\nmilk\t1\n", encoding="utf-8")
    script(project.parent, {"calls": [call("read", path="prices.tsv")]}, {"text": "cheap"})
    async with driving(project) as driver:
        await driver.prompt("read")
    (result,) = [row.result for row in driver.all(ToolCallFinished)]
    assert result.blocks == (Table(("name", "price"), (("tea", "3.5"), ("milk", "1")), "prices.tsv: 2 rows"),)
    assert "tea\t3.5" in result.text and driver.all(TurnFinished)


async def test_theme_colours_reach_the_screen(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "theme_solarized")
    script(project.parent, {"text": "hi"})
    async with driving(project) as driver:
        listed = await driver.channel.ask(Listing("themes"))
    assert isinstance(listed, ListingRows)
    found, problems = themes.plugin_themes([row for row in listed.rows if row.plugin == "theme_solarized"])
    assert [(row.name, row.dark) for row in found] == [("solarized-dark", True), ("solarized-light", False)]
    assert not problems


async def test_mcp_server_is_started_and_its_tool_reads_a_database(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, home, "mcp_sqlite")
    with closing(sqlite3.connect(project / "shop.db")) as made, made:
        made.execute("CREATE TABLE goods (name TEXT, price REAL)")
        made.execute("INSERT INTO goods VALUES ('tea', 3.5)")
    query = call("mcp__sqlite__query", database="shop.db", sql="SELECT * FROM goods")
    script(project.parent, {"calls": [query]}, {"text": "tea"})
    async with driving(project, options=FULL) as driver:
        await driver.prompt("what is sold?")
        servers = await driver.channel.ask(Listing("mcp_servers"))
    (result,) = [row.result for row in driver.all(ToolCallFinished)]
    assert "tea\t3.5" in result.text
    assert isinstance(servers, ListingRows) and "sqlite" in [row.name for row in servers.rows]
