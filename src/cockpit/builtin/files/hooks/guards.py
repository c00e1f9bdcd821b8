"""Turns hooks into guards: whether a hook is selected, whether it may run, and what its answer rules."""

import asyncio
from collections.abc import Coroutine, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import assert_never

from cockpit.builtin.files.hooks.approvals import HookApprovals
from cockpit.builtin.files.hooks.events import (
    build_payload,
    find_tool,
    get_session_facts,
    is_selected,
    translate_call,
)
from cockpit.builtin.files.hooks.runner import create_env_file, read_exports, run_hook
from cockpit.formats.hook_protocol import ClaudeCall, HookAnswer, to_own_arguments
from cockpit.formats.hooks import Hook, HookSet
from cockpit.plugin.context import Context
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.safety import Add, Ask, Continue, Guard, Guarded, Halt, Pass, Refuse, Rewrite, Ruling
from cockpit.plugin.values import ContextSource, Register, Scope, Source
from cockpit.protocol.events import Warned
from cockpit.protocol.messages import Json

GROUP = "hooks"
MAX_TEXT = 10_000
# The points at which a denial cannot change anything.
POINTS_WITHOUT_DENIAL = frozenset(
    {"session_start", "subagent_start", "compacted", "notification", "session_end"}
)
# Set while a hook runs: the tools it calls and the subagents it asks trigger no hooks.
_inside_hook: ContextVar[bool] = ContextVar("inside a hook", default=False)


@dataclass(slots=True)
class HookSessionState:
    """The state of the hooks in one session. `once` are the names of the hooks that ran, `warnings` those
    shown to the user. `late_output` goes to the model with its next step."""

    once: set[str] = field(default_factory=set)
    warnings: set[str] = field(default_factory=set)
    late_output: list[str] = field(default_factory=list)
    background: "set[asyncio.Task[None]]" = field(default_factory=set)

    def run_in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self.background.add(task)
        task.add_done_callback(self.background.discard)


@dataclass(slots=True)
class HookRuntime:
    """The hooks of one root in this process. It outlives the plugin catalogs built for the root."""

    approvals: HookApprovals
    sessions: dict[str, HookSessionState] = field(default_factory=dict)

    def session(self, id: str) -> HookSessionState:
        return self.sessions.setdefault(id, HookSessionState())

    async def end_session(self, id: str) -> None:
        """Forget a session and cancel its background hooks."""
        state = self.sessions.pop(id, HookSessionState())
        self.approvals.forget_session(id)
        for task in state.background:
            task.cancel()
        await asyncio.gather(*state.background, return_exceptions=True)


@cache
def get_runtime(root: str) -> HookRuntime:
    return HookRuntime(HookApprovals(root))


@dataclass(frozen=True, slots=True)
class HookGuard:
    """The guard of one hook."""

    hook: Hook
    name: str
    runtime: HookRuntime
    scope: Scope

    def build(self) -> Guard:
        """The hook bounds its own time, because the user may have to approve it first."""
        return Guard(self.name, self.hook.event.point, self.check, float("inf"), self.hook.origin(), GROUP)

    async def check(self, guarded: Guarded, context: Context) -> tuple[Ruling, ...]:
        """Run the hook if the event selects it, and return its rulings."""
        if _inside_hook.get():
            return ()
        session = get_session_facts(context)
        call = translate_call(self.hook, guarded, session)
        if not await is_selected(self.hook, guarded, session, call):
            return ()
        state = self.runtime.session(context.session.id)
        if self.hook.once and self.name in state.once:
            return ()
        if reason := await self.runtime.approvals.refusal_reason(self.hook, context):
            return self._rule_without_running(reason, guarded, context)
        state.once.add(self.name)
        payload = build_payload(self.hook, guarded, session, call)
        if self.hook.in_background:
            state.run_in_background(self._run_in_background(payload, guarded, context))
            return ()
        answer = await self._run(payload, context)
        self._report(answer, guarded, context)
        if answer.arguments is not None and guarded.point == "tool_call":
            answer = replace(answer, arguments=self._translate_back(answer.arguments, guarded, context, call))
        return build_rulings(answer, guarded, self.name)

    async def _run(self, payload: Mapping[str, Json], context: Context) -> HookAnswer:
        env_file = ""
        if self.hook.event.name == "SessionStart":
            env_file = await asyncio.to_thread(create_env_file, Path(self.scope.state) / "environments")
        token = _inside_hook.set(True)
        try:
            answer = await run_hook(self.hook, payload, context, self.scope.environment, env_file)
        finally:
            _inside_hook.reset(token)
        if env_file:
            # Its variables are exported to the programs of this session.
            file, environment = Path(env_file), self.scope.environment
            variables, faults = await asyncio.to_thread(read_exports, file, environment)
            await asyncio.to_thread(file.unlink, True)
            if variables:
                context.session.export(variables)
            answer = replace(answer, faults=(*answer.faults, *faults))
        if answer.failed and self.hook.fails_closed:
            answer = replace(answer, decision="deny", reason="; ".join(answer.faults))
        return replace(
            answer,
            reason=_truncate(answer.reason, context),
            added=_truncate(answer.added, context),
            message=_truncate(answer.message, context),
            halt=_truncate(answer.halt, context),
        )

    async def _run_in_background(
        self, payload: Mapping[str, Json], guarded: Guarded, context: Context
    ) -> None:
        """Run without anything waiting; the output reaches the model with its next step."""
        answer = await self._run(payload, context)
        self._report(answer, guarded, context)
        if answer.added:
            self.runtime.session(context.session.id).late_output.append(answer.added)

    def _report(self, answer: HookAnswer, guarded: Guarded, context: Context) -> None:
        """Show the user the hook's message, its failures, and decisions that have no effect."""
        if answer.message:
            context.session.emit(Warned(answer.message, source=self.name))
        for fault in answer.faults:
            context.session.emit(Warned(f"{self.name}: {fault}", self._location_hint(), "hooks"))
        if answer.decision == "deny" and guarded.point in POINTS_WITHOUT_DENIAL and not answer.failed:
            context.session.emit(Warned(f"{self.name}: {answer.reason}", source="hooks"))
        if answer.decision == "allow" and guarded.point == "permission":
            self._warn_once("a hook cannot approve a call for you; you are asked as usual", context)

    def _rule_without_running(self, reason: str, guarded: Guarded, context: Context) -> tuple[Ruling, ...]:
        """Rule for a hook that may not run: a call that the user's own hook would have checked is asked."""
        if self.hook.file.layer == "project":
            return ()
        self._warn_once(reason, context)
        asks = guarded.point == "tool_call" and not self.hook.in_background
        return (Ask(f"it did not run: {reason}"),) if asks else ()

    def _warn_once(self, text: str, context: Context) -> None:
        warnings = self.runtime.session(context.session.id).warnings
        if (warning := f"{self.name}: {text}") not in warnings:
            warnings.add(warning)
            context.session.emit(Warned(warning, self._location_hint(), "hooks"))

    def _translate_back(
        self, updated: Mapping[str, Json], guarded: Guarded, context: Context, call: ClaudeCall | None
    ) -> Mapping[str, Json]:
        """Translate the arguments a hook wants to cockpit's names. crush's hooks name only their changes."""
        tool = find_tool(guarded, get_session_facts(context))
        if tool is None or guarded.call is None or call is None:
            return updated
        arguments = {**call.arguments, **updated} if self.hook.file.family == "crush" else updated
        return to_own_arguments(tool, arguments, guarded.call.arguments, context.session.root)

    def _location_hint(self) -> str:
        return f"see {self.hook.file.path}:{self.hook.line}"


