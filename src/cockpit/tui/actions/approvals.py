"""Answers approvals, with a note to the model when one is rejected, and questions."""

from dataclasses import replace

from cockpit.protocol.events import ApprovalRequested
from cockpit.protocol.messages import Decision
from cockpit.protocol.safe_text import clean, single_line
from cockpit.tui.composer.editor import PromptEditor
from cockpit.tui.render.layout import StyledLine
from cockpit.tui.render.widgets import ThemedApp
from cockpit.tui.screens.dialogs import TextEditDialog
from cockpit.tui.screens.reader import TextReader
from cockpit.tui.session_link import SessionLink
from cockpit.tui.work import approval_draft
from cockpit.tui.work.approval_card import approval_rows, detail_rows
from cockpit.tui.work.approval_draft import ApprovalDraft, ApprovalPiece
from cockpit.tui.work.view import WorkView

DECISIONS: tuple[Decision, ...] = ("allow_once", "allow_session", "allow_always")
_HUNK_FOOT = "Esc done (nothing is written yet)   Ctrl+Z undo   Ctrl+R restore the original"
_VIEW_KEYS = {"y": "once", "a": "session", "p": "always", "n": "reject", "e": "edit hunk"}


async def decide(
    app: ThemedApp, link: SessionLink, editor: PromptEditor, draft: ApprovalDraft, decision: Decision
) -> None:
    """Answer the approval on screen; leaving out every part of it rejects it."""
    request = link.state.first_approval
    if request is None or decision not in request.options:
        return
    if request.id != draft.request:
        return  # the approval that was on screen when the key was pressed is gone
    if not _accepts_key(app, editor, draft, decision):
        return
    answer = approval_draft.build_answer(request, draft.choice.left_out, draft.choice.edits)
    draft.answered()
    if answer is None:
        await link.decide(request.id, "reject_once")
    else:
        parts, edits = answer
        await link.decide(request.id, decision, parts=parts, edits=edits)


async def ask_rejection_note(
    app: ThemedApp, link: SessionLink, editor: PromptEditor, draft: ApprovalDraft
) -> None:
    """Let the user write a note to the model that goes with the rejection."""
    if not _accepts_key(app, editor, draft, "reject"):
        return
    draft.note_for = draft.request
    editor.use_for("note", "why not? Enter sends it (empty: no note), Esc goes back")
    link.redraw("bar")
    editor.focus()


async def reject(app: ThemedApp, link: SessionLink, draft: ApprovalDraft, note: str) -> None:
    """Reject the approval that `note` was written for."""
    if draft.note_for in link.state.approvals:
        draft.answered()
        await link.decide(draft.note_for, "reject_once", note.strip())
    else:
        app.notify("that approval is no longer open: it timed out, or the turn was stopped")


async def choose_option(
    app: ThemedApp, link: SessionLink, editor: PromptEditor, draft: ApprovalDraft, number: int
) -> None:
    """Answer the question on screen with option `number`, counted from 0."""
    question = link.state.first_question
    if question is None or number >= len(question.options):
        return
    if _accepts_key(app, editor, draft, f"option_{number}"):
        draft.answered()
        editor.return_to_prompt()
        await link.answer(question.id, question.options[number])


def toggle_piece(link: SessionLink, draft: ApprovalDraft, name: str) -> None:
    """Accept or leave out a hunk, or all hunks of a file."""
    request = link.state.first_approval
    if request is not None and approval_draft.can_choose(request):
        left_out = approval_draft.toggle_piece(request, draft.choice.left_out, name)
        draft.choice = replace(draft.choice, left_out=left_out)
        link.redraw("work")


async def view_approval(app: ThemedApp, link: SessionLink, editor: PromptEditor, draft: ApprovalDraft) -> str:
    """Show the whole approval in a reader. Returns the action of the key that closed it, or ""."""
    request = link.state.first_approval
    if request is None:
        return ""

    def lay_out(width: int) -> list[StyledLine]:
        rows = approval_rows(request, 1, 1, width, replace(draft.choice, all_of_it=True), None, detail_rows)
        return [line for line, _ in rows]

    keys = [(key, _VIEW_KEYS[key]) for key in editor.answers if key in _VIEW_KEYS]
    key = await app.push_screen_wait(TextReader("Approval", lay_out, keys=keys))
    if key and request.id not in list(link.state.approvals)[:1]:
        app.notify("the approval you answered is no longer open; look at the one on screen now")
        return ""
    return editor.answers.get(key, "")


async def edit_hunk(
    app: ThemedApp, link: SessionLink, editor: PromptEditor, work: WorkView, draft: ApprovalDraft
) -> None:
    """Let the user rewrite the hunk under Work's cursor, or the only one there is."""
    if not _accepts_key(app, editor, draft, "edit_hunk"):
        return
    request = link.state.first_approval
    if request is None or not approval_draft.can_edit(request):
        return
    piece = _hunk_to_edit(request, work.selected)
    if piece is None or piece.hunk is None:
        work.focus()
        app.notify("go to the hunk with Up and Down, then press e")
        return
    original = approval_draft.piece_text(piece, {})
    if clean(original) != original:
        # Cleaning would remove them from the file; drawing them would send them to the terminal.
        app.notify("this hunk contains control characters; it can be accepted or rejected, not edited here")
        return
    line = piece.row.line if piece.row is not None else 1
    dialog = TextEditDialog(
        "Edit",
        approval_draft.piece_text(piece, draft.choice.edits),
        _HUNK_FOOT,
        path=single_line(piece.part.title),
        detail=f"from line {line} ",
        original=original,
    )
    text = await app.push_screen_wait(dialog)
    if draft.request != request.id:
        return
    edits = {name: edit for name, edit in draft.choice.edits.items() if name != piece.name}
    if text != original:
        edits[piece.name] = text
    draft.choice = replace(draft.choice, edits=edits, left_out=draft.choice.left_out - {piece.name})
    link.redraw("work")


def _accepts_key(app: ThemedApp, editor: PromptEditor, draft: ApprovalDraft, action: str) -> bool:
    """Whether the key for `action` counts as an answer; a key that came too soon is dropped, or begins a
    prompt."""
    match draft.judge_key():
        case "answer":
            return True
        case "warn":
            app.notify("this is a new question: read it before you answer", timeout=2)
        case "drop":
            pass
        case "write":
            editor.focus()
            editor.insert(next((key for key, name in editor.answers.items() if name == action), ""))
    return False


def _hunk_to_edit(request: ApprovalRequested, row_action: str) -> ApprovalPiece | None:
    pieces = [
        piece
        for piece in approval_draft.approval_pieces(request)
        if piece.row is not None and piece.row.can_edit
    ]
    selected = [piece for piece in pieces if row_action == f"hunk:{piece.name}"]
    candidates = selected or (pieces if len(pieces) == 1 else [])
    return candidates[0] if candidates and not request.whole else None
