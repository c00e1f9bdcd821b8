"""What a prompt names with a sign (`@path`) is put beside its words before the turn begins."""

import re

from cockpit.core import foreign
from cockpit.core.agent import Agent
from cockpit.core.view import context_of
from cockpit.plugin.values import Mention
from cockpit.protocol.content import Block, Code, Text

NAMED = re.compile(r'(?<![\w@])(?P<sign>[@#])(?:"(?P<quoted>[^"\n]+)"|(?P<bare>[^\s"\'`,;()<>]+))')
# What may follow a path that a name already is: lines.
ITSELF = re.compile(r"(?::\d+(?:-\d+)?(?::\d+)?)?")
MOST = 20


async def expanded(agent: Agent, content: tuple[Block, ...]) -> tuple[Block, ...]:
    """`content` with what its texts name behind it. A name that nothing knows stays a word."""
    found: dict[str, Block] = {}
    for block in content:
        if not isinstance(block, Text):
            continue
        for match in NAMED.finditer(block.text):
            name = match["quoted"] or match["bare"].rstrip(".:!?")
            if name in found or len(found) >= MOST:
                continue
            if (made := await _made(agent, match["sign"], name)) is not None:
                found[name] = made
    return (*content, *(_labelled(name, block) for name, block in found.items()))


async def _made(agent: Agent, sign: str, name: str) -> Block | None:
    """What the first that knows `name` puts beside the words; in the order of their names, so that a file
    comes before a symbol."""
    mentions = [one for one in agent.host.catalog.all(Mention) if one.sign == sign]
    for mention in sorted(mentions, key=lambda one: one.name):
        context = context_of(agent, agent.host.catalog.owner(Mention, mention.name))
        if (made := await mention.expand(name, context)) is not None:
            if mention.name == foreign.MENTION:
                agent.host.has_read_outside = True
            return made
    return None


def _labelled(name: str, block: Block) -> Block:
    """Code says where it is from; the model reads only its text, so the text says it too."""
    if not isinstance(block, Code):
        return block
    label = name
    if block.path and not ITSELF.fullmatch(name.removeprefix(block.path)):
        label = f"{name}: {block.path}:{block.line}-{block.line + block.text.rstrip().count(chr(10))}"
    return Code(f"[@{label}]\n{block.text}", block.language, block.path, block.line)
