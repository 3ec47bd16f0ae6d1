"""Displays: HTML tables in a notebook, text in a terminal, with all data escaped."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

import omnigraph

SCHEMA = "node Person {\n  name: String @key\n  note: String?\n}\nedge Knows: Person -> Person\n"
PEOPLE = [{"type": "Person", "data": {"name": f"p{number:02}", "note": "<b>&"}} for number in range(12)]
ALL = "query people() { match { $p: Person } return { $p.name, $p.note } order { $p.name } }"


class _Cells(HTMLParser):
    """The texts of the cells, row by row; whatever is not closed fails."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        self.text = ""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.rows[-1].append(self.text)

    def handle_data(self, data: str) -> None:
        self.text += data


def _cells(thing: object) -> list[list[str]]:
    parser = _Cells()
    parser.feed(thing._repr_html_())  # type: ignore[attr-defined]
    assert not parser.open
    return parser.rows


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    graph = omnigraph.create(tmp_path_factory.mktemp("shown") / "graph", SCHEMA)
    graph.load(PEOPLE, "append", actor="ann")
    graph.create_branch("plan", actor="<i>")
    return graph


def test_a_result_shows_its_count_and_first_rows(graph: omnigraph.Graph) -> None:
    found = graph.query(ALL)
    rows = _cells(found)
    assert rows[0] == ["p.name", "p.note"]
    assert rows[1] == ["p00", "<b>&"]
    assert len(rows) == 11
    assert "12 rows" in found._repr_html_()
    assert "... 2 more" in found._repr_html_()


def test_a_graph_and_a_snapshot_show_their_tables(graph: omnigraph.Graph) -> None:
    expected = [["kind", "type", "entities"], ["edge", "Knows", "0"], ["node", "Person", "12"]]
    assert _cells(graph) == expected
    assert _cells(graph.snapshot()) == expected


def test_branches_show_their_heads(graph: omnigraph.Graph) -> None:
    branches = graph.branches()
    assert [row[0] for row in _cells(branches)] == ["branch", "main", "plan"]
    assert _cells(branches)[2][2] == "<i>"
    assert repr(branches).splitlines()[0] == "<branches: 2>"


def test_a_schema_shows_its_types(graph: omnigraph.Graph) -> None:
    rows = _cells(graph.catalog())
    assert rows[1] == ["Person", "name: String, note: String?"]
    assert rows[2][0] == "Knows: Person -> Person"
    assert repr(graph.catalog()).splitlines()[0] == "<Catalog: 1 node type, 1 edge type>"


def test_a_plan_keeps_its_lines(graph: omnigraph.Graph) -> None:
    shown = graph.explain(ALL)
    assert shown._repr_html_().count("\n") == str(shown).count("\n")


def test_long_values_are_cut(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "graph", SCHEMA)
    graph.load([{"type": "Person", "data": {"name": "a", "note": "x" * 1000}}], "append")
    assert len(_cells(graph.query(ALL))[1][1]) == 200


def test_what_writes_answer_is_short_and_tells_the_commit(graph: omnigraph.Graph) -> None:
    graph.create_branch("writes")
    loaded = graph.load([{"type": "Person", "data": {"name": "new"}}], branch="writes", actor="ann", message="why")
    shown = f"<LoadResult upsert on writes: 1 entity, commit {loaded.commit.id}>\n  Person: 1"
    assert repr(loaded) == shown
    assert repr(loaded.commit) == (
        f"<GraphCommit {loaded.commit.id} on writes: load by ann, 'why'>\n  node:Person: +1 ~0 -0"
    )
    drop = 'query drop() { delete Person where name = "new" }'
    preview = graph.mutate_preview(drop, branch="writes")
    assert repr(preview) == "<WritePreview on writes: 1 entity would change>\n  node:Person: +0 ~0 -1"
    assert _cells(preview) == [["table", "inserted", "updated", "deleted"], ["node:Person", "0", "0", "1"]]
    done = graph.mutate(drop, branch="writes")
    assert done.commit is not None
    assert repr(done) == (
        f"<MutationResult drop on writes: 1 node, 0 edges, commit {done.commit.id}>\n  node:Person: +0 ~0 -1"
    )
    assert repr(graph.mutate(drop, branch="writes")).endswith("0 nodes, 0 edges, nothing to change>")
