"""`optimize`: what it does, what it says, and the document that programs get."""

from pathlib import Path

from omnigraph.core.tuning import Tuning
from tests.features.cli.graphs import add, as_json, exported, head, write_lines
from tests.features.cli.run import run


def test_a_graph_is_compacted_and_indexed_and_stays_the_same(graph: Path, tmp_path: Path) -> None:
    half = Tuning().index_rows_min // 2
    for start in (0, half):
        people = [{"type": "Person", "data": {"name": f"p{start + number}"}} for number in range(half)]
        done = run("load", graph, "--data", write_lines(tmp_path / "people.jsonl", people), "--mode", "append")
        assert done.exit_code == 0, done.output
    before = exported(graph)
    result = run("optimize", graph, "--as", "ann")
    assert result.exit_code == 0, result.output
    assert "3 -> 1 fragments; indexed id (btree), name (btree), name (text)" in result.stdout
    assert f"ok: 1 commit ({head(graph)}) on main" in result.stdout
    assert "omnigraph optimize" in result.stderr
    assert exported(graph) == before
    shown = as_json("commit", "show", "--store", graph, head(graph))
    assert (shown["kind"], shown["actor_id"]) == ("maintenance", "ann")


def test_the_document_says_what_was_done_and_what_was_not(graph: Path) -> None:
    add(graph, "Grace")
    document = as_json("optimize", graph, "--type", "Person", "--no-index")
    (table,) = document["tables"]  # type: ignore[misc] # a list
    assert table["table_key"] == "node:Person"
    assert (table["fragments_before"], table["fragments_after"], table["rows_rewritten"]) == (2, 1, 3)
    assert table["indexes"] == []
    assert len(document["commits"]) == 1  # type: ignore[arg-type] # as above
    again = as_json("optimize", graph, "--no-compact")
    assert again["commits"] == []
    reasons = [reason for item in again["tables"] for reason in item["skipped"]]  # type: ignore[attr-defined] # as above
    assert "no index on id, name: 3 rows, minimum 10,000" in reasons


def test_an_unknown_type_is_an_error(graph: Path) -> None:
    result = run("optimize", graph, "--type", "Persn")
    assert result.exit_code == 1
    assert "there is no type 'Persn'" in result.stderr
