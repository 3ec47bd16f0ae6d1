"""`init`, `load` and `mutate`: what they write, what they say, and the documents that programs get."""

import json
from pathlib import Path

import pytest

from omnigraph.cli.args.addresses import DURABILITIES
from omnigraph.cli.commands.load import MODES
from omnigraph.storage.objects.durability import Durability
from omnigraph.write.load.mode import LoadMode
from tests.features.cli.graphs import ADD, LINES, SCHEMA, add, as_json, everything, exported, head, write_lines
from tests.features.cli.run import run

COMMIT_FIELDS = {
    "graph_commit_id",
    "graph_branch",
    "graph_manifest_version",
    "parent_commit_id",
    "merged_parent_commit_id",
    "actor_id",
    "created_at",
}


def test_the_choices_of_the_options_are_those_of_the_engine() -> None:
    assert set(MODES) == {mode.value for mode in LoadMode}
    assert set(DURABILITIES) == {durability.value for durability in Durability}


# --- init ------------------------------------------------------------------------------------------------


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.pg"
    path.write_text(SCHEMA)
    return path


def test_init_makes_an_empty_graph_and_says_where(schema: Path, tmp_path: Path) -> None:
    result = run("init", "--schema", schema, tmp_path / "g")
    assert (result.exit_code, result.stdout) == (0, "ok: a graph with 2 node types, 1 edge type\n")
    assert result.stderr == f"omnigraph init → {tmp_path / 'g'} (direct, local)\n"
    assert exported(tmp_path / "g") == ""


def test_init_as_json_names_the_graph_and_its_first_commit(schema: Path, tmp_path: Path) -> None:
    made = as_json("init", "--schema", schema, tmp_path / "g", "--durability", "os", "--quiet")
    assert (made["uri"], made["nodes"], made["edges"]) == (str(tmp_path / "g"), ["City", "Person"], ["Knows"])
    assert made["graph_commit_id"] == head(tmp_path / "g")


def test_init_never_overwrites_a_graph(schema: Path, graph: Path) -> None:
    before = everything(graph)
    result = run("init", "--schema", schema, graph)
    assert result.exit_code == 1
    assert "there is a graph at" in result.stderr
    forced = run("init", "--schema", schema, graph, "--force")
    assert forced.exit_code == 2
    assert f"delete {graph}" in forced.stderr
    assert everything(graph) == before


def test_a_schema_with_a_mistake_makes_no_graph(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pg"
    wrong.write_text("node A { x: Strin }")
    result = run("init", "--schema", wrong, tmp_path / "g")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{wrong}:1:")
    assert not (tmp_path / "g").exists()


# --- naming the graph ------------------------------------------------------------------------------------


def test_a_graph_is_named_by_argument_option_or_environment_alike(graph: Path) -> None:
    env = {"OMNIGRAPH_STORE": str(graph)}
    shown = [
        run("snapshot", graph).stdout,
        run("snapshot", "--store", graph).stdout,
        run("snapshot", "--uri", graph).stdout,
        run("snapshot", env=env).stdout,
        run("snapshot", f"file://{graph}").stdout,
        run("snapshot", graph, env={"OMNIGRAPH_STORE": "/nowhere"}).stdout,
    ]
    assert shown == [shown[0]] * 6
    assert "Person" in shown[0]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["snapshot"], "no graph is given"),
        (["snapshot", "a", "--store", "b"], "given twice"),
        (["snapshot", "a", "--storage-option", "nonsense"], "not key=value"),
        (["snapshot", "http://localhost/graph"], "names no graph of the server"),
        (["load", "a", "--mode", "append"], "--data"),
        (["mutate", "--store", "a"], "pass a query"),
        (["lint", "--schema", "x.pg", "--store", "b"], "not both"),
    ],
)
def test_commands_that_name_their_graph_wrongly_are_usage_errors(words: list[str], what: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert what in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["sql", "GRAPH", "select 1"],
        ["query", "GRAPH", "-e", "match { $p: Person } return { $p.name }"],
        ["diff", "GRAPH", "main", "main"],
        ["analyze", "pagerank", "GRAPH"],
    ],
)
def test_a_graph_in_the_place_of_another_argument_is_recognised(words: list[str], graph: Path) -> None:
    result = run(*(graph if word == "GRAPH" else word for word in words))
    assert result.exit_code == 2
    assert f"name the graph by an option: --store {graph}" in result.stderr


