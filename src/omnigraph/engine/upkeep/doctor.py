"""Examination of a graph: guarantees of its store, sizes, and advice.

Reads manifests and names of files, no rows; the only thing it writes is a probe, which it deletes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from omnigraph.core.display import Display, Displayed, counted
from omnigraph.engine.history.snapshots import head_snapshot
from omnigraph.errors import OmnigraphError, StorageError
from omnigraph.exec.graph_view import Derived, GraphView
from omnigraph.lake.external.checks import unreadable_files
from omnigraph.lake.external.table import stored_seal
from omnigraph.manifest import branches
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Damaged
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import NodeType
from omnigraph.storage.index.indexes import IndexSpec
from omnigraph.storage.index.known import known_indexes
from omnigraph.storage.objects.protocol import honours_create_if_absent
from omnigraph.storage.publish.newest import ASIDE
from omnigraph.write.upkeep.index_choice import index_rows_min, wanted_indexes

FRAGMENTS_MANY = 32
"""Fragments of a small table from which they slow down reads."""

ROWS_PER_FRAGMENT_FEW = 100_000
"""A table with fewer rows a fragment than this, and many of them, was written in small pieces."""

COVERED_SHARE_WELL = 0.99
"""An index with at least this coverage is healthy: the few rows outside it are scanned."""

DELETED_SHARE_MUCH = 0.2
"""Rows that are read only to be left out."""


class Verdict(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    ADVICE = "advice"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Displayed):
    """One examined fact, with a verdict and advice."""

    check: str
    found: str
    verdict: Verdict = Verdict.OK
    advice: str | None = None
    facts: dict[str, object] = field(default_factory=dict)

    def _display(self) -> Display:
        return Display(f"{self.verdict.value}: {self.check}: {self.found}", notes=[self.advice] if self.advice else [])


def examined(manifests: Manifests, branch: str, derived: Derived) -> list[Finding]:
    """All findings about a graph, the most basic ones first. An unreadable file is a finding, not the end."""
    stamp = manifests.stamp
    return [
        Finding("format", str(stamp.format), facts={"format": stamp.format, "graph_id": stamp.graph_id}),
        _conditional_writes(manifests),
        *_branches(manifests),
        *_cleanup_record(manifests),
        *_set_aside(manifests),
        *_tables(manifests, branch, derived),
    ]


def _branches(manifests: Manifests) -> Iterator[Finding]:
    found = list(branches.every_branch(manifests))
    broken = [item for item in found if isinstance(item, Damaged)]
    count = len(found) - len(broken)
    yield Finding("branches", f"{count:,}", facts={"branches": count})
    for item in broken:
        yield _damage(f"branch {item.branch or item.path}", item.what, item.path)


def _damage(check: str, what: str, path: object) -> Finding:
    found = what if str(path) in what else f"{path} {what}"
    return Finding(check, found, Verdict.PROBLEM, "omnigraph repair shows what can be done", {"path": path})


def _cleanup_record(manifests: Manifests) -> Iterator[Finding]:
    try:
        manifests.record()
    except OmnigraphError as error:
        yield _damage("cleanup", error.message, error.facts.get("path"))


def _set_aside(manifests: Manifests) -> Iterator[Finding]:
    """Files that a reader or ``repair`` moved out of the way; nothing deletes them."""
    paths = sorted(file.path for file in manifests.store.objects.walk(ASIDE))
    if paths:
        found = f"{len(paths):,} damaged file{'s' if len(paths) > 1 else ''} below {ASIDE}/, the first {paths[0]}"
        advice = f"nothing needs them: delete {ASIDE}/ when you know why they were damaged"
        yield Finding("set aside", found, Verdict.ADVICE, advice, {"paths": paths})


def _tables(manifests: Manifests, branch: str, derived: Derived) -> Iterator[Finding]:
    try:
        snapshot = head_snapshot(manifests, branch)
        view = GraphView(snapshot.store, snapshot.state, snapshot.catalog, derived)
        entities = snapshot.entities()
    except StorageError as error:
        # The branches are findings already; a schema that cannot be read is one of its own.
        yield _damage("tables", error.message, error.facts.get("path"))
        return
    for entity in entities:
        try:
            yield _table(view, entity) if entity.ir.external is None else _external(view, entity)
        except StorageError as error:
            yield _damage(f"table {entity.table_key}", error.message, view.state.tables[entity.table_key].location)


def _conditional_writes(manifests: Manifests) -> Finding:
    """Try whether the store's conditional create is atomic, which every swap relies on."""
    check = "conditional writes"
    try:
        honoured = honours_create_if_absent(manifests.store.objects)
    except OmnigraphError as error:
        advice = "reading works; ask for permission to write, if you want to"
        return Finding(check, f"cannot be tried: {error.message}", Verdict.ADVICE, advice)
    if honoured:
        return Finding(check, "honoured")
    advice = "use a store that knows If-None-Match: with this one, two writers can overwrite each other"
    return Finding(check, "ignored", Verdict.PROBLEM, advice)


def _external(view: GraphView, entity: Entity) -> Finding:
    """An external type: whether its files are as they were sealed."""
    pin = view.state.tables[entity.table_key]
    seal = stored_seal(view.store, pin)
    wrong = next(unreadable_files(seal, view.store.options), None)
    found = f"{counted(pin.rows, 'row')} in {counted(len(seal.files), 'file')} of {seal.address}"
    return Finding(
        f"external {entity.table_key}",
        found if wrong is None else f"{found}; {wrong[0]} {wrong[1]}",
        Verdict.OK if wrong is None else Verdict.PROBLEM,
        None if wrong is None else "omnigraph external refresh",
        {"rows": pin.rows, "files": len(seal.files), "format": seal.format.value, "version": seal.version},
    )


def _table(view: GraphView, entity: Entity) -> Finding:
    table = view.node_table(entity.name) if isinstance(entity, NodeType) else view.edge_table(entity.name)
    fragments, dead = len(table.layout.parts), len(table.layout.dead)
    uncovered = list(_uncovered(view, entity))
    reasons = [f"index {spec} covers {share:.0%}" for spec, share in uncovered]
    if fragments >= FRAGMENTS_MANY and table.rows < fragments * ROWS_PER_FRAGMENT_FEW:
        reasons.append("it is in many small pieces")
    if dead > DELETED_SHARE_MUCH * (table.rows + dead):
        reasons.append("many of its rows are deleted")
    found = f"{counted(table.rows, 'row')} in {counted(fragments, 'fragment')}" + (
        f", {dead:,} deleted" if dead else ""
    )
    return Finding(
        f"table {entity.table_key}",
        "; ".join([found, *reasons]),
        Verdict.ADVICE if reasons else Verdict.OK,
        "omnigraph optimize" if reasons else None,
        {
            "rows": table.rows,
            "fragments": fragments,
            "deleted_rows": dead,
            "incomplete_indexes": {str(spec): share for spec, share in uncovered},
        },
    )


def _uncovered(view: GraphView, entity: Entity) -> Iterator[tuple[IndexSpec, float]]:
    """Indexes that ``optimize`` would build or extend: the table shall have them, and they miss many of its rows."""
    pin = view.state.tables[entity.table_key]
    known, tuning = known_indexes(view.store, pin), view.store.tuning
    for spec in wanted_indexes(entity):
        found = known.get((spec.column, spec.kind))
        share = 0.0 if found is None else found.covered_rows / max(found.rows, 1)
        if share < COVERED_SHARE_WELL and (found is not None or pin.rows >= index_rows_min(spec.kind, tuning)):
            yield spec, share
