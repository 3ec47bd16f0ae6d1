"""Names of types and properties follow the rules that the documentation states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.ingest.infer.names import property_name, type_name
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source


@pytest.mark.parametrize(
    ("stem", "node", "edge"),
    [
        ("people", "Person", "People"),
        ("persons", "Person", "Persons"),
        ("companies", "Company", "Companies"),
        ("knows", "Know", "Knows"),
        ("works_at", "WorksAt", "WorksAt"),
        ("street addresses", "StreetAddress", "StreetAddresses"),
        ("boxes", "Box", "Boxes"),
        ("houses", "House", "Houses"),
        ("status", "Status", "Status"),
        ("news", "News", "News"),
        ("HTTPLogs", "HttpLog", "HttpLogs"),
        ("2024-sales", "T2024Sale", "T2024Sales"),
        ("café", "Cafe", "Cafe"),
        ("日本", "Node", "Edge"),
        ("bus", "Bus", "Bus"),
    ],
)
def test_a_type_has_the_words_of_its_file_and_a_node_the_singular(stem: str, node: str, edge: str) -> None:
    assert type_name(stem, is_edge=False) == node
    assert type_name(stem, is_edge=True) == edge


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("name", "name"),
        ("full_name", "full_name"),
        ("fullName", "fullName"),
        ("Full Name", "fullName"),
        ("FULL_NAME", "fullName"),
        ("first-name ", "firstName"),
        ("HTTPStatus", "httpStatus"),
        ("2nd", "_2nd"),
        ("Größe", "grosse"),
        ("%", "column7"),
        ("id", "personId"),
        ("ID", "personId"),
        ("_rowid", "rowid"),
        ("from", "from"),
    ],
)
def test_a_property_keeps_a_valid_name_and_others_become_camel_case(column: str, name: str) -> None:
    assert property_name(column, 7, "Person", (), is_edge=False) == name


def test_names_that_every_edge_has_get_the_type_in_front() -> None:
    named = [property_name(column, 1, "WorksAt", (), is_edge=True) for column in ("id", "src", "dst", "from", "To")]
    assert named == ["worksAtId", "worksAtSrc", "worksAtDst", "worksAtFrom", "worksAtTo"]


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert property_name("Full Name", 2, "Person", {"fullName", "fullName2"}, is_edge=False) == "fullName3"


@given(st.text(), st.booleans())
def test_any_text_gives_names_that_compile(text: str, is_edge: bool) -> None:
    name, owner = property_name(text, 3, "Person", (), is_edge=is_edge), type_name(text, is_edge=is_edge)
    parsed = parse_schema(Source(f"node {owner} {{ {name}: String }}", "<test>"))
    assert not parsed.diagnostics
