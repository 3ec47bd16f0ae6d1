"""Optimize rewrites files and builds indexes, and changes nothing else."""

import base64
import threading
from pathlib import Path

import pytest

import omnigraph
from omnigraph.core.commit import CommitKind
from omnigraph.core.tuning import Tuning
from omnigraph.errors import NotFoundError
from tests.features.maintenance.graphs import (
    answers,
    create,
    exported,
    fragments,
    indexes,
    load_people,
    person,
    table,
    uncovered,
)
from tests.support.tuning import EAGER, tuned


def test_files_become_fewer_and_every_index_is_complete(graph: omnigraph.Graph) -> None:
    assert fragments(graph) > 1
    result = graph.optimize()
    assert fragments(graph) == 1
    assert fragments(graph, "edge:Knows") == 1
    for key in ("node:Person", "edge:Knows"):
        assert uncovered(graph, key) == {}
        assert all(len(item.segments) == 1 for item in indexes(graph, key).values())
    assert [commit.kind for commit in result.commits] == [CommitKind.MAINTENANCE]
    assert graph.verify().is_clean


def test_every_answer_is_the_same_afterwards(graph: omnigraph.Graph) -> None:
    before, content = answers(graph), exported(graph)
    graph.optimize()
    assert exported(graph) == content
    assert answers(graph) == before
    stranger = omnigraph.open(graph.uri, tuning=EAGER)
    assert exported(stranger) == content
    assert answers(stranger) == before


def test_older_commits_and_branches_read_as_they_did(graph: omnigraph.Graph) -> None:
    old = graph.snapshot().commit_id
    graph.create_branch("side")
    load_people(graph, 300, 320, branch="side")
    before = (answers(graph, at=old), exported(graph, at=old), answers(graph, branch="side"))
    graph.optimize()
    assert (answers(graph, at=old), exported(graph, at=old), answers(graph, branch="side")) == before
    graph.optimize("side")
    assert answers(graph, branch="side") == before[2]
    assert graph.verify().is_clean


def test_a_second_call_finds_nothing_to_do(graph: omnigraph.Graph) -> None:
    graph.optimize()
    head = graph.snapshot().commit_id
    again = graph.optimize()
    assert again.commits == ()
    assert all("nothing to do" in line for line in repr(again).splitlines()[1:])
    assert omnigraph.open(graph.uri, tuning=EAGER).optimize().commits == ()
    assert graph.snapshot().commit_id == head


def test_writes_after_it_leave_a_tail_that_the_next_call_takes_in(graph: omnigraph.Graph) -> None:
    graph.optimize()
    load_people(graph, 300, 330)
    assert set(uncovered(graph).values()) == {30}
    before = answers(graph)
    graph.optimize()
    assert uncovered(graph) == {}
    assert answers(graph) == before
    # The new rows are few: what covers the old ones stays.
    assert {len(item.segments) for item in indexes(graph).values()} == {2}
    assert graph.optimize().commits == ()


def test_the_number_of_segments_stays_small_however_often_it_runs(graph: omnigraph.Graph) -> None:
    for start in range(300, 600, 20):
        load_people(graph, start, start + 20)
        graph.optimize()
    assert uncovered(graph) == {}
    assert max(len(item.segments) for item in indexes(graph).values()) <= 4
    assert fragments(graph) <= 4
    assert graph.verify().is_clean


def test_an_updated_row_is_found_by_its_new_values_and_not_by_its_old_ones(graph: omnigraph.Graph) -> None:
    graph.optimize()
    graph.load([person(42, age=200, bio="rewritten", look=[900.0] * 4, mood="angry", score=-1.0)], "merge")
    for _ in range(2):
        dataset = table(graph)
        assert dataset.to_table(filter="age = 200").num_rows == 1
        assert "p0042" not in dataset.to_table(filter="age = 42")["name"].to_pylist()
        assert dataset.to_table(full_text_query="rewritten")["name"].to_pylist() == ["p0042"]
        assert dataset.to_table(full_text_query="number42").num_rows == 0
        for place, expected in ((900.0, True), (42.0, False)):
            nearest = {"column": "look", "q": [place] * 4, "k": 4, "refine_factor": 4}
            found = dataset.to_table(nearest=nearest, columns=["name"])["name"].to_pylist()
            assert ("p0042" in found) is expected
        graph.optimize()


def test_deleted_rows_do_not_come_back_through_an_index(graph: omnigraph.Graph) -> None:
    graph.optimize()
    graph.mutate('query q() { delete Person where name = "p0042" }')
    before = answers(graph)
    dataset = table(graph)
    assert dataset.to_table(filter="name = 'p0042'").num_rows == 0
    assert dataset.to_table(full_text_query="number42").num_rows == 0
    assert before["key"] == []
    graph.optimize()
    assert answers(graph) == before


def test_deleted_rows_leave_the_files_when_they_are_many(graph: omnigraph.Graph) -> None:
    graph.optimize()
    graph.mutate("query q() { delete Person where age >= 45 }")
    before = answers(graph), exported(graph)
    dead = sum(item.metadata.num_deletions for item in table(graph).get_fragments())
    assert dead > 100
    result = graph.optimize()
    assert sum(item.metadata.num_deletions for item in table(graph).get_fragments()) == 0
    people = next(outcome for outcome in result.tables if outcome.key == "node:Person")
    assert people.deleted_rows_removed == dead
    assert uncovered(graph) == {}
    assert (answers(graph), exported(graph)) == before


