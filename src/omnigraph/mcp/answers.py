"""Answers of tools: a JSON object, the commit it was read at, and notes about everything that was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from omnigraph.mcp.budget import compact

FENCE = "```"


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a tool. ``truncated`` says what is missing and how to ask for it."""

    content: dict[str, Any]
    commit: str | None = None
    truncated: Sequence[str] = field(default=())

    def structured(self) -> dict[str, Any]:
        """The members of the answer as one JSON object."""
        commit = {} if self.commit is None else {"commit": self.commit}
        cut = {"truncated": list(self.truncated)} if self.truncated else {}
        return {**commit, **self.content, **cut}

    def text(self) -> str:
        """The same as a fenced block: values of the graph are data and never instructions."""
        return fenced(compact(self.structured()), "json")


def fenced(text: str, language: str = "") -> str:
    """A text between fences that are longer than any run of backquotes in it."""
    fence = FENCE
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
