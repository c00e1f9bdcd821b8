"""Next steps of the intents that read."""

import re

from cockpit.builtin.offline import answers, patterns
from cockpit.builtin.offline.intents import (
    Define,
    Find,
    FindFile,
    Git,
    ListFolder,
    Map,
    Outline,
    Problems,
    RunTests,
    Show,
    Uses,
)
from cockpit.builtin.offline.outcome import Do, Say, Situation, Step
from cockpit.protocol.messages import Json

AROUND = 12
MEANT = re.compile(r"did you mean ([^,?]+)\?")


def map_project(intent: Map, now: Situation) -> Step:
    if not now.stage:
        return Do("project_map", {"path": intent.path})
    head, _, rest = now.last.text.partition("\n")
    return Say(f"**{head}**\n\n{answers.fenced(rest)}\n{now.say('map_next')}")


def define(intent: Define, now: Situation) -> Step:
    if not now.stage:
        return Do("definition", {"symbol": intent.name})
    hits, count = _by_symbol(now)
    if not hits:
        return _define_by_text(intent, now.by_text())
    if now.stage == 1 and count == 1:
        return Do("read", {"path": hits[0].path, "start": hits[0].line, "lines": AROUND})
    said = f"{now.say('defined', name=intent.name, count=count)}\n{answers.places(hits)}"
    more = now.stage == 2 and not now.last.is_error
    return Say(f"{said}\n\n{answers.fenced(_unnoted(now.last.text))}" if more else said)


def _by_symbol(now: Situation) -> tuple[tuple[answers.Hit, ...], int]:
    """What the first call, one by symbol, found: nothing when it failed."""
    return ((), 0) if now.results[0].is_error else answers.symbols_in(now.results[0].text)


def _define_by_text(intent: Define, now: Situation) -> Step:
    if not now.stage:
        return Do("search", {"pattern": patterns.definition(intent.name), "case": "sensitive", "limit": 50})
    hits, count, _ = answers.hits_in(now.results[0].text)
    if now.stage == 1 and not hits:
        return Do("search", _whole_word(intent.name, 40))
    if now.stage == 1 and count == 1:
        return Do("read", {"path": hits[0].path, "start": hits[0].line, "lines": AROUND})
    if hits:
        said = f"{now.say('defined', name=intent.name, count=count)}\n{answers.places(hits)}"
        more = now.stage == 2 and not now.last.is_error
        return Say(f"{said}\n\n{answers.fenced(_unnoted(now.last.text))}" if more else said)
    mentions, _, _ = answers.hits_in(now.last.text)
    if not mentions:
        return Say(now.say("absent", name=intent.name))
    return Say(f"{now.say('undefined', name=intent.name)}\n{answers.places(mentions)}")


def _unnoted(text: str) -> str:
    """What `read` shows without its last note of how to go on."""
    return re.sub(r"\n\[lines \d+ to [^\]]*\]\s*$", "", text)


def _whole_word(name: str, limit: int) -> dict[str, Json]:
    return {"pattern": patterns.whole_word(name), "case": "sensitive", "limit": limit}


def uses(intent: Uses, now: Situation) -> Step:
    if not now.stage:
        return Do("references", {"symbol": intent.name})
    hits, count = _by_symbol(now)
    if hits:
        files = len({hit.path for hit in hits})
        said = now.say("used_by", name=intent.name, count=count, files=files)
        return Say(f"{said}\n{answers.places(hits)}")
    if now.stage == 1:
        return Do("search", _whole_word(intent.name, 200))
    return _listed(now, "used", intent.name)


def find(intent: Find, now: Situation) -> Step:
    if not now.stage:
        arguments: dict[str, Json] = {"pattern": intent.text, "path": intent.path or "."}
        if intent.glob:
            arguments["glob"] = intent.glob
        if not intent.regex:
            arguments["literal"] = True
        return Do("search", arguments)
    return _listed(now, "found", intent.text)


def _listed(now: Situation, key: str, name: str) -> Step:
    hits, count, files = answers.hits_in(now.last.text)
    if not count:
        return Say(now.say("absent", name=name))
    return Say(f"{now.say(key, name=name, count=count, files=files)}\n{answers.places(hits)}")


