"""The pages for people who know Cypher or SQL: every question runs, and SQL over the tables gives the same answer."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import CompileError

PAGES = Path(__file__).resolve().parents[3] / "docs" / "user"
ROW = re.compile(r"^\| ([^|`]+) \| `(.+)` \| `(.+)` \|$", re.MULTILINE)


def text_of(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def node(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def edge(kind: str, source: str, target: str, **data: Any) -> dict[str, Any]:
    return {"edge": kind, "from": source, "to": target, "data": data}


RECORDS = [
    node("Person", name="Ann", age=31, city="Oslo", born="1993-02-01"),
    node("Person", name="Bob", age=22, city="Rome", born="2002-05-06"),
    node("Person", name="Cid", age=40, city="Oslo"),
    node("Person", name="Dan", age=27),
    node("Person", name="Eve", city="Bonn", born="1988-12-31"),
    node("Company", name="Acme", founded=1990),
    node("Company", name="Zeta"),
    edge("Knows", "Ann", "Bob", since=2005),
    edge("Knows", "Bob", "Cid", since=2015),
    edge("Knows", "Cid", "Dan"),
    edge("Knows", "Dan", "Ann", since=2020),
    edge("WorksAt", "Ann", "Acme"),
    edge("WorksAt", "Bob", "Acme"),
    edge("WorksAt", "Cid", "Acme"),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    schemas = [re.findall(r"```pg\n(.*?)```", text_of(name), re.DOTALL) for name in ("from-cypher.md", "from-sql.md")]
    assert schemas[0] == schemas[1]
    made = create(tmp_path_factory.mktemp("pages") / "g", schemas[0][0], durability="os")
    made.load(RECORDS, "append")
    return made


def questions(name: str) -> list[tuple[str, str, str]]:
    return ROW.findall(text_of(name))


def values(graph: Graph, text: str, *, is_sql: bool) -> list[tuple[Any, ...]]:
    table = (graph.sql(text) if is_sql else graph.query(text)).to_arrow()
    columns = [column.to_pylist() for column in table.columns]
    if not is_sql and len(columns) == 1 and any(isinstance(cell, dict) for cell in columns[0]):
        return [tuple(sorted((k, repr(v)) for k, v in row.items() if k != "type")) for row in columns[0]]
    rows = list(zip(*columns, strict=True))
    if is_sql and text == "SELECT * FROM Person":
        return [tuple(sorted(zip(table.column_names, map(repr, row), strict=True))) for row in rows]
    return [tuple(round(cell, 9) if isinstance(cell, float) else cell for cell in row) for row in rows]


def test_both_pages_ask_the_same_forty_questions() -> None:
    cypher, sql = questions("from-cypher.md"), questions("from-sql.md")
    assert len(cypher) == len(sql) == 40
    assert [(title, text) for title, _, text in cypher] == [(title, text) for title, _, text in sql]


@pytest.mark.parametrize(("title", "sql", "text"), questions("from-sql.md"), ids=lambda part: part[:30])
def test_sql_and_the_query_language_give_one_answer(graph: Graph, title: str, sql: str, text: str) -> None:
    found, wanted = values(graph, text, is_sql=False), values(graph, sql, is_sql=True)
    assert found
    assert Counter(found) == Counter(wanted)
    if "ORDER BY" in sql:
        assert found == wanted


@pytest.mark.parametrize(("title", "cypher", "text"), questions("from-cypher.md"), ids=lambda part: part[:30])
def test_cypher_is_recognised_and_a_translation_that_is_shown_gives_the_same_answer(
    graph: Graph, title: str, cypher: str, text: str
) -> None:
    with pytest.raises(CompileError, match="this is Cypher") as raised:
        graph.query(cypher)
    hint = str(raised.value.diagnostics[0].hint)  # type: ignore[attr-defined] # a diagnostic of the compiler
    if hint == f"the same in `.gq`: {text}":
        return
    assert "match {" in hint
