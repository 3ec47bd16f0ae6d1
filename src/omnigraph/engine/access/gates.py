"""The closed table of gates: the actions that each method of ``Graph`` needs, and on which branches.

A method without a row is an error when the package is imported. Branches come from the arguments of the call; a moment
(``at``) counts as the branch of its commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from enum import Enum
from typing import Any, Final

from omnigraph.core.actors import Action, Need
from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.ids import is_ulid
from omnigraph.engine.history.moments import Moments
from omnigraph.engine.snapshot import Snapshot
from omnigraph.history.moments import split_range
from omnigraph.manifest.branches import has_branch
from omnigraph.manifest.layout import MAIN
from omnigraph.query.mutation.shown import shows_entities

Given = Mapping[str, Any]
"""The arguments of a call, by name."""

Needs = Callable[[Moments, Given], Iterable[Need]]


class Data(Enum):
    """The way in which a method respects data rules."""

    NONE = "none"
    """It shows and changes no entities."""
    SCOPED = "scoped"
    """It applies the data rules itself: entities outside of the actor's scope do not exist for it."""
    WHOLE = "whole"
    """It cannot leave entities out, so it is denied to actors whom data rules restrict."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The needs of a method. ``actor`` is the argument that names the actor."""

    needs: Needs
    data: Data = Data.WHOLE
    actor: str = "actor"


def branch_of(moments: Moments, said: str | date | Snapshot | None, branch: str | None = None) -> str:
    """The branch that a policy decides about: the named one, or that of the commit that a moment means."""
    if said is None:
        return branch or MAIN
    if isinstance(said, Snapshot):
        return said.branch
    found = moments.find(said, branch)
    # The head of a branch is its own, even if its newest commit was made before the branch was forked.
    is_head = found.is_head and not (isinstance(said, str) and is_ulid(said))
    return found.state.branch if is_head else found.commit.branch


def _nothing(moments: Moments, given: Given) -> Iterable[Need]:
    return ()


def _anywhere(action: Action) -> Needs:
    """An action that concerns no single branch."""
    return lambda moments, given: (Need(action),)


def _on_branch(action: Action) -> Needs:
    return lambda moments, given: (Need(action, given.get("branch") or MAIN),)


def _at_moment(action: Action) -> Needs:
    return lambda moments, given: (Need(action, branch_of(moments, given.get("at"), given.get("branch"))),)


def _named_moment(moments: Moments, given: Given) -> Iterator[Need]:
    yield Need(Action.READ, branch_of(moments, given["named"]))


def _targeting(action: Action, argument: str) -> Needs:
    return lambda moments, given: (Need(action, target_branch=given.get(argument) or MAIN),)


def _commit(moments: Moments, given: Given) -> Iterator[Need]:
    yield Need(Action.READ, moments.commit(given["commit_id"]).branch)


def _both_moments(moments: Moments, given: Given) -> Iterator[Need]:
    before, after = given["before"], given.get("after")
    ends = split_range(before) if isinstance(before, str) else None
    for said in (before, after) if ends is None else ends:
        yield Need(Action.READ, branch_of(moments, said or None))


def _created(moments: Moments, given: Given) -> Iterator[Need]:
    parent, at = given.get("parent") or MAIN, given.get("at")
    start = branch_of(moments, parent) if at is None else branch_of(moments, at, parent)
    yield Need(Action.BRANCH_CREATE, start, given["name"])


def _renamed(moments: Moments, given: Given) -> Iterator[Need]:
    yield Need(Action.BRANCH_DELETE, target_branch=given["name"])
    yield Need(Action.BRANCH_CREATE, given["name"], given["new_name"])


def _loaded(moments: Moments, given: Given) -> Iterator[Need]:
    """A load that would create its branch needs both."""
    options = given.get("options")
    branch, base = (
        (given.get("branch") or MAIN, given.get("base")) if options is None else (options.branch, options.base)
    )
    if base is not None and not has_branch(moments.manifests, branch):
        yield Need(Action.BRANCH_CREATE, branch_of(moments, base), branch)
    yield Need(Action.CHANGE, branch)


def _resolved(moments: Moments, given: Given) -> Iterator[Need]:
    """A resolution reads the branch that it changes, or the one that it forks."""
    yield from _loaded(moments, given)
    yield from _compared(moments, given)


def _compared(moments: Moments, given: Given) -> Iterator[Need]:
    options = given.get("options")
    branch, base = (
        (given.get("branch") or MAIN, given.get("base")) if options is None else (options.branch, options.base)
    )
    is_new = base is not None and not has_branch(moments.manifests, branch)
    yield Need(Action.READ, branch_of(moments, base) if is_new else branch)


def _changed(moments: Moments, given: Given) -> Iterator[Need]:
    """A mutation that shows entities, by a pattern or by ``returning``, also reads the branch."""
    branch = given.get("branch") or MAIN
    yield Need(Action.CHANGE, branch)
    if shows_entities(given.get("text") or ""):
        yield Need(Action.READ, branch)


def _committed_versions(moments: Moments, given: Given) -> Iterator[Need]:
    """Declared and dropped types are a change of the schema."""
    branch = given.get("branch") or MAIN
    yield Need(Action.CHANGE, branch)
    if given.get("declare") or given.get("drop"):
        yield Need(Action.SCHEMA_APPLY, target_branch=branch)


