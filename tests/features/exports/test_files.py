"""Files of an export: they load again unchanged, appear whole, and are never overwritten by accident."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import omnigraph
from omnigraph.errors import AlreadyExistsError, InputError, NotFoundError, UsageError
from tests.support.faults.s3 import Bucket, Server

FORMATS = ("jsonl", "csv", "parquet")


def reloaded(place: Path, directory: Path) -> omnigraph.Graph:
    graph = omnigraph.create(place, (directory / "schema.pg").read_text(), durability="os")
    graph.load(str(directory), "append")
    return graph


@pytest.mark.parametrize(("format", "dates"), [*((name, None) for name in FORMATS), ("jsonl", "iso"), ("csv", "iso")])
def test_what_is_exported_loads_again_unchanged(
    every: omnigraph.Graph, tmp_path: Path, format: str, dates: str | None
) -> None:
    result = every.export_files(tmp_path / "out", format, dates=dates)
    assert (result.format, result.commit_id, result.entities) == (format, every.snapshot().commit_id, 14)
    # A node and an edge type of one name have the prefixes that SQL gives them.
    names = [f"{name}.{format}" for name in ("edge_Every", "Link", "Empty", "node_Every", "Plain")]
    assert [file.path for file in result.files] == names
    assert {file.path: file.bytes for file in result.files} == {
        name: (tmp_path / "out" / name).stat().st_size for name in names
    }
    assert list(reloaded(tmp_path / "again.omni", tmp_path / "out").export()) == list(every.export())


def test_csv_shows_dates_nulls_lists_and_ends_as_people_expect(every: omnigraph.Graph, tmp_path: Path) -> None:
    every.export_files(tmp_path / "links.csv", "csv", types="Link", null="NULL")
    text = (tmp_path / "links.csv").read_bytes().decode()
    assert text.startswith("id,from,to,note\n")
    assert '"e,1",null,empty,"x""y"\n' in text
    assert '"q,""x""\r\n y ","NULL",NULL\n' in text
    every.export_files(tmp_path / "every.csv", "csv", types="node:Every")
    cells = (tmp_path / "every.csv").read_bytes().decode()
    for cell in ('"[""9999-12-31""]"', ",0001-01-01,", "0001-01-01T00:00:00.000Z", "base64:AAEC", '"[1.0,2.5,-0.0]"'):
        assert cell in cells


def test_parquet_has_the_types_of_the_table(every: omnigraph.Graph, tmp_path: Path) -> None:
    every.export_files(tmp_path / "out", types=["Every", "Link"])
    schema = pq.read_schema(tmp_path / "out" / "node_Every.parquet")
    shown = {name: str(schema.field(name).type) for name in ("day", "time", "u64", "days", "blob")}
    assert shown == {
        "day": "date32[day]",
        "time": "timestamp[ms, tz=UTC]",
        "u64": "uint64",
        "days": "list<element: date32[day]>",
        "blob": "large_binary",
    }
    assert pq.read_schema(tmp_path / "out" / "Link.parquet").names == ["id", "src", "dst", "note"]


def test_an_export_keeps_files_unless_it_may_replace_them(every: omnigraph.Graph, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    every.export_files(tmp_path / "out", "csv")
    before = (tmp_path / "out" / "Plain.csv").read_bytes()
    with pytest.raises(AlreadyExistsError, match="out"):
        every.export_files(tmp_path / "out", "csv")
    (tmp_path / "out" / "Plain.csv").write_text("mine")
    with pytest.raises(AlreadyExistsError, match=r"Plain\.csv"):
        every.export_files(tmp_path / "out" / "Plain.csv", "csv", types="Plain")
    assert (tmp_path / "out" / "Plain.csv").read_text() == "mine"
    every.export_files(tmp_path / "out", "csv", replace=True)
    assert (tmp_path / "out" / "Plain.csv").read_bytes() == before


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_a_failed_export_leaves_the_old_file_and_no_other(tmp_path: Path, format: str) -> None:
    graph = omnigraph.create(tmp_path / "g.omni", "node Note { name: String @key\n text: String? }", durability="os")
    graph.load([{"type": "Note", "data": {"name": "a", "text": "fine"}}], "append")
    graph.export_files(tmp_path / "out", format)
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    if format == "csv":
        graph.load([{"type": "Note", "data": {"name": "b", "text": "zero \0"}}], "append")
        with pytest.raises(InputError, match=r"Note\.text of 'b'"):
            graph.export_files(tmp_path / "out", format, replace=True)
    else:

        def interrupt(rows: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            graph.export_files(tmp_path / "out", format, replace=True, progress=interrupt)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_rows_are_streamed_and_older_states_exported(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g.omni", "node Wide { about: Vector(4096)? }", durability="os")
    graph.load([{"type": "Wide", "data": {"id": f"w{number}"}} for number in range(3000)], "append")
    old = graph.snapshot().commit_id
    graph.create_branch("b")
    graph.load([{"type": "Wide", "data": {"id": "more"}}], "append", branch="b")
    seen: list[int] = []
    assert graph.export_files(tmp_path / "b", branch="b", progress=seen.append).entities == 3001
    # Rows of 16 KB come in batches of a thousand.
    assert len(seen) > 2
    assert seen == sorted(seen)
    assert graph.export_files(tmp_path / "old", at=old).entities == 3000


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_lines_are_sorted_by_id_in_any_number_of_ranges(every: omnigraph.Graph, rows: int) -> None:
    # A row of these types is taken for about two kilobytes, and one with a blob for a megabyte.
    for size in (rows * 2_000, rows * 1_100_000):
        ranges = omnigraph.open(every.uri, tuning=omnigraph.Tuning(sorted_bytes=size))
        assert b"".join(ranges.export()) == b"".join(every.export())


@pytest.mark.s3
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_files_are_exported_to_a_bucket_and_loaded_from_it(
    every: omnigraph.Graph, tmp_path: Path, s3_server: Server, s3_bucket: Bucket, format: str
) -> None:
    options = s3_server.storage_options()
    uri = s3_bucket.uri("out")
    every.export_files(uri, format, target_options=options)
    with pytest.raises(AlreadyExistsError):
        every.export_files(uri, format, target_options=options)
    with pytest.raises(AlreadyExistsError):
        every.export_files(f"{uri}/Plain.{format}", format, types="Plain", target_options=options)
    every.export_files(uri, format, target_options=options, replace=True)
    again = omnigraph.create(tmp_path / "again.omni", every.schema_text(), durability="os")
    again.load(f"{uri}/", "append", source_options=options)
    assert list(again.export()) == list(every.export())


def test_wrong_choices_are_refused_before_anything_is_written(every: omnigraph.Graph, tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, object], type[Exception], str]] = [
        ({"format": "xml"}, UsageError, "unknown export format 'xml'"),
        ({"format": "parqet"}, UsageError, "parqet"),
        ({"format": "csv", "dates": "number"}, UsageError, "ISO 8601"),
        ({"format": "csv", "dates": "us"}, UsageError, "'us'"),
        ({"format": "parquet", "dates": "iso"}, UsageError, "dates of their own"),
        ({"format": "jsonl", "null": "NULL"}, UsageError, "nulls of their own"),
        ({"format": "csv", "null": "a,b"}, UsageError, "'a,b'"),
        ({"format": "csv", "types": ["Evry"]}, NotFoundError, "'Evry'"),
        ({"format": None}, UsageError, "None"),
        ({"format": "csv", "null": 5}, UsageError, "null must be a text"),
        ({"format": "csv", "dates": ["iso"]}, UsageError, "dates must be a text"),
        ({"format": "csv", "types": 5}, UsageError, "got the int 5"),
        ({"format": "csv", "types": []}, UsageError, "no type is named"),
        ({"format": "csv", "branch": "nope"}, NotFoundError, "'nope'"),
    ]
    for options, error, words in wrong:
        with pytest.raises(error, match=words) as caught:
            every.export_files(tmp_path / "out", **options)  # type: ignore[arg-type]
        assert caught.value.hint  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="one type, not 5"):
        every.export_files(tmp_path / "all.csv", "csv")
    with pytest.raises(UsageError, match="another format"):
        every.export_files(tmp_path / "all.parquet", "csv", types="Plain")
    with pytest.raises(UsageError, match="got the int 5"):
        every.export_files(5)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