def test_a_number_that_an_index_knows_is_not_given_to_new_rows(graph: omnigraph.Graph) -> None:
    """The highest fragment goes, others are compacted: the index must not be taken to cover the result."""
    graph = tuned(graph, fragment_numbers_ahead=1)
    load_people(graph, 300, 340)
    graph.optimize(compact=False)
    graph.mutate('query q() { delete Person where name >= "p0300" }')
    before = answers(graph)
    graph.optimize(index=False)
    assert fragments(graph) == 1
    assert table(graph).to_table(filter="age = 7").num_rows == 3
    assert table(graph).to_table(full_text_query="word7").num_rows == 27
    assert answers(graph) == before


def test_only_what_is_asked_for_is_done(graph: omnigraph.Graph) -> None:
    graph.optimize(types=["Knows"])
    assert fragments(graph) > 1
    assert fragments(graph, "edge:Knows") == 1
    graph.optimize(index=False)
    assert fragments(graph) == 1
    assert all(not item.segments for item in indexes(graph).values())
    graph.optimize()
    assert uncovered(graph) == {}
    with pytest.raises(NotFoundError, match="Persn"):
        graph.optimize(types=["Persn"])


def test_small_tables_have_no_index_and_the_result_says_why(tmp_path: Path) -> None:
    graph = create(tmp_path / "g", tuning=Tuning())
    load_people(graph, 0, 50)
    result = graph.optimize()
    assert all(not item.segments for item in indexes(graph).values())
    assert "no index on id, src, dst, since: 50 rows, minimum 10,000" in repr(result)
    assert graph.optimize().commits == ()


def test_blobs_survive(tmp_path: Path) -> None:
    graph = create(tmp_path / "g")
    for number in range(4):
        photo = base64.b64encode(bytes([number]) * (10 + 70_000 * (number % 2))).decode()
        data = {"id": f"d{number}", "title": f"t{number}", "photo": f"base64:{photo}"}
        graph.load([{"type": "Doc", "data": data}], "append")
    before = exported(graph)
    graph.optimize()
    assert fragments(graph, "node:Doc") == 1
    assert exported(graph) == before
    assert graph.verify().is_clean


def test_an_overwritten_table_is_indexed_anew(graph: omnigraph.Graph) -> None:
    graph.optimize()
    graph.load([person(number, bio=f"other {number}") for number in range(300)], "overwrite")
    assert not any(item.segments for item in indexes(graph).values())
    graph.optimize()
    assert uncovered(graph) == {}


def test_writers_and_maintenance_run_side_by_side_and_nobody_fails(graph: omnigraph.Graph) -> None:
    errors: list[BaseException] = []
    done = threading.Event()

    def write() -> None:
        try:
            for number in range(1_000, 1_040):
                graph.load([person(number)], "append")
                graph.load([person(number % 300, age=150)], "merge")
                if number % 4 == 0:
                    graph.mutate("query q($n: String) { delete Person where name = $n }", {"n": f"p{number:04}"})
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=write)
    thread.start()
    results = [graph.optimize()]
    while not done.is_set():
        results.append(graph.optimize())
    thread.join()
    assert not errors
    graph.optimize()
    assert uncovered(graph) == {}
    assert graph.snapshot().counts()["node:Person"] == 330
    assert table(graph).to_table(filter="age = 150").num_rows == 40
    assert any(result.commits for result in results)
    assert graph.verify().is_clean


def test_a_missing_or_damaged_index_file_is_named_by_verify(graph: omnigraph.Graph) -> None:
    graph.optimize()
    assert graph.verify().is_clean
    paths = sorted(Path(graph.uri).rglob("_indices/*/*"))
    files = [path for path in paths if path.is_file()]
    assert len(files) > 20
    files[0].unlink()
    files[-1].write_bytes(files[-1].read_bytes()[:-1] + b"?")
    wrong = {problem.path for problem in graph.verify().problems}
    assert wrong == {str(path.relative_to(graph.uri)) for path in (files[0], files[-1])}


def test_fragments_without_vectors_are_not_covered_and_do_no_harm(graph: omnigraph.Graph) -> None:
    graph.optimize()
    graph.load([{"type": "Person", "data": {"name": f"q{number}"}} for number in range(30)], "append")
    before = answers(graph)
    graph.optimize()
    assert uncovered(graph) == {"look (vector)": 30}
    assert answers(graph) == before
    assert graph.optimize().commits == ()


def test_a_table_with_lists_of_unsigned_numbers_is_optimized_too(tmp_path: Path) -> None:
    """Lance takes no expression on such a table."""
    schema = "node Thing { name: String @key\n note: String? @index\n rank: I64? @index\n counts: [U32]? }"
    graph = omnigraph.create(tmp_path / "g", schema, durability="os", tuning=EAGER)
    for start in (0, 40):
        data = [{"name": f"t{n}", "note": f"note {n}", "rank": n, "counts": [n, 7]} for n in range(start, start + 40)]
        graph.load([{"type": "Thing", "data": item} for item in data], "append")
    texts = (
        'query q() { match { $t: Thing search($t.note, "33") } return { $t.name, $t.counts } }',
        "query q() { match { $t: Thing $t.rank = 41 } return { $t.name } }",
        'query q() { match { $t: Thing {name: "t5"} } return { $t.rank } }',
    )
    before = [graph.query(text).to_pylist() for text in texts]
    graph.optimize()
    assert [graph.query(text).to_pylist() for text in texts] == before
    assert [len(rows) for rows in before] == [1, 1, 1]
    assert fragments(graph, "node:Thing") == 1