def _merged(moments: Moments, given: Given) -> Iterator[Need]:
    source, into = given["source"], given.get("into")
    if not isinstance(source, str):
        source, into = source.source, into or source.target
    yield Need(Action.BRANCH_MERGE, source, into or MAIN)


def _previewed_merge(moments: Moments, given: Given) -> Iterator[Need]:
    yield Need(Action.READ, given["source"])
    yield Need(Action.READ, given.get("into") or MAIN)


_OPEN: Final = Gate(_nothing, Data.NONE)
_READ: Final = Gate(_at_moment(Action.READ), Data.SCOPED)
_READ_WHOLE: Final = Gate(_at_moment(Action.READ))
_READ_HEAD: Final = Gate(_on_branch(Action.READ), Data.SCOPED)
_READ_ANYWHERE: Final = Gate(_anywhere(Action.READ), Data.NONE)
_EXPORT: Final = Gate(_at_moment(Action.EXPORT), Data.SCOPED)
_SCOPED_CHANGE: Final = Gate(_changed, Data.SCOPED)
_LOAD: Final = Gate(_loaded)
_SCOPED_LOAD: Final = Gate(_loaded, Data.SCOPED)
_ADMIN: Final = Gate(_anywhere(Action.ADMIN))

GATES: Final[Mapping[str, Gate]] = {
    # The address and the settings of the graph, and methods that only call others.
    "uri": _OPEN,
    "storage_options": _OPEN,
    "tuning": _OPEN,
    "id": _OPEN,
    "embedder": _OPEN,
    "actor": _OPEN,
    "acting_as": _OPEN,
    "under": _OPEN,
    "retry": _OPEN,
    # Reads.
    "snapshot": _READ,
    "moment": Gate(_named_moment, Data.SCOPED),
    "query": _READ,
    "prepare": _READ,
    "query_with": _READ,
    "sql": _READ,
    "spark_views": _READ_WHOLE,
    "register_tables": _READ_WHOLE,
    "spark_sql": _READ_WHOLE,
    "explain": _READ,
    # Algorithms take snapshots of this graph, and read tables that an actor with a scope may not read.
    "analyze": Gate(_nothing),
    "nodes": _READ,
    "edges": _READ,
    "counts": _READ,
    "to_networkx": _READ,
    "to_igraph": _READ,
    "to_pyg": _READ,
    "nx": _READ,
    "draw": _READ,
    "read_blob": _READ,
    "catalog": _READ_HEAD,
    "schema": _READ_HEAD,
    "schema_text": _READ_HEAD,
    "plan_schema": Gate(_on_branch(Action.READ)),
    "branches": _READ_ANYWHERE,
    "delete_branch_preview": Gate(lambda moments, given: (Need(Action.READ, given["name"]),), Data.NONE),
    "commits": Gate(_on_branch(Action.READ), Data.SCOPED, actor="by"),
    "commit": Gate(_anywhere(Action.READ), Data.SCOPED),
    "commit_changes": Gate(_commit, Data.SCOPED),
    "diff": Gate(_both_moments, Data.SCOPED),
    "changes": _READ_HEAD,
    "feed": Gate(_on_branch(Action.READ)),
    "merge_preview": Gate(_previewed_merge, Data.SCOPED),
    "revert_preview": Gate(_on_branch(Action.READ), Data.SCOPED, actor="by"),
    "resolve_preview": Gate(_compared),
    "mirrors": _READ_ANYWHERE,
    "external_types": _READ_WHOLE,
    # Exports.
    "export": _EXPORT,
    "export_files": _EXPORT,
    "change_baseline": Gate(_on_branch(Action.EXPORT), Data.SCOPED),
    "mirror": Gate(_on_branch(Action.EXPORT)),
    # Writes. A preview runs the statements or reads the input, so it needs what the write needs.
    "mutate": _SCOPED_CHANGE,
    "mutate_preview": _SCOPED_CHANGE,
    "load": _SCOPED_LOAD,
    "load_preview": _SCOPED_LOAD,
    "load_spark": _LOAD,
    "load_spark_preview": _LOAD,
    "load_with": _LOAD,
    "preview_with": _LOAD,
    "earlier_load": _SCOPED_LOAD,
    "load_documents": Gate(_resolved),
    "load_documents_preview": Gate(_compared),
    "commit_versions": Gate(_committed_versions),
    "refresh_external": Gate(_on_branch(Action.CHANGE)),
    "refresh_external_preview": Gate(_on_branch(Action.CHANGE)),
    "revert": Gate(_on_branch(Action.CHANGE), Data.SCOPED, actor="by"),
    "apply_schema": Gate(_targeting(Action.SCHEMA_APPLY, "branch")),
    "merge": Gate(_merged, Data.SCOPED),
    "resolve": Gate(_resolved),
    # Branches.
    "create_branch": Gate(_created, Data.NONE),
    "delete_branch": Gate(_targeting(Action.BRANCH_DELETE, "name"), Data.NONE),
    "rename_branch": Gate(_renamed, Data.NONE),
    # Maintenance, and copies of all files with their history.
    "verify": _ADMIN,
    "doctor": _ADMIN,
    "optimize": _ADMIN,
    "cleanup": _ADMIN,
    "remove_mirror": _ADMIN,
    "copy": _ADMIN,
    "backup": _ADMIN,
}
