"""What the hooks of one root remember while this process runs: who ran once, what runs beside the turns,
what came too late for the moment it was about.

What a hook's answer means at its event. An allow means nothing: no hook answers in a person's place.

A hook as a guard: whether it is meant, whether it may run, what its answer rules.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
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


@dataclass(slots=True)
class HookSessionState:
    """One session. `late` is what the model is told at its next step, `said` what a person was told."""

    once: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)
    late: list[str] = field(default_factory=list)
    beside: "set[asyncio.Task[None]]" = field(default_factory=set)

    def start(self, work: Coroutine[None, None, None]) -> None:
        """Run something beside the turn."""
        task = asyncio.create_task(work)
        self.beside.add(task)
        task.add_done_callback(self.beside.discard)


@dataclass(slots=True)
class HookRuntime:
    """The hooks of one root; it outlives the catalogs that are built for it."""

    agreement: HookApprovals
    sessions: dict[str, HookSessionState] = field(default_factory=dict)

    def kept(self, session: str) -> HookSessionState:
        return self.sessions.setdefault(session, HookSessionState())

    async def end(self, session: str) -> None:
        """A session is over: what still runs for it is stopped."""
        kept = self.sessions.pop(session, HookSessionState())
        self.agreement.forget(session)
        for task in kept.beside:
            task.cancel()
        await asyncio.gather(*kept.beside, return_exceptions=True)


ArgumentTranslator = Callable[[Mapping[str, Json]], Mapping[str, Json]]


def build_rulings(
    answer: HookAnswer, guarded: Guarded, name: str, translate: ArgumentTranslator
) -> tuple[Ruling, ...]:
    """The rulings of one answer. `translate` turns arguments in Claude Code's words into ours."""
    out: list[Ruling] = []
    if answer.halt and guarded.point not in ("session_end", "notification"):
        out.append(Halt(answer.halt))
    if answer.decision in ("deny", "ask", "defer"):
        out += _objection_rulings(answer, guarded, name)
    if answer.arguments is not None and guarded.point == "tool_call":
        out.append(Rewrite(arguments=translate(answer.arguments)))
    if answer.output and guarded.point == "tool_result":
        out.append(Rewrite(answer.output))
    if answer.added:
        out.append(Add(answer.added))
    return tuple(out)


def _objection_rulings(answer: HookAnswer, guarded: Guarded, name: str) -> list[Ruling]:
    reason = answer.reason or "a hook said no"
    asks = answer.decision != "deny"
    match guarded.point:
        case "tool_call":
            return [Ask(reason) if asks else Refuse(reason)]
        case "permission" | "prompt" | "compaction":
            return [] if asks else [Refuse(reason)]
        case "tool_result" | "tool_failure":
            # It has run: what is left is to tell the model.
            return [] if asks else [Add(f"[{name}: {reason}]")]
        case "stop" | "subagent_stop" | "answer":
            return [] if asks else [Continue(reason)]
        case "session_start" | "subagent_start" | "compacted" | "notification" | "session_end":
            return []
        case _:
            assert_never(guarded.point)


def is_ineffective_denial(answer: HookAnswer, guarded: Guarded) -> bool:
    """Whether a no changes nothing at this point: it is told to the person instead."""
    points = ("session_start", "subagent_start", "compacted", "notification", "session_end")
    return answer.decision == "deny" and guarded.point in points


GROUP = "hooks"
MAX_TEXT = 10_000
Rulings = tuple[Ruling, ...]
# What a hook itself brings about (a tool it calls, a subagent it asks) is no occasion for hooks.
_inside_hook: ContextVar[bool] = ContextVar("within a hook", default=False)


