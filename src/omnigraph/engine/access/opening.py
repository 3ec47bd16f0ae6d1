"""The permit of a graph that is opened: from an authorizer or the file of a policy bundle, and an actor."""

from __future__ import annotations

import os

from omnigraph.core.actors import Caller, actor_of
from omnigraph.engine import plugs
from omnigraph.engine.permits.authorizer import Authorizer
from omnigraph.engine.permits.permit import ANYONE, Permit
from omnigraph.errors import UsageError


def permit_of(authorizer: Authorizer | None, policy: str | os.PathLike[str] | None, actor: Caller) -> Permit:
    """The permit of a graph that is opened with an authorizer, or with the file of a policy bundle."""
    if policy is not None:
        if authorizer is not None:
            raise UsageError("an authorizer and a policy were given", hint="pass one of them")
        authorizer = plugs.load_policy(policy)
    acting = actor_of(actor)
    return ANYONE if authorizer is None and acting is None else Permit(authorizer, acting)
