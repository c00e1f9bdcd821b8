"""`ask_user`: asks the user a question that the files cannot answer."""

from dataclasses import dataclass, field
from typing import Annotated

from cockpit.plugin import hookimpl
from cockpit.plugin.arguments import schema, typed
from cockpit.plugin.context import Context, UserUnavailable
from cockpit.plugin.tools import Alias, Done, Tool, ToolFailed
from cockpit.plugin.values import Register, Scope


@dataclass(frozen=True, slots=True)
class AskUser:
    question: str
    options: Annotated[list[str], "answers to choose from"] = field(default_factory=list)


async def ask_user(arguments: AskUser, context: Context) -> Done:
    if not arguments.question.strip():
        raise ToolFailed("`question` is empty; write what the user should decide")
    try:
        answer = await context.session.ask_user(arguments.question, tuple(arguments.options))
    except UserUnavailable as error:
        message = "no user is there to answer; make the safest choice, name it, and continue"
        raise ToolFailed(message) from error
    return Done(answer or "(the user gave an empty answer)")


@hookimpl
def register_tools(register: Register, scope: Scope) -> None:
    register(
        Tool(
            name="ask_user",
            kind="think",
            description="Ask the user one question when the answer changes what you do.",
            parameters=schema(AskUser),
            capabilities=frozenset({"ask.person"}),
            run=typed(AskUser, ask_user),
            title=lambda arguments: f"ask: {arguments.get('question', '')}",
            seconds=86_400.0,
            aliases=(Alias("ask_followup_question", (("suggestions", "options"),)), Alias("question")),
        )
    )
