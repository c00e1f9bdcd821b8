"""A conversation written message by message equals one written at once."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builtin.models.openai_chat.model_calls import request

from cockpit.builtin.models.openai_chat import request_body
from cockpit.builtin.models.openai_chat.presets import packaged_presets
from cockpit.builtin.models.openai_chat.request_body import build_body
from cockpit.plugin.models import ModelFacts
from cockpit.protocol.content import Text
from cockpit.protocol.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

IDS = st.sampled_from(["a", "b", "c"])
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(lambda text: UserMessage((Text(text),)), st.sampled_from(["look", "go on"])),
    st.builds(
        lambda text, ids: AssistantMessage(text, tuple(ToolCall(one, "read", {}) for one in ids)),
        st.sampled_from(["", "so"]),
        st.lists(IDS, unique=True, max_size=2),
    ),
    st.builds(lambda id, text: ToolMessage(id, "read", text), IDS, st.sampled_from(["one", "two"])),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(MESSAGES, max_size=12), st.sampled_from(["openai", "mistral", "deepseek"]))
def test_asked_at_every_message_it_is_what_it_is_asked_once(messages: list[Message], preset: str) -> None:
    def bodies(*ends: int) -> object:
        request_body._sent_conversations.clear()
        made = [
            build_body(packaged_presets()[preset], request(*messages[:end], reminder="now"), ModelFacts())
            for end in ends
        ]
        return made[-1]

    assert bodies(*range(len(messages) + 1)) == bodies(len(messages))


def test_only_what_is_new_is_written() -> None:
    conversation = tuple(UserMessage((Text(str(number)),)) for number in range(5))
    seen: list[int] = []

    def write(messages: tuple[Message, ...]) -> list[request_body.Wire]:
        seen.append(len(messages))
        return [{} for _ in messages]

    request_body._sent_conversations.clear()
    for end in (3, 4, 5):
        assert len(request_body.write_incrementally(conversation[:end], "plain", write)) == end
    assert seen == [3, 1, 1]
    request_body.write_incrementally(conversation, "another manner", write)
    assert seen[-1] == 5
