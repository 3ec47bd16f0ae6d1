"""An authorizer for tests: it records what it is asked, and denies everything but some actions."""

from dataclasses import dataclass, field

from omnigraph import Action, Actor, Catalog
from omnigraph.core.actors import Need
from omnigraph.query.visibility.data_scope import DataScope


@dataclass
class Recorder:
    """Denies every action that is not in ``allowed``."""

    allowed: frozenset[Action] = frozenset()
    scopes: dict[str, DataScope] = field(default_factory=dict)
    """Data scopes by the id of an actor; other actors have none."""
    asked: list[Need] = field(default_factory=list)

    def check(
        self,
        actor: Actor,
        action: Action,
        branch: str | None = None,
        target_branch: str | None = None,
        *,
        query: str | None = None,
    ) -> None:
        need = Need(action, branch, target_branch, query)
        self.asked.append(need)
        if action not in self.allowed:
            raise need.denied(f" for actor {actor.id!r}", actor)

    def scope(self, actor: Actor, action: Action, branch: str, catalog: Catalog) -> DataScope | None:
        return self.scopes.get(actor.id)
