"""The environment decides who embeds, and is read only when a text is embedded."""

import pickle

import pytest

from omnigraph.embed import configured, from_environment
from omnigraph.errors import EmbeddingError
from tests.features.embed.service import Answer, gemini_answer, openai_answer, serving

DEFAULTS = {
    "": ("https://openrouter.ai/api/v1", "openai/text-embedding-3-large"),
    "openai-compatible": ("https://openrouter.ai/api/v1", "openai/text-embedding-3-large"),
    "openai": ("https://api.openai.com/v1", "text-embedding-3-large"),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-2"),
}


@pytest.mark.parametrize(("provider", "expected"), DEFAULTS.items())
def test_each_provider_has_its_base_url_and_model(provider: str, expected: tuple[str, str]) -> None:
    embedder = from_environment({"OMNIGRAPH_EMBED_PROVIDER": provider})
    resolved = embedder._resolved  # type: ignore[attr-defined]
    assert (resolved.base_url, resolved.model) == expected
    patience = resolved.patience
    assert (patience.timeout_ms, patience.attempts, patience.backoff_ms, patience.deadline_ms) == (30000, 4, 200, 60000)
    assert embedder.model == expected[1]


@pytest.mark.parametrize(
    ("provider", "environ", "key"),
    [
        ("", {"OPENROUTER_API_KEY": "router", "OPENAI_API_KEY": "openai"}, "router"),
        ("", {"OPENAI_API_KEY": "openai"}, "openai"),
        ("", {"OPENROUTER_API_KEY": " ", "OPENAI_API_KEY": "openai"}, "openai"),
        ("openai", {"OPENROUTER_API_KEY": "router", "OPENAI_API_KEY": "openai"}, "openai"),
        ("gemini", {"GEMINI_API_KEY": "gemini", "OPENAI_API_KEY": "openai"}, "gemini"),
    ],
)
def test_each_provider_has_its_keys_in_order(provider: str, environ: dict[str, str], key: str) -> None:
    answer = Answer(gemini_answer([1.0]) if provider == "gemini" else openai_answer([1.0]))
    with serving(answer) as service:
        settings = {**environ, "OMNIGRAPH_EMBED_PROVIDER": provider, "OMNIGRAPH_EMBED_BASE_URL": f"{service.url}/"}
        assert from_environment(settings).embed(["t"], 1, "query") == [(1.0,)]
    (request,) = service.requests
    sent = request.headers["x-goog-api-key"] if provider == "gemini" else request.headers["authorization"]
    assert sent.removeprefix("Bearer ") == key
    assert "//" not in request.path


def test_every_variable_is_heeded() -> None:
    environ = {
        "OMNIGRAPH_EMBED_PROVIDER": "OpenAI",
        "OMNIGRAPH_EMBED_BASE_URL": "http://localhost:1/x/",
        "OMNIGRAPH_EMBED_MODEL": "mine",
        "OMNIGRAPH_EMBED_TIMEOUT_MS": "1",
        "OMNIGRAPH_EMBED_RETRY_ATTEMPTS": "2",
        "OMNIGRAPH_EMBED_RETRY_BACKOFF_MS": "0",
        "OMNIGRAPH_EMBED_DEADLINE_MS": "0",
        "OMNIGRAPH_EMBED_REQUESTS_PER_MINUTE": "90",
    }
    resolved = from_environment(environ)._resolved  # type: ignore[attr-defined]
    patience = resolved.patience
    assert (resolved.base_url, resolved.model) == ("http://localhost:1/x", "mine")
    assert (patience.timeout_ms, patience.attempts, patience.backoff_ms, patience.deadline_ms) == (1, 2, 0, 0)
    assert patience.requests_per_minute == 90


@pytest.mark.parametrize("yes", ["1", "true", "YES", " on "])
def test_the_mock_can_be_forced_over_everything(yes: str) -> None:
    environ = {"OMNIGRAPH_EMBEDDINGS_MOCK": yes, "OMNIGRAPH_EMBED_PROVIDER": "gemini", "OMNIGRAPH_EMBED_MODEL": "m"}
    embedder = from_environment(environ)
    assert embedder.model == "m"
    assert len(embedder.embed(["t"], 3, "query")[0]) == 3


