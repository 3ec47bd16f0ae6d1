"""The schema of a merge, from those at the heads and at what they have in common, and what it means for tables."""

from __future__ import annotations

from omnigraph.core.commit import CommitKind
from omnigraph.errors import SchemaConflict
from omnigraph.history.state import ManifestState
from omnigraph.manifest.reader import Capture, Manifests
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.ir import SchemaIR
from omnigraph.schema.json_form import digest
from omnigraph.schema.merge import merge_schemas
from omnigraph.write.merge_sides import Crossing, GraphSides
from omnigraph.write.retyping import continued
from omnigraph.write.schema_checks import demands_of
from omnigraph.write.type_tables import entities, table_id


def merged_schema(
    manifests: Manifests, base: ManifestState, source: ManifestState, target: Capture, crossing: Crossing | None
) -> tuple[str, SchemaIR | None]:
    """The digest of the merged schema, and the schema itself if it is that of neither side."""
    digests = {state.schema_digest for state in (base, source, target.state)}
    if len(digests) == 1:
        return source.schema_digest, None
    schemas = [manifests.catalog(state.schema_digest).schema for state in (base, source, target.state)]
    if crossing is not None:
        schemas[0] = _crossed_schema(manifests, crossing, schemas[0])
    merged = merge_schemas(*schemas)
    for state, schema in ((target.state, schemas[2]), (source, schemas[1])):
        if merged == schema:
            return state.schema_digest, None
    return digest(merged), merged


def _crossed_schema(manifests: Manifests, crossing: Crossing, base: SchemaIR) -> SchemaIR:
    """What several bases have together, or the schema of one of them if they cannot be merged."""
    origins, bases = (
        [manifests.catalog(state.schema_digest).schema for state in some] for some in (crossing.origins, crossing.bases)
    )
    found = base
    try:
        for other in bases if origins else []:
            found = merge_schemas(origins[0], found, other)
    except SchemaConflict:
        return base
    return found


def is_migrated(sides: GraphSides, key: str) -> bool:
    """Whether a side has another schema for a table than the merged one. Such a table is merged here."""
    entity = sides.entity(key)
    steps = [step for some in sides.demands for step in some]
    return bool(demands_of(steps, entity)) or any(has_other_columns(entity, item) for item in sides.catalogs)


def has_other_columns(entity: Entity, catalog: Catalog) -> bool:
    """Whether a type has other columns in a schema, or is not in it."""
    own = continued(entity, catalog)
    return own is None or not table_schema(own).equals(table_schema(entity), check_metadata=True)


def check_dropped(sides: GraphSides, key: str) -> None:
    """A type goes only if nobody changed its entities meanwhile."""
    location = sides.pin(key).location
    relation = sides.relation
    for commits, state in ((relation.only_source, sides.source), (relation.only_target, sides.target)):
        kinds = {commit.kind for commit in commits for change in commit.tables if change.location == location}
        if key in state.tables and kinds - {CommitKind.MAINTENANCE, CommitKind.SCHEMA}:
            raise dropped_conflict(sides, key)


def dropped_conflict(sides: GraphSides, key: str) -> SchemaConflict:
    """The error for a type that one side dropped."""
    location = sides.pin(key).location
    known = [entity for catalog in sides.catalogs for entity in entities(catalog)]
    name = next(entity.name for entity in known if table_id(entity).location == location)
    return SchemaConflict(
        f"one branch dropped the type {name} and the other one changed its entities",
        hint="drop it on both branches, or declare it on both",
        types=[name],
    )
