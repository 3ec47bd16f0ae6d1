"""The permit of a graph that is opened: from an authorizer or the file of a policy bundle, and an actor."""

from __future__ import annotations

import os

from omnigraph.core.actors import Caller, actor_of
from omnigraph.engine import plugs
from omnigraph.engine.permits.authorizer import Authorizer, ChecksCatalog
from omnigraph.engine.permits.permit import ANYONE, Permit
from omnigraph.errors import UsageError
from omnigraph.manifest.branches import find_head
from omnigraph.manifest.layout import MAIN
from omnigraph.manifest.reader import Manifests


def check_rules(permit: Permit, manifests: Manifests) -> None:
    """Raise PolicyInvalid if the data rules of the authorizer do not fit the schema of ``main``.

    Branches with another schema are checked when they are used, and refused if the rules do not fit them.
    """
    authorizer: object = permit.authorizer
    if isinstance(authorizer, ChecksCatalog) and authorizer.has_data_rules:
        authorizer.check_catalog(manifests.catalog(find_head(manifests, MAIN).schema_digest))


def permit_of(authorizer: Authorizer | None, policy: str | os.PathLike[str] | None, actor: Caller) -> Permit:
    """The permit of a graph that is opened with an authorizer, or with the file of a policy bundle."""
    if policy is not None:
        if authorizer is not None:
            raise UsageError("an authorizer and a policy were given", hint="pass one of them")
        authorizer = plugs.load_policy(policy)
    acting = actor_of(actor)
    return ANYONE if authorizer is None and acting is None else Permit(authorizer, acting)
