"""Answers that cannot leave entities or names of types out, so that actors whom data rules restrict do not get them."""

from __future__ import annotations

from omnigraph.core.actors import Action, Need
from omnigraph.errors import NotFoundError
from omnigraph.manifest.layout import MAIN
from omnigraph.server.call import Call


def check_whole(call: Call, what: str, *branches: str) -> None:
    """Raise PolicyDenied if the actor may see only a part of one of the branches."""
    authorizer = call.served.authorizer
    if authorizer is None or call.actor is None:
        return
    for branch in branches:
        try:
            catalog = call.served.trusted.catalog(branch)
        except NotFoundError:
            # The branch was deleted since: the rules are those of the schema that is left.
            catalog = call.served.trusted.catalog(MAIN)
        if authorizer.scope(call.actor, Action.READ, branch, catalog) is not None:
            reason = f" for actor {call.actor.id!r}: {what} cannot apply the data rules of the actor"
            raise Need(Action.READ, branch).denied(reason, call.actor)
