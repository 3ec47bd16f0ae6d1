"""`export`, `snapshot`, `commit`, `branch`, `schema show`, `verify`, and the checks that can read a graph's schema."""

import json
from pathlib import Path

import pytest

from tests.features.cli.graphs import ADD, LINES, SCHEMA, add, as_json, everything, exported, head
from tests.features.cli.run import run

# --- export ----------------------------------------------------------------------------------------------


def test_export_writes_what_load_reads_edges_first(graph: Path, tmp_path: Path) -> None:
    text = exported(graph)
    assert [json.loads(line).get("edge") or json.loads(line)["type"] for line in text.splitlines()] == [
        "Knows",
        "City",
        "Person",
        "Person",
    ]
    (tmp_path / "schema.pg").write_text(SCHEMA)
    (tmp_path / "all.jsonl").write_text(text)
    copy = tmp_path / "copy"
    assert run("init", "--schema", tmp_path / "schema.pg", copy).exit_code == 0
    assert run("load", copy, "--data", tmp_path / "all.jsonl", "--mode", "append").exit_code == 0
    assert exported(copy) == text


def test_export_into_a_file_replaces_it_only_when_it_succeeds(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    result = run("export", graph, "--out", out, "--type", "Person")
    assert (result.exit_code, result.stdout) == (0, f"ok: 2 entities in {out}\n")
    assert out.read_text() == exported(graph, "--type", "Person")
    assert run("export", graph, "--out", out, "--type", "Nobody").exit_code == 1
    assert out.read_text() == exported(graph, "--type", "Person")
    result = as_json("export", graph, "--out", out)
    assert (result["entities"], result["bytes"], result["graph_commit_id"]) == (4, out.stat().st_size, head(graph))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["graph", "out.jsonl"]


def test_an_export_that_cannot_be_written_says_so(graph: Path, tmp_path: Path) -> None:
    result = run("export", graph, "--out", tmp_path / "missing" / "out.jsonl")
    assert result.exit_code == 1
    assert "cannot write" in result.stderr


def test_a_misspelled_type_is_named_with_a_suggestion(graph: Path) -> None:
    result = run("export", graph, "--type", "Persn")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Person" in result.stderr


# --- time travel -----------------------------------------------------------------------------------------


def test_reads_at_a_commit_and_at_a_time_see_the_graph_of_then(graph: Path) -> None:
    old, then = head(graph), exported(graph)
    assert add(graph, "Grace").exit_code == 0
    time = run("commit", "list", graph).stdout.splitlines()[2].split()[1]
    assert exported(graph) != then
    assert exported(graph, "--at", old) == then
    assert exported(graph, "--at", time) == then
    assert as_json("snapshot", graph, "--at", old)["graph_commit_id"] == old


@pytest.mark.parametrize("at", ["2001-01-01", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "yesterday"])
def test_a_moment_that_never_was_is_not_found(graph: Path, at: str) -> None:
    result = run("snapshot", graph, "--at", at)
    assert (result.exit_code, result.stdout) == (1, "")
    assert at in result.stderr


# --- snapshot --------------------------------------------------------------------------------------------


def test_a_snapshot_lists_tables_with_counts_and_versions(graph: Path) -> None:
    result = run("snapshot", graph)
    assert result.stdout.splitlines() == [
        f"branch main, commit {head(graph)}",
        "",
        "type    kind  entities  version",
        "Knows   edge         1        2",
        "City    node         1        2",
        "Person  node         2        2",
    ]


def test_a_snapshot_as_json_has_the_shape_of_the_reference(graph: Path) -> None:
    shown = as_json("snapshot", graph)
    assert (shown["graph_branch"], shown["graph_manifest_version"], shown["internal_schema_version"]) == ("main", 2, 1)
    datasets = shown["datasets"]
    assert isinstance(datasets, list)
    assert [(item["entity_kind"], item["type_name"], item["entity_count"]) for item in datasets] == [
        ("edge", "Knows", 1),
        ("node", "City", 1),
        ("node", "Person", 2),
    ]
    assert set(datasets[0]) >= {"dataset_path", "published_dataset_version", "native_dataset_branch"}


# --- commits ---------------------------------------------------------------------------------------------


def test_commits_are_listed_newest_first_and_filtered(graph: Path) -> None:
    assert add(graph, "Grace", "--as", "bob", "--message", "one\nmore").exit_code == 0
    lines = run("commit", "list", graph).stdout.splitlines()
    assert lines[0].split() == ["commit", "time", "kind", "changes", "actor", "message"]
    assert [line.split()[2] for line in lines[1:]] == ["mutation", "load", "init"]
    assert lines[1].endswith("one\\nmore")
    assert len(as_json("commit", "list", graph, "--limit", 2)["commits"]) == 2  # type: ignore[arg-type]
    [only] = as_json("commit", "list", graph, "--filter", "actor=bob")["commits"]  # type: ignore[misc]
    assert only["graph_commit_id"] == head(graph)
    assert run("commit", "list", graph, "--filter", "actor=bob", "--filter", "kind=load").stdout == "no commits\n"


@pytest.mark.parametrize("filter_", ["actor", "=x", "branch=b", "limit=1", "kind=nonsense"])
def test_a_filter_that_makes_no_sense_is_a_usage_error(graph: Path, filter_: str) -> None:
    assert run("commit", "list", graph, "--filter", filter_).exit_code == 2


def test_a_commit_is_shown_with_the_tables_it_changed(graph: Path) -> None:
    result = run("commit", "show", head(graph), "--store", graph)
    assert result.exit_code == 0
    assert "message  first people" in result.stdout
    assert "node:Person         2        0        0" in result.stdout
    assert as_json("commit", "show", head(graph), "--store", graph)["graph_commit_id"] == head(graph)
    assert run("commit", "show", "nonsense", "--store", graph).exit_code == 1


# --- branches --------------------------------------------------------------------------------------------


def test_a_branch_is_created_written_renamed_and_deleted(graph: Path) -> None:
    made = as_json("branch", "create", "review/a", "--store", graph, "--as", "ann")
    assert (made["uri"], made["from"], made["name"], made["actor_id"]) == (str(graph), "main", "review/a", "ann")
    assert add(graph, "Grace", "--branch", "review/a").exit_code == 0
    assert (len(exported(graph).splitlines()), len(exported(graph, "--branch", "review/a").splitlines())) == (4, 5)
    assert run("branch", "rename", "review/a", "b", "--store", graph).stdout == "ok: renamed branch review/a to b\n"
    listed = as_json("branch", "list", graph)
    assert listed["branches"] == ["b", "main"]
    compared = as_json("branch", "list", graph, "--against", "main")["details"]
    assert [(item["name"], item["ahead"], item["behind"]) for item in compared] == [("b", 1, 0), ("main", 0, 0)]
    table = run("branch", "list", graph, "--against", "b").stdout.splitlines()
    assert [line.split()[-2:] for line in table] == [["ahead", "behind"], ["0", "1"], ["0", "0"]]
    assert run("branch", "list", graph, "--against", "nowhere").exit_code == 1
    assert [line.split()[0] for line in run("branch", "list", graph).stdout.splitlines()] == ["branch", "main", "b"]
    deleted = as_json("branch", "delete", "b", "--store", graph, "--yes", "--as", "ann")
    assert deleted == {"uri": str(graph), "name": "b", "actor_id": "ann"}
    assert as_json("branch", "list", graph)["branches"] == ["main"]


def test_a_branch_may_start_at_any_commit(graph: Path) -> None:
    old = head(graph)
    assert add(graph, "Grace").exit_code == 0
    assert run("branch", "create", "old", "--at", old, "--store", graph, "--quiet").stderr == ""
    assert head(graph, "old") == old
    assert run("branch", "create", "x", "--at", old, "--from", "main", "--store", graph).exit_code == 2


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["create", "main"], 1),
        (["create", "a b"], 2),
        (["create", "x", "--from", "nobody"], 1),
        (["create", "x", "--at", "nobody"], 1),
        (["delete", "nobody"], 1),
        (["delete", "main"], 2),
        (["rename", "nobody", "x"], 1),
        (["rename", "main", "x"], 2),
    ],
)
def test_branch_commands_that_cannot_be_done_change_nothing(graph: Path, words: list[str], status: int) -> None:
    before = everything(graph)
    result = run("branch", *words, "--store", graph)
    assert (result.exit_code, result.stdout) == (status, "")
    assert everything(graph) == before


