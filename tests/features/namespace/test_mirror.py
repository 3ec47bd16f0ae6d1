"""Tools that only know Lance directories see the head of a branch in a mirror, without a copy of the data."""

from __future__ import annotations

from pathlib import Path

import lance
import lancedb
import pytest

from omnigraph import Graph
from omnigraph.errors import NotFoundError, UsageError

DELETE = 'query q() { delete Person where name = "p5" }'
INSERT = 'query q() { insert Person { name: "new", age: 200 } }'


def size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def test_lance_tools_list_and_count_every_table(graph: Graph, tmp_path: Path) -> None:
    result = graph.mirror(tmp_path / "mirror")

    database = lancedb.connect(tmp_path / "mirror")
    counted = {name: database.open_table(name).count_rows() for name in database.list_tables().tables}
    people = database.open_table("Person")
    near = people.search([7.0, 0.0, 1.0, 2.0]).limit(1).to_list()
    assert counted == {"Knows": 1, "Note": 0, "Person": 20}
    assert (people.count_rows("age < 3"), [row["name"] for row in near]) == (3, ["p7"])
    assert lance.dataset(str(tmp_path / "mirror/Person.lance")).count_rows("age < 3") == 3
    assert result.commit_id == graph.snapshot().commit_id


def test_a_refresh_follows_the_branch_and_touches_changed_tables_only(graph: Graph, tmp_path: Path) -> None:
    graph.mirror(tmp_path / "mirror")
    graph.mutate(DELETE)
    graph.mutate(INSERT)

    result = graph.mirror(tmp_path / "mirror")

    people = lance.dataset(str(tmp_path / "mirror/Person.lance"))
    assert (people.count_rows(), people.count_rows("name = 'p5'"), people.count_rows("age = 200")) == (20, 0, 1)
    assert [(table.name, table.is_changed) for table in result.tables] == [
        ("Knows", False),
        ("Note", False),
        ("Person", True),
    ]
    assert not [path for path in (tmp_path / "mirror").iterdir() if path.name.startswith(".scratch")]


def test_the_data_is_not_copied(graph: Graph, tmp_path: Path) -> None:
    graph.load([{"type": "Note", "data": {"text": "long " * 200 + str(n)}} for n in range(2000)], mode="append")

    graph.mirror(tmp_path / "mirror")

    assert size(tmp_path / "mirror") < 40_000 < size(tmp_path / "graph")


def test_cleanup_keeps_the_files_of_a_mirror(graph: Graph, tmp_path: Path) -> None:
    graph.mirror(tmp_path / "mirror")
    for number in range(3):
        graph.mutate(f'query q() {{ update Person set {{ age: {number} }} where name = "p1" }}')
    graph.optimize()
    for _ in range(3):
        graph.cleanup(keep=1, grace="0s")

    people = lance.dataset(str(tmp_path / "mirror/Person.lance"))

    assert people.to_table(filter="name = 'p1'").column("age").to_pylist() == [1]
    assert people.to_table().num_rows == 20
    assert not graph.verify().problems


def test_a_renamed_or_dropped_type_leaves_no_dataset(graph: Graph, tmp_path: Path) -> None:
    graph.mirror(tmp_path / "mirror")
    graph.apply_schema(graph.schema_text().replace("node Note { text: String }", ""), allow_data_loss=True)

    result = graph.mirror(tmp_path / "mirror")

    assert result.removed == ("Note",)
    assert not (tmp_path / "mirror/Note.lance").exists()


def test_another_branch_has_a_mirror_of_its_own(graph: Graph, tmp_path: Path) -> None:
    graph.create_branch("draft")
    graph.mutate(INSERT, branch="draft")

    graph.mirror(tmp_path / "main")
    graph.mirror(tmp_path / "draft", "draft")

    counts = [lance.dataset(str(tmp_path / name / "Person.lance")).count_rows() for name in ("main", "draft")]
    assert counts == [20, 21]


@pytest.mark.parametrize("place", ["graph/inside", "full"])
def test_a_directory_that_is_not_a_mirror_is_refused(graph: Graph, tmp_path: Path, place: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(UsageError) as refused:
        graph.mirror(tmp_path / place)

    assert refused.value.hint
    assert (tmp_path / "full/notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_removed_mirror_is_gone_and_forgotten(graph: Graph, tmp_path: Path) -> None:
    graph.mirror(tmp_path / "mirror")
    (tmp_path / "mirror/notes.txt").write_text("mine", encoding="utf-8")
    assert [(mirror.branch, mirror.commit) for mirror in graph.mirrors()] == [("main", graph.snapshot().commit_id)]

    graph.remove_mirror(tmp_path / "mirror")

    assert graph.mirrors() == []
    assert [path.name for path in (tmp_path / "mirror").iterdir()] == ["notes.txt"]
    with pytest.raises(NotFoundError, match="no mirror at"):
        graph.remove_mirror(tmp_path / "mirror")
