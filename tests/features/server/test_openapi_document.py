"""The OpenAPI documents of the server, whole and restricted to Omnigraph 0.10, as generators of clients read them."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from omnigraph.server.routes.table import document

EVERY = pytest.mark.parametrize("only_reference", [False, True], ids=["whole", "0.10"])


def read(only_reference: bool) -> dict[str, Any]:
    form: dict[str, Any] = json.loads(document(secured=True, only_reference=only_reference))
    return form


def operations(form: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((path, item) for path, methods in form["paths"].items() for item in methods.values())


@EVERY
def test_a_validator_accepts_the_document(only_reference: bool) -> None:
    validator = pytest.importorskip("openapi_spec_validator", reason="the validator comes with moto[server]")
    validator.validate(read(only_reference))


@EVERY
def test_every_operation_makes_one_method_of_a_client(only_reference: bool) -> None:
    form = read(only_reference)
    # Generators fold cases and separators, so names must differ by more.
    names = [re.sub(r"[_-]", "", item["operationId"]).lower() for _, item in operations(form)]
    assert len(names) == len(set(names))
    for path, item in operations(form):
        declared = [parameter["name"] for parameter in item.get("parameters", ()) if parameter["in"] == "path"]
        assert declared == re.findall(r"\{(\w+)\}", path)


@EVERY
def test_a_body_that_is_no_json_is_declared_as_bytes(only_reference: bool) -> None:
    # A client sends a declared text as one JSON string, if the name of its media type contains JSON.
    bodies = [item["requestBody"]["content"] for _, item in operations(read(only_reference)) if "requestBody" in item]
    raw = [content["schema"] for body in bodies for media, content in body.items() if media != "application/json"]
    assert raw == [{"type": "string", "format": "binary"}] * len(raw)
    assert raw


def test_the_document_of_the_reference_names_no_addition_and_no_media_type_of_one() -> None:
    text = json.dumps(read(only_reference=True))
    assert "x-omnigraph" not in text
    assert "arrow" not in text
