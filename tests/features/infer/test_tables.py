"""Tables of several files, and values that only the last rows have."""

import decimal
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

import omnigraph
from omnigraph.errors import ViolationError


def test_the_last_of_many_rows_counts_as_the_first_does(tmp_path: Path) -> None:
    # More than one block of a file: the forms of the first one decide what is counted in the others.
    rows = ["1,2020-01-01,true,[1]"] * 200_000
    path = tmp_path / "things.csv"
    path.write_text("\n".join(["number,day,flag,items", *rows]))
    text = omnigraph.infer_schema(path).text
    assert all(line in text for line in ("number: I64 //", "day: Date //", "flag: Bool //", "items: [I64] //"))
    path.write_text("\n".join(["number,day,flag,items", *rows, "1.5,2020-01-01T10:00,maybe,["]))
    text = omnigraph.infer_schema(path).text
    changed = ("number: F64 //", "day: DateTime //", "flag: enum(maybe, true) //", "items: String //")
    assert all(line in text for line in changed)


def test_files_of_one_type_are_one_table_and_rows_name_their_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id;name\n1;Ada\n")
    (tmp_path / "b.csv").write_text("2;Alan\n3;Kurt\n")
    (tmp_path / "c.csv").write_text("name;id;born\nRosa;4;1905-02-17\n")
    files = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv")]
    graph = omnigraph.create(tmp_path / "g.omni", {"Person": files}, durability="os")
    rows = graph.sql("SELECT personId, name, born FROM Person ORDER BY personId").to_pylist()
    assert [(row["personId"], row["name"], row["born"] is None) for row in rows] == [
        (1, "Ada", True),
        (2, "Alan", True),
        (3, "Kurt", True),
        (4, "Rosa", False),
    ]
    inferred = omnigraph.infer_schema({"Person": files})
    files[1].write_text("2;Alan\nx;Kurt\n")
    with pytest.raises(ViolationError, match=r"b\.csv:2: wrong value for Person\.personId"):
        graph.load(inferred)


def test_a_directory_has_a_file_for_each_type(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "people.csv").write_text("id\n1\n2\n")
    (data / "knows.csv").write_text("src,dst\n1,2\n")
    graph = omnigraph.create(tmp_path / "g.omni", data, durability="os")
    assert graph.snapshot().counts() == {"edge:Knows": 1, "node:Person": 2}


def test_columns_of_every_arrow_type_become_properties_or_are_left_out_with_a_comment(tmp_path: Path) -> None:
    ids = pa.array([uuid.UUID(int=number).bytes for number in range(3)], pa.uuid())
    columns = {
        "id": (ids, "thingId: String @key"),
        "other": (ids, "other: String"),
        "raw": (pa.array([b"x", b"y", None]), "raw: Blob?"),
        "price": (pa.array([decimal.Decimal("1.5")] * 3), "price: F64"),
        "large": (pa.array([decimal.Decimal("1.5")] * 3, pa.decimal256(60, 2)), "large: F64"),
        "word": (pa.array(["a", "b", "a"]).dictionary_encode(), "word: String"),
        "half": (pa.array([1, 2, 3], pa.float16()), "half: F32"),
        "tiny": (pa.array([1, 2, 3], pa.int8()), "tiny: I32"),
        "huge": (pa.array([2**64 - 1, 1, 2], pa.uint64()), "huge: U64"),
        "seen": (pa.array([1, 2, 3], pa.timestamp("ns", "Europe/Oslo")), "seen: DateTime"),
        "place": (pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float32(), 2)), "place: Vector(2)"),
        "tags": (pa.array([["a"], [], None], pa.large_list(pa.utf8())), "tags: [String]?"),
        "view": (pa.array(["x", "y", "z"], pa.string_view()), "view: String"),
        "none": (pa.nulls(3), "none: String?"),
        "gaps": (
            pa.array([["a", None], [], None]),
            '"gaps" is left out: no property can hold lists with nulls in them',
        ),
        "nested": (pa.array([{"a": 1}] * 3), '"nested" is left out: no property can hold objects'),
        "span": (pa.array([1, 2, 3], pa.duration("s")), '"span" is left out: no property can hold duration[s]'),
    }
    things = pa.table({name: values for name, (values, _) in columns.items()})
    links = pa.table({"src": ids, "dst": ids})
    graph = omnigraph.create(tmp_path / "g.omni", {"Thing": things, "Link": links}, durability="os")
    assert [name for name, (_, line) in columns.items() if line not in graph.schema_text()] == []
    assert graph.snapshot().counts() == {"edge:Link": 3, "node:Thing": 3}


def test_a_file_loads_into_the_type_that_its_name_was_inferred_to(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id,name\n1,Ada\n")
    graph = omnigraph.create(tmp_path / "g.omni", [path], durability="os")
    path.write_text("id,name\n2,Alan\n")
    assert graph.load(path).nodes == {"Person": 1}
    assert graph.snapshot().counts() == {"node:Person": 2}
