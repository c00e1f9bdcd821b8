"""Binds each action of `actions.table` to the function that performs it."""

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from cockpit.tui.actions import (
    approvals,
    code_navigation,
    palette_and_help,
    preferences,
    prompts,
    sessions,
    view,
)
from cockpit.tui.actions.open_location import open_location
from cockpit.tui.painter import Regions
from cockpit.tui.reactions import OfferedScreens
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens import form, plan_review, rewind, settings
from cockpit.tui.session_link import SessionLink
from cockpit.tui.state.entries import WelcomeEntry
from cockpit.tui.work.approval_draft import ApprovalDraft

OFFER_QUIET_SECONDS = 0.6
"""Seconds in which a screen that opened by itself ignores keys, which were meant for a draft."""


class ScreenSession(Protocol):
    """What actions need of the session's controller."""

    def welcome(self) -> WelcomeEntry: ...
    def show_hint(self, text: str) -> None: ...
    async def load_facts(self) -> None: ...
    async def send(self, text: str, *, queue: bool = False) -> None: ...


class ActionBindings:
    """The functions behind the action table. `bound` runs them by name."""

    def __init__(
        self,
        session: ScreenSession,
        app: ThemedApp,
        regions: Regions,
        link: SessionLink,
        draft: ApprovalDraft,
        themes: preferences.ThemeSelection,
        stored: preferences.Preferences,
        keymap: Mapping[str, tuple[str, ...]],
    ) -> None:
        self._session, self._app, self._regions, self._link = session, app, regions, link
        self._draft, self._themes, self._preferences, self._keymap = draft, themes, stored, keymap
        self.bound = self._bind()

    async def _open_session(self, session: str | None) -> None:
        if await sessions.switch_session(self._link, self._regions.trace, self._session.welcome(), session):
            await self._session.load_facts()

    async def _choose_session(self) -> None:
        chosen = await sessions.choose_session(self._app, self._link)
        if chosen is not None:
            await self._open_session(chosen or None)

    async def _view_approval(self) -> None:
        """Show the whole request: a plan in its review, any other approval in a reader."""
        first = self._link.state.first_approval
        if first is not None and first.id == self._link.state.plan.request:
            await plan_review.review_plan(self._app, self._link)
        else:
            editor = self._regions.editor
            await self.bound.run(await approvals.view_approval(self._app, self._link, editor, self._draft))

    async def _review(self) -> None:
        """Review the pending plan, else fill in the pending form."""
        state = self._link.state
        if state.first_form is not None and state.plan.state != "pending":
            await form.fill_form(self._app, self._link)
        else:
            await plan_review.review_plan(self._app, self._link)

    async def _view_selected(self) -> None:
        kind, _, location = self._regions.work.selected.partition(":")
        if kind == "place":
            await open_location(self._app, self._link, location, view=True)

    async def _ask_trust_once(self) -> None:
        if not preferences.is_trust_refused(self._preferences, self._link.root):
            await self._ask_trust(self._app.options.quiet)

    async def _ask_trust(self, quiet: float = 0.0) -> None:
        await preferences.ask_trust(self._app, self._link, self._preferences, self._regions.editor, quiet)

    async def _trust_by_word(self, word: str) -> None:
        if word in ("yes", "y", "no", "n"):
            await self._link.trust(word.startswith("y"))
        else:
            await self._ask_trust()

    def _select_theme(self, name: str) -> None:
        if not self._themes.select(name):
            self._link.say("warning", f"unknown theme {name}", "/theme lists them")

    async def _rewind(self, words: str = "") -> None:
        if words == "undo":
            await rewind.undo_rewind(self._link)
        else:
            await rewind.choose_rewind(self._app, self._link)

    def screens_to_offer(self) -> OfferedScreens:
        quiet = OFFER_QUIET_SECONDS
        return OfferedScreens(
            plan=partial(plan_review.review_plan, self._app, self._link, quiet),
            form=partial(form.fill_form, self._app, self._link, quiet),
            trust=self._ask_trust_once,
        )

    def _bind(self) -> prompts.BoundActions:
        """The function of each action; the Composer handles `send`, `newline` and `queue` itself."""
        app, link, editor = self._app, self._link, self._regions.editor
        answering = (app, link, editor, self._draft)
        plain: dict[str, prompts.Run] = {
            **{name: partial(approvals.decide, *answering, name) for name in approvals.DECISIONS},
            **{f"option_{n}": partial(approvals.choose_option, *answering, n) for n in range(9)},
            "reject": partial(approvals.ask_rejection_note, *answering),
            "edit_hunk": partial(approvals.edit_hunk, app, link, editor, self._regions.work, self._draft),
            "view_approval": self._view_approval,
            **self._bind_view_actions(),
            **self._bind_code_actions(),
            **self._bind_session_actions(),
        }
        with_words: dict[str, prompts.RunWithWords] = {
            "model": link.select_model,
            "theme": self._select_theme,
            "sessions": self._open_session,
            "mode": partial(prompts.select_mode_by_name, link),
            "compact": link.compact,
            "carry_out": lambda note: link.decide_plan("approve", note=note),
            "trust": self._trust_by_word,
            "rewind": self._rewind,
            "connect": partial(settings.connect_provider, app, link),
            "settings": partial(settings.edit_settings, app, link),
        }
        return prompts.BoundActions(plain, with_words)

    def _bind_view_actions(self) -> dict[str, prompts.Run]:
        app, link, regions = self._app, self._link, self._regions
        trace, work, editor = regions.trace, regions.work, regions.editor
        return {
            "trace": partial(view.focus_trace, link, trace),
            "composer": partial(view.focus_editor, link, editor),
            "work": partial(view.focus_work, app, link, trace, work, editor),
            "todo": partial(view.show_todo, link, trace, work),
            "tab_now": partial(view.open_tab, app, link, trace, work, "now"),
            "tab_outline": partial(view.open_tab, app, link, trace, work, "outline"),
            "tab_problems": partial(view.open_tab, app, link, trace, work, "problems"),
            "tab_next": partial(view.open_next_tab, app, link, trace, work, 1),
            "tab_previous": partial(view.open_next_tab, app, link, trace, work, -1),
            "look": self._view_selected,
            "expand": partial(view.toggle_folds, app, link),
            "open_entry": partial(view.toggle_visible_entry, link, trace),
            "trace_pageup": partial(view.scroll_page, trace, -1),
            "trace_pagedown": partial(view.scroll_page, trace, 1),
            "find": partial(view.search_trace, app, trace),
            "find_next": partial(view.find_again, app, trace, 1),
            "find_previous": partial(view.find_again, app, trace, -1),
            "clear": trace.hide,
            "changes": partial(view.show_changes, app, link),
            "copy": lambda: view.copy_text(app, link.state, editor),
            "redraw": partial(view.redraw_all, app),
            "suspend": app.action_suspend_process,
            "theme": self._themes.choose,
            "help": partial(palette_and_help.show_help, app, link, self._keymap),
            "palette": lambda: palette_and_help.open_palette(
                app, link, editor, self._keymap, self.bound.run, self._session.send
            ),
        }

    def _bind_code_actions(self) -> dict[str, prompts.Run]:
        app, link = self._app, self._link
        related = partial(code_navigation.find_related, app, link)
        return {
            "symbols": partial(code_navigation.go_to_symbol, app, link),
            "outline": partial(code_navigation.go_to_symbol_in_file, app, link),
            "problems": partial(code_navigation.show_problems, app, link),
            "references": partial(related, "references", "Find references"),
            "callers": partial(related, "callers", "Find callers"),
            "rename": partial(code_navigation.rename_symbol, app, link),
            "restart_servers": partial(link.invoke, "lsp", {"text": "restart"}),
        }

    def _bind_session_actions(self) -> dict[str, prompts.Run]:
        app, link, trace, editor = self._app, self._link, self._regions.trace, self._regions.editor
        presses = prompts.DoublePress()
        quit_app = partial(sessions.quit_app, app, link)
        hint = self._session.show_hint
        return {
            "interrupt": partial(prompts.interrupt, link, editor, trace, presses, hint, self._rewind),
            "clear_or_quit": partial(prompts.clear_or_quit, app, link, editor, presses, hint),
            "leave": quit_app,
            "quit": quit_app,
            "history": partial(prompts.choose_from_history, app, editor),
            "editor": partial(view.edit_draft_externally, app, editor),
            "mode": link.select_next_mode,
            "compact": link.compact,
            "carry_out": partial(link.decide_plan, "approve"),
            "new": partial(self._open_session, None),
            "sessions": self._choose_session,
            "settings": partial(settings.edit_settings, app, link),
            "model": partial(settings.choose_model, app, link),
            "connect": partial(settings.connect_provider, app, link),
            "trust": self._ask_trust,
            "rewind": self._rewind,
            "review_plan": self._review,
            "form": partial(form.fill_form, app, link),
        }
