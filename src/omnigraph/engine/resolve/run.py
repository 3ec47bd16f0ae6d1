"""Entity resolution: from the caller's rules to one commit, or to a preview."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import pyarrow as pa

from omnigraph.compare.tables import compared
from omnigraph.core.commit import CommitKind
from omnigraph.core.ports import FindEmbedder
from omnigraph.core.tables import TableCounts
from omnigraph.engine.branches import create_branch
from omnigraph.engine.history.change_rows import change_rows
from omnigraph.engine.history.diff import PlannedChanges, TableDiff
from omnigraph.engine.idempotency import earlier_commit
from omnigraph.engine.merge.result import Policy
from omnigraph.engine.merge.run import read_policies
from omnigraph.engine.resolve.choice import Engine, open_finder
from omnigraph.engine.resolve.given import GivenPairs, read_pairs
from omnigraph.engine.resolve.result import CLUSTERS_SCHEMA, MERGED, Resolved, ResolvePreview, ResolveResult
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import UsageError
from omnigraph.exec.resolve.matches import joined_pairs
from omnigraph.exec.resolve.read_rules import read_rules
from omnigraph.exec.resolve.rounds import Found, skipped_remarks
from omnigraph.exec.resolve.rules import ResolveRules
from omnigraph.manifest import branches, naming
from omnigraph.manifest.commit_log import Lineage, newest_first
from omnigraph.manifest.layout import MAIN
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import NodeType, type_named
from omnigraph.write.attempt import WriteJob, commit, prepare
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.merge.newest import Moment, TableHistory, last_changes
from omnigraph.write.resolve.change import Images, PreparedResolve, Resolver
from omnigraph.write.resolve.fold import Folding
from omnigraph.write.resolve.groups import ROUNDS_MAX, Grouping, Ids
from omnigraph.write.vectors.mutation_vectors import MutationVectors

RULES_CHARS_MAX: Final = 2_000
"""Characters of the rules in the provenance of a commit; the newest commits are stored with every publish."""

GivenRules = ResolveRules | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One resolution as the caller states it: by rules, or of given pairs."""

    type_name: str
    rules: GivenRules | None
    pairs: GivenPairs | None
    policy: Policy
    branch: str
    base: str | None
    engine: Engine
    find_embedder: FindEmbedder


def resolve(context: WriteContext, request: Request, options: WriteOptions) -> ResolveResult:
    """Fold the entities that match, as one commit."""
    created = request.base is not None and not branches.has_branch(context.manifests, request.branch)
    if not created:
        ref = branches.find_ref(context.manifests, request.branch)
        earlier = earlier_commit(context, ref.incarnation, options)
        if earlier is not None:
            return ResolveResult(request.type_name, request.branch, earlier, repeated=True)
    with _branch(context, request, options, created=created):
        with _opened(context, request, request.branch) as work:
            said = work.signed(options)
            info = said.info(context, CommitKind.MUTATION)
            job = WriteJob(
                work.snapshot.state.incarnation, work.resolver.prepare, info, said, work.snapshot.state.fence
            )
            prepared, published = commit(context, job)
        made = None if published is None else published.commit
        tables = (
            ()
            if made is None
            else tuple(
                TableCounts(item.key, item.inserted, item.updated, item.deleted, adopted=False) for item in made.tables
            )
        )
        repeated = published is not None and published.repeated
        found = work.found(prepared)
        return ResolveResult(work.node.name, request.branch, made, found, tables, created, repeated)


def preview(context: WriteContext, request: Request) -> ResolvePreview:
    """The clusters, scores and changes of a resolution. Nothing is written."""
    is_new = request.base is not None and not branches.has_branch(context.manifests, request.branch)
    known = request.base or MAIN if is_new else request.branch
    with _opened(context, request, known) as work:
        options = WriteOptions()
        info = options.info(context, CommitKind.MUTATION)
        capture, prepared = prepare(
            context, WriteJob(work.snapshot.state.incarnation, work.resolver.prepare, info, options)
        )
        counts = prepared.counts(capture)
        tables = tuple(TableCounts(key, *item, adopted=False) for key, item in sorted(counts.items()) if any(item))
        changes = PlannedChanges(request.branch, tuple(work.diffs(prepared)))
        return ResolvePreview(work.node.name, request.branch, capture.state.head, work.found(prepared), changes, tables)


@contextmanager
def _branch(context: WriteContext, request: Request, options: WriteOptions, *, created: bool) -> Iterator[None]:
    """Create the branch if it is missing, and delete it again if the resolution fails."""
    if created:
        create_branch(context, request.branch, request.base or MAIN, None, options.actor)
    try:
        yield
    except BaseException:
        if created:
            naming.delete_branch(context.manifests, request.branch)
        raise


