"""The access log: one record per request, with its facts as members of a JSON line (``--log-format json``)."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from itertools import count

from omnigraph.core.ports import UlidSource

logger = logging.getLogger("omnigraph.server")


class NumberedIds:
    """Ids of requests: one of this run of the server, and a number. An id for each would cost as much as a read."""

    def __init__(self) -> None:
        self._run = UlidSource().new_id()
        self._numbers = count(1)

    def new_id(self) -> str:
        return f"{self._run}-{next(self._numbers)}"


@dataclass(slots=True)
class Entry:
    """The entry of one request, completed while the request is answered."""

    id: str
    method: str
    route: str | None = None
    """The template, not the path: names of branches and entities are data."""
    graph: str | None = None
    status: int = 500
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    @property
    def attributes(self) -> dict[str, str | int]:
        """The attributes of the request's span, named as OpenTelemetry names them."""
        return {
            "http.request.method": self.method,
            "http.route": self.route or "",
            "http.response.status_code": self.status,
            "omnigraph.graph": self.graph or "",
            "omnigraph.request": self.id,
        }

    def log(self) -> None:
        if not logger.isEnabledFor(logging.INFO):
            return
        facts = {
            "request": self.id,
            "method": self.method,
            "route": self.route,
            "graph": self.graph,
            "status": self.status,
            "ms": round(self.seconds * 1000, 1),
        }
        text = " ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
        logger.info("%s", text, extra={"facts": facts})
