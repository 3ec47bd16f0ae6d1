"""The port of policies: what the engine asks before every verb. The package ``policy`` implements it."""

from __future__ import annotations

from typing import Protocol

from omnigraph.core.actors import Action, Actor
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog


class Authorizer(Protocol):
    """Decides what actors may do with one graph. A graph that has one calls it first in every verb."""

    def check(
        self,
        actor: Actor,
        action: Action,
        branch: str | None = None,
        target_branch: str | None = None,
        *,
        query: str | None = None,
    ) -> None:
        """Raise PolicyDenied if the actor may not do this, and PolicyFailure if that cannot be decided.

        ``query`` names the stored query of ``invoke_query``.
        """
        ...

    def scope(self, actor: Actor, action: Action, branch: str, catalog: Catalog) -> DataScope | None:
        """The entities that the actor may see (``read``) or change (``change``); None if all of them."""
        ...
