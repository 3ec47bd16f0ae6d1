"""Indexes and fragments of a table version in the forms of the interface. Only manifests are read."""

from __future__ import annotations

import lance_namespace as ln
from lance_namespace_urllib3_client.models.fragment_stats import FragmentStats
from lance_namespace_urllib3_client.models.fragment_summary import FragmentSummary
from lance_namespace_urllib3_client.models.index_content import IndexContent
from lance_namespace_urllib3_client.models.table_basic_stats import TableBasicStats

from omnigraph.core.suggestions import did_you_mean
from omnigraph.core.tables import TablePin
from omnigraph.namespace.failures import hinted
from omnigraph.storage.files import SegmentFiles, version_files
from omnigraph.storage.index.described import DescribedIndex, described_indexes
from omnigraph.storage.index.indexes import fragment_rows
from omnigraph.storage.tables.store import Store

SMALL_ROWS = 1024 * 1024
"""Fragments with fewer rows than Lance's own compaction target count as small."""


def index_contents(store: Store, pin: TablePin) -> dict[str, IndexContent]:
    """Every index by name, with its coverage."""
    return {index.name: _content(index) for index in described_indexes(store, pin)}


def _content(index: DescribedIndex) -> IndexContent:
    return IndexContent(
        index_name=index.name,
        index_uuid=index.segments[0] if index.segments else "",
        columns=list(index.columns),
        status="complete" if index.indexed_rows == index.rows else "partial",
        index_type=index.kind,
        type_url=index.type_url,
        num_indexed_rows=index.indexed_rows,
        num_unindexed_rows=index.rows - index.indexed_rows,
        size_bytes=index.size_bytes,
        num_segments=len(index.segments),
        created_at=index.created_at,
        index_version=index.format_version,
        index_details=index.details,
    )


def index_statistics(store: Store, pin: TablePin, name: str | None) -> ln.DescribeTableIndexStatsResponse:
    """The coverage of one index."""
    indexes = {index.name: index for index in described_indexes(store, pin)}
    index = indexes.get(name or "")
    if index is None:
        hint = did_you_mean(name or "", list(indexes)) or f"it has {', '.join(indexes) or 'none'}"
        raise ln.TableIndexNotFoundError(hinted(f"{pin.key} has no index {name!r}", hint))
    return ln.DescribeTableIndexStatsResponse(
        distance_type=index.metric,
        index_type=index.kind,
        num_indexed_rows=index.indexed_rows,
        num_unindexed_rows=index.rows - index.indexed_rows,
        num_indices=len(index.segments),
    )


def basic_statistics(store: Store, pin: TablePin) -> TableBasicStats:
    """Fragments, and rows that are deleted and still in a file."""
    fragments = store.open(pin.location, pin.lance_version).get_fragments()
    return TableBasicStats(
        num_deleted_rows=sum(item.metadata.num_deletions for item in fragments), num_fragments=len(fragments)
    )


def table_statistics(store: Store, pin: TablePin) -> ln.GetTableStatsResponse:
    """Rows, bytes and fragments."""
    lengths = sorted(fragment_rows(store.open(pin.location, pin.lance_version)).values())
    sizes = dict(store.objects.list(f"{pin.location}/"))
    paths = version_files(store, pin, SegmentFiles(store))
    return ln.GetTableStatsResponse(
        total_bytes=sum(sizes.get(path, 0) for path in paths),
        num_rows=pin.rows,
        num_indices=len(described_indexes(store, pin)),
        fragment_stats=FragmentStats(
            num_fragments=len(lengths),
            num_small_fragments=sum(length < SMALL_ROWS for length in lengths),
            lengths=FragmentSummary(
                min=_share(lengths, 0),
                max=_share(lengths, 1),
                mean=sum(lengths) // max(1, len(lengths)),
                p25=_share(lengths, 0.25),
                p50=_share(lengths, 0.5),
                p75=_share(lengths, 0.75),
                p99=_share(lengths, 0.99),
            ),
        ),
    )


def _share(lengths: list[int], share: float) -> int:
    """The length that this share of the sorted lengths does not exceed."""
    return lengths[round(share * (len(lengths) - 1))] if lengths else 0
