"""Refresh: one commit that pins the newest versions of external tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from omnigraph.compare.parts import part_changes, table_parts
from omnigraph.core.tables import Counts, TablePin
from omnigraph.history.plan import CommitInfo, PublishPlan, TableWrite, WriteMode
from omnigraph.lake.external.seal import Seal
from omnigraph.lake.external.table import ExternalTable
from omnigraph.manifest.reader import Capture
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.store import Store
from omnigraph.write.attempt import CHECK, READ, WriteJob
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.external.sealing import Sealing, is_readable, sealing, store_seals
from omnigraph.write.load.rows import Progress
from omnigraph.write.retyping import check_same_type
from omnigraph.write.type_tables import table_id


@dataclass(frozen=True)
class PreparedRefresh:
    """Checked seals that differ from the pins of a state."""

    store: Store
    changed: Mapping[str, tuple[Entity, Seal]]
    counted: Mapping[str, Counts]
    reads: frozenset[str]
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.changed

    def counts(self, capture: Capture) -> Mapping[str, Counts]:
        return self.counted

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        """Store the seals."""
        files = store_seals(self.store, self.changed.values())
        writes = tuple(
            TableWrite(key, table_id(entity).location, WriteMode.SEAL, seal.number, seal.rows, *self.counted[key])
            for key, (entity, seal) in sorted(self.changed.items())
        )
        return PublishPlan(
            info,
            capture.state,
            writes,
            self.reads - self.changed.keys(),
            options.expected_head,
            files=tuple(files),
        )


@contextmanager
def refreshing(
    context: WriteContext,
    incarnation: str,
    choose: Callable[[Catalog], Sequence[Entity]],
    info: CommitInfo,
    options: WriteOptions,
    progress: Progress | None = None,
) -> Iterator[tuple[Sealing, WriteJob[PreparedRefresh]]]:
    """The write that seals the newest versions of some types, to be committed or prepared inside the block.

    It is empty if all are sealed already.
    """
    state = context.manifests.fresh(incarnation)
    catalog = context.manifests.catalog(state.schema_digest)
    entities = {entity.table_key: entity for entity in choose(catalog)}
    rows = {key: pin.rows for key, pin in state.tables.items()}
    with ExitStack() as stack:
        with context.profiler.step(READ) as step:
            made = stack.enter_context(sealing(context.store, catalog, [*entities.values()], rows, progress))
            step.rows = sum(seal.rows for seal in made.seals.values())

        def prepare(capture: Capture) -> PreparedRefresh:
            with context.profiler.step(CHECK):
                return _prepared(context.store, capture, entities, made)

        yield made, WriteJob(incarnation, prepare, info, options)


def _prepared(store: Store, capture: Capture, entities: Mapping[str, Entity], made: Sealing) -> PreparedRefresh:
    for entity in entities.values():
        check_same_type(entity, capture.catalog)
    pins = capture.state.tables
    changed = {key: (entities[key], seal) for key, seal in made.seals.items() if pins[key].lance_version != seal.number}
    # A version that is sealed already was checked then.
    reads = made.check(capture.state) if changed else frozenset[str]()
    counts = {key: change_counts(store, entity, pins[key], seal) for key, (entity, seal) in changed.items()}
    return PreparedRefresh(store, changed, counts, reads)


def change_counts(store: Store, entity: Entity, before: TablePin, seal: Seal) -> Counts:
    """Entities inserted, updated and deleted by a seal. Only files that one of the versions lacks are read.

    If files of the version before are gone, all of its entities count as deleted and all new ones as inserted.
    """
    if not is_readable(store, before):
        return seal.rows, 0, before.rows
    pins = (before, unstored_pin(store, entity, seal))
    inserted = updated = deleted = 0
    for part in table_parts(store, entity, pins, store.tuning.partition_rows):
        found = part_changes(store, entity, pins, part)
        inserted += found.inserted.num_rows
        updated += found.after.num_rows
        deleted += found.deleted.num_rows
    return inserted, updated, deleted


def unstored_pin(store: Store, entity: Entity, seal: Seal) -> TablePin:
    """A pin that can be read in this process before its seal is stored."""
    pin = TablePin(entity.table_key, table_id(entity).location, seal.number, 0, seal.rows)
    store.external.put((pin.location, pin.lance_version), ExternalTable(store, pin, seal))
    return pin
