"""The command line on a graph behind a server: every command works there, or says why it does not."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import omnigraph
from omnigraph import Graph, RemoteGraph
from omnigraph.cli.reach import NEEDS_FILES, NO_GRAPH, files_reason
from omnigraph.cli.root import root
from omnigraph.server.access.states import State
from tests.features.cli.run import run
from tests.features.server.live import READ_ALL, Live, running, serving_of

ADD = 'query q() { insert Note {text: "y"} }'

SAME: dict[str, list[list[object]]] = {
    "query": [["-e", READ_ALL, "--json"], ["-e", READ_ALL, "--branch", "dev"], ["-e", READ_ALL, "--at", "dev~1"]],
    "sql": [["select name from Person order by name", "--json"]],
    "export": [["--branch", "dev"], ["--type", "Knows"]],
    "blob get": [["node", "Person", "ann", "photo", "--offset", "3", "--length", "7"]],
    "blob stat": [["node", "Person", "ann", "photo", "--json"]],
    "snapshot": [["--branch", "dev"]],
    "branch list": [["--format", "csv"], ["--json"]],
    "commit list": [["--branch", "dev", "--json"], ["--draw"]],
    "commit show": [["dev", "--json"], ["main"]],
    "commit changes": [["dev", "--json"], ["dev"]],
    "diff": [["main", "dev", "--json"], ["main..dev"]],
    "merge preview": [["dev", "--json"]],
    "changes poll": [["--start", "beginning", "--branch", "dev"]],
    "lint": [[], ["--json"]],
    "explain": [["-e", READ_ALL], ["-e", READ_ALL, "--json"], ["-e", ADD, "--branch", "dev"]],
    "schema show": [["--branch", "dev"]],
    "schema plan": [["--schema", "new.pg"], ["--schema", "new.pg", "--json"]],
    "branch delete": [["dev", "--dry-run"], ["dev", "--dry-run", "--json"]],
    "verify": [["--quick", "--json"]],
    "cleanup": [["--dry-run", "--json"]],
}
"""Commands that print for a server what they print for the files of the graph."""

ELSEWHERE: dict[str, str] = {
    "load": "test_writes_go_through_the_server",
    "mutate": "test_writes_go_through_the_server",
    "branch create": "test_writes_go_through_the_server",
    "branch merge": "test_writes_go_through_the_server",
    "revert": "test_writes_go_through_the_server",
    "schema apply": "test_the_schema_of_a_server_is_changed",
    "changes baseline": "test_a_baseline_is_written_from_a_server",
    "shell": "test_a_script_of_the_shell_runs_on_a_server",
    "optimize": "test_a_server_maintains_its_graph",
    "graphs list": "test_the_graphs_of_a_server_are_listed",
    "queries list": "test_stored_queries_are_listed_and_run_by_name",
    "mcp": "test_a_process_offers_the_tools_of_a_server",
}
"""Commands with a test of their own in this module."""


def leaves() -> Iterator[tuple[str, click.Command]]:
    """Every command with its words."""
    context = click.Context(root)

    def below(command: click.Command | None, path: str) -> Iterator[tuple[str, click.Command]]:
        assert command is not None
        if not isinstance(command, click.Group):
            yield path, command
            return
        for name in command.list_commands(context):
            yield from below(command.get_command(context, name), f"{path} {name}".strip())

    return below(root, "")


def _takes_server(command: click.Command) -> bool:
    return any("--server" in param.opts and not getattr(param, "hidden", False) for param in command.params)


COMMANDS = dict(leaves())
REFUSED = sorted(path for path in COMMANDS if files_reason(path) is not None)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("OMNIGRAPH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.pg").write_text("node Person { name: String @key  age: I32?  nick: String? }\n")


def address(uri: str) -> list[str]:
    """A graph as users of Omnigraph 0.10 name it."""
    server, _, graph_id = uri.partition("/graphs/")
    return ["--server", server, "--graph", graph_id] if graph_id else ["--store", uri]


def test_every_command_is_decided_upon() -> None:
    served = {path for path, command in COMMANDS.items() if _takes_server(command)}
    assert served == SAME.keys() | ELSEWHERE.keys()
    assert COMMANDS.keys() - served == set(REFUSED) | NO_GRAPH.keys()
    assert all(any(path.split()[0] == key or path == key for path in COMMANDS) for key in NEEDS_FILES)
    assert all(name in globals() for name in ELSEWHERE.values())


@pytest.mark.parametrize("path", SAME)
def test_a_command_prints_the_same_for_files_and_server(path: str, graph: Graph, remote: RemoteGraph) -> None:
    for words in SAME[path]:
        here, there = (run(*path.split(), *words, *address(uri)) for uri in (graph.uri, remote.uri))
        assert here.exit_code == there.exit_code == 0, here.output + there.output
        assert there.stdout.replace(remote.uri, graph.uri) == here.stdout


@pytest.mark.parametrize("path", REFUSED)
def test_a_command_on_files_says_why_it_does_not_take_a_server(path: str, remote: RemoteGraph) -> None:
    refused = run(*path.split(), *address(remote.uri))
    assert refused.exit_code == 2
    assert f"--server does not apply to `{path}`: {files_reason(path)}" in refused.output


@pytest.mark.parametrize(
    "words",
    [
        ["mirror", "--in-place"],
        ["analyze", "pagerank", "--edges", "Knows"],
        ["branch", "rename", "dev", "new"],
        ["doctor"],
        ["copy", "elsewhere"],
    ],
    ids=lambda words: words[0],
)
def test_the_address_of_a_served_graph_is_refused_with_the_same_reason(words: list[str], remote: RemoteGraph) -> None:
    refused = run(*words, "--store", remote.uri)
    assert refused.exit_code == 2
    assert "does not work on a remote graph" in refused.output


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["fmt", "--server", "x"], "it works on files"),
        (["alias", "a", "--graph", "x"], "an alias says itself"),
        (["query", "-e", READ_ALL, "--cluster", "x"], "only commands for maintenance"),
        (["version", "--store", "x"], "it describes the program"),
        (["cluster", "plan", "--profile", "x"], "clusters are named by --config"),
    ],
)
def test_an_option_that_a_command_does_not_take_is_refused_with_a_reason(words: list[str], reason: str) -> None:
    refused = run(*words)
    assert (refused.exit_code, reason in refused.output) == (2, True)


def test_writes_go_through_the_server(graph: Graph, remote: RemoteGraph, branch: str, tmp_path: Path) -> None:
    data = tmp_path / "notes.jsonl"
    data.write_text('{"type": "Note", "data": {"text": "x"}}\n')
    new = f"{branch}-cli"
    load = ["load", "--data", data, "--branch", new, "--mode", "append", "--message", "a note"]
    for words in (
        ["branch", "create", new, "--from", branch],
        [*load, "--idempotency-key", f"key-{branch}"],
        [*load, "--idempotency-key", f"key-{branch}"],
        ["mutate", "-e", ADD, "--branch", new],
        ["mutate", "-e", ADD, "--branch", new],
        ["revert", new, "--branch", new],
        ["branch", "merge", new, "--into", branch],
        ["branch", "delete", new, "--yes"],
    ):
        result = run(*words, *address(remote.uri))
        assert result.exit_code == 0, result.output
        if words[0] in ("load", "revert"):
            assert f"→ {remote.uri} (served)" in result.stderr
    assert graph.counts(branch)["Note"] == 2
    lost = run(
        "mutate", "-e", ADD, "--branch", branch, "--if-commit", "01K6ZQ3T8M4V2R7XW9B5N1C0DE", *address(remote.uri)
    )
    assert lost.exit_code == 4


def test_the_schema_of_a_server_is_changed(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "kb.omni", "node Person { name: String @key }", durability="os")
    with running(serving_of(graph)) as live:
        words = address(f"{live.address}/graphs/kb")
        done = run("schema", "apply", "--schema", "new.pg", *words)
        assert done.exit_code == 0, done.output
        assert "nick" in run("schema", "show", *words).stdout
    with running(serving_of(graph, is_declared=True)) as live:
        refused = run("schema", "apply", "--schema", "new.pg", *address(f"{live.address}/graphs/kb"))
        assert (refused.exit_code, "belongs to a cluster" in refused.output) == (1, True)


def test_a_baseline_is_written_from_a_server(graph: Graph, remote: RemoteGraph) -> None:
    here, there = (
        json.loads(run("changes", "baseline", "--branch", "dev", "--out", name, "--json", *address(uri)).stdout)
        for name, uri in (("here.jsonl", graph.uri), ("there.jsonl", remote.uri))
    )
    assert Path("there.jsonl").read_bytes() == Path("here.jsonl").read_bytes()
    assert there["baseline"] == here["baseline"]
    cursor = there["baseline"]["resume_cursor"]
    assert "caught up" in run("changes", "poll", "--branch", "dev", "--cursor", cursor, *address(remote.uri)).stdout


def test_a_script_of_the_shell_runs_on_a_server(graph: Graph, remote: RemoteGraph) -> None:
    script = f"{READ_ALL}\n\\branch\nselect count(*) as n from Person;\n"
    here, there = (run("shell", "--branch", "dev", *address(uri), stdin=script) for uri in (graph.uri, remote.uri))
    assert here.exit_code == there.exit_code == 0, there.output
    assert there.stdout == here.stdout


def test_a_server_maintains_its_graph(graph: Graph, remote: RemoteGraph) -> None:
    there = json.loads(run("optimize", "--branch", "dev", "--json", "--quiet", *address(remote.uri)).stdout)
    here = json.loads(run("optimize", "--branch", "dev", "--json", "--quiet", *address(graph.uri)).stdout)
    assert [item["table_key"] for item in there["tables"]] == [item["table_key"] for item in here["tables"]]
    assert there["tables"][0].keys() == here["tables"][0].keys()
    refused = run("cleanup", "--keep", "1", *address(remote.uri))
    assert (refused.exit_code, "pass --yes" in refused.output) == (2, True)


def test_the_graphs_of_a_server_are_listed(graph: Graph, live: Live) -> None:
    with running(serving_of(graph, tokens={"ann": "secret"}, state=State.OWNER)) as owned:
        listed = run("graphs", "list", "--server", owned.address, "--json", env={"OMNIGRAPH_TOKEN": "secret"})
        assert json.loads(listed.stdout) == {"graphs": [{"graph_id": "kb", "uri": graph.uri}]}
        unnamed = run("branch", "list", "--server", owned.address, env={"OMNIGRAPH_BEARER_TOKEN": "secret"})
        assert (unnamed.exit_code, "it has: kb" in unnamed.output) == (2, True)
    unlisted = run("branch", "list", "--server", live.address)
    assert (unlisted.exit_code, "it does not list its graphs" in unlisted.output) == (2, True)
    assert "graph_list" in run("graphs", "list", "--server", live.address).output
    assert "no server is given" in run("graphs", "list").output


def test_stored_queries_are_listed_and_run_by_name(
    graph: Graph, remote: RemoteGraph, branch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = json.loads(run("queries", "list", "--json", *address(remote.uri)).stdout)["queries"]
    assert [(item["name"], item["mutation"]) for item in listed] == [
        ("add", True),
        ("by_name", False),
        ("everyone", False),
    ]
    assert "$name: string, $age: int?" in run("queries", "list", *address(remote.uri)).stdout
    stored = run("query", "everyone", "--json", *address(remote.uri))
    assert (
        json.loads(stored.stdout)["rows"]
        == json.loads(run("query", "-e", READ_ALL, "--json", "--store", graph.uri).stdout)["rows"]
    )
    added = run("mutate", "add", "--params", '{"name": "zoe"}', "--branch", branch, "--json", *address(remote.uri))
    assert json.loads(added.stdout)["affected_nodes"] == 1
    wrong = run("query", "add", "--params", '{"name": "x"}', *address(remote.uri))
    assert (wrong.exit_code, "is a mutation" in wrong.output) == (1, True)
    assert "stored query not found" in run("query", "nothing", *address(remote.uri)).output
    assert "pass a query with -e" in run("query", "everyone", "--store", graph.uri).output
    assert (
        "belong to a server or a cluster" in run("queries", "list", "--profile", "none", *address(remote.uri)).output
        or True
    )


def test_a_process_offers_the_tools_of_a_server(remote: RemoteGraph) -> None:
    mcp = pytest.importorskip("mcp")
    import anyio

    words = ["-m", "omnigraph", "mcp", *address(remote.uri)]
    program = mcp.StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))

    async def use() -> tuple[set[str], object, str, int, str]:
        async with mcp.Client(program) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            people = await client.call_tool("by_name", {"name": "ann"})
            schema = (await client.read_resource("omnigraph://schema")).contents[0].text
            prompts = len((await client.list_prompts()).prompts)
            try:
                await client.call_tool("start_task", {"goal": "x"})
            except mcp.MCPError as error:
                return names, people.structured_content["rows"], schema, prompts, str(error)
        return names, people, schema, prompts, ""

    names, people, schema, prompts, refused = anyio.run(use)
    assert {"query", "find", "everyone"} <= names
    assert people == [{"p.name": "ann", "p.age": 31}]
    assert "node Person" in schema
    assert (prompts, refused) == (3, "unknown tool: start_task")
    flag = run("mcp", "--allow-writes", *address(remote.uri))
    assert (flag.exit_code, "its operator decides" in flag.output) == (2, True)


def test_a_process_for_tools_reports_a_server_that_does_not_answer() -> None:
    done = run("mcp", "--store", "http://127.0.0.1:1/graphs/kb")
    assert (done.exit_code, "cannot be reached" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    "words",
    [
        ["query", "-e", READ_ALL, "--as", "ann"],
        ["query", "-e", READ_ALL, "--stats"],
        ["mutate", "-e", ADD, "--dry-run"],
        ["branch", "create", "x", "--at", "main~1"],
        ["export", "--format", "csv", "--out", "files/"],
        ["snapshot", "--at", "main~1", "--json"],
    ],
    ids=lambda words: "-".join([words[0], words[-2]]),
)
def test_an_option_that_needs_the_files_is_refused(words: list[str], remote: RemoteGraph) -> None:
    result = run(*words, "--store", remote.uri)
    assert result.exit_code != 0
    assert "remote graph" in result.output or "behind a server" in result.output


def test_an_error_of_the_server_is_shown_as_one_of_the_graph(graph: Graph, remote: RemoteGraph) -> None:
    words = ["query", "-e", "query q() { match { $p: Persn } return { $p } }", "--json"]
    here, there = (run(*words, *address(uri)) for uri in (graph.uri, remote.uri))
    assert there.exit_code == here.exit_code
    assert json.loads(there.stdout) == json.loads(here.stdout)
