"""The body of a read: the members of the specification in one JSON document, whatever the number of batches."""

import json
from typing import Any

import pyarrow as pa
import pytest

from omnigraph.engine.query.result import QueryResult
from omnigraph.exec.shape.result_rows import table_rows
from omnigraph.wire.http.errors import refusal_json
from omnigraph.wire.http.models.errors import ErrorOutput
from omnigraph.wire.http.models.queries import LegacyReadOutput, ReadOutput
from omnigraph.wire.http.read_output import read_output_chunks


def body(columns: dict[str, Any], **options: Any) -> dict[str, Any]:
    table = pa.table(columns)
    batches = [batch for row in range(len(table)) for batch in table.slice(row, 1).to_batches()]
    result = QueryResult("people", table_rows(pa.Table.from_batches(batches, table.schema)), "main", "01C")
    parsed: dict[str, Any] = json.loads(b"".join(read_output_chunks(result, **options)))
    return parsed


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_read_has_its_target_its_rows_and_its_commit(rows: int) -> None:
    form = body({"p.name": pa.array(["ann"] * rows, pa.string())}, branch="main", snapshot=None)
    assert list(form) == ["query_name", "target", "row_count", "columns", "rows", "graph_commit_id"]
    ReadOutput.model_validate(form, extra="forbid")
    assert form["target"] == {"branch": "main", "snapshot": None}
    assert (form["row_count"], form["rows"]) == (rows, [{"p.name": "ann"}] * rows)


def test_the_form_of_earlier_releases_has_no_commit() -> None:
    form = body({"a": [1]}, branch=None, snapshot="01C", with_commit=False)
    LegacyReadOutput.model_validate(form, extra="forbid")
    assert (form["target"], list(form)[-1]) == ({"branch": None, "snapshot": "01C"}, "rows")


def test_a_refusal_has_the_envelope_of_an_error() -> None:
    form = refusal_json("missing bearer token", "unauthorized", "unauthenticated")
    ErrorOutput.model_validate(form, extra="forbid")
    assert form["code"] == "unauthorized"
