"""Three-way merge of schemas, and its consequences for tables."""

from __future__ import annotations

from functools import partial, reduce

from omnigraph.core.commit import CommitKind
from omnigraph.errors import SchemaConflict
from omnigraph.history.merge import Policies
from omnigraph.history.state import ManifestState
from omnigraph.manifest.reader import Capture, Manifests
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.cardinality import has_minimum
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.schema.ir import SchemaIR
from omnigraph.schema.json_form import digest
from omnigraph.schema.merge import merge_schemas
from omnigraph.schema.references import type_parts
from omnigraph.write.merge.images import SOURCE, TARGET
from omnigraph.write.merge.sides import Crossing, GraphSides, crossing_of, relate_heads, state_at
from omnigraph.write.retyping import continued
from omnigraph.write.schema.checks import demands_of
from omnigraph.write.type_tables import entities, table_id


def merged_catalog(manifests: Manifests, source: ManifestState, target: Capture) -> Catalog:
    """The catalog of the merged schema of two heads, whose names conflicts and resolutions use."""
    if source.schema_digest == target.state.schema_digest:
        return target.catalog
    relation, commit = relate_heads(manifests, source, target.state)
    base = state_at(manifests, commit, target.state, source)
    crossing = crossing_of(manifests, relation, source, target.state, Policies())
    merged, schema = merged_schema(manifests, base, source, target, crossing)
    return manifests.catalog(merged) if schema is None else Catalog(schema)


def merged_schema(
    manifests: Manifests, base: ManifestState, source: ManifestState, target: Capture, crossing: Crossing | None
) -> tuple[str, SchemaIR | None]:
    """The digest of the merged schema, and the schema itself if it differs from both sides."""
    digests = {state.schema_digest for state in (base, source, target.state)}
    if len(digests) == 1:
        return source.schema_digest, None
    source_schema, target_schema = (manifests.catalog(state.schema_digest).schema for state in (source, target.state))
    before = [base] if crossing is None else crossing.bases
    bases = [manifests.catalog(state.schema_digest).schema for state in before]
    if crossing is not None:
        bases = _together(bases, [manifests.catalog(state.schema_digest).schema for state in crossing.origins])
    merged, *others = (merge_schemas(schema, source_schema, target_schema) for schema in bases)
    if any(other != merged for other in others):
        raise _undecided(merged, others)
    for state, schema in ((target.state, target_schema), (source, source_schema)):
        if merged == schema:
            return state.schema_digest, None
    return digest(merged), merged


def _together(bases: list[SchemaIR], origins: list[SchemaIR]) -> list[SchemaIR]:
    """The virtual base of several base schemas; all of them if they conflict or the origins are unknown."""
    if not origins or any(origin != origins[0] for origin in origins):
        return bases
    try:
        return [reduce(partial(merge_schemas, origins[0]), bases)]
    except SchemaConflict:
        return bases


def _undecided(merged: SchemaIR, others: list[SchemaIR]) -> SchemaConflict:
    """The error for several bases that lead to different merged schemas."""
    every = [type_parts(schema) for schema in (merged, *others)]
    keys = dict.fromkeys(key for parts in every for key in parts)
    apart = [key for key in keys if any(parts.get(key) != every[0].get(key) for parts in every)]
    types = sorted({next(parts[key].name for parts in every if key in parts) for key in apart})
    return SchemaConflict(
        f"the branches have {len(every)} best common ancestors with different schemas, which lead to different "
        f"declarations of {', '.join(types)}; nothing was changed",
        hint="apply the intended schema to one of the branches, and merge again",
        types=types,
    )


def is_migrated(sides: GraphSides, key: str) -> bool:
    """True if a side has another schema for a table than the merged one. Such tables are not merged on Spark."""
    entity = sides.entity(key)
    steps = [step for some in sides.demands for step in some]
    return bool(demands_of(steps, entity)) or any(has_other_columns(entity, item) for item in sides.catalogs)


def has_other_columns(entity: Entity, catalog: Catalog) -> bool:
    """True if a type has other columns in a schema, or is missing there."""
    own = continued(entity, catalog)
    return own is None or not table_schema(own).equals(table_schema(entity), check_metadata=True)


def judges_vacated(sides: GraphSides, entity: Entity) -> bool:
    """True if the merge must check sources that lose their last edge of a type.

    Writes on a branch whose schema has a minimum were checked one by one. Writes on a branch without one were not, and
    a revert restores a state without any write.
    """
    if not isinstance(entity, EdgeType) or not has_minimum(entity):
        return False
    own = continued(entity, sides.catalogs[SOURCE])
    return sides.is_undo or not isinstance(own, EdgeType) or not has_minimum(own)


def check_dropped(sides: GraphSides, key: str) -> None:
    """Raise SchemaConflict if a side changed entities of a dropped type."""
    for of_source, state in ((True, sides.source), (False, sides.target)):
        if key in state.tables and sides.is_changed(key, of_source=of_source) and _has_work(sides, key, of_source):
            raise dropped_conflict(sides, key)


def _has_work(sides: GraphSides, key: str, of_source: bool) -> bool:
    """True if a side has other entities of a table than the base, and not only other columns."""
    commits = sides.relation.only_source if of_source else sides.relation.only_target
    location = sides.pin(key).location
    changes = (change for commit in commits if commit.kind is not CommitKind.SCHEMA for change in commit.tables)
    if not any(item.inserted + item.updated + item.deleted for item in changes if item.location == location):
        return False
    # The changes may have been undone on the branch, so the entities are compared.
    known = entities(sides.catalogs[SOURCE if of_source else TARGET])
    entity = next(item for item in known if table_id(item).location == location)
    return sides.differs_from_bases(key, entity, of_source=of_source)


def dropped_conflict(sides: GraphSides, key: str) -> SchemaConflict:
    """The error for a type that one side dropped and the other changed."""
    location = sides.pin(key).location
    known = [entity for catalog in sides.catalogs for entity in entities(catalog)]
    name = next(entity.name for entity in known if table_id(entity).location == location)
    return SchemaConflict(
        f"one branch dropped the type {name} and the other changed its entities",
        hint="drop it on both branches, or declare it on both",
        types=[name],
    )
