"""`__manifest` rows are those of Lance's own directory namespace, so Lance tools can list the tables of a graph."""

import lance
import lance_namespace
import pyarrow as pa
import pytest
from lance.namespace import DirectoryNamespace

MANIFEST = pa.schema(
    [
        pa.field("object_id", pa.string(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"}),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("base_objects", pa.list_(pa.field("object_id", pa.string()))),
        pa.field("table_key", pa.string()),
        pa.field("table_version", pa.int64()),
        pa.field("lance_version", pa.uint64()),
        pa.field("row_count", pa.int64()),
    ]
)


@pytest.fixture
def root(place, people):
    """A graph root as we lay it out: the table's directory has neither its name nor the suffix `.lance`."""
    people.create(place.uri("nodes/0001-01"), {"ann": 1})
    rows = [
        {"object_id": "node:Person", "object_type": "table", "location": "nodes/0001-01", "table_key": "node:Person"},
        {"object_id": "graph_head:main", "object_type": "graph_head", "metadata": '{"commit": "01J"}'},
        {"object_id": "graph_commit:01J", "object_type": "graph_commit", "metadata": "{}"},
    ]
    complete = [{name: row.get(name) for name in MANIFEST.names} for row in rows]
    lance.write_dataset(pa.Table.from_pylist(complete, schema=MANIFEST), place.uri("__manifest"))
    return place.directory


def test_the_directory_namespace_lists_and_describes_our_tables_and_nothing_else(root, place):
    """Extra columns and other kinds of rows do not disturb it; directory listing has to be off to see the manifest."""
    namespace = DirectoryNamespace(root=str(root), dir_listing_enabled="false")
    before = place.files()

    assert namespace.list_tables(lance_namespace.ListTablesRequest(id=[])).tables == ["node:Person"]
    described = namespace.describe_table(lance_namespace.DescribeTableRequest(id=["node:Person"]))
    assert described.location.endswith("/nodes/0001-01")
    assert place.files() == before, "a tool that looks must not write"


def test_with_directory_listing_on_the_namespace_does_not_see_our_tables(root):
    """The default setting looks for `*.lance` directories first; our documentation names the option."""
    namespace = DirectoryNamespace(root=str(root))
    assert namespace.list_tables(lance_namespace.ListTablesRequest(id=[])).tables == []
