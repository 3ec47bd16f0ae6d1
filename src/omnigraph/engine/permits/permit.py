"""Permits: the authorizer of a graph together with the actor that calls it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from omnigraph.core.actors import Action, Actor, Caller, Need, actor_of
from omnigraph.core.classes.dataclass import dataclass
from omnigraph.engine.permits.authorizer import Authorizer
from omnigraph.errors import Hint, UsageError
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog

NO_ACTOR = Hint("pass actor=..., or call graph.acting_as(actor) first", "pass --as ACTOR")


@dataclass(frozen=True, slots=True)
class Permit:
    """Without an authorizer everything is allowed. With one, a call without an actor is denied."""

    authorizer: Authorizer | None = None
    actor: Actor | None = None
    granted: frozenset[Need] = frozenset()
    """Needs of the verb that is running. The verbs that it calls do not ask for them again."""

    def __reduce__(self) -> Any:
        # Gates recognize the permit of a graph without a policy by identity, which pickling must keep.
        return "ANYONE" if self is ANYONE else (Permit, (self.authorizer, self.actor, self.granted))

    def acting_as(self, given: Caller) -> Permit:
        """The permit of an actor. One that belongs to an actor is not handed to another."""
        actor = actor_of(given)
        if actor is None or actor == self.actor:
            return self
        if self.actor is None:
            return replace(self, actor=actor)
        if isinstance(given, str) and actor.id == self.actor.id:
            # The id alone names the actor of the handle, whose groups and attributes stay.
            return self
        raise UsageError(
            f"this graph acts as {self.actor.id!r}, and the call names {actor.id!r}",
            hint=Hint("call acting_as on the graph that omnigraph.open returned", "pass one actor"),
            actor=actor.id,
        )

    def under(self, authorizer: Authorizer) -> Permit:
        """The permit with an authorizer; one that has an authorizer does not change to another."""
        if self.authorizer is not None:
            raise UsageError(
                "this graph has an authorizer already",
                hint=Hint(
                    "call under on the graph that omnigraph.open returned without one", "open it without a policy"
                ),
            )
        return replace(self, authorizer=authorizer)

    def of_policy(self) -> Permit:
        """The same if it has an authorizer. An actor alone signs the call that names it, and no later one."""
        return ANYONE if self.authorizer is None else self

    def granting(self, needs: Iterable[Need]) -> Permit:
        """The permit of a verb with these needs; raises PolicyDenied unless the authorizer allows all of them."""
        fresh = [need for need in needs if need not in self.granted]
        for need in fresh:
            self.check(need)
        return replace(self, granted=self.granted.union(fresh)) if fresh else self

    def check(self, need: Need) -> None:
        """Raise PolicyDenied unless the authorizer allows it."""
        if self.authorizer is not None:
            actor = self._known(need)
            self.authorizer.check(actor, need.action, need.branch, need.target_branch, query=need.query)

    def scope(self, action: Action, branch: str, catalog: Catalog) -> DataScope | None:
        """The part of the graph that data rules leave to the actor; None if all of it."""
        if self.authorizer is None:
            return None
        return self.authorizer.scope(self._known(Need(action, branch)), action, branch, catalog)

    def _known(self, need: Need) -> Actor:
        if self.actor is None:
            raise need.denied(": the call names no actor", None, NO_ACTOR)
        return self.actor


ANYONE = Permit()
"""The permit of a graph without a policy."""
