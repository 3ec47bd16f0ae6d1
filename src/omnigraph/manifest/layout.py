"""Paths below a root, the format stamp, and manifest rows as Arrow."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, unquote

import pyarrow as pa

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.errors import CorruptionError, FormatError, Hint, NotAGraphError
from omnigraph.history.state import ManifestRow
from omnigraph.storage.objects.places import diagnose
from omnigraph.storage.objects.sealed import seal, unseal
from omnigraph.storage.objects.version_names import AHEAD
from omnigraph.storage.tables.store import Store

FORMAT = 1
STAMP_PATH = "omnigraph.json"
MAIN = "main"
WITHDRAWN = ""
"""The name in the manifest of a branch whose creation was not completed. No ref can have it."""

DELETED = ":deleted"
"""The name in the manifest of a deleted branch. No ref can have it."""

MAIN_MANIFEST = "__manifest"
REFS_PREFIX = "refs/"
BRANCHES = "branches"

_UNCOMPRESSED = {"lance-encoding:compression": "none"}
"""No compression: every swap rewrites this column, and it is read once. From 32 KB on Lance would build a symbol table
for it, which takes longer than the rest of the swap and saves less than half of a small file."""

_SCHEMA = pa.schema(
    [
        pa.field("object_id", pa.string(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"}),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string(), metadata=_UNCOMPRESSED),
        pa.field("base_objects", pa.list_(pa.string())),
        pa.field("table_key", pa.string()),
        pa.field("table_version", pa.int64()),
        pa.field("lance_version", pa.uint64()),
        pa.field("row_count", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The content of ``omnigraph.json``. The graph's id is also the incarnation of ``main``."""

    format: int
    graph_id: str
    created_at_us: int

    def to_bytes(self) -> bytes:
        return seal({"format": self.format, "graph_id": self.graph_id, "created_at": self.created_at_us})


def read_stamp(store: Store) -> Stamp:
    """The stamp of a graph; raises if there is no graph, or its format is not supported."""
    content = store.objects.read(STAMP_PATH)
    if content is None:
        raise _no_graph(store)
    try:
        stamp = unseal(content, STAMP_PATH, ("format", "graph_id", "created_at"))
        known = Stamp(int(stamp["format"]), str(stamp["graph_id"]), int(stamp["created_at"]))
    except CorruptionError as error:
        if has_manifest(store):
            raise
        raise NotAGraphError(f"{STAMP_PATH} at {store.root} is not a graph's stamp: {error.message}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise NotAGraphError(f"{STAMP_PATH} at {store.root} is not a graph's stamp: {error}") from error
    if known.format != FORMAT:
        older = known.format < FORMAT
        remedy = "export it with the version that wrote it and load it again" if older else "upgrade this package"
        raise FormatError(
            f"the graph at {store.root} has format {known.format}; this version reads format {FORMAT}",
            hint=remedy,
            format=known.format,
        )
    return known


def has_manifest(store: Store) -> bool:
    """True if main has a manifest, with or without a stamp."""
    return bool(store.objects.level(f"{MAIN_MANIFEST}/_versions").files)


def _no_graph(store: Store) -> NotAGraphError:
    if has_manifest(store):
        found = f": it looks like one, but {STAMP_PATH} is missing"
        hint: str | Hint = Hint(
            "omnigraph.repair(..., apply=True) restores it; if the graph was being created, omnigraph.create with the "
            "same schema completes it",
            "omnigraph repair restores it; if the graph was being created, omnigraph init with the same schema "
            "completes it",
        )
    else:
        found, hint = diagnose(store.root, STAMP_PATH)
    return NotAGraphError(f"there is no graph at {store.root}{found}", hint=hint, root=str(store.root), path=STAMP_PATH)


def manifest_location(incarnation: str, graph_id: str) -> str:
    """The location of an incarnation's manifest."""
    return MAIN_MANIFEST if incarnation == graph_id else f"{BRANCHES}/{incarnation}/__manifest"


@lru_cache(maxsize=1024)
def ref_path(branch: str) -> str:
    """The file that maps a branch name to its incarnation."""
    return f"{REFS_PREFIX}{quote(branch, safe='')}.json"


def branch_of_ref(path: str) -> str:
    """The branch a ref file names."""
    return unquote(path.removeprefix(REFS_PREFIX).removesuffix(".json"))


def rows_to_arrow(rows: Iterable[ManifestRow]) -> pa.Table:
    """Manifest rows as an Arrow table, which names the schema of the graph as a file to fetch with the rows."""
    given = list(rows)
    columns = list(zip(*given, strict=True))
    [schema] = [row.location for row in given if row.object_type == "schema"]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)],
        schema=_SCHEMA.with_metadata({AHEAD: schema or ""}),
    )


def rows_from_arrow(table: pa.Table) -> list[ManifestRow]:
    """Manifest rows of an Arrow table."""
    columns = [table.column(name).to_pylist() for name in ManifestRow._fields]
    return [ManifestRow(*values) for values in zip(*columns, strict=True)]
