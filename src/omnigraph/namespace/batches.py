"""``batch_commit_tables``: the operations of one request, read and checked before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import lance_namespace as ln

from omnigraph.manifest.layout import MAIN
from omnigraph.namespace.fields import Fields
from omnigraph.namespace.table_ids import Path, table_path
from omnigraph.storage.objects.version_names import DETACHED_BIT

ACTOR, MESSAGE, KEY, RUN, DROP = "actor", "message", "idempotency_key", "provenance.", "allow_drop"
"""Entries of a request's context that describe the commit."""

DECLARATION = "declaration"
"""The property of a declared table that holds its declaration in the schema language."""

EXPECTED = "expected_current_version"
"""The number that the table has before the operation: a field of a dictionary, or an entry of the metadata."""


@dataclass(frozen=True, slots=True)
class NewVersion:
    """``create_table_version``: the number that the table has before, and the detached version that it gets."""

    path: Path
    expected: int
    lance_version: int
    manifest_path: str
    manifest_size: int | None


@dataclass(frozen=True, slots=True)
class Declared:
    """``declare_table`` with the declaration of a type."""

    path: Path
    declaration: str


@dataclass(frozen=True, slots=True)
class Deregistered:
    """``deregister_table``: the type is dropped."""

    path: Path


Operation = NewVersion | Declared | Deregistered


@dataclass(frozen=True, slots=True)
class Batch:
    """Operations on tables of one branch, each table once."""

    graph: str | None
    branch: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """Metadata of the commit, and whether it may drop a type that has entities."""

    actor: str | None
    message: str | None
    idempotency_key: str | None
    provenance: dict[str, str]
    allow_drop: bool


def read_batch(operations: Sequence[Fields], *, many: bool) -> Batch:
    """The operations of a request; raises without a look at any table."""
    if not operations:
        raise ln.InvalidInputError("the batch has no operation; expected at least one create_table_version")
    found = tuple(_operation(item, many=many) for item in operations)
    refs = {(item.path.graph, _branch(item)) for item in found}
    if len(refs) > 1:
        names = ", ".join(sorted(branch if graph is None else f"{graph}/{branch}" for graph, branch in refs))
        raise ln.InvalidInputError(f"a batch commits to one branch of one graph, and this one names {names}")
    tables = [item.path.table for item in found]
    repeated = [table for table in tables if tables.count(table) > 1]
    if repeated:
        raise ln.InvalidInputError(
            f"the batch names {repeated[0]!r} more than once; stage several changes of a table on top of each other"
        )
    graph, branch = refs.pop()
    return Batch(graph, branch, found)


def _operation(item: Fields, *, many: bool) -> Operation:
    given = [(kind, request) for kind in _KINDS if (request := item.item(kind)) is not None]
    if len(given) != 1:
        raise ln.InvalidInputError(f"{item.what} holds {len(given)} operations; expected one of {', '.join(_KINDS)}")
    kind, request = given[0]
    return _KINDS[kind](request, table_path(request.identifier, request.text("branch"), many=many))


def _branch(operation: Operation) -> str:
    ref = operation.path.ref
    if ref is None or ref.at is not None:
        raise ln.InvalidInputError(f"{ref} is a commit, which never changes; commit to a branch")
    return ref.branch or MAIN


def _new_version(request: Fields, path: Path) -> NewVersion:
    manifest_path = request.text("manifest_path") or ""
    name = manifest_path.rpartition("/")[2].removesuffix(".manifest")
    if not (name.startswith("d") and name[1:].isdecimal() and int(name[1:]) & DETACHED_BIT):
        raise ln.InvalidInputError(
            f"{manifest_path!r} is not the manifest of a detached version; stage the write with"
            " omnigraph.namespace.stage, or commit it with detached=True"
        )
    return NewVersion(path, _expected(request), int(name[1:]), manifest_path, request.number("manifest_size"))


def _expected(request: Fields) -> int:
    """The number that the table must have now: one less than the new one, or given expressly."""
    said = request.texts("metadata").get(EXPECTED)
    if said is not None and not said.isdecimal():
        raise ln.InvalidInputError(f"{EXPECTED} is {said!r}; expected a whole number")
    found = {
        number
        for number in (request.number(EXPECTED), None if said is None else int(said), _before(request))
        if number is not None
    }
    if len(found) != 1:
        both = " and ".join(map(str, sorted(found))) or "no number"
        raise ln.InvalidInputError(
            f"the operation expects the table at {both}; give the version, or {EXPECTED}, which is one less"
        )
    return found.pop()


def _before(request: Fields) -> int | None:
    version = request.number("version", least=1)
    return None if version is None else version - 1


def _declared(request: Fields, path: Path) -> Declared:
    declaration = request.texts("properties").get(DECLARATION)
    if declaration is None:
        raise ln.UnsupportedOperationError(
            f"declare_table: types are declared by the schema; give the property {DECLARATION!r}, such as"
            f" 'node {path.table} {{ name: String @key }}', or use graph.apply_schema"
        )
    if request.text("location") is not None:
        raise ln.UnsupportedOperationError("declare_table: the graph decides where a table lies; leave out location")
    return Declared(path, declaration)


def _deregistered(_request: Fields, path: Path) -> Deregistered:
    return Deregistered(path)


def _deleted(_request: Fields, _path: Path) -> Operation:
    raise ln.UnsupportedOperationError(
        "delete_table_versions: versions are shared by commits and branches; use graph.cleanup"
    )


_KINDS: dict[str, Callable[[Fields, Path], Operation]] = {
    "declare_table": _declared,
    "create_table_version": _new_version,
    "delete_table_versions": _deleted,
    "deregister_table": _deregistered,
}


def commit_options(context: dict[str, str]) -> CommitOptions:
    """Actor, message, idempotency key, provenance and permissions of a request's context."""
    drop = context.get(DROP, "false")
    if drop not in ("true", "false"):
        raise ln.InvalidInputError(f"{DROP} of the context is {drop!r}; expected 'true' or 'false'")
    run = {name.removeprefix(RUN): value for name, value in context.items() if name.startswith(RUN)}
    return CommitOptions(context.get(ACTOR), context.get(MESSAGE), context.get(KEY), run, drop == "true")