@dataclass(frozen=True, slots=True)
class HookGuard:
    """One hook on duty."""

    hook: Hook
    name: str
    life: HookRuntime
    scope: Scope

    def guard(self) -> Guard:
        """It bounds its own time, because a person may have to answer for it first."""
        return Guard(self.name, self.hook.event.point, self.check, float("inf"), self.hook.origin(), GROUP)

    async def check(self, guarded: Guarded, context: Context) -> Rulings:
        """Its ruling on what passes: nothing where it is not meant."""
        if _inside_hook.get():
            return ()
        scene = get_session_facts(context)
        call = translate_call(self.hook, guarded, scene)
        if not await is_selected(self.hook, guarded, scene, call):
            return ()
        kept = self.life.kept(context.session.id)
        if self.hook.once and self.name in kept.once:
            return ()
        if said := await self.life.agreement.why_not(self.hook, context):
            return self._left_out(said, guarded, context)
        kept.once.add(self.name)
        given = build_payload(self.hook, guarded, scene, call)
        if self.hook.in_background:
            kept.start(self._beside(given, guarded, context))
            return ()
        answer = await self._answer(given, context)
        self._say(answer, guarded, context)
        return build_rulings(answer, guarded, self.name, lambda new: self._ours(new, guarded, context, call))

    async def _answer(self, given: Mapping[str, Json], context: Context) -> HookAnswer:
        variables = ""
        if self.hook.event.name == "SessionStart":
            folder = Path(self.scope.state) / "environments"
            variables = await asyncio.to_thread(create_env_file, folder)
        token = _inside_hook.set(True)
        try:
            answer = await run_hook(self.hook, given, context, self.scope.environment, variables)
        finally:
            _inside_hook.reset(token)
        if variables:
            answer = await self._export(Path(variables), answer, context)
        if answer.failed and self.hook.fails_closed:
            answer = replace(answer, decision="deny", reason="; ".join(answer.faults))
        return replace(
            answer,
            reason=truncate_text(answer.reason, context),
            added=truncate_text(answer.added, context),
            message=truncate_text(answer.message, context),
            halt=truncate_text(answer.halt, context),
        )

    async def _export(self, file: Path, answer: HookAnswer, context: Context) -> HookAnswer:
        """What the hook wrote into its `CLAUDE_ENV_FILE`, for the programs of this session."""
        found, faults = await asyncio.to_thread(read_exports, file, self.scope.environment)
        await asyncio.to_thread(file.unlink, True)
        if found:
            context.session.export(found)
        return replace(answer, faults=(*answer.faults, *faults))

    async def _beside(self, given: Mapping[str, Json], guarded: Guarded, context: Context) -> None:
        """In the background: nothing waits for it, and what it says comes with the next step."""
        answer = await self._answer(given, context)
        self._say(answer, guarded, context)
        if answer.added:
            self.life.kept(context.session.id).late.append(answer.added)

    def _say(self, answer: HookAnswer, guarded: Guarded, context: Context) -> None:
        """What the person is told: the hook's own message, and what went wrong with it."""
        if answer.message:
            context.session.emit(Warned(answer.message, source=self.name))
        for fault in answer.faults:
            context.session.emit(Warned(f"{self.name}: {fault}", self._where(), "hooks"))
        if is_ineffective_denial(answer, guarded) and not answer.failed:
            context.session.emit(Warned(f"{self.name}: {answer.reason}", source="hooks"))
        if answer.decision == "allow" and guarded.point == "permission":
            self._say_once("a hook's allow answers no question; you are asked as always", context)

    def _left_out(self, said: str, guarded: Guarded, context: Context) -> Rulings:
        """It may not run. One of the person's own that would have looked at this call has not agreed."""
        if self.hook.file.layer == "project":
            return ()
        self._say_once(said, context)
        held = guarded.point == "tool_call" and not self.hook.in_background
        return (Ask(f"it did not run: {said}"),) if held else ()

    def _say_once(self, text: str, context: Context) -> None:
        said = self.life.kept(context.session.id).said
        if (told := f"{self.name}: {text}") not in said:
            said.add(told)
            context.session.emit(Warned(told, self._where(), "hooks"))

    def _ours(
        self, updated: Mapping[str, Json], guarded: Guarded, context: Context, call: ClaudeCall | None
    ) -> Mapping[str, Json]:
        """The arguments a hook wants, in our words. crush's hooks name only what they change."""
        tool = find_tool(guarded, get_session_facts(context))
        if tool is None or guarded.call is None or call is None:
            return updated
        whole = {**call.arguments, **updated} if self.hook.file.family == "crush" else updated
        return to_own_arguments(tool, whole, guarded.call.arguments, context.session.root)

    def _where(self) -> str:
        return f"see {self.hook.file.path}:{self.hook.line}"


def register_hooks(register: Register, scope: Scope, found: HookSet) -> None:
    """Guards for all hooks of a root, and for what they have in common."""
    life = get_runtime(scope.root)
    life.agreement.hooks = found.hooks

    async def ask_early(guarded: Guarded, context: Context) -> Ruling:
        await life.agreement.ask_early(context)
        return Pass()

    async def end(guarded: Guarded, context: Context) -> Ruling:
        await life.end(context.session.id)
        return Pass()

    def guards(scope: Scope) -> list[Guard | Unloaded]:
        watches = (HookGuard(hook, hook.name(scope.root), life, scope) for hook in found.hooks)
        return [*(watch.guard() for watch in watches), *found.unloaded]

    if any(hook.file.layer == "project" for hook in found.hooks):
        register(Guard("hooks of this folder", "session_start", ask_early, float("inf")))
    register(Guard("hooks beside the turns", "session_end", end))
    register(Source("hooks", guards))


def register_late_output(register: Register, scope: Scope) -> None:
    """What hooks in the background have to say, told with the model's next step."""
    life = get_runtime(scope.root)

    async def late(context: Context) -> str:
        kept = life.kept(context.session.id)
        told, kept.late = "\n\n".join(kept.late), []
        return told

    register(ContextSource("hooks", "reminder", "step", late))


@cache
def get_runtime(root: str) -> HookRuntime:
    """The life of a root's hooks in this process."""
    return HookRuntime(HookApprovals(root))


def truncate_text(text: str, context: Context) -> str:
    """At most 10,000 characters; the rest is set aside for whoever wants it."""
    if len(text) <= MAX_TEXT:
        return text
    handle = context.session.results.keep(text)
    return (
        f"{text[:MAX_TEXT]}\n[cut after {MAX_TEXT:,} characters; read_result {handle} has all {len(text):,}]"
    )
