"""Every kind of writer, each as a graph to start from and the one write that is disturbed.

Ids and times are counted, not drawn: an undisturbed run gives the same graph every time, so that the graph after a
crash can be compared with it byte by byte.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version

import pyarrow as pa
import pyarrow.parquet as pq
from lance_namespace.errors import LanceNamespaceError

import omnigraph
from omnigraph.core.commit import CommitKind
from omnigraph.core.ids import encode_ulid
from omnigraph.core.tuning import Tuning
from omnigraph.engine.graph import Graph
from omnigraph.namespace import OmnigraphNamespace, stage
from omnigraph.storage.objects.version_names import lance_version
from omnigraph.storage.publish.offers import make_offer
from omnigraph.storage.tables.store import Store
from omnigraph.write.adopt.versions import OfferedVersion
from omnigraph.write.context import WriteOptions
from tests.support.tuning import retuned

SCHEMA = """
node Person {
  name: String @key
  email: String? @unique
  age: I64?
}
node Firm { title: String @key }
edge Knows: Person -> Person { since: I64? }
edge WorksAt: Person -> Firm @card(0..1)
"""

OTHER_SCHEMA = """
node Person {
  name: String @key
  email: String? @unique
  age: I64?
  nick: String?
}
node Company @rename_from("Firm") { title: String @key }
node City { name: String @key }
edge Knows: Person -> Person
edge LivesIn: Person -> City
"""

INSERT = "query add($name: String, $age: I64) { insert Person { name: $name, age: $age } }"

MIXED = """
query reorganize() {
  insert Firm { title: "globex" }
  insert WorksAt { from: "bo", to: "globex" }
  update Person set { age: 50 } where name = "ann"
  delete Person where name = "cy"
  insert Knows { from: "ann", to: "bo", since: 7 }
}
"""

PEOPLE = [{"type": "Person", "data": {"name": name, "email": f"{name}@x", "age": 1}} for name in ("ann", "bo", "cy")]
BASE = [
    *PEOPLE,
    {"type": "Firm", "data": {"title": "acme"}},
    {"edge": "Knows", "from": "ann", "to": "cy", "data": {"id": "k1", "since": 1}},
    {"edge": "Knows", "from": "bo", "to": "ann", "data": {"id": "k2", "since": 2}},
    {"edge": "WorksAt", "from": "ann", "to": "acme", "data": {"id": "w1"}},
]


@dataclass
class Counted:
    """A clock and a source of ids that both count. Every process has its own era, so that ids never collide."""

    era: int
    ticks: int = 0

    def now_us(self) -> int:
        self.ticks += 1
        return self.era * 1_000_000 + self.ticks

    def new_id(self) -> str:
        self.ticks += 1
        return encode_ulid(self.era, self.ticks)

    def new_ids(self, count: int) -> str:
        return "".join(self.new_id() for _ in range(count))


USUAL = Tuning()
BULK = Tuning(buffered_rows_max=0)
INDEXED = Tuning(index_rows_min=0, extended_rows_min=1)


def open_counted(uri: str | os.PathLike[str], era: int, durability: str = "fsync", tuning: Tuning = USUAL) -> Graph:
    counted = Counted(era)
    return Graph(Store(uri, None, durability, tuning), clock=counted, ids=counted)


def create_counted(uri: str | os.PathLike[str], era: int, durability: str = "fsync") -> Graph:
    counted = Counted(era)
    return omnigraph.create(uri, SCHEMA, durability=durability, clock=counted, ids=counted)


def _nothing(graph: Graph) -> None:
    pass


@dataclass(frozen=True)
class Writer:
    """`prepare` is done before, `warm` in the same process before the write, `write` under faults.

    With the tuning `BULK` the write takes the path of loads that do not fit into memory, with `INDEXED` every table is
    worth an index and every finished fragment is worth extending it.
    """

    write: Callable[[Graph], object]
    prepare: Callable[[Graph], object] = field(default=_nothing)
    warm: Callable[[Graph], object] = field(default=_nothing)
    tuning: Tuning = USUAL


def _insert(graph: Graph, name: str = "dee") -> None:
    graph.mutate(INSERT, {"name": name, "age": 4}, actor="writer")


def _insert_many(graph: Graph, count: int) -> None:
    for number in range(count):
        _insert(graph, f"p{number:03}")


def _merge(graph: Graph) -> None:
    graph.load(
        [
            {"type": "Person", "data": {"name": "ann", "age": 9}},
            {"type": "Person", "data": {"name": "eve", "email": "eve@x"}},
            {"edge": "Knows", "from": "eve", "to": "ann", "data": {"id": "k2", "since": 5}},
        ],
        "merge",
    )


def _upsert(graph: Graph) -> None:
    """Completed rows are written beside those of the input, which are dropped."""
    graph.load(
        [
            {"type": "Person", "data": {"name": "ann", "age": 9}},
            {"type": "Person", "data": {"name": "bo"}},
            {"type": "Person", "data": {"name": "eve", "email": "eve@x"}},
            {"edge": "Knows", "data": {"id": "k1", "since": 5}},
        ]
    )


def _append(graph: Graph) -> None:
    graph.load(
        [
            {"type": "Person", "data": {"name": "fay", "email": "fay@x"}},
            {"type": "Firm", "data": {"title": "initech"}},
            {"edge": "WorksAt", "from": "fay", "to": "initech", "data": {"id": "w2"}},
        ],
        "append",
    )


def _overwrite(graph: Graph) -> None:
    graph.load(
        [
            {"type": "Person", "data": {"name": "ann", "age": 2}},
            {"type": "Person", "data": {"name": "gil", "age": 3}},
            {"edge": "Knows", "from": "gil", "to": "ann", "data": {"id": "k9"}},
        ],
        "overwrite",
    )


def _adopt(graph: Graph) -> None:
    """Stage a version of two tables with Lance alone, and commit both."""
    namespace = OmnigraphNamespace(graph)
    person = pa.table({"id": ["dee"], "name": ["dee"], "email": ["dee@x"], "age": pa.array([4], pa.int64())})
    try:
        staged = {
            "node:Person": stage(namespace, ["main", "Person"], person),
            "edge:Knows": stage(namespace, ["main", "Knows"], delete="id = 'k1'"),
        }
    except LanceNamespaceError as error:
        # The namespace gives errors of the interface, whose causes are ours.
        raise error.__cause__ or error from None
    # Through the graph for the same reason.
    graph.commit_versions(
        {
            key: OfferedVersion(lance_version(operation.create_table_version.manifest_path))
            for key, operation in staged.items()
        }
    )


def _branch(graph: Graph) -> None:
    graph.create_branch("review")
    graph.mutate(INSERT, {"name": "hal", "age": 1}, branch="review")


def _several_fragments(graph: Graph) -> None:
    for name in ("dee", "eve", "fay"):
        _insert(graph, name)
    graph.mutate('query q() { delete Person where name = "bo" }')


def _history(graph: Graph) -> None:
    """Commits, a deleted branch and an index that a cleanup has something to do with."""
    _several_fragments(graph)
    _branch(graph)
    graph.delete_branch("review")
    _overwrite(graph)


def _indexed(graph: Graph) -> None:
    with retuned(graph, index_rows_min=0):
        graph.optimize()


def _finish_fragment(graph: Graph) -> None:
    """As many rows as are not folded again, so the indexes are extended over them."""
    graph.load(
        [{"type": "Person", "data": {"name": f"q{number}"}} for number in range(USUAL.fold_tiers[-1][0])], "append"
    )


def _diverge(graph: Graph) -> None:
    """Both sides change people; only the branch changes who knows whom."""
    _branch(graph)
    graph.mutate('query q() { update Person set { age: 60 } where name = "ann" }', branch="review")
    graph.mutate("query q() { delete Knows where since = 2 }", branch="review")
    _insert(graph, "main")


def _by_turns(graph: Graph) -> None:
    """The writer's commits, with somebody else's between them."""
    _insert(graph)
    graph.mutate(MIXED)
    graph.mutate('query q() { update Person set { age: 70 } where name = "bo" }', actor="writer")


def _external(graph: Graph) -> None:
    """A type whose rows are in a directory beside the graph, with one file."""
    directory = tempfile.mkdtemp(prefix="omnigraph-orders-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    pq.write_table(pa.table({"no": [1, 2]}), f"{directory}/a.parquet")
    declared = f'node Order @external("{directory}/*.parquet") {{ no: I64 @key }}'
    graph.apply_schema(f"{SCHEMA}\n{declared}\nedge Placed: Person -> Order")
    graph.load([{"edge": "Placed", "from": "ann", "to": "1", "data": {"id": "p1"}}])


def _more_files(graph: Graph) -> None:
    """Add a file, once: a file that is written again would be another one."""
    [source] = graph.external_types()
    path = source.address.replace("*", "b")
    if not os.path.exists(path):
        pq.write_table(pa.table({"no": [3]}), path)


CREATE = "create"
"""The one writer that starts from nothing."""

WRITERS: dict[str, Writer] = {
    CREATE: Writer(_nothing),
    "insert": Writer(_insert),
    "insert-warm": Writer(_insert, warm=lambda graph: _insert(graph, "first")),
    "mixed": Writer(lambda graph: graph.mutate(MIXED)),
    "fold": Writer(_insert, prepare=lambda graph: _insert_many(graph, 15)),
    "spill": Writer(_insert, prepare=lambda graph: _insert_many(graph, 62)),
    "load-append": Writer(_append),
    "load-merge": Writer(_merge),
    "load-overwrite": Writer(_overwrite),
    "bulk-append": Writer(_append, tuning=BULK),
    "bulk-merge": Writer(_merge, tuning=BULK),
    "bulk-overwrite": Writer(_overwrite, tuning=BULK),
    "bulk-upsert": Writer(_upsert, tuning=BULK),
    "adopt": Writer(_adopt),
    "optimize": Writer(lambda graph: graph.optimize(), prepare=_several_fragments, tuning=INDEXED),
    "cleanup": Writer(lambda graph: graph.cleanup(keep=2, grace="0s"), prepare=_history),
    "extend": Writer(_finish_fragment, prepare=_indexed, tuning=INDEXED),
    "branch-create": Writer(lambda graph: graph.create_branch("trial")),
    "branch-write": Writer(
        lambda graph: graph.mutate(INSERT, {"name": "ivy", "age": 1}, branch="review"), prepare=_branch
    ),
    "branch-merge": Writer(lambda graph: graph.merge("review"), prepare=_diverge),
    "branch-fast-forward": Writer(lambda graph: graph.merge("review"), prepare=_branch),
    "schema": Writer(lambda graph: graph.apply_schema(OTHER_SCHEMA)),
    "refresh": Writer(lambda graph: graph.refresh_external(), prepare=_external, warm=_more_files),
    "revert": Writer(lambda graph: graph.revert(actor="writer"), prepare=_by_turns),
    "branch-delete": Writer(lambda graph: graph.delete_branch("review"), prepare=_branch),
    "branch-rename": Writer(lambda graph: graph.rename_branch("review", "final"), prepare=_branch),
}


def _stand_in_line(graph: Graph) -> None:
    """Another process waits for its turn, and has offered an insert."""
    _insert(graph, "first")
    graph._context.publisher._door(graph.id).note_rivals(was_overtaken=True)
    info = WriteOptions(actor="other").info(graph._context, CommitKind.MUTATION)
    change = json.dumps([version("omnigraph"), "add", INSERT, {"name": "eve", "age": 5}])
    assert make_offer(graph._store.root, "__manifest", json.dumps([["main", asdict(info), change]]).encode())


OFFERED = "insert-offered"
KILLED: dict[str, Writer] = {**WRITERS, OFFERED: Writer(_insert, warm=_stand_in_line)}
"""With a writer that publishes the offer of another one in its swap. If it cannot read the offer, its own insert is
published alone, so only kills have the old and the new graph as outcomes."""


def _age(graph: Graph) -> None:
    """What a graph has after a while: folded and shortened fragments, indexes, a merge, a branch of another one."""
    for number in range(18):
        graph.mutate(INSERT, {"name": f"z{number:02}", "age": 4})
    graph.mutate('query q() { delete Person where name = "z01" }')
    graph.mutate('query q() { update Person set { age: 8 } where name = "z17" }')
    _indexed(graph)
    graph.create_branch("elder")
    graph.mutate(INSERT, {"name": "z90", "age": 1}, branch="elder")
    graph.mutate(INSERT, {"name": "z91", "age": 1})
    graph.merge("elder")
    graph.mutate(INSERT, {"name": "z92", "age": 1}, branch="elder")


def build(name: str, uri: str | os.PathLike[str], is_aged: bool = False) -> None:
    """The graph a writer starts from."""
    graph = create_counted(uri, era=1, durability="os")
    graph.load(BASE, "append")
    if is_aged:
        _age(graph)
    KILLED[name].prepare(graph)


SESSION: tuple[Callable[[Graph], object], ...] = (
    _insert,
    lambda graph: graph.mutate(MIXED),
    _merge,
    lambda graph: graph.create_branch("review"),
    lambda graph: graph.mutate(INSERT, {"name": "hal", "age": 1}, branch="review"),
    _append,
    lambda graph: graph.merge("review"),
    lambda graph: graph.optimize(),
    lambda graph: graph.delete_branch("review"),
    lambda graph: graph.revert(actor="writer"),
    lambda graph: graph.apply_schema(OTHER_SCHEMA),
    lambda graph: _insert(graph, "ida"),
)
"""Writes of one process, one after the other, each acknowledged before the next."""
