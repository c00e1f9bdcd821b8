"""The `Context` that plugin functions get: workspace, navigator, session, subagents and models of one agent.
Background processes that a subagent starts are tracked, so that they end with it.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from cockpit import paths
from cockpit.core.agent.agent import Agent
from cockpit.core.agent.hidden_files import hide_files, hiding_rule
from cockpit.core.agent.models import ModelChoice, RequestContext, model_candidates, request_answer
from cockpit.core.agent.plan_mode import AgentPlans
from cockpit.core.agent.worktrees import AgentWorktrees, relocate_event
from cockpit.plugin.context import (
    Context,
    FormAnswer,
    Models,
    Plans,
    Processes,
    Results,
    RunningCall,
    SessionView,
    Store,
    ToolboxView,
    Workspace,
)
from cockpit.plugin.models import Completed, ModelRequest
from cockpit.plugin.values import Skill
from cockpit.plugin.workspace import Launch, Worktrees
from cockpit.protocol.events import Event, FormField, QuestionAsked
from cockpit.protocol.messages import Json, Mode, ToolResult, Usage
from cockpit.protocol.ops import Answer
from cockpit.protocol.queries import Query, Reply
from cockpit.settings.file_io import write_atomically


class TrackedProcesses:
    """The processes of a workspace; background jobs are recorded in `jobs`."""

    def __init__(self, inner: Processes, jobs: list[str]) -> None:
        self._inner = inner
        self._jobs = jobs

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    async def start(self, argv: tuple[str, ...], *, cwd: str = "", label: str = "") -> str:
        job = await self._inner.start(argv, cwd=cwd, label=label)
        self._jobs.append(job)
        return job

    async def start_sealed(self, launch: Launch, seal: str, *, label: str = "") -> str:
        job = await self._inner.start_sealed(launch, seal, label=label)
        self._jobs.append(job)
        return job


class TrackedWorkspace:
    """A workspace with `TrackedProcesses`; everything else is delegated."""

    def __init__(self, inner: Workspace, jobs: list[str]) -> None:
        self._inner = inner
        self.processes = cast("Processes", TrackedProcesses(inner.processes, jobs))

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


async def end_jobs(agent: Agent) -> None:
    """End the background jobs of `agent`."""
    processes = agent.workspace.processes
    running = {job.id for job in processes.jobs() if job.running}
    while agent.jobs:
        job = agent.jobs.pop()
        if job in running:
            await processes.cancel(job)


def build_context(agent: Agent, plugin: str = "", running: RunningCall | None = None) -> Context:
    """The context of a function of `plugin` that works for `agent`. Files that rules deny to read are hidden
    in it. Background jobs of a subagent are tracked."""
    services, workspace = agent.services, agent.workspace
    session: SessionView = AgentSessionView(agent, running.call.id if running else "", plugin)
    models: Models = BudgetedModels(agent)
    table = cast("dict[str, Json]", services.settings.table(f"plugins.{plugin}"))
    if agent.depth:
        workspace = cast("Workspace", TrackedWorkspace(workspace, agent.jobs))
    context = Context(workspace, agent.navigator, session, agent.agents, models, table, running)
    context = replace(context, connections=services.connections)
    return hide_files(context, hiding_rule(agent.all_rules(), agent.root))


class AgentSessionView:
    """The session as plugins see it."""

    def __init__(self, agent: Agent, call: str, plugin: str) -> None:
        self._agent = agent
        self._call = call
        self._plugin = plugin or "core"

    @property
    def id(self) -> str:
        return self._agent.services.session

    @property
    def root(self) -> str:
        return self._agent.root

    @property
    def agent(self) -> str:
        return self._agent.path

    @property
    def mode(self) -> Mode:
        return self._agent.mode

    @property
    def trusted(self) -> bool:
        return self._agent.state.trusted

    @property
    def results(self) -> Results:
        return self._agent.services.results

    @property
    def toolbox(self) -> ToolboxView:
        return self._agent.toolbox

    @property
    def plans(self) -> Plans:
        return AgentPlans(self._agent)

    @property
    def worktrees(self) -> Worktrees:
        return AgentWorktrees(self._agent)

    def store(self, scope: Literal["user", "project", "session"]) -> Store:
        services = self._agent.services
        match scope:
            case "user":
                folder = paths.state() / "plugins" / self._plugin / "user"
            case "project":
                digest = hashlib.sha256(services.root.encode("utf-8", "replace")).hexdigest()[:16]
                folder = paths.state() / "plugins" / self._plugin / digest
            case "session":
                folder = Path(services.storage) / "plugins" / self._plugin
        return JsonStore(folder)

    def emit(self, event: Event) -> None:
        self._agent.emit(relocate_event(self._agent, event), self._call)

    def export(self, variables: Mapping[str, str]) -> None:
        self._agent.state.export(variables)

    async def ask_user(self, question: str, options: tuple[str, ...] = ()) -> str:
        # Outside a call it is the plugin that asks, not the model.
        request = QuestionAsked("", question, options, source="" if self._call else self._plugin)
        return (await self._ask(request)).text

    async def ask_form(
        self, question: str, fields: tuple[FormField, ...] = (), *, source: str = "", url: str = ""
    ) -> FormAnswer:
        answer = await self._ask(QuestionAsked("", question, fields=fields, url=url, source=source))
        return FormAnswer(answer.action, answer.values if answer.action == "accept" else {})

    async def _ask(self, request: QuestionAsked) -> Answer:
        approvals = self._agent.services.approvals
        return await approvals.ask_question(request, self._agent.path, self._call)

    async def call_tool(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        return await self._agent.services.call_tool(self._agent, name, arguments, self._call)

    def skills(self) -> tuple[Skill, ...]:
        return tuple(sorted(self._agent.services.catalog.all(Skill), key=lambda skill: skill.name))

    async def ask(self, query: Query) -> Reply:
        return await self._agent.services.answer_query(query)


class JsonStore:
    """Documents of one plugin, one file each, written atomically."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, name: str) -> Json:
        try:
            return cast("Json", json.loads(self._path(name).read_bytes()))
        except FileNotFoundError:
            return None

    def save(self, name: str, value: Json) -> None:
        write_atomically(self._path(name), json.dumps(value, ensure_ascii=False).encode(), private=True)

    def _path(self, name: str) -> Path:
        if not name.replace("-", "").replace("_", "").isalnum():
            raise ValueError(f"invalid document name {name!r}; use letters, digits, - and _ only")
        return self._folder / f"{name}.json"


class BudgetedModels:
    """Model requests of plugins, on the budget of the agent they work for."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def complete(
        self, tier: Literal["fast", "default", "medium", "strong"], request: ModelRequest
    ) -> Completed:
        agent, services, state = self._agent, self._agent.services, self._agent.state
        agent.budget.check()
        name = "" if tier == "default" else tier
        choices = model_candidates(services.catalog, services.settings, name or agent.model or state.model)
        spent: list[Usage] = []

        def spend(usage: Usage) -> None:
            spent.append(usage)
            agent.spend(usage)

        def build(choice: ModelChoice) -> ModelRequest:
            return replace(request, model=choice.id, root=services.root)

        streaming = RequestContext(None, agent.path, services.breaker, spend)
        message = await request_answer(choices, build, streaming)
        return Completed(message.text, sum(spent, Usage()), message.model)
