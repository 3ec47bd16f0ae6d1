"""Owners of nodes and relations, which cognee calls source refs: they decide what the deletion of a document deletes.

cognee keeps four lists for each entity: refs, their datasets, the runs that added them, and both as one text. The last
three follow from the refs and their runs, so only those are stored, each as an edge to a source.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from cognee.infrastructure.databases.provenance import get_dataset_id_from_source_ref_key, make_source_run_ref
from cognee.infrastructure.databases.provenance.source_ref_state import (
    ProvenanceColumns,
    derive_dataset_ids,
    derive_run_ids,
)

from omnigraph.integrations.cognee.tables import Record, RelationKey, Tables, View

Owner = tuple[str, str | None]
"""A source ref, and the run that added it."""
Clock = Callable[[], int]
"""Nanoseconds since 1970: owners are listed in the order in which they were added."""


def columns(owners: Sequence[Owner]) -> ProvenanceColumns:
    """The four lists of cognee."""
    refs = [ref for ref, _ in owners]
    runs = [make_source_run_ref(UUID(run), ref) for ref, run in owners if run is not None]
    return ProvenanceColumns(refs, derive_dataset_ids(refs), derive_run_ids(runs), runs)


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners on one branch."""

    tables: Tables
    clock: Clock = time.time_ns

    def of_nodes(self, view: View, ids: Iterable[str]) -> dict[str, list[Owner]]:
        wanted = list(dict.fromkeys(ids))
        found: dict[str, list[Owner]] = defaultdict(list)
        if not wanted:
            return found
        rows = view.rows(
            "match { $n: CogneeNode ($n.node_id in $ids) $n $o: cogneeOwner $s }"
            " return { $n.node_id as id, $s.ref as ref, $o.run as run } order { $o.attached, $s.ref }",
            ids=wanted,
        )
        for row in rows:
            found[row["id"]].append((row["ref"], row["run"]))
        return found

    def of_relations(self, view: View, keys: Iterable[RelationKey]) -> dict[RelationKey, list[Owner]]:
        wanted = set(keys)
        found: dict[RelationKey, list[Owner]] = defaultdict(list)
        for row in self._rows_from(view, wanted):
            found[_key(row)].append((row["ref"], row["run"]))
        return found

    def node_records(
        self, view: View, ids: Iterable[str], refs: Sequence[str], run: str | None, *, is_new: bool = False
    ) -> list[Record]:
        """Records that add owners to nodes. ``is_new`` if the nodes are written with them and may not exist yet."""
        ids = list(dict.fromkeys(ids))
        present = set(ids) if is_new else view.known(ids)
        owned = self.of_nodes(view, ids)
        added = [
            {"edge": "CogneeOwner", "from": id_, "to": ref, "data": {"run": run}}
            for id_ in ids
            if id_ in present
            for ref in _missing(owned[id_], refs)
        ]
        return self._with_sources(added)

    def relation_records(
        self, view: View, keys: Iterable[RelationKey], refs: Sequence[str], run: str | None, *, is_new: bool = False
    ) -> list[Record]:
        """The same for relations."""
        keys = list(dict.fromkeys(keys))
        present = set(keys) if is_new else view.relations_of(keys).keys()
        owned = self.of_relations(view, keys)
        added = [
            {
                "edge": "CogneeRelationOwner",
                "from": key[0],
                "to": ref,
                "data": {"target": key[1], "label": key[2], "run": run},
            }
            for key in keys
            if key in present
            for ref in _missing(owned[key], refs)
        ]
        return self._with_sources(added)

    def _with_sources(self, added: list[dict[str, Any]]) -> list[Record]:
        moment = self.clock()
        for number, record in enumerate(added):
            record["data"]["attached"] = moment + number
        refs = dict.fromkeys(record["to"] for record in added)
        sources = [
            {"type": "CogneeSource", "data": {"ref": ref, "dataset": str(get_dataset_id_from_source_ref_key(ref))}}
            for ref in refs
        ]
        return [*sources, *added]

    def remove_from_nodes(self, ids: Sequence[str], refs: Sequence[str]) -> None:
        """Take owners away from nodes."""
        self.tables.mutate(
            "query remove($ids: [String], $refs: [String]) {"
            " match { $n: CogneeNode ($n.node_id in $ids) $n $o: cogneeOwner $s ($s.ref in $refs) } delete $o }",
            {"ids": list(ids), "refs": list(refs)},
        )

    def remove_from_relations(self, keys: Iterable[RelationKey], refs: Sequence[str]) -> None:
        """Take owners away from relations."""
        ids = self.relation_owner_ids(self.tables.view(), keys, refs)
        if ids:
            self.tables.mutate("query q($ids: [String]) { delete CogneeRelationOwner where id in $ids }", {"ids": ids})

    def relation_owner_ids(
        self, view: View, keys: Iterable[RelationKey], refs: Sequence[str] | None = None
    ) -> list[str]:
        """The ids of the edges from relations to their owners, or to some of them."""
        rows = self._rows_from(view, set(keys))
        return [row["id"] for row in rows if refs is None or row["ref"] in refs]

    def nodes_by(self, view: View, condition: str, value: str) -> dict[str, list[str]]:
        """Source refs by node, of the owners that a condition on ``$o`` or ``$s`` selects."""
        found: dict[str, list[str]] = defaultdict(list)
        for row in view.rows(
            f"match {{ $n: CogneeNode $n $o: cogneeOwner $s ({condition}) }}"
            " return { $n.node_id as id, $s.ref as ref } order { $n.node_id, $o.attached, $s.ref }",
            value=value,
        ):
            found[row["id"]].append(row["ref"])
        return dict(found)

    def relations_by(self, view: View, condition: str, value: str) -> dict[RelationKey, list[str]]:
        """The same for relations."""
        found: dict[RelationKey, list[str]] = defaultdict(list)
        for row in self._relation_rows(view, f"({condition})", value=value):
            found[_key(row)].append(row["ref"])
        # An owner may outlive its relation for the time between two writers.
        present = view.relations_of(found)
        return {key: refs for key, refs in found.items() if key in present}

    def _rows_from(self, view: View, wanted: set[RelationKey]) -> list[dict[str, Any]]:
        if not wanted:
            return []
        sources = sorted({source for source, _, _ in wanted})
        found = self._relation_rows(view, "($n.node_id in $sources)", sources=sources)
        return [row for row in found if _key(row) in wanted]

    def _relation_rows(self, view: View, condition: str, **params: Any) -> list[dict[str, Any]]:
        return view.rows(
            f"match {{ $n: CogneeNode $n $o: cogneeRelationOwner $s {condition} }} return {{ id($o) as id,"
            " $n.node_id as source, $o.target as target, $o.label as label, $s.ref as ref, $o.run as run }"
            " order { $o.attached, $s.ref }",
            **params,
        )


def _key(row: Mapping[str, str]) -> RelationKey:
    return row["source"], row["target"], row["label"]


def _missing(owners: Sequence[Owner], refs: Sequence[str]) -> list[str]:
    """Refs that are not owners yet. One that is keeps its run, so rolling back a later run does not take it away."""
    known = {ref for ref, _ in owners}
    return [ref for ref in dict.fromkeys(refs) if ref not in known]
