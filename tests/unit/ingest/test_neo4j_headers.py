"""Fields of headers of `neo4j-admin import`."""

import pytest

from omnigraph.ingest.infer.neo4j_headers import Role, parse_header


@pytest.mark.parametrize(
    ("column", "name", "role", "group", "type_"),
    [
        ("personId:ID(Person)", "personId", Role.ID, "Person", None),
        (":ID", "", Role.ID, "", None),
        ("id:ID(Person){id-type: long}", "id", Role.ID, "Person", "I64"),
        (":START_ID(Person)", "", Role.START, "Person", None),
        (":END_ID", "", Role.END, "", None),
        (":LABEL", "", Role.LABEL, "", None),
        (":TYPE", "", Role.TYPE, "", None),
        ("x:IGNORE", "x", Role.IGNORE, "", None),
        ("name:string", "name", None, "", "String"),
        ("age:int", "age", None, "", "I64"),
        ("rate:double", "rate", None, "", "F64"),
        ("tags:string[]", "tags", None, "", "[String]"),
        ("born:date", "born", None, "", "Date"),
        ("seen:datetime{timezone:+02:00}", "seen", None, "", "DateTime"),
        ("name", "name", None, "", None),
        ("a:b", "a:b", None, "", None),
    ],
)
def test_a_field_states_name_role_group_and_type(
    column: str, name: str, role: Role | None, group: str, type_: str | None
) -> None:
    fields = parse_header([column, ":ID"])
    assert fields is not None
    field = fields[0]
    stated = None if field.type is None else str(field.type)
    assert (field.name, field.role, field.group, stated) == (name, role, group, type_)


@pytest.mark.parametrize("columns", [["id", "name"], [":START_ID", "weight"], ["time:string"]])
def test_a_header_without_an_id_or_both_ends_is_an_ordinary_one(columns: list[str]) -> None:
    assert parse_header(columns) is None