# --- schema, lint, explain -------------------------------------------------------------------------------


def test_the_schema_of_a_graph_is_the_text_it_was_made_with(graph: Path) -> None:
    assert run("schema", "show", graph).stdout == SCHEMA
    assert as_json("schema", "show", "--store", graph) == {"schema_source": SCHEMA}


def test_queries_are_checked_and_explained_against_a_graph(graph: Path, tmp_path: Path) -> None:
    queries = tmp_path / "q.gq"
    queries.write_text(ADD)
    assert run("lint", graph, "--query", queries).stdout == "ok: nothing to remark (3 types, 1 query)\n"
    result = as_json("lint", "--store", graph, "--query", queries)
    assert result["schema_source"] == {"kind": "graph", "uri": str(graph)}
    assert "InsertNode" in run("explain", "--store", graph, "-e", ADD).stdout


# --- verify ----------------------------------------------------------------------------------------------


def test_a_sound_graph_is_verified(graph: Path) -> None:
    assert run("verify", graph).stdout.startswith("ok: 2 commits, ")
    assert as_json("verify", "--quick", graph)["ok"] is True


def test_damage_is_found_named_and_exits_with_1(graph: Path) -> None:
    victim = max((graph / "nodes").rglob("*.lance"), key=lambda file: file.stat().st_size)
    content = bytearray(victim.read_bytes())
    content[len(content) // 3] ^= 0xFF
    victim.write_bytes(content)
    result = run("verify", graph)
    assert result.exit_code == 1
    assert str(victim.relative_to(graph)) in result.stdout
    assert result.stdout.splitlines()[-1].startswith("damaged: 1 problem in ")
    victim.unlink()
    result = run("verify", "--quick", graph, "--json")
    assert (result.exit_code, json.loads(result.stdout)["ok"]) == (1, False)


def test_the_lines_of_the_fixture_are_the_ones_exported(graph: Path) -> None:
    assert len(exported(graph).splitlines()) == len(LINES)