def build_rulings(answer: HookAnswer, guarded: Guarded, name: str) -> tuple[Ruling, ...]:
    """Build the rulings of one answer. An allow rules nothing: no hook approves in the user's place."""
    rulings: list[Ruling] = []
    if answer.halt and guarded.point not in ("session_end", "notification"):
        rulings.append(Halt(answer.halt))
    if answer.decision in ("deny", "ask", "defer"):
        rulings += _objection_rulings(answer, guarded, name)
    if answer.arguments is not None and guarded.point == "tool_call":
        rulings.append(Rewrite(arguments=answer.arguments))
    if answer.output and guarded.point == "tool_result":
        rulings.append(Rewrite(answer.output))
    if answer.added:
        rulings.append(Add(answer.added))
    return tuple(rulings)


def _objection_rulings(answer: HookAnswer, guarded: Guarded, name: str) -> list[Ruling]:
    reason = answer.reason or "a hook denied it without a reason"
    if answer.decision != "deny":
        return [Ask(reason)] if guarded.point == "tool_call" else []
    match guarded.point:
        case "tool_call" | "permission" | "prompt" | "compaction":
            return [Refuse(reason)]
        case "tool_result" | "tool_failure":
            # The tool has run already, so the model receives the reason instead.
            return [Add(f"[{name}: {reason}]")]
        case "stop" | "subagent_stop" | "answer":
            return [Continue(reason)]
        case "session_start" | "subagent_start" | "compacted" | "notification" | "session_end":
            return []
        case _:
            assert_never(guarded.point)


def register_hooks(register: Register, scope: Scope, hook_set: HookSet) -> None:
    """Register a guard for each hook of a root, and the guards they share."""
    runtime = get_runtime(scope.root)
    runtime.approvals.hooks = hook_set.hooks

    async def ask_early(guarded: Guarded, context: Context) -> Ruling:
        await runtime.approvals.ask_early(context)
        return Pass()

    async def end_session(guarded: Guarded, context: Context) -> Ruling:
        await runtime.end_session(context.session.id)
        return Pass()

    def build_guards(scope: Scope) -> list[Guard | Unloaded]:
        guards = (HookGuard(hook, hook.name(scope.root), runtime, scope) for hook in hook_set.hooks)
        return [*(guard.build() for guard in guards), *hook_set.unloaded]

    if any(hook.file.layer == "project" for hook in hook_set.hooks):
        register(Guard("hooks of this folder", "session_start", ask_early, float("inf")))
    register(Guard("background hooks", "session_end", end_session))
    register(Source("hooks", build_guards))


def register_late_output(register: Register, scope: Scope) -> None:
    """Register the source that gives the output of background hooks to the model's next step."""
    runtime = get_runtime(scope.root)

    async def collect(context: Context) -> str:
        state = runtime.session(context.session.id)
        output, state.late_output = "\n\n".join(state.late_output), []
        return output

    register(ContextSource("hooks", "reminder", "step", collect))


def _truncate(text: str, context: Context) -> str:
    """Cut `text` after 10,000 characters; the whole is stored for `read_result`."""
    if len(text) <= MAX_TEXT:
        return text
    handle = context.session.results.keep(text)
    return (
        f"{text[:MAX_TEXT]}\n[cut after {MAX_TEXT:,} characters; read_result {handle} has all {len(text):,}]"
    )
