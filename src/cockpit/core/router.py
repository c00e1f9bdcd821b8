"""Which model answers: names and tiers, readiness, the fallback list, the circuit breaker."""

import difflib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cockpit.core.catalog import Catalog
from cockpit.errors import CockpitError
from cockpit.plugin.models import Fault, Model, ModelFacts
from cockpit.settings.files import Settings

TIERS = ("fast", "default", "medium", "strong")
OFFLINE = "offline"
FAILURES = 3
WITHIN = 60.0
OPEN_FOR = 30.0
COUNTED: frozenset[Fault] = frozenset(
    {"overloaded", "connection", "interrupted", "malformed", "rate_limited"}
)


class ModelUnknown(CockpitError):
    """No provider or no model of that name."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A model that can be asked."""

    provider: Model
    id: str

    @property
    def name(self) -> str:
        return f"{self.provider.name}:{self.id}" if self.id else self.provider.name

    @property
    def facts(self) -> ModelFacts:
        return self.provider.facts(self.id)


@dataclass(slots=True)
class Breaker:
    """Stops asking a model that fails: 3 failures in 60 s rest it for 30 s, then one request probes.

    A refused key rests it until the keys change (`forgive`). One for all sessions of a deck.
    """

    clock: Callable[[], float] = time.monotonic
    _failures: dict[str, list[float]] = field(default_factory=dict)
    _opened: dict[str, float] = field(default_factory=dict)
    _refused: dict[str, str] = field(default_factory=dict)

    def resting(self, name: str) -> str:
        """Why `name` is not to be asked now, or empty."""
        if name in self._refused:
            return self._refused[name]
        opened = self._opened.get(name)
        if opened is None:
            return ""
        left = OPEN_FOR - (self.clock() - opened)
        if left > 0:
            return f"{name} failed {FAILURES} times; it rests for {left:.0f} s more"
        # The probe: until it is answered, others wait on.
        self._opened[name] = self.clock()
        self._failures[name] = self._failures.get(name, [])[-(FAILURES - 1) :]
        return ""

    def failed(self, name: str, fault: Fault, message: str) -> None:
        if fault == "auth":
            self._refused[name] = message
            return
        if fault not in COUNTED:
            return
        now = self.clock()
        recent = [at for at in self._failures.get(name, []) if now - at <= WITHIN] + [now]
        self._failures[name] = recent
        if len(recent) >= FAILURES:
            self._opened[name] = now

    def answered(self, name: str) -> None:
        for table in (self._failures, self._opened, self._refused):
            table.pop(name, None)

    def forgive(self) -> None:
        """Keys or models were changed: every refusal is worth another try."""
        self._refused.clear()
        self._opened.clear()


def choose(catalog: Catalog, settings: Settings, name: str) -> Choice:
    """The model that `name` means: `provider:model`, `provider`, a tier, or "" for the default.

    Raises `ModelUnknown`.
    """
    if name in TIERS or not name:
        tiers = settings.table("models.tiers")
        meant = str(tiers.get(name or "default") or settings.text("models.default"))
        if meant and meant != name:
            return choose(catalog, settings, meant)
        return first_ready(catalog)
    provider_name, _, model_id = name.partition(":")
    provider = catalog.get(Model, provider_name)
    if provider is None:
        names = [model.name for model in catalog.all(Model)]
        near = difflib.get_close_matches(provider_name, names, 3) or names
        raise ModelUnknown(
            f"there is no model provider called {provider_name}",
            f"name it as provider:model; providers: {', '.join(near)}",
        )
    return Choice(provider, model_id or provider.default)


def first_ready(catalog: Catalog) -> Choice:
    """The first provider that has its key; the offline model when none has."""
    for provider in catalog.all(Model):
        if provider.local or provider.name in (OFFLINE, "scripted") or not provider.default:
            continue
        if not provider.ready():
            return Choice(provider, provider.default)
    offline = catalog.get(Model, OFFLINE)
    if offline is None:
        raise ModelUnknown("no model is configured and the offline one is switched off", "/connect")
    return Choice(offline, offline.default)


def candidates(catalog: Catalog, settings: Settings, name: str) -> tuple[Choice, ...]:
    """The model that `name` means and then its fallbacks, each once."""
    first = choose(catalog, settings, name)
    found = [first]
    for other in settings.words("models.fallback"):
        choice = choose(catalog, settings, other)
        if all(choice.name != one.name for one in found):
            found.append(choice)
    return tuple(found)
