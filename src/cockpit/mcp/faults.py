"""What went wrong, out of what the SDK's tasks raise, in words for a person."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cockpit.mcp.oauth.wanted import LoginNeeded as Unanswered
from cockpit.mcp.values import LoginNeeded, McpFailed
from cockpit.protocol.clean import one_line

if TYPE_CHECKING:
    from cockpit.mcp.http import Answers


def meaning(error: BaseException, answers: "Answers | None") -> McpFailed:
    """The fault behind `error`; `answers` is what the other side said over HTTP."""
    found = list(leaves(error))
    for one in found:
        if isinstance(one, McpFailed):
            return one
    problem = answers.problem() if answers is not None else None
    if isinstance(problem, Unanswered):
        return LoginNeeded(problem.message, problem.hint)
    if problem is not None:
        return McpFailed(problem.message, problem.hint)
    if answers is not None and answers.wanted:
        return LoginNeeded("the server wants a login", "cockpit mcp login does it")
    if answers is not None and answers.status >= 400:
        return McpFailed(f"the server answered with HTTP {answers.status}", "look at its address")
    first = found[0] if found else error
    said = one_line(str(first), 300) or type(first).__name__
    return McpFailed(f"{said} ({type(first).__name__})" if str(first) else said)


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group of groups."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from leaves(one)
    else:
        yield error