def test_a_surplus_argument_of_a_named_graph_points_to_the_help(graph: Path) -> None:
    for words in (
        ["snapshot", graph, "x"],
        ["sql", "select 1", "more", "--store", graph],
        ["serve", graph, "--prot", "0"],
        ["sql", graph, "--fromat", "json"],
    ):
        result = run(*words)
        assert result.exit_code == 2
        assert "--help" in result.stderr


def test_an_unknown_option_is_answered_with_one_that_the_help_lists(graph: Path) -> None:
    for words, suggested in (
        (["serve", graph, "--port", "0"], "--bind"),
        (["sql", "select 1", "--db", graph], "--store"),
    ):
        assert f"Did you mean '{suggested}'?" in run(*words).stderr
    assert "'--store'" not in run("serve", graph, "--stor", "x").stderr


# --- load ------------------------------------------------------------------------------------------------


def test_load_is_one_commit_with_actor_and_message(graph: Path, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "more.jsonl", [{"type": "Person", "data": {"name": "Grace"}}])
    result = run("load", graph, "--data", data, "--mode", "append", "--message", "more", env={"OMNIGRAPH_ACTOR": "bob"})
    assert result.stderr == f"omnigraph load → {graph} (direct, local)\n"
    assert result.stdout == f"  Person: 1\nok: loaded 1 entity into main, commit {head(graph)}\n"
    newest = as_json("commit", "show", head(graph), "--store", graph)
    assert (newest["actor_id"], newest["message"], newest["kind"]) == ("bob", "more", "load")


