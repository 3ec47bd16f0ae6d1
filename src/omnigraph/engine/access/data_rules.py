"""Data rules at the gates: methods that cannot leave entities out are denied to actors that may not see all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from omnigraph.core.actors import Action, Need
from omnigraph.engine.access.gates import Data
from omnigraph.engine.permits.permit import Permit
from omnigraph.manifest.branches import every_branch, find_head, has_branch
from omnigraph.manifest.reader import Manifests
from omnigraph.query.visibility.data_scope import DataScope

_SHOWING: Final = (Action.READ, Action.EXPORT)
"""Actions that change nothing, so that only the rules about reading matter."""


def check_data_rules(data: Data, verb: str, permit: Permit, manifests: Manifests, needs: Iterable[Need]) -> None:
    """Raise PolicyDenied if a method would show or change entities that data rules withhold from the actor."""
    for need in needs if data is Data.WHOLE else ():
        actions = (Action.READ,) if need.action in _SHOWING else (Action.READ, Action.CHANGE)
        for branch in _concerned(need, manifests):
            if any(scope_on(permit, action, branch, manifests) is not None for action in actions):
                reason = f" for actor {str(permit.actor)!r}: {verb} cannot apply the data rules of the actor"
                raise need.denied(reason, permit.actor)
    for need in needs:
        # A new branch makes entities readable under another name: the actor must have the same scope on both.
        if need.action is Action.BRANCH_CREATE and need.branch is not None and has_branch(manifests, need.branch):
            _check_same(need, permit, manifests)


def _concerned(need: Need, manifests: Manifests) -> Iterator[str]:
    """The existing branches of a need; all of them if it names none."""
    named = [branch for branch in (need.branch, need.target_branch) if branch is not None]
    if not named:
        yield from (found[0].name for found in every_branch(manifests) if isinstance(found, tuple))
    yield from (branch for branch in named if has_branch(manifests, branch))


def scope_on(
    permit: Permit, action: Action, branch: str, manifests: Manifests, like: str | None = None
) -> DataScope | None:
    """The scope of the actor on a branch, with the schema of its head, or of the branch that it is to be like."""
    catalog = manifests.catalog(find_head(manifests, like or branch).schema_digest)
    return permit.scope(action, branch, catalog)


def _check_same(need: Need, permit: Permit, manifests: Manifests) -> None:
    """Deny a branch on which data rules would leave more to the actor than where its entities come from."""
    assert need.branch is not None
    assert need.target_branch is not None
    for action in (Action.READ, Action.CHANGE):
        here = scope_on(permit, action, need.branch, manifests)
        there = scope_on(permit, action, need.target_branch, manifests, like=need.branch)
        if here is not None and (there is None or there.digest != here.digest):
            reason = f" for actor {str(permit.actor)!r}: the data rules of the two branches differ"
            raise need.denied(reason, permit.actor)
