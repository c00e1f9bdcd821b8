"""How files of other agents name a model, in our words: a tier, or `provider:model`."""

from collections.abc import Mapping

from cockpit.settings.schema import TIERS

FAMILIES: Mapping[str, str] = {"haiku": "fast", "sonnet": "medium", "opus": "strong"}


def model_of(said: str, family: str = "") -> str:
    """A tier, or `provider:model`; "" for the one in force. `family` is whose file it is."""
    word = said.strip().lower()
    if word in ("", "inherit"):
        return ""
    if word in TIERS:
        return word
    found = next((tier for part, tier in FAMILIES.items() if part in word), "")
    if found and (word in FAMILIES or "claude" in word or "opusplan" in word):
        return found
    return said.strip().replace("/", ":", 1) if family == "opencode" else said.strip()


def is_tier(name: str) -> bool:
    """Whether it is one of the person's own choices: all that a project's file may name."""
    return name in ("", *TIERS)