def test_load_as_json_has_the_envelope_of_the_reference(graph: Path, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data.jsonl", LINES)
    loaded = as_json("load", graph, "--data", data, "--mode", "merge", "--branch", "b", "--from", "main", "--as", "ann")
    commit = loaded.pop("commit")
    assert loaded == {
        "uri": str(graph),
        "branch": "b",
        "base_branch": "main",
        "branch_created": True,
        "mode": "merge",
        "nodes": [{"name": "City", "entities_loaded": 1}, {"name": "Person", "entities_loaded": 2}],
        "edges": [{"name": "Knows", "entities_loaded": 1}],
        "total_entities": 4,
        "actor_id": "ann",
        # Counts that the reference does not have.
        "inserted": 0,
        "updated": 0,
        "deleted": 0,
        "unchanged": 4,
        "cleared": 0,
    }
    assert isinstance(commit, dict)
    assert commit.keys() >= COMMIT_FIELDS
    assert (commit["graph_branch"], commit["actor_id"]) == ("b", "ann")


def test_load_reads_standard_input_and_several_files_as_one_commit(graph: Path, tmp_path: Path) -> None:
    line = json.dumps({"type": "Person", "data": {"name": "Grace"}})
    assert run("load", graph, "--data", "-", "--mode", "append", stdin=line).exit_code == 0
    one = write_lines(tmp_path / "one.jsonl", [{"edge": "Knows", "from": "Ada", "to": "Edsger"}])
    two = write_lines(tmp_path / "two.jsonl", [{"type": "Person", "data": {"name": "Edsger"}}])
    loaded = as_json("load", graph, "--data", one, "--data", two, "--mode", "append")
    assert loaded["total_entities"] == 2
    assert len(as_json("commit", "list", graph)["commits"]) == 4  # type: ignore[arg-type]


def test_overwrite_replaces_the_types_of_the_input_only(graph: Path, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "city.jsonl", [{"type": "City", "data": {"name": "Paris"}}])
    assert run("load", graph, "--data", data, "--mode", "overwrite").exit_code == 0
    assert [json.loads(line)["data"]["id"] for line in exported(graph, "--type", "City").splitlines()] == ["Paris"]
    assert len(exported(graph, "--type", "Person").splitlines()) == 2


def test_a_repeated_idempotency_key_writes_once(graph: Path, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "more.jsonl", [{"type": "Person", "data": {"name": "Grace"}}])
    words = ["load", graph, "--data", data, "--mode", "append", "--idempotency-key", "k", "--quiet"]
    assert run(*words).exit_code == 0
    first = head(graph)
    again = run(*words)
    assert (again.exit_code, again.stdout, again.stderr) == (0, f"ok: already loaded, as commit {first}\n", "")
    assert head(graph) == first


# --- mutate ----------------------------------------------------------------------------------------------


def test_mutate_as_json_has_the_envelope_of_the_reference(graph: Path) -> None:
    result = add(graph, "Grace", "--as", "ann", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    done = json.loads(result.stdout)
    commit = done.pop("commit")
    assert done == {
        "branch": "main",
        "query_name": "add",
        "affected_nodes": 1,
        "affected_edges": 0,
        "actor_id": "ann",
    }
    assert commit.keys() >= COMMIT_FIELDS
    assert (commit["graph_commit_id"], commit["graph_branch"]) == (head(graph), None)


def test_mutate_takes_query_name_and_parameters_from_files(graph: Path, tmp_path: Path) -> None:
    queries, params = tmp_path / "q.gq", tmp_path / "p.json"
    queries.write_text(f"{ADD}\nquery drop($name: String) {{ delete Person where name = $name }}")
    params.write_text('{"name": "Ada"}')
    result = run("mutate", "drop", "--query", queries, "--params-file", params, "--store", graph)
    assert (result.exit_code, result.stdout) == (0, f"ok: 1 node, 1 edge changed on main, commit {head(graph)}\n")
    again = run("change", "drop", "--query", queries, "--params-file", params, "--store", graph)
    assert (again.exit_code, again.stdout) == (0, "ok: nothing to change, no commit\n")
    assert as_json("mutate", "drop", "--query", queries, "--params-file", params, "--store", graph)["commit"] is None


def test_a_lost_precondition_exits_with_4_and_changes_nothing(graph: Path) -> None:
    first = head(graph)
    assert add(graph, "Grace", "--if-commit", first).exit_code == 0
    before = everything(graph)
    lost = add(graph, "Edsger", "--if-commit", first, "--json")
    assert lost.exit_code == 4
    told = json.loads(lost.stdout)
    assert told["precondition_failure"] == {"expected": first, "actual": head(graph)}
    assert add(graph, "Edsger", "--if-commit", first).exit_code == 4
    assert everything(graph) == before


def test_a_mistake_in_a_query_file_is_shown_in_that_file(graph: Path, tmp_path: Path) -> None:
    queries = tmp_path / "q.gq"
    queries.write_text("query add() {\n  insert Person { nmae: 1 }\n}")
    result = run("mutate", "--query", queries, "--store", graph)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{queries}:2:")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--params", "{"], 1),
        (["--params", "[]"], 1),
        (["--params", "{}", "--params-file", "x"], 2),
        (["--params-file", "missing.json"], 1),
        (["--params", "{}"], 1),
        (["nobody", "--params", "{}"], 1),
        (["--query", "x.gq"], 2),
    ],
)
def test_wrong_parameters_and_names_are_told(graph: Path, words: list[str], status: int) -> None:
    result = run("mutate", "--store", graph, "-e", ADD, *words)
    assert (result.exit_code, result.stdout) == (status, "")
    assert result.stderr.startswith("error: ")
