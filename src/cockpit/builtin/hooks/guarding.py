"""A hook as a guard: whether it is meant, whether it may run, what its answer rules."""

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from cockpit.builtin.hooks import ruling
from cockpit.builtin.hooks.agreeing import Agreement
from cockpit.builtin.hooks.exporting import exported
from cockpit.builtin.hooks.fitting import is_meant
from cockpit.builtin.hooks.life import Life
from cockpit.builtin.hooks.running import new_variables, run
from cockpit.builtin.hooks.telling import call_of, scene_of, told, tool_of
from cockpit.formats.hook_answers import Answer
from cockpit.formats.hooks import Found, Hook
from cockpit.formats.tool_names import Named, ours
from cockpit.plugin.context import Context
from cockpit.plugin.origin import Unloaded
from cockpit.plugin.safety import Ask, Guard, Guarded, Pass, Ruling
from cockpit.plugin.values import ContextSource, Register, Scope, Source
from cockpit.protocol.events import Warned
from cockpit.protocol.messages import Json

GROUP = "hooks"
MOST = 10_000
Rulings = tuple[Ruling, ...]
# What a hook itself brings about (a tool it calls, a subagent it asks) is no occasion for hooks.
_within: ContextVar[bool] = ContextVar("within a hook", default=False)


@dataclass(frozen=True, slots=True)
class Watch:
    """One hook on duty."""

    hook: Hook
    name: str
    life: Life
    scope: Scope

    def guard(self) -> Guard:
        """It bounds its own time, because a person may have to answer for it first."""
        return Guard(self.name, self.hook.event.point, self.check, float("inf"), self.hook.origin(), GROUP)

    async def check(self, guarded: Guarded, context: Context) -> Rulings:
        """Its ruling on what passes: nothing where it is not meant."""
        if _within.get():
            return ()
        scene = scene_of(context)
        call = call_of(self.hook, guarded, scene)
        if not await is_meant(self.hook, guarded, scene, call):
            return ()
        kept = self.life.kept(context.session.id)
        if self.hook.once and self.name in kept.once:
            return ()
        if said := await self.life.agreement.why_not(self.hook, context):
            return self._left_out(said, guarded, context)
        kept.once.add(self.name)
        given = told(self.hook, guarded, scene, call)
        if self.hook.in_background:
            kept.start(self._beside(given, guarded, context))
            return ()
        answer = await self._answer(given, context)
        self._say(answer, guarded, context)
        return ruling.rulings(answer, guarded, self.name, lambda new: self._ours(new, guarded, context, call))

    async def _answer(self, given: Mapping[str, Json], context: Context) -> Answer:
        variables = ""
        if self.hook.event.name == "SessionStart":
            folder = Path(self.scope.state) / "environments"
            variables = await asyncio.to_thread(new_variables, folder)
        token = _within.set(True)
        try:
            answer = await run(self.hook, given, context, self.scope.environment, variables)
        finally:
            _within.reset(token)
        if variables:
            answer = await self._export(Path(variables), answer, context)
        if answer.failed and self.hook.fails_closed:
            answer = replace(answer, decision="deny", reason="; ".join(answer.faults))
        return replace(
            answer,
            reason=capped(answer.reason, context),
            added=capped(answer.added, context),
            message=capped(answer.message, context),
            halt=capped(answer.halt, context),
        )

    async def _export(self, file: Path, answer: Answer, context: Context) -> Answer:
        """What the hook wrote into its `CLAUDE_ENV_FILE`, for the programs of this session."""
        found, faults = await asyncio.to_thread(exported, file, self.scope.environment)
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

    def _say(self, answer: Answer, guarded: Guarded, context: Context) -> None:
        """What the person is told: the hook's own message, and what went wrong with it."""
        if answer.message:
            context.session.emit(Warned(answer.message, source=self.name))
        for fault in answer.faults:
            context.session.emit(Warned(f"{self.name}: {fault}", self._where(), "hooks"))
        if ruling.is_unheard(answer, guarded) and not answer.failed:
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
        self, updated: Mapping[str, Json], guarded: Guarded, context: Context, call: Named | None
    ) -> Mapping[str, Json]:
        """The arguments a hook wants, in our words. crush's hooks name only what they change."""
        tool = tool_of(guarded, scene_of(context))
        if tool is None or guarded.call is None or call is None:
            return updated
        whole = {**call.arguments, **updated} if self.hook.file.family == "crush" else updated
        return ours(tool, whole, guarded.call.arguments, context.session.root)

    def _where(self) -> str:
        return f"see {self.hook.file.path}:{self.hook.line}"


def register_hooks(register: Register, scope: Scope, found: Found) -> None:
    """Guards for all hooks of a root, and for what they have in common."""
    life = life_of(scope.root)
    life.agreement.hooks = found.hooks

    async def ask_early(guarded: Guarded, context: Context) -> Ruling:
        await life.agreement.ask_early(context)
        return Pass()

    async def end(guarded: Guarded, context: Context) -> Ruling:
        await life.end(context.session.id)
        return Pass()

    def guards(scope: Scope) -> list[Guard | Unloaded]:
        watches = (Watch(hook, hook.name(scope.root), life, scope) for hook in found.hooks)
        return [*(watch.guard() for watch in watches), *found.unloaded]

    if any(hook.file.layer == "project" for hook in found.hooks):
        register(Guard("hooks of this folder", "session_start", ask_early, float("inf")))
    register(Guard("hooks beside the turns", "session_end", end))
    register(Source("hooks", guards))


def register_late(register: Register, scope: Scope) -> None:
    """What hooks in the background have to say, told with the model's next step."""
    life = life_of(scope.root)

    async def late(context: Context) -> str:
        kept = life.kept(context.session.id)
        told, kept.late = "\n\n".join(kept.late), []
        return told

    register(ContextSource("hooks", "reminder", "step", late))


@cache
def life_of(root: str) -> Life:
    """The life of a root's hooks in this process."""
    return Life(Agreement(root))


def capped(text: str, context: Context) -> str:
    """At most 10,000 characters; the rest is set aside for whoever wants it."""
    if len(text) <= MOST:
        return text
    handle = context.session.results.keep(text)
    return f"{text[:MOST]}\n[cut after {MOST:,} characters; read_result {handle} has all {len(text):,}]"
