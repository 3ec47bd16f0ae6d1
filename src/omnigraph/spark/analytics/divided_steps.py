"""Steps on a cluster whose executors hold the vectors: blocks in scratch files, which exchange messages.

No process holds a vector, a node map or the edges of a graph, so memory does not limit the number of nodes. A step is
one job: every block sends the values that others need, and computes its own from those that arrive. The state between
two jobs is files, so the lineage of a job is as short in the last round as in the first, and a lost executor costs the
tasks that it was running.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from omnigraph.exec.analytics.steps import Question, Round, State, Steps
from omnigraph.exec.analytics.totals import joined_totals
from omnigraph.exec.analytics.vectors import Made, SpanWork, numbered
from omnigraph.spark.analytics import divided_tasks as tasks
from omnigraph.spark.analytics.coloured import Colours
from omnigraph.spark.analytics.divided_edges import StoredEdges, store_blocks, stored_edges
from omnigraph.spark.analytics.divided_vectors import DividedVector, Stored
from omnigraph.spark.analytics.division import Division
from omnigraph.spark.analytics.edge_tables import EdgeOrder
from omnigraph.spark.analytics.messages import Message, collected, delivered
from omnigraph.spark.analytics.node_order import ranged_ids, sampled_ranges
from omnigraph.spark.analytics.node_tables import integer_pieces, node_pieces
from omnigraph.spark.analytics.origin import Origin
from omnigraph.spark.analytics.scratch import Scratch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class Names:
    """Names of stored arrays, each given once: ``run`` differs between an analysis and the one that resumes it."""

    run: str
    count: int = 0
    kept: set[str] = field(default_factory=set)
    """Names of the vectors that the last checkpoint names."""

    def fresh(self) -> str:
        self.count += 1
        return f"{self.run}-{self.count:06d}"


@dataclass(frozen=True)
class DividedSteps:
    """Stored blocks of edges, and vectors as stored blocks."""

    origin: Origin
    scratch: Scratch
    order: EdgeOrder
    edges: StoredEdges
    names: Names
    has_tables: bool = True
    """False for a contracted graph."""
    kept: list[DividedVector] = field(default_factory=list)
    """Vectors that the last checkpoint names."""

    @classmethod
    def build(
        cls, origin: Origin, scratch: Scratch, division: Division, order: EdgeOrder, names: Names
    ) -> DividedSteps:
        """Read the edges into stored blocks."""
        edges = stored_edges(origin, scratch, names.fresh(), division, order)
        return cls(origin, scratch, order, edges, names)

    @property
    def division(self) -> Division:
        return self.edges.division

    @property
    def nodes(self) -> int:
        return self.division.nodes

    def apply(self, work: SpanWork, *vectors: DividedVector, **numbers: Any) -> Made:
        job = self._job(vectors, numbers)
        return self._made(job, self._from_blocks(partial(tasks.apply_work, job, work)))

    def look_up(self, values: DividedVector, at: DividedVector) -> DividedVector:
        job = self._job((at,), {})
        requests = self._from_blocks(partial(tasks.request_values, job, values.stored.division))
        answers = delivered(requests, values.stored.division.blocks, partial(tasks.look_up, values.stored))
        return self._only(job, delivered(answers, job.division.blocks, partial(tasks.assemble, job)))

    def scatter(
        self, combine: np.ufunc, into: DividedVector, at: DividedVector, values: DividedVector
    ) -> DividedVector:
        job = self._job((at, values), {})
        offers = self._from_blocks(partial(tasks.offer, job, combine))
        combine_offers = partial(tasks.combine_offers, job, combine, into.stored)
        return self._only(job, delivered(offers, self.division.blocks, combine_offers))

    def column(self, values: DividedVector, known: DividedVector | None = None) -> pa.Array:
        return values.column(known)

    def step(self, round_: Round, *vectors: DividedVector, **numbers: Any) -> Made:
        job = self._job(vectors, numbers)
        values = self._from_blocks(partial(tasks.send_values, job, self.edges, round_))
        return self._made(
            job, delivered(values, self.division.blocks, partial(tasks.receive_values, job, self.edges, round_))
        )

    def ask(self, question: Question, at: DividedVector, *vectors: DividedVector) -> DividedVector:
        job = self._job((at, *vectors), {})
        questions = self._from_blocks(partial(tasks.send_questions, job))
        answers = delivered(questions, self.division.blocks, partial(tasks.answer, self.edges, question))
        return self._only(job, delivered(answers, self.division.blocks, partial(tasks.deliver_answers, job)))

    def leaving(self) -> DividedVector:
        return self._added(self._from_blocks(partial(tasks.leaving_shares, self.edges)))

    def closed(self) -> DividedVector:
        colours = Colours.for_tasks(self.division.blocks)
        edges = self._from_blocks(partial(tasks.colour, self.edges, colours))
        counted = delivered(edges, len(colours.combinations), partial(colours.count_triangles, self.division))
        return self._added(counted.unionByName(self._from_blocks(tasks.wake)))

    def _added(self, amounts: DataFrame) -> DividedVector:
        job = self._job((), {})
        return self._only(job, delivered(amounts, self.division.blocks, partial(tasks.sum_shares, job)))

    def ranks(self) -> DividedVector:
        if not self.has_tables:
            (numbers,) = self.apply(numbered).vectors
            assert isinstance(numbers, DividedVector)
            return numbers
        origin, pieces, job = self.origin, node_pieces(self.origin.space), self._job((), {})
        ranges = sampled_ranges(origin.spark, origin.store, origin.space, self.division.blocks)
        ids = origin.messages(len(pieces), partial(ranged_ids, origin.store, pieces, ranges))
        ordered = Stored(self.scratch, self.names.fresh(), Division(ranges.count, 1))
        counts = collected(delivered(ids, ranges.count, partial(tasks.order_ids, ordered)))
        firsts, first = {}, 0
        for message in counts:
            firsts[message.block], first = first, first + message.content
        ranked = origin.messages(ranges.count, partial(tasks.rank, ordered, firsts, self.division))
        placed = delivered(
            ranked.unionByName(self._from_blocks(tasks.wake)), self.division.blocks, partial(tasks.place, job)
        )
        found = self._only(job, placed)
        ordered.delete()
        return found

    def integers(self, name: str) -> DividedVector:
        self.origin.space.checked_property(name)
        pieces, job = node_pieces(self.origin.space), self._job((), {})
        read = partial(integer_pieces, self.origin.store, name, self.division, pieces)
        values = self.origin.messages(len(pieces), read).unionByName(self._from_blocks(tasks.wake))
        return self._only(job, delivered(values, self.division.blocks, partial(tasks.place, job)))

    def turned(self) -> Steps:
        if self.order.is_symmetric:
            return self
        return DividedSteps.build(self.origin, self.scratch, self.division, self.order.turned, self.names)

    def contracted(self, groups: DividedVector, count: int, loops: float) -> Steps:
        following = Division.of(count, self.division.blocks)
        job = self._job((groups,), {})
        values = self._from_blocks(partial(tasks.send_groups, job, self.edges))
        edges = delivered(values, self.division.blocks, partial(tasks.contract, job, self.edges, following, loops))
        chunked = edges.unionByName(self.origin.messages(following.blocks, tasks.no_edges))
        made = store_blocks(chunked, self.scratch, self.names.fresh(), following, None)
        return DividedSteps(self.origin, self.scratch, self.order, made, self.names, has_tables=False)

    def pack(self, state: State) -> bytes:
        vectors = {name: value for name, value in state.items() if isinstance(value, DividedVector)}
        self._keep(vectors.values())
        content = {
            "vectors": {name: vector.stored.name for name, vector in vectors.items()},
            "numbers": {name: value for name, value in state.items() if name not in vectors},
            "division": [self.division.nodes, self.division.size],
        }
        return json.dumps(content).encode()

    def unpack(self, content: bytes, like: State) -> State:
        found = json.loads(content)
        names = {*found.get("vectors", ()), *found.get("numbers", ())}
        if names != like.keys() or found.get("division") != [self.nodes, self.division.size]:
            raise ValueError("its content belongs to another analysis")
        stored = {name: Stored(self.scratch, held, self.division) for name, held in found["vectors"].items()}
        vectors = {name: DividedVector(vector) for name, vector in stored.items()}
        self._keep(vectors.values())
        return {**found["numbers"], **vectors}

    def _keep(self, vectors: Iterable[DividedVector]) -> None:
        """Keep the files of these vectors until the next checkpoint, even if nothing else refers to them."""
        for vector in self.kept:
            vector.fate.is_kept = False
        self.kept[:] = vectors
        for vector in self.kept:
            vector.fate.is_kept = True
        self.names.kept = {vector.stored.name for vector in self.kept}

    def _job(self, vectors: Sequence[DividedVector], numbers: Mapping[str, Any]) -> tasks.Job:
        return tasks.Job(
            self.scratch, self.names.fresh(), self.division, [vector.stored for vector in vectors], numbers
        )

    def _from_blocks(self, make: Callable[[int], Iterator[Message]]) -> DataFrame:
        return self.origin.messages(self.division.blocks, make)

    def _only(self, job: tasks.Job, messages: DataFrame) -> DividedVector:
        """Run a job whose blocks have written one array each."""
        (vector,) = self._made(job, messages).vectors
        assert isinstance(vector, DividedVector)
        return vector

    def _made(self, job: tasks.Job, messages: DataFrame) -> Made:
        """Run a job whose blocks have written arrays."""
        reports = [message.content for message in collected(messages)]
        count = reports[0][0]
        vectors = [DividedVector(Stored(self.scratch, f"{job.name}-{place}", job.division)) for place in range(count)]
        return Made(tuple(vectors), joined_totals(totals for _, totals in reports))
