"""Requests that Lance sends to an object store: the cost assumptions of the design, counted."""

import hashlib

import lance
import pyarrow as pa
import pytest
from botocore.exceptions import ClientError
from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from lance.fragment import write_fragments
from tests.support.faults.fault import RespondAt

pytestmark = pytest.mark.s3

PUTS = ("data", "_transactions", "_versions")
"""The writes of a commit with data, in this order."""


@pytest.fixture
def table(s3, people):
    """A table with a history of ten detached versions."""
    table = people.create(s3.uri("t"), {"ann": 1, "bob": 2}, storage_options=s3.options)
    for number in range(10):
        table = people.append(table, {f"p{number}": number})
    s3.counts()
    return table


@pytest.fixture
def manifest(s3, people):
    manifest = people.create(s3.uri("m"), {"main": 1}, storage_options=s3.options)
    s3.counts()
    return manifest


def publish(base, people, ages):
    fragments = write_fragments(people.rows(ages), base, mode="overwrite")
    return LanceDataset.commit(
        base, LanceOperation.Overwrite(people.schema, fragments), read_version=base.version, max_retries=0
    )


def test_a_warm_append_and_its_detached_commit_are_three_puts(s3, people, table):
    """Half of the promise "six PUTs, no reads, no lists": data, transaction, table manifest."""
    people.append(table, {"zoe": 1})
    paths = [(request.method, request.key.split("/")[1]) for request in s3.requests()]
    assert paths == [("PUT", name) for name in PUTS]


def test_a_strict_overwrite_of_the_manifest_is_three_puts(s3, people, manifest):
    """The other half of the promise."""
    publish(manifest, people, {"main": 2})
    paths = [(request.method, request.key.split("/")[1]) for request in s3.requests()]
    assert paths == [("PUT", name) for name in PUTS]


def test_the_cost_of_a_write_does_not_grow_with_history(s3, people, table, manifest):
    """Thirty versions later the requests are the same."""
    for number in range(30):
        table = people.append(table, {f"q{number}": number})
        manifest = publish(manifest, people, {"main": number})
    s3.counts()
    people.append(table, {"zoe": 1})
    publish(manifest, people, {"main": 99})
    assert s3.counts() == {"PUT": 6}


def test_a_publish_without_a_data_file_is_two_puts(s3, people, manifest):
    """The cheaper variant, should a publish ever have to be cheaper: state in the schema metadata."""
    schema = people.schema.with_metadata({"state": "x" * 10_000})
    LanceDataset.commit(manifest, LanceOperation.Overwrite(schema, []), read_version=manifest.version, max_retries=0)
    assert s3.counts() == {"PUT": 2}


def test_opening_a_pinned_version_is_one_head_and_one_get_and_never_a_list(s3, people, table):
    """However long the history is. A session does not remember detached manifests, so what is open is kept."""
    session = lance.Session()
    for _ in range(2):
        opened = s3.open("t", version=table.version, session=session)
        assert s3.counts() == {"HEAD": 1, "GET": 1}
    assert opened.count_rows() == 12
    assert s3.counts() == {}, "row counts are in the manifest"


def test_a_version_just_committed_is_open_already(s3, people, table):
    """A writer never reads back what it staged."""
    new = people.append(table, {"zoe": 1})
    s3.counts()
    assert new.count_rows() == 13
    assert [fragment.metadata.num_rows for fragment in new.get_fragments()][-1] == 1
    assert s3.counts() == {}


def test_finding_the_latest_manifest_version_is_one_list_however_many_there_are(s3, people, manifest):
    """A cold capture, and the probe whether a view is stale. Names sort newest first, so one page is enough."""
    client = s3.client()
    copied = "m/_versions/18446744073709551614.manifest"
    for number in range(2, 1_102):
        target = f"m/_versions/{2**64 - 1 - number:020d}.manifest"
        if number < 1_101:
            client.put_object(Bucket=s3.bucket.name, Key=target, Body=b"never read")
        else:
            client.copy_object(Bucket=s3.bucket.name, Key=target, CopySource={"Bucket": s3.bucket.name, "Key": copied})
    s3.counts()
    assert manifest.latest_version == 1_101
    assert s3.counts() == {"LIST": 1}


def test_a_cold_capture_is_one_list_and_two_gets(s3, people, manifest):
    """Find the latest version, read its manifest, read its rows."""
    assert people.ages(s3.open("m")) == {"main": 1}
    assert s3.counts() == {"LIST": 1, "GET": 2}


def test_a_large_manifest_is_read_in_two_gets_when_the_block_size_covers_it(s3):
    """A graph of many tables is captured with as few requests as a small one; blocks of 64 KB would take more."""
    names = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(3_000)]
    rows = pa.table({"object_id": names, "version": range(3_000)})
    lance.write_dataset(rows, s3.uri("m"), storage_options=s3.options)
    s3.counts()
    assert s3.open("m").to_table().num_rows == 3_000
    assert s3.counts()["GET"] > 2
    assert s3.open("m", block_size=2**20).to_table().num_rows == 3_000
    assert s3.counts() == {"LIST": 1, "GET": 2}