def show(intent: Show, now: Situation) -> Step:
    path = intent.path
    if now.stage == 2:
        # The one file of that name elsewhere was read in its place.
        found = MEANT.search(now.results[0].text)
        path = found[1].strip() if found else path
    elif now.stage and now.last.is_error:
        found = MEANT.search(now.last.text)
        return (
            Do("read", _lines(intent, found[1].strip()))
            if found
            else Say(answers.fault(now.last, now.tongue))
        )
    if not now.stage:
        return Do("read", _lines(intent, path))
    return Say(f"{now.say('shown', path=path)}\n{answers.fenced(now.last.text)}")


def _lines(intent: Show, path: str) -> dict[str, Json]:
    if intent.tail:
        return {"path": path, "start": -intent.tail, "lines": intent.tail}
    if intent.start:
        return {"path": path, "start": intent.start, "lines": intent.end - intent.start + 1}
    return {"path": path}


def list_folder(intent: ListFolder, now: Situation) -> Step:
    if not now.stage:
        return Do("list", {"path": intent.path})
    return Say(f"{now.say('shown', path=intent.path)}\n{answers.fenced(now.last.text)}")


def find_file(intent: FindFile, now: Situation) -> Step:
    if not now.stage:
        return Do("glob", {"pattern": pattern_of(intent.name)})
    paths = paths_in(now.last.text)
    if not paths:
        return Say(now.say("no_file", name=intent.name))
    listed = "\n".join(f"- `{path}`" for path in paths[:100])
    more = f"\n... +{len(paths) - 100}" if len(paths) > 100 else ""
    return Say(f"{now.say('files', name=intent.name, count=len(paths))}\n{listed}{more}")


def pattern_of(name: str) -> str:
    """`name` as a pattern: a part of a name is looked for anywhere in one."""
    if re.search(r"[*?\[{]", name) or "/" in name:
        return name
    return f"*{name}*"


def paths_in(text: str) -> tuple[str, ...]:
    """The paths a `glob` result lists."""
    if text.startswith("no file matches"):
        return ()
    return tuple(line for line in text.splitlines() if line and not line.startswith("["))


def outline(intent: Outline, now: Situation) -> Step:
    if not now.stage:
        return Do("symbols", {"path": intent.path})
    found, total = _by_symbol(now)
    if found:
        listed = "\n".join(now.results[0].text.split("\n")[2:])
        return Say(f"{now.say('outline', path=intent.path, count=total)}\n{answers.fenced(listed)}")
    if now.stage == 1:
        pattern = patterns.outline(intent.path)
        return Do("search", {"pattern": pattern, "path": intent.path, "case": "sensitive", "limit": 500})
    hits, count, _ = answers.hits_in(now.last.text)
    if not hits:
        return Say(now.say("no_outline", path=intent.path))
    return Say(f"{now.say('outline', path=intent.path, count=count)}\n{answers.outline(hits)}")


def problems(intent: Problems, now: Situation) -> Step:
    if not now.stage:
        return Do("diagnostics", {"path": intent.path} if intent.path else {})
    head, _, rest = now.last.text.partition("\n")
    return Say(f"**{head}**\n\n{answers.fenced(rest)}" if rest else f"**{head}**")


def git(intent: Git, now: Situation) -> Step:
    if not now.stage:
        arguments: dict[str, Json] = {"what": intent.what}
        if intent.path:
            arguments["path"] = intent.path
        if intent.ref:
            arguments["ref"] = intent.ref
        if intent.limit:
            arguments["limit"] = intent.limit
        if intent.staged:
            arguments["staged"] = True
        if intent.line:
            arguments |= {"start": intent.line, "end": intent.line}
        return Do("git", arguments)
    return Say(answers.fenced(now.last.text, "diff" if intent.what in ("diff", "show") else ""))


def run_tests(intent: RunTests, now: Situation) -> Step:
    if not now.stage:
        return Do("run_tests", {"target": intent.target} if intent.target else {})
    return Say(answers.tests(now.last.text, now.tongue))
