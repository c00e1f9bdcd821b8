"""After any script of events every tool call in the history has exactly one result."""

import itertools
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.core.transcript.history import ConversationHistory, estimate_tokens, message_text
from cockpit.protocol.content import Text
from cockpit.protocol.events import (
    ContextCompacted,
    Envelope,
    Event,
    MessageFinished,
    ToolCallFinished,
    ToolCallStarted,
    TurnStarted,
)
from cockpit.protocol.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)

IDS = st.sampled_from(["a", "b", "c", "d", "e"])
CALLS = st.lists(IDS, unique=True, max_size=3).map(
    lambda ids: tuple(ToolCall(one, "read", {}) for one in ids)
)
ANSWERS = st.builds(
    AssistantMessage, st.sampled_from(["", "text"]), CALLS, finish=st.sampled_from(["stop", "interrupted"])
)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(TurnStarted, st.just("t"), st.just("tui"), st.just((Text("hello"),))),
    st.builds(MessageFinished, IDS, ANSWERS),
    st.builds(MessageFinished, IDS, st.just(UserMessage((Text("steer"),)))),
    st.builds(lambda id: ToolCallFinished(ToolResult(id, "read", "ok", "result")), IDS),
    st.builds(
        lambda id: ToolCallStarted(ToolCall(id, "shell", {"command": "ls"}), "execute", "ls", "person"), IDS
    ),
    st.builds(ContextCompacted, st.sampled_from(["", "summary"]), st.integers(0, 30), st.just(9), st.just(1)),
)


def folded(events: list[Event], edits: Sequence[tuple[str, int]] = ()) -> tuple[Message, ...]:
    history = ConversationHistory()
    for seq, event in enumerate(events, start=1):
        history.see(Envelope(1, seq, 0.0, "s", "t", "main", "", event))
    for change, seq in edits:
        history.edit(change, [seq])
    return history.messages()


@settings(max_examples=400, deadline=None)
@given(
    st.lists(EVENTS, max_size=30),
    st.lists(st.tuples(st.sampled_from(["drop", "pin", "fold", "restore"]), st.integers(1, 30)), max_size=5),
)
def test_every_call_has_one_result_right_after_its_answer(
    events: list[Event], edits: list[tuple[str, int]]
) -> None:
    messages = folded(events, edits)
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        assert not isinstance(message, ToolMessage), "a result without its call"
        if isinstance(message, AssistantMessage):
            behind = messages[at : at + len(message.calls)]
            assert [getattr(one, "call", None) for one in behind] == [call.id for call in message.calls]
            at += len(message.calls)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(EVENTS, max_size=30),
    st.lists(st.tuples(st.sampled_from(["drop", "pin", "fold", "restore"]), st.integers(1, 30)), max_size=5),
)
def test_asked_at_every_event_or_only_at_the_end_it_is_the_same(
    events: list[Event], edits: list[tuple[str, int]]
) -> None:
    asked, folded_once = ConversationHistory(), ConversationHistory()
    for seq, event in enumerate(events, start=1):
        for history in (asked, folded_once):
            history.see(Envelope(1, seq, 0.0, "s", "t", "main", "", event))
        asked.messages()
    for change, seq in edits:
        for history in (asked, folded_once):
            history.edit(change, [seq])
        asked.messages()
    assert asked.messages() == folded_once.messages()
    assert asked.tokens() == sum(estimate_tokens(message_text(one)) for one in asked.messages())


@settings(max_examples=200, deadline=None)
@given(st.lists(EVENTS, max_size=30))
def test_two_messages_of_the_user_are_never_neighbours(events: list[Event]) -> None:
    messages = folded(events)
    assert not any(
        isinstance(one, UserMessage) and isinstance(two, UserMessage)
        for one, two in itertools.pairwise(messages)
    )


def test_an_interrupted_answer_is_replaced_by_the_retried_one() -> None:
    broken = MessageFinished("m1", AssistantMessage("half an ans", finish="interrupted"))
    whole = MessageFinished("m2", AssistantMessage("half an answer and the rest"))
    messages = folded([TurnStarted("t", "tui", (Text("go"),)), broken, whole])
    assert [type(one).__name__ for one in messages] == ["UserMessage", "AssistantMessage"]
    assert messages[1] == AssistantMessage("half an answer and the rest")


def test_a_call_by_the_user_is_sent_as_their_message() -> None:
    started = ToolCallStarted(ToolCall("p", "shell", {"command": "ls"}), "execute", "ls", "person")
    finished = ToolCallFinished(ToolResult("p", "shell", "ok", "a.py"))
    [message] = folded([started, finished])
    assert (
        isinstance(message, UserMessage)
        and "ls" in message.content[0].text
        and "a.py" in message.content[0].text
    )


def test_a_summary_replaces_older_messages() -> None:
    events: list[Event] = [TurnStarted("t", "tui", (Text(f"prompt {number}"),)) for number in range(5)]
    messages = folded([*events, ContextCompacted("they greeted", 4, 100, 10)])
    [message] = messages
    assert isinstance(message, UserMessage)
    assert [block.text for block in message.content][1:] == ["prompt 3", "prompt 4"]
    assert "they greeted" in message.content[0].text
