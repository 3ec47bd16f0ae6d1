"""Wire protocols of embedding services: building requests and reading vectors from responses. Pure, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.ports import EmbeddingRole
from omnigraph.embed.request import Request
from omnigraph.errors import EmbeddingError


class Provider(Protocol):
    """The protocol of a service."""

    @property
    def texts_max(self) -> int:
        """Maximum number of texts in one request."""
        ...

    def request(
        self, base_url: str, key: str, model: str, texts: Sequence[str], dimension: int, role: EmbeddingRole
    ) -> Request: ...

    def vectors(self, answer: object, count: int) -> list[object]:
        """The unchecked vectors of a response, one for each text."""
        ...


@dataclass(frozen=True, slots=True)
class OpenAi:
    """OpenAI and compatible services."""

    texts_max: int = 128

    def request(
        self, base_url: str, key: str, model: str, texts: Sequence[str], dimension: int, role: EmbeddingRole
    ) -> Request:
        body = {"model": model, "input": list(texts), "dimensions": dimension}
        return Request(f"{base_url}/embeddings", {"Authorization": f"Bearer {key}"}, body)

    def vectors(self, answer: object, count: int) -> list[object]:
        match answer:
            case {"data": [*items]} if len(items) == count:
                return [_member(item, "embedding") for item in sorted(items, key=_place)]
            case _:
                raise _misshapen(f"no `data` with {count} items")


def _place(item: object) -> int:
    match item:
        case {"index": int() as index}:
            return index
        case _:
            # Some services omit the index; their items are in order, and the stable sort keeps it.
            return 0


_TASKS: dict[EmbeddingRole, str] = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}


@dataclass(frozen=True, slots=True)
class Gemini:
    """Google Gemini, which takes one text per request."""

    texts_max: int = 1

    def request(
        self, base_url: str, key: str, model: str, texts: Sequence[str], dimension: int, role: EmbeddingRole
    ) -> Request:
        (text,) = texts
        body = {
            "model": f"models/{model}",
            "content": {"parts": [{"text": text}]},
            "taskType": _TASKS[role],
            "outputDimensionality": dimension,
        }
        return Request(f"{base_url}/models/{quote(model)}:embedContent", {"x-goog-api-key": key}, body)

    def vectors(self, answer: object, count: int) -> list[object]:
        return [_member(_member(answer, "embedding"), "values")]


def _member(item: object, name: str) -> object:
    if not isinstance(item, dict) or name not in item:
        raise _misshapen(f"no `{name}`")
    return item[name]


def _misshapen(what: str) -> EmbeddingError:
    return EmbeddingError(f"the response of the embedding service has {what}", hint="check the base URL")