def test_the_mock_is_a_provider_and_without_a_model_its_name_is_empty() -> None:
    embedder = from_environment({"OMNIGRAPH_EMBED_PROVIDER": "mock", "OMNIGRAPH_EMBEDDINGS_MOCK": "0"})
    assert embedder.model == ""
    assert len(embedder.embed(["t"], 2, "query")[0]) == 2


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({}, "no API key"),
        ({"OMNIGRAPH_EMBED_PROVIDER": "gemini"}, "GEMINI_API_KEY"),
        ({"OMNIGRAPH_EMBED_PROVIDER": "parrot"}, "openai-compatible, openai, gemini, mock"),
        ({"OMNIGRAPH_EMBED_BASE_URL": "file:///etc/passwd"}, "expected an http or https URL"),
        ({"OMNIGRAPH_EMBED_BASE_URL": "http://host:port/"}, "expected an http or https URL"),
        ({"OMNIGRAPH_EMBED_TIMEOUT_MS": "soon"}, "OMNIGRAPH_EMBED_TIMEOUT_MS is 'soon'"),
        ({"OMNIGRAPH_EMBED_TIMEOUT_MS": "0"}, "from 1"),
        ({"OMNIGRAPH_EMBED_RETRY_ATTEMPTS": "-1"}, "from 1"),
        ({"OMNIGRAPH_EMBED_DEADLINE_MS": "9" * 5000}, "whole number"),
        ({"OPENAI_API_KEY": "se\ncret"}, "characters that HTTP headers do not allow"),
    ],
)
def test_what_is_missing_or_wrong_is_said_when_a_text_is_embedded(environ: dict[str, str], message: str) -> None:
    embedder = from_environment(environ)
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(["t"], 2, "query")
    assert message in str(caught.value)


def test_the_environment_is_read_at_the_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = from_environment()
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "later")
    assert embedder.model == "later"


def test_it_travels_without_keys_and_reads_the_environment_of_the_other_side(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = from_environment({"OPENAI_API_KEY": "very-secret"})
    assert embedder.model
    content = pickle.dumps(embedder)
    assert b"very-secret" not in content
    assert "very-secret" not in repr(embedder)
    monkeypatch.setenv("OMNIGRAPH_EMBEDDINGS_MOCK", "1")
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "there")
    assert pickle.loads(content).model == "there"


def test_what_the_other_side_does_not_say_is_as_it_was_here() -> None:
    here = {"OMNIGRAPH_EMBED_PROVIDER": "gemini", "OMNIGRAPH_EMBED_MODEL": "mine", "GEMINI_API_KEY": "very-secret"}
    content = pickle.dumps(from_environment(here))
    assert b"very-secret" not in content
    travelled = pickle.loads(pickle.dumps(pickle.loads(content)))
    assert travelled.model == "mine"
    with pytest.raises(EmbeddingError, match="GEMINI_API_KEY"):
        travelled.embed(["t"], 2, "document")


@pytest.mark.parametrize(
    ("environ", "is_configured"),
    [
        ({}, False),
        ({"OPENAI_API_KEY": "k", "OMNIGRAPH_EMBED_TIMEOUT_MS": "5"}, False),
        ({"OMNIGRAPH_EMBEDDINGS_MOCK": "0", "OMNIGRAPH_EMBED_MODEL": " "}, False),
        ({"OMNIGRAPH_EMBEDDINGS_MOCK": "on"}, True),
        ({"OMNIGRAPH_EMBED_PROVIDER": "openai"}, True),
        ({"OMNIGRAPH_EMBED_BASE_URL": "http://localhost:1"}, True),
        ({"OMNIGRAPH_EMBED_MODEL": "m"}, True),
    ],
)
def test_a_key_alone_configures_nothing(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], is_configured: bool
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert (configured() is not None) == is_configured
