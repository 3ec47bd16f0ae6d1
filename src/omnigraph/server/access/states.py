"""Runtime states of a server, as one table: tokens, policies and ``--unauthenticated`` decide."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from omnigraph.core.actors import Action, Actor, Need
from omnigraph.engine.permits.authorizer import Authorizer
from omnigraph.errors import Hint, PolicyDenied, UsageError
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog


class State(Enum):
    """Authorisation of a running server."""

    OPEN = "open"
    """Requests need no token. Everything on graphs is allowed; listing them is not."""
    DEFAULT_DENY = "default_deny"
    """Requests need a token, and there is no policy: only ``read`` is allowed."""
    POLICY_ENABLED = "policy_enabled"
    """Requests need a token, and policies decide. A graph without a bundle is as in ``DEFAULT_DENY``."""
    OWNER = "owner"
    """A development server with a token of its own: its bearer may do everything."""


@dataclass(frozen=True, slots=True)
class Configured:
    """Configuration of authentication and authorisation."""

    tokens: bool
    policy: bool
    unauthenticated: bool


_NO_TOKEN: Final = Hint(
    "configure tokens, or serve without authentication on purpose",
    "set OMNIGRAPH_SERVER_BEARER_TOKENS_FILE, or pass --unauthenticated",
)

_STATES: Final[dict[Configured, State | str]] = {
    Configured(False, False, False): "the server has no tokens and no policy",
    Configured(False, False, True): State.OPEN,
    Configured(True, False, False): State.DEFAULT_DENY,
    Configured(True, False, True): State.DEFAULT_DENY,
    Configured(True, True, False): State.POLICY_ENABLED,
    Configured(True, True, True): State.POLICY_ENABLED,
    Configured(False, True, False): "policies are configured without any token, so every request would be refused",
    Configured(False, True, True): "policies are configured without any token, so every request would be refused",
}
"""The state of every configuration, or the reason to refuse it."""


def state_of(configured: Configured) -> State:
    """The state of a configuration; raises UsageError for one that no server starts with."""
    found = _STATES[configured]
    if isinstance(found, State):
        return found
    raise UsageError(found, hint=_NO_TOKEN)


class DefaultDeny:
    """The authorizer of a graph without a policy on a server with tokens: ``read``, and nothing else."""

    def check(
        self,
        actor: Actor,
        action: Action,
        branch: str | None = None,
        target_branch: str | None = None,
        *,
        query: str | None = None,
    ) -> None:
        if action is not Action.READ:
            raise Need(action, branch, target_branch, query).denied(
                f" for actor {actor.id!r}: no policy is bound to this graph, so only 'read' is allowed", actor
            )

    def scope(self, actor: Actor, action: Action, branch: str, catalog: Catalog) -> DataScope | None:
        return None


def server_denial(need: Need, actor: Actor | None) -> PolicyDenied:
    """The denial of a server action without a bundle for the server, in every state."""
    whose = "" if actor is None else f" for actor {actor.id!r}"
    return need.denied(f"{whose}: no policy is bound to the cluster", actor)


def graph_authorizer(state: State, bundle: Authorizer | None) -> Authorizer | None:
    """The authorizer of a graph with or without a bundle of its own; None allows everything."""
    if state in (State.OPEN, State.OWNER):
        return None
    return DefaultDeny() if bundle is None else bundle
