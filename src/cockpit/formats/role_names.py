"""What people and other agents call our roles. A role that hides one of them answers to these names too."""

from collections.abc import Mapping

ALIASES: Mapping[str, tuple[str, ...]] = {
    "general": ("general-purpose", "custom", "default", "worker", "tool_agent", "generalist"),
    "explore": ("Explore", "explorer", "search", "finder", "codebase_investigator"),
    "research": ("researcher", "investigate", "investigator", "librarian"),
    "plan": ("Plan", "planner", "architect", "design", "designer"),
    "review": ("reviewer", "code-reviewer", "code-review"),
    "critic": ("criticise", "challenge"),
    "verify": ("verifier", "tester", "test", "qa", "check"),
    "implement": ("implementer", "coder", "code", "developer", "build", "engineer"),
    "write": ("writer", "docs", "documenter", "technical-writer"),
}


def meant(name: str) -> str:
    """Our name for what is called `name`, "" for none of ours."""
    return next((own for own, aliases in ALIASES.items() if name in aliases), "")
