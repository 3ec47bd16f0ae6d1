"""A graph in a bucket, and its requests counted by what they touch."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import omnigraph
from omnigraph.core.tuning import Tuning
from tests.support.faults.request_log import Kind, Request
from tests.support.faults.s3 import Bucket, Server

SCHEMA = """
node Person { name: String @key
    age: I32? }
node City { name: String @key }
node Account { email: String @unique
    number: I64 @unique }
edge Knows: Person -> Person
edge Owns: Person -> City @card(0..1)
"""
PERSON = "query q($n: String) { insert Person {name: $n, age: 1} }"
CITY = "query q($n: String) { insert City {name: $n} }"
THREE = "query q($n: String) { insert Person {name: $n} insert City {name: $n} insert Knows {from: $n, to: $n} }"


@dataclass(frozen=True)
class Counted:
    """The graph of one test, and a way to count what a call asks of the store."""

    server: Server
    bucket: Bucket
    tuning: Tuning | None = None

    def create(self) -> omnigraph.Graph:
        options = self.server.storage_options()
        return omnigraph.create(self.bucket.uri("g"), SCHEMA, storage_options=options, tuning=self.tuning)

    def open(self) -> omnigraph.Graph:
        options = self.server.storage_options()
        return omnigraph.open(self.bucket.uri("g"), storage_options=options, tuning=self.tuning)

    def requests(self, call: Callable[[], object]) -> tuple[Request, ...]:
        with self.server.proxy.recording() as log:
            call()
        return log.requests()

    def in_waves(self, call: Callable[[], object], *sizes: int) -> tuple[Request, ...]:
        """The requests of a call, which must come in waves of these sizes: each sent without waiting for the others."""
        with self.server.proxy.rounds(sizes) as rounds:
            requests = self.requests(call)
        assert len(requests) == sum(sizes), [(request.kind.value, request.key) for request in requests]
        assert not rounds.missed, [(request.kind.value, request.key) for request in requests]
        return requests

    def counts(self, call: Callable[[], object]) -> dict[str, int]:
        return dict(Counter(request.kind.value for request in self.requests(call)))


def puts(count: int) -> dict[str, int]:
    return {Kind.PUT.value: count}


def grow(graph: omnigraph.Graph, count: int, start: int = 0) -> None:
    """So many one-row commits."""
    for number in range(start, start + count):
        graph.mutate(PERSON, {"n": f"p{number}"})


def fragments(graph: omnigraph.Graph, table: str = "node:Person") -> int:
    """Fragments of the version of a table that this handle knows as the current one."""
    pin = graph._manifests.warm(graph.id).tables[table]
    return len(graph._store.open(pin.location, pin.lance_version).get_fragments())