def test_a_lost_swap_is_noticed_within_a_bounded_number_of_requests(s3, people, manifest):
    """Contention costs a constant: the refused PUT, a look at the winner, and the loser tidies its transaction file."""
    publish(manifest, people, {"main": 2})
    s3.counts()
    with pytest.raises(CommitConflictError):
        publish(manifest, people, {"main": 3})
    counts = s3.counts()
    assert counts.pop("PUT") == 3
    assert "LIST" not in counts
    assert sum(counts.values()) <= 4


def test_an_upsert_of_one_row_is_at_most_four_puts_and_a_read_per_fragment(s3, people):
    """New row, deletion file, transaction, manifest."""
    base = people.create(s3.uri("u"), {"ann": 1, "bob": 2}, storage_options=s3.options)
    s3.counts()
    people.upsert(base, {"bob": 20})
    assert s3.counts() == {"GET": 1, "PUT": 4}


def test_a_change_of_the_schema_is_two_puts_and_no_data(s3, table, detach):
    """Adding or dropping a property costs the same for a small and for a huge table."""
    fragments = [fragment.metadata for fragment in table.get_fragments()]
    for operation in (
        LanceOperation.Merge(fragments, table.lance_schema),
        LanceOperation.Project(table.lance_schema),
    ):
        detach(table, operation)
        assert s3.counts() == {"PUT": 2}


def test_creating_a_table_is_a_constant_number_of_requests(s3, people):
    """Creation may list, because the directory is new; writes to it never do."""
    people.create(s3.uri("new"), {"ann": 1}, storage_options=s3.options)
    counts = s3.counts()
    assert counts.pop("PUT") == 3
    assert set(counts) == {"LIST"}
    assert counts["LIST"] <= 3


def test_a_store_that_ignores_if_none_match_makes_every_writer_win(careless_s3, people):
    """Lance cannot notice, so a root is probed when it is created and such a store is refused."""
    base = people.create(careless_s3.uri("m"), {"main": 1}, storage_options=careless_s3.options)
    publish(base, people, {"main": 2})
    publish(base, people, {"main": 3})
    assert people.ages(careless_s3.open("m")) == {"main": 3}, "the second writer erased the first"


def create_if_absent(store, key: str) -> bool:
    try:
        store.client().put_object(Bucket=store.bucket.name, Key=key, Body=b"", IfNoneMatch="*")
    except ClientError as refused:
        if refused.response["ResponseMetadata"]["HTTPStatusCode"] != 412:
            raise
        return False
    return True


def test_creating_an_object_twice_tells_a_careless_store_from_a_strict_one(s3, careless_s3):
    """The probe: the second create-if-absent of the same key must be refused."""
    assert [create_if_absent(s3, "probe") for _ in range(2)] == [True, False]
    assert [create_if_absent(careless_s3, "probe") for _ in range(2)] == [True, True]


@pytest.mark.parametrize("lost", ["data", "_transactions", "_versions"])
def test_a_publish_whose_answer_got_lost_happens_exactly_once(s3, people, manifest, lost):
    """Lance's own retry finds its write in place, so we never retry a commit ourselves."""
    with s3.proxy.inject(RespondAt(PUTS.index(lost) + 1, 500, after=True)) as injection:
        new = publish(manifest, people, {"main": 2})
    assert f"/{lost}/" in injection.hit.key
    assert sum(f"/{lost}/" in request.key for request in s3.requests()) >= 2, "it was asked again"
    assert new.version == manifest.version + 1
    latest = s3.open("m")
    assert latest.version == new.version
    assert people.ages(latest) == {"main": 2}


def test_a_detached_commit_whose_answer_got_lost_happens_exactly_once(s3, people, table):
    """Staging survives a lost answer as well: the number we got is a version that is there."""
    with s3.proxy.inject(RespondAt(PUTS.index("_versions") + 1, 500, after=True)) as injection:
        new = people.append(table, {"zoe": 1})
    assert "/_versions/" in injection.hit.key
    assert people.ages(s3.open("t", version=new.version)) == {**people.ages(table), "zoe": 1}


def test_io_stats_count_the_reads_and_writes_of_a_dataset(place, people):
    """Cost tests on local disk count with this instead of with a server."""
    base = people.create(place.uri("t"), {f"p{number}": number for number in range(100)})
    base.io_stats_incremental()
    base.to_table()
    stats = base.io_stats_incremental()
    assert stats.read_iops >= 1
    assert stats.read_bytes > 0
    assert stats.write_iops == 0

    write_fragments(people.rows({"zoe": 1}), base, mode="append")
    stats = base.io_stats_incremental()
    assert (stats.read_iops, stats.write_iops) == (0, 1)
    assert base.io_stats_incremental().write_iops == 0, "reading the counters resets them"
