"""The branch or commit that a request reads, and the branch that a policy decides about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from omnigraph.core.actors import Action, Need
from omnigraph.core.commit import GraphCommit
from omnigraph.core.ids import is_ulid
from omnigraph.errors import NotFoundError
from omnigraph.manifest.layout import MAIN
from omnigraph.server.call import Call, branch_name
from omnigraph.server.http.refusals import Refusal, bad_request, not_found


@dataclass(frozen=True, slots=True)
class Target:
    """A branch, or a commit (``snapshot``); exactly one of them."""

    branch: str | None
    snapshot: str | None

    @classmethod
    def of(cls, branch: str | None, snapshot: str | None) -> Target:
        """The target of a request, which may name both by mistake; ``check`` finds that."""
        if snapshot is None:
            return cls(branch_name(branch), None)
        return cls(None if branch is None else branch_name(branch), snapshot.strip())

    def check(self) -> None:
        """Refuse a request that names both."""
        if self.branch is not None and self.snapshot is not None:
            raise bad_request("branch and snapshot exclude each other")

    def needs(self, call: Call) -> Iterator[Need]:
        """``read`` on the branch, or on that of the commit. Without a policy the commit is not looked up for this."""
        if self.snapshot is None:
            yield Need(Action.READ, self.branch)
        elif call.served.authorizer is not None:
            yield Need(Action.READ, find_commit(call, self.snapshot).branch)

    @property
    def at(self) -> str | None:
        """The commit for the engine, which would also take a branch or a time; clients name commits by id."""
        if self.snapshot is not None and not is_ulid(self.snapshot):
            raise no_commit(self.snapshot)
        return self.snapshot


class Aimed(Protocol):
    """The meaning of a body that names a branch or a commit."""

    @property
    def target(self) -> Target: ...


def query_target(call: Call) -> Target:
    """The branch or commit of the query string."""
    return Target.of(call.query.get("branch"), call.query.get("snapshot"))


def check_query_target(call: Call, _: Any) -> None:
    """Refuse a branch together with a commit."""
    query_target(call).check()


def query_target_needs(call: Call) -> Iterator[Need]:
    """``read`` on the branch that is read."""
    return query_target(call).needs(call)


def query_names_commit(call: Call) -> bool:
    """True if the gate has to find the branch of a commit."""
    return "snapshot" in call.query and call.served.authorizer is not None


def check_body_target(call: Call, body: Aimed) -> None:
    """Refuse a branch together with a commit."""
    body.target.check()


def body_target_needs(call: Call) -> Iterator[Need]:
    """``read`` on the branch that is read."""
    body: Aimed = call.body
    return body.target.needs(call)


def body_names_commit(call: Call) -> bool:
    """True if the gate has to find the branch of a commit."""
    body: Aimed = call.body
    return body.target.snapshot is not None and call.served.authorizer is not None


def find_commit(call: Call, commit_id: str) -> GraphCommit:
    """A commit by its id, without a policy check; raises Refusal 404."""
    if not is_ulid(commit_id):
        raise no_commit(commit_id)
    try:
        return call.served.trusted.commit(commit_id)
    except NotFoundError:
        raise no_commit(commit_id) from None


def no_commit(commit_id: str) -> Refusal:
    """The answer to a commit that does not exist, or that the caller may not know about: the same bytes."""
    return not_found(f"commit '{commit_id[:64]}' not found")


def read_main(call: Call) -> Iterator[Need]:
    """``read`` on ``main``."""
    yield Need(Action.READ, MAIN)


def read_anywhere(call: Call) -> Iterator[Need]:
    """``read`` without a branch, which only rules for all branches allow."""
    yield Need(Action.READ)


def read_named_branch(call: Call) -> Iterator[Need]:
    """``read`` on the branch of the query string."""
    yield Need(Action.READ, branch_name(call.query.get("branch")))
