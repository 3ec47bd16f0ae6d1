"""The port of policies: what the engine asks before every verb. The package ``policy`` implements it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from omnigraph.core.actors import Action, Actor
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog


@runtime_checkable
class ChecksCatalog(Protocol):
    """An authorizer whose rules may depend on the schema of a graph."""

    @property
    def has_data_rules(self) -> bool: ...

    def check_catalog(self, catalog: Catalog) -> None:
        """Raise PolicyInvalid if its rules do not fit the schema."""
        ...


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
