"""Requests that a graph cannot answer: each is refused with an error of the interface that says what is expected."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import lance_namespace as ln
import pytest
import urllib3

from omnigraph.errors import NotAGraphError
from omnigraph.namespace import OmnigraphNamespace
from omnigraph.namespace.calls import THREADS_MAX
from omnigraph.namespace.refusals import REASONS
from omnigraph.namespace.tables import Graphs
from omnigraph.server.namespace import BODY_BYTES_MAX, ROUTES, STATUS
from tests.features.namespace.conftest import Served

PERSON = ["main", "Person"]


def ask(address: str, method: str, path: str, body: bytes | None, kind: str = "application/json") -> tuple[int, bytes]:
    """The status and the body of an answer, over a connection of its own: a server closes one after an error."""
    headers = {"content-type": kind, "connection": "close"}
    answer = urllib3.request(method, address + path, body=body, headers=headers)
    return answer.status, answer.data


def test_every_operation_is_answered_or_refused_with_a_reason(served: Served) -> None:
    declared = {
        name
        for name, member in vars(ln.LanceNamespace).items()
        if callable(member) and not name.startswith("_") and name != "namespace_id"
    }
    assert declared - vars(OmnigraphNamespace).keys() == set()
    assert {operation for _, _, operation in ROUTES} - vars(OmnigraphNamespace).keys() == set()
    for name, reason in REASONS.items():
        with pytest.raises(ln.UnsupportedOperationError) as refused:
            getattr(served.namespace, name)({})
        assert reason in str(refused.value)
        assert name in str(refused.value)


def test_every_error_of_the_interface_has_a_status() -> None:
    assert STATUS.keys() == set(ln.ErrorCode)


@pytest.mark.parametrize(
    ("table_id", "error", "expected"),
    [
        (["main", "Persn"], ln.TableNotFoundError, "did you mean"),
        (["mian", "Person"], ln.NamespaceNotFoundError, "there is no branch 'mian'"),
        (["review/q2", "Person"], ln.NamespaceNotFoundError, "did you mean"),
        (["a b", "Person"], ln.NamespaceNotFoundError, "'a b' is not a branch name"),
        (["@01ARZ3NDEKTSV4RRFFQ69G5FAV", "Person"], ln.NamespaceNotFoundError, "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        (["@1999-01-01", "Person"], ln.NamespaceNotFoundError, "no commit as old as"),
        (["Person"], ln.InvalidInputError, '["main", "Person"]'),
        (["a", "b", "c"], ln.InvalidInputError, '["main", "Person"]'),
        (["@", "Person"], ln.InvalidInputError, "@<commit>"),
    ],
)
def test_a_wrong_identifier_says_what_is_expected(
    client: ln.LanceNamespace, table_id: list[str], error: type[Exception], expected: str
) -> None:
    with pytest.raises(error) as refused:
        client.describe_table(ln.DescribeTableRequest(id=table_id))
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("operation", "request_", "error", "expected"),
    [
        ("describe_table", None, ln.InvalidInputError, "the request is None"),
        ("describe_table", {}, ln.InvalidInputError, "[] is no table"),
        ("describe_table", {"id": "main"}, ln.InvalidInputError, "id of the request is 'main'"),
        ("describe_table", {"id": ["main", 3]}, ln.InvalidInputError, "a list of texts"),
        ("describe_table", {"id": PERSON, "version": "2"}, ln.InvalidInputError, "version of the request is '2'"),
        ("describe_table", {"id": PERSON, "version": True}, ln.InvalidInputError, "a whole number"),
        ("describe_table", {"id": PERSON, "version": 99}, ln.TableVersionNotFoundError, "the newest one is 4"),
        ("describe_table", {"id": PERSON, "version": -(1 << 62)}, ln.TableVersionNotFoundError, "no readable version"),
        ("describe_table", {"id": PERSON, "tag": "v1"}, ln.TableTagNotFoundError, "@<commit>"),
        ("describe_table", {"id": PERSON, "branch": 7}, ln.InvalidInputError, "branch of the request is 7"),
        ("describe_table", {"id": ["@main~1", "Person"], "branch": "main"}, ln.InvalidInputError, "two refs"),
        ("describe_table", {"id": PERSON, "with_table_uri": "no"}, ln.InvalidInputError, "true or false"),
        ("list_tables", {"id": ["main"], "limit": 0}, ln.InvalidInputError, "from 1 on"),
        ("list_tables", {"id": ["main"], "limit": "2"}, ln.InvalidInputError, "limit of the request is '2'"),
        ("list_tables", {"id": ["main", "x"]}, ln.InvalidInputError, "expected [] or [ref]"),
        (
            "list_table_versions",
            {"id": PERSON, "page_token": "x"},
            ln.InvalidInputError,
            "the token of the page before",
        ),
        ("count_table_rows", {"id": PERSON, "predicate": "true"}, ln.UnsupportedOperationError, "without a predicate"),
        ("describe_table_index_stats", {"id": PERSON}, ln.TableIndexNotFoundError, "has no index None"),
        ("describe_transaction", {"id": []}, ln.InvalidInputError, "[transaction]"),
        ("describe_transaction", {"id": ["x"]}, ln.TransactionNotFoundError, "'x'"),
    ],
)
def test_a_wrong_request_says_what_is_expected(
    served: Served, operation: str, request_: Any, error: type[Exception], expected: str
) -> None:
    with pytest.raises(error) as refused:
        getattr(served.namespace, operation)(request_)
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("make", "error", "expected"),
    [
        (OmnigraphNamespace, ln.InvalidInputError, "root"),
        (lambda: OmnigraphNamespace("a", graphs={"b": "c"}), ln.InvalidInputError, "either root"),
        (lambda: OmnigraphNamespace("a", colour="red"), ln.InvalidInputError, "'colour'"),
        (lambda: OmnigraphNamespace("nowhere.omni"), NotAGraphError, "nowhere.omni"),
        (lambda: ln.connect("omnigraph.namespace.OmnigraphNamespace", {"root": "nowhere"}), ValueError, "no graph at"),
    ],
)
def test_a_namespace_without_a_graph_is_refused(
    make: Callable[[], object], error: type[Exception], expected: str
) -> None:
    with pytest.raises(error) as refused:
        make()
    assert expected in str(refused.value)


def test_an_unknown_graph_is_named_with_the_known_ones(served: Served) -> None:
    namespace = OmnigraphNamespace(graphs={"kb": served.graph, "social": served.graph})

    for identifier in (["knowledge"], ["knowledge", "main"]):
        with pytest.raises(ln.NamespaceNotFoundError, match="the graphs are kb, social"):
            namespace.list_tables({"id": identifier})


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "expected"),
    [
        ("GET", "/v1/nothing", None, 404, "no operation GET /v1/nothing"),
        ("GET", "/v1/table/x/describe", None, 405, "no operation GET"),
        ("POST", "/v1/table/main$Person/describe", b"{", 400, "not JSON"),
        ("POST", "/v1/table/main$Person/describe", b"[" * 100_000, 400, "not JSON"),
        ("POST", "/v1/table/main$Person/describe", b"[1]", 400, "not a JSON object"),
        ("POST", "/v1/table/main$Person/describe", b" " * (BODY_BYTES_MAX + 1), 400, "larger than"),
        ("POST", "/v1/table/main$Person/version/list?limit=many", b"{}", 400, "limit is 'many'"),
        ("POST", f"/v1/table/main$Person/version/list?limit={'9' * 5000}", b"{}", 400, "a whole number"),
        ("POST", "/v1/table/main$Persn/describe", b"{}", 404, "did you mean"),
        ("POST", "/v1/table/main$Person/drop", b"{}", 406, "graph.apply_schema"),
        ("POST", "/v1/table/main$Person/insert", b"rows", 406, "graph.load"),
    ],
)
def test_every_answer_over_rest_is_json(
    served: Served, method: str, path: str, body: bytes | None, status: int, expected: str
) -> None:
    kind = "application/vnd.apache.arrow.stream" if body == b"rows" else "application/json"
    answered, data = ask(served.address, method, path, body, kind)

    content = json.loads(data)
    assert answered == status
    assert expected in content["error"]
    assert ln.ErrorCode(content["code"]) in set(ln.ErrorCode)


def test_an_unforeseen_error_is_answered_without_its_text(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(Graphs, "table", fail)
    status, data = ask(served.address, "POST", "/v1/table/main$Person/describe", b"{}")

    assert (status, json.loads(data)["code"]) == (500, ln.ErrorCode.INTERNAL)
    assert b"secret" not in data


def test_credentials_of_the_store_are_not_sent_over_rest(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    store = served.graph.snapshot().store
    monkeypatch.setattr(type(store), "lance_options", {"secret_access_key": "a secret"})

    assert served.namespace.describe_table({"id": PERSON}).storage_options == {"secret_access_key": "a secret"}
    status, data = ask(served.address, "POST", "/v1/table/main$Person/describe", b"{}")
    assert status == 200
    assert b"secret" not in data


def test_operations_that_use_others_never_wait_for_each_other(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """``namespace_exists`` asks ``describe_namespace``; as many at a time as there are threads still finish."""
    together = threading.Barrier(THREADS_MAX)
    describe = OmnigraphNamespace.describe_namespace

    def describe_together(namespace: OmnigraphNamespace, request: Any) -> Any:
        together.wait(timeout=30)
        return describe(namespace, request)

    monkeypatch.setattr(OmnigraphNamespace, "describe_namespace", describe_together)
    with ThreadPoolExecutor(THREADS_MAX) as clients:
        calls = [clients.submit(served.namespace.namespace_exists, {"id": ["main"]}) for _ in range(THREADS_MAX)]
        answers = [call.result(timeout=60) for call in calls]

    assert len(answers) == THREADS_MAX
