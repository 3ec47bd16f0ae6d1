"""Embedding services: requests follow the specification, transient errors are retried, responses are validated."""

import math
import pickle
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from omnigraph.core.ports import EmbeddingRole
from omnigraph.embed.providers import Gemini, OpenAi
from omnigraph.embed.remote import Patience, RemoteEmbedder
from omnigraph.errors import EmbeddingError, EmbeddingUnavailable
from tests.features.embed.service import Answer, Service, gemini_answer, openai_answer, serving

GOOD = Answer(openai_answer([3.0, 4.0]))
GEMINI_GOOD = Answer(gemini_answer([0.0, 2.0]))


class Sleeper:
    """Time that passes only when somebody sleeps, or as a test says."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def embedder(service: Service, provider: OpenAi | Gemini | None = None, **patience: int) -> RemoteEmbedder:
    clock = Sleeper()
    settings = Patience(**{"timeout_ms": 5_000, **patience})
    return RemoteEmbedder(
        provider or OpenAi(),
        service.url,
        "a-model",
        "secret",
        settings,
        monotonic=clock.monotonic,
        sleep=clock.sleep,
    )


def slept(client: RemoteEmbedder) -> list[float]:
    clock = client.sleep.__self__  # type: ignore[attr-defined]
    assert isinstance(clock, Sleeper)
    return clock.slept


def test_an_openai_service_is_asked_with_bearer_model_input_and_dimensions() -> None:
    with serving(GOOD) as service:
        assert embedder(service).embed(["some text"], 2, "query") == [(0.6000000238418579, 0.800000011920929)]
    (request,) = service.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == "Bearer secret"
    assert request.headers["content-type"] == "application/json"
    assert request.body == {"model": "a-model", "input": ["some text"], "dimensions": 2}


@pytest.mark.parametrize(("role", "task"), [("query", "RETRIEVAL_QUERY"), ("document", "RETRIEVAL_DOCUMENT")])
def test_gemini_is_asked_with_its_key_its_body_and_the_task_of_the_role(role: EmbeddingRole, task: str) -> None:
    with serving(GEMINI_GOOD) as service:
        assert embedder(service, Gemini()).embed(["some text"], 2, role) == [(0.0, 1.0)]
    (request,) = service.requests
    assert request.path == "/v1/models/a-model:embedContent"
    assert request.headers["x-goog-api-key"] == "secret"
    assert "authorization" not in request.headers
    assert request.body == {
        "model": "models/a-model",
        "content": {"parts": [{"text": "some text"}]},
        "taskType": task,
        "outputDimensionality": 2,
    }


def test_several_texts_go_in_one_request_and_come_back_in_their_order() -> None:
    swapped = {"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]}
    with serving(Answer(swapped)) as service:
        assert embedder(service).embed(["one", "two"], 2, "document") == [(1, 0), (0, 1)]
    assert [request.body["input"] for request in service.requests] == [["one", "two"]]


def test_more_texts_than_a_request_may_hold_go_in_several() -> None:
    answers = [Answer(openai_answer([1, 0], [0, 1])), Answer(openai_answer([1, 0]))]
    with serving(*answers) as service:
        assert embedder(service, OpenAi(texts_max=2)).embed(["a", "b", "c"], 2, "document") == [(1, 0), (0, 1), (1, 0)]
    assert [request.body["input"] for request in service.requests] == [["a", "b"], ["c"]]


def test_gemini_is_asked_once_per_text() -> None:
    with serving(GEMINI_GOOD) as service:
        assert embedder(service, Gemini()).embed(["a", "b"], 2, "document") == [(0, 1), (0, 1)]
    assert len(service.requests) == 2


def test_no_texts_need_no_request() -> None:
    with serving(GOOD) as service:
        assert embedder(service).embed([], 2, "document") == []
    assert not service.requests


@pytest.mark.parametrize("status", [429, 500, 502, 503, 599])
def test_an_overloaded_service_is_asked_again_after_a_pause(status: int) -> None:
    with serving(Answer({"error": "later"}, status), GOOD) as service:
        client = embedder(service)
        assert len(client.embed(["text"], 2, "query")) == 1
    assert len(service.requests) == 2
    assert slept(client) == [0.2]


def test_pauses_double_and_the_last_failure_is_told() -> None:
    with serving(Answer({"error": "broken"}, 500)) as service:
        client = embedder(service)
        with pytest.raises(EmbeddingUnavailable, match="500") as caught:
            client.embed(["text"], 2, "query")
    assert len(service.requests) == 4
    assert slept(client) == [0.2, 0.4, 0.8]
    assert caught.value.facts["status"] == 500
    assert "broken" in caught.value.message
    assert caught.value.retryable


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refused_request_is_not_repeated(status: int) -> None:
    with (
        serving(Answer({"error": "no"}, status)) as service,
        pytest.raises(EmbeddingError, match=str(status)) as caught,
    ):
        embedder(service).embed(["text"], 2, "query")
    assert len(service.requests) == 1
    assert not caught.value.retryable
    assert "secret" not in str(caught.value)


def test_a_redirect_is_not_followed_because_the_key_would_go_with_it() -> None:
    with serving(GOOD) as other, serving(Answer({}, 302, headers={"Location": other.url})) as service:
        with pytest.raises(EmbeddingError, match="302"):
            embedder(service).embed(["text"], 2, "query")
        assert not other.requests


def test_a_silent_service_is_given_up_and_asked_again() -> None:
    with serving(Answer(silent=True), GOOD) as service:
        client = embedder(service, timeout_ms=150)
        assert len(client.embed(["text"], 2, "query")) == 1
    assert len(service.requests) == 2


def test_a_service_that_answers_in_drops_does_not_hold_us_longer_than_the_timeout() -> None:
    with (
        serving(Answer(b" " * 200 + b"{}", drops=True)) as service,
        pytest.raises(EmbeddingUnavailable, match="in time"),
    ):
        embedder(service, timeout_ms=200, attempts=1).embed(["text"], 2, "query")


@pytest.mark.parametrize(("retry_after", "pause"), [("7", 7), ("99999", 600), ("soon", 0.2), ("-1", 0.2), ("0", 0.2)])
def test_a_service_is_left_alone_for_as_long_as_it_asks(retry_after: str, pause: float) -> None:
    with serving(Answer({}, 429, headers={"Retry-After": retry_after}), GOOD) as service:
        client = embedder(service, deadline_ms=0)
        assert len(client.embed(["text"], 2, "query")) == 1
    assert slept(client) == [pause]


def test_a_pause_beyond_the_deadline_is_not_waited_for() -> None:
    with serving(Answer({}, 429, headers={"Retry-After": "61"}), GOOD) as service:
        client = embedder(service)
        with pytest.raises(EmbeddingUnavailable, match="within 60000 ms"):
            client.embed(["text"], 2, "query")
    assert slept(client) == []
    assert len(service.requests) == 1


def test_requests_keep_their_pace_and_waiting_for_it_does_not_use_up_the_deadline() -> None:
    with serving(GEMINI_GOOD) as service:
        client = embedder(service, Gemini(), requests_per_minute=30, deadline_ms=1000)
        client.embed(["a", "b"], 2, "document")
        client.embed(["c"], 2, "document")
        assert slept(client) == [2, 2]
        pickled = pickle.loads(pickle.dumps(replace(client, sleep=time.sleep, monotonic=time.monotonic)))
    assert pickled.patience.requests_per_minute == 30
    assert len(service.requests) == 3


def test_nobody_listening_is_asked_as_often_as_allowed() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        service = Service([], url=f"http://127.0.0.1:{unused.getsockname()[1]}")
        client = embedder(service, attempts=3)
        with pytest.raises(EmbeddingUnavailable, match="cannot be reached"):
            client.embed(["text"], 2, "query")
    assert slept(client) == [0.2, 0.4]


def test_the_deadline_ends_the_attempts_before_a_pause_that_would_pass_it() -> None:
    with serving(Answer({}, 503)) as service:
        client = embedder(service, deadline_ms=500, attempts=10)
        with pytest.raises(EmbeddingUnavailable, match=r"within 500 ms.*503"):
            client.embed(["text"], 2, "query")
    assert slept(client) == [0.2]
    assert len(service.requests) == 2


def test_the_deadline_is_for_all_texts_together() -> None:
    clock = Sleeper()

    def slow(request: object, timeout: float) -> object:
        clock.now += 0.4
        return gemini_answer([1, 0])

    client = RemoteEmbedder(
        Gemini(), "http://x", "m", "k", Patience(deadline_ms=1000), slow, clock.monotonic, clock.sleep
    )
    assert len(client.embed(["a", "b"], 2, "query")) == 2
    with pytest.raises(EmbeddingUnavailable, match="within 1000 ms"):
        client.embed(["a", "b", "c", "d"], 2, "query")


def test_an_attempt_gets_no_more_time_than_the_deadline_leaves() -> None:
    clock = Sleeper()
    given: list[float] = []

    def failing(request: object, timeout: float) -> object:
        given.append(round(timeout, 3))
        clock.now += 1
        raise EmbeddingUnavailable("later")

    client = RemoteEmbedder(
        Gemini(), "http://x", "m", "k", Patience(2_000, 4, 100, 2_500), failing, clock.monotonic, clock.sleep
    )
    with pytest.raises(EmbeddingUnavailable):
        client.embed(["a"], 2, "query")
    assert given == [2.0, 1.4, 0.2]


def test_without_a_deadline_every_attempt_is_made() -> None:
    with serving(Answer({}, 500)) as service:
        client = embedder(service, deadline_ms=0, attempts=6, backoff_ms=100_000)
        with pytest.raises(EmbeddingUnavailable):
            client.embed(["text"], 2, "query")
    assert len(service.requests) == 6


MISSHAPEN = {
    "no data": {},
    "data that is no list": {"data": "x"},
    "too few items": openai_answer(),
    "too many items": openai_answer([1, 0], [1, 0]),
    "an item without a vector": {"data": [{"index": 0}]},
    "a vector that is text": {"data": [{"embedding": "[1, 0]"}]},
    "a wrong dimension": openai_answer([1.0, 0.0, 0.0]),
    "too few numbers": openai_answer([1.0]),
    "null among the numbers": {"data": [{"embedding": [1.0, None]}]},
    "text among the numbers": {"data": [{"embedding": [1.0, "2"]}]},
    "a truth value among the numbers": {"data": [{"embedding": [1.0, True]}]},
    "no direction": openai_answer([0.0, 0.0]),
    "no direction in 32 bits": openai_answer([1e-300, 0.0]),
    "a number beyond 32 bits": openai_answer([1e39, 0.0]),
    "a norm beyond 32 bits": openai_answer([3e38, 3e38]),
    "NaN": b'{"data": [{"embedding": [NaN, 1.0]}]}',
    "infinity": b'{"data": [{"embedding": [Infinity, 1.0]}]}',
    "a number beyond 64 bits": b'{"data": [{"embedding": [1' + b"0" * 400 + b", 1.0]}]}",
    "no JSON": b"<html>busy</html>",
    "half of JSON": b'{"data": [',
    "endless nesting": b"[" * 100_000,
    "nothing": b"",
    "no UTF-8": b"\xff\xfe",
    "a list": [1, 2],
    "null": None,
}


@pytest.mark.parametrize("body", MISSHAPEN.values(), ids=MISSHAPEN)
def test_an_answer_of_no_use_is_an_error_and_not_asked_for_again(body: object) -> None:
    with serving(Answer(body)) as service:
        with pytest.raises(EmbeddingError) as caught:
            embedder(service).embed(["text"], 2, "query")
        assert len(service.requests) == 1
    assert not caught.value.retryable


@pytest.mark.parametrize("embedding", [[], {}, {"values": [1.0]}, {"values": 1}])
def test_an_answer_of_no_use_by_gemini_is_an_error(embedding: object) -> None:
    with serving(Answer({"embedding": embedding})) as service, pytest.raises(EmbeddingError):
        embedder(service, Gemini()).embed(["text"], 2, "query")


def test_an_answer_may_not_be_endless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnigraph.embed.transport.ANSWER_BYTES_MAX", 100_000)
    with serving(Answer(b" " * 200_000)) as service, pytest.raises(EmbeddingError, match="more than"):
        embedder(service).embed(["text"], 2, "query")


def test_integers_count_as_numbers_and_the_vector_has_length_one() -> None:
    with serving(Answer(openai_answer([1, 2, 2]))) as service:
        (vector,) = embedder(service).embed(["text"], 3, "query")
    assert math.isclose(sum(number * number for number in vector), 1, rel_tol=1e-6)
    assert list(vector) == list(struct.unpack("<3f", struct.pack("<3f", *vector)))


def test_the_key_is_not_shown() -> None:
    show: Callable[[object], str] = repr
    client = RemoteEmbedder(OpenAi(), "http://x", "m", "very-secret")
    assert "very-secret" not in show(client)
    assert "very-secret" not in show(client.provider.request("http://x", "very-secret", "m", ["t"], 2, "query"))