@dataclass(frozen=True)
class _Work:
    """A resolution whose groups are found."""

    snapshot: Snapshot
    node: NodeType
    rules: ResolveRules
    resolver: Resolver
    engine: str
    is_given: bool

    @property
    def grouping(self) -> Grouping:
        return self.resolver.grouping

    def signed(self, options: WriteOptions) -> WriteOptions:
        """The options of the commit, with the rules in its provenance."""
        rules = "given pairs" if self.is_given else _shown_rules(self.rules)
        provenance = {"resolve": self.node.name, "rules": rules, "engine": self.engine, **options.provenance}
        return replace(options, message=options.message or f"resolve {self.node.name}", provenance=provenance)

    def found(self, prepared: PreparedResolve) -> Resolved:
        """The tables and counts of the result."""
        grouping = self.grouping
        pairs = joined_pairs(grouping.pairs, self.rules)
        return Resolved(
            _clusters(grouping, pairs),
            pairs,
            grouping.compared,
            grouping.rounds,
            sum(item.moved for item in prepared.edges),
            sum(item.merged for item in prepared.edges),
            tuple(self._remarks(prepared)),
            self.engine,
        )

    def _remarks(self, prepared: PreparedResolve) -> Iterator[str]:
        yield from skipped_remarks(self.grouping.skipped, self.rules.block_max)
        if not self.grouping.is_finished and not self.is_given:
            yield f"stopped after {ROUNDS_MAX} rounds: survivors still match others; run it again"
        for item in prepared.edges:
            if item.loops:
                word = "dropped" if self.rules.self_loops == "drop" else "kept as loops"
                yield f"edges {item.edge.name} between entities of one cluster: {item.loops:,}, {word}"

    def diffs(self, prepared: PreparedResolve) -> Iterator[TableDiff]:
        """The changes of each type."""
        for images in prepared.images:
            rows = change_rows(self._compared(images), images.pin.location, (images.pin, images.pin))
            if len(rows):
                yield TableDiff(rows.ordered(self.snapshot.column_order(images.entity)))

    def _compared(self, images: Images) -> Any:
        return compared(self.snapshot.store, images.entity, (images.pin, images.pin), (images.before, images.after))


@contextmanager
def _opened(context: WriteContext, request: Request, branch: str) -> Iterator[_Work]:
    """Find the groups on the head of a branch."""
    manifests = context.manifests
    state = branches.find_head(manifests, branch)
    snapshot = Snapshot(manifests.store, state, manifests.catalog(state.schema_digest))
    node = type_named(snapshot.catalog.nodes.values(), request.type_name, "node type")
    if (request.rules is None) == (request.pairs is None):
        raise UsageError("resolve needs either rules or pairs", hint='rules={"blocks": [...], "compare": {...}}')
    rules = ResolveRules(()) if request.rules is None else read_rules(request.rules, node)
    policies = read_policies([snapshot.catalog], request.policy)
    folding = Folding(node, policies, rules.survivor, _history(context, snapshot))
    pin = state.tables[node.table_key]
    grouping = Grouping(snapshot.store, pin, rules, folding)
    with snapshot.reading():
        if request.pairs is not None:
            grouping.join(Found(read_pairs(request.pairs, snapshot, node, rules)))
        else:
            with open_finder(snapshot, node, rules, request.engine) as finder:
                grouping.run(finder)
    vectors = MutationVectors(snapshot.store, request.find_embedder)
    try:
        resolver = Resolver(snapshot.store, node, grouping, folding, vectors)
        engine = request.engine.chosen(pin.rows)
        yield _Work(snapshot, node, rules, resolver, engine, request.pairs is not None)
    finally:
        vectors.close()


def _history(context: WriteContext, snapshot: Snapshot) -> Callable[[Entity, list[str], str], Mapping[str, Moment]]:
    """The last change of a property of some entities, by the commits of the branch."""
    store, state = snapshot.store, snapshot.state

    def found(entity: Entity, ids: list[str], name: str) -> Mapping[str, Moment]:
        lineage, record = Lineage(store, state), context.manifests.record()

        def is_readable(commit_id: str) -> bool:
            known = lineage.find(commit_id)
            return known is not None and record.given_up_since(known) is None

        history = TableHistory(store, state.tables[entity.table_key].location, is_readable)
        return last_changes(history, entity, newest_first(store, state), ids, name)

    return found


def _clusters(grouping: Grouping, pairs: pa.Table) -> pa.Table:
    """Clusters by their first id, with the score of the weakest match within each."""
    owner = {id_: survivor for survivor, ids in grouping.groups.items() for id_ in ids}
    left_owner = {id_: number for number, group in enumerate(grouping.left) for id_ in group.ids}
    weakest: dict[object, float] = {}
    matches = pairs.filter(pairs.column("match")).select(["left", "right", "score"]).to_pylist()
    for pair in matches:
        for known in (owner, left_owner):
            one = known.get(pair["left"])
            if one is not None and one == known.get(pair["right"]):
                weakest[one] = min(weakest.get(one, 1.0), pair["score"])
    rows: list[tuple[str | None, Ids, int, float | None, str, str | None]] = [
        (survivor, ids, len(ids), weakest.get(survivor), MERGED, None) for survivor, ids in grouping.groups.items()
    ]
    rows += [
        (None, group.ids, len(group.ids), weakest.get(number), group.kind, group.detail)
        for number, group in enumerate(grouping.left)
    ]
    rows.sort(key=lambda row: row[1])
    columns = [[row[place] for row in rows] for place in range(len(CLUSTERS_SCHEMA))]
    arrays = [pa.array(values, kind.type) for values, kind in zip(columns, CLUSTERS_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=CLUSTERS_SCHEMA)


def _shown_rules(rules: ResolveRules) -> str:
    """The rules as a compact text; what differs from the defaults."""
    usual = asdict(ResolveRules(()))
    said = {name: value for name, value in asdict(rules).items() if value != usual[name]}
    said["blocks"] = [[str(part) for part in block] for block in rules.blocks]
    text = json.dumps(said, separators=(",", ":"), default=str)
    return text if len(text) <= RULES_CHARS_MAX else text[: RULES_CHARS_MAX - 3] + "..."
