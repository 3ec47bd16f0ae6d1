"""Memory of a long-lived process: what it keeps of branches and schemas is limited, however many it has seen."""

import gc
from pathlib import Path
from types import SimpleNamespace

import omnigraph
from omnigraph.core.lru import ENTRY_BYTES
from omnigraph.core.tuning import Tuning
from omnigraph.exec.coded.columns import CodedColumns
from omnigraph.exec.columns import Columns
from omnigraph.exec.vectors import VectorCache
from omnigraph.storage.objects.beside import DIRECTORY, SESSION_BYTES_MAX
from tests.promises.cost.counting import PERSON, SCHEMA

BRANCHES = 12
KEPT = 4


def _scratch_directories(graph: omnigraph.Graph, place: Path) -> int:
    # A dropped directory is removed with the last reference to its owner.
    gc.collect()
    return len(list(place.rglob(f"{DIRECTORY}/*/_versions")))


def test_branches_of_the_past_take_no_memory_and_no_files(tmp_path: Path) -> None:
    graph = omnigraph.create(
        tmp_path / "g", SCHEMA, durability="os", tuning=Tuning(known_branches_max=KEPT, known_schemas_max=KEPT)
    )
    for number in range(BRANCHES):
        graph.create_branch(f"b{number}")
        graph.mutate(PERSON, {"n": f"p{number}"}, branch=f"b{number}")
        text = graph.schema_text(f"b{number}") + f"\nnode T{number} {{ text: String }}"
        graph.apply_schema(text, branch=f"b{number}")
    manifests = graph._manifests
    kept = {
        "states": len(manifests._newest),
        "doors": len(graph._context.publisher._doors),
        "scratch": len(graph._store._besides),
        "scratch directories": _scratch_directories(graph, tmp_path),
    }
    assert kept == dict.fromkeys(kept, KEPT)
    # Nothing is lost but memory: every branch is read and written as before.
    for number in range(BRANCHES):
        branch = f"b{number}"
        graph.mutate(PERSON, {"n": "again"}, branch=branch)
        assert len(graph.nodes("Person", branch=branch).arrow()) == 2
        assert f"T{number}" in graph.catalog(branch).nodes
        assert len(list(graph.commits(branch))) == len(list(graph.commits())) + 3
    assert graph.verify().is_clean
    assert len(manifests._newest) == len(manifests._catalogs) == len(graph._context.publisher._doors) == KEPT


def test_a_commit_leaves_nothing_in_the_session_that_commits(tmp_path: Path) -> None:
    """Lance caches every manifest that it commits, and its default limit is a gigabyte per branch."""
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    for number in range(80):
        graph.mutate(PERSON, {"n": f"p{number}"})
    (beside,) = graph._store._besides.values()
    assert beside._base is not None
    assert beside._base.session().size_bytes() <= SESSION_BYTES_MAX


def test_all_tables_share_one_session_whose_cache_is_limited(tmp_path: Path) -> None:
    """A table that this process has created would have a session with the limits of Lance, which are gigabytes."""
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    graph.load([{"type": "City", "data": {"name": "rome"}}, {"type": "Person", "data": {"name": "ann"}}])
    graph.apply_schema(graph.schema_text() + "\nnode Late { text: String @key }")
    graph.load([{"type": "Late", "data": {"text": "x"}}, {"edge": "Knows", "from": "ann", "to": "ann"}])
    graph.create_branch("b")
    for number in range(70):
        graph.mutate(PERSON, {"n": f"p{number}"}, branch="b" if number % 2 else "main")
    store = graph._store
    assert len(store.opened()) > 10
    assert all(dataset.session().is_same_as(store.session) for dataset in store.opened())


def test_every_entry_of_a_cache_of_arrays_is_counted(tmp_path: Path) -> None:
    """Commits of one row leave columns of a few bytes; a limit in bytes alone would keep millions of them."""
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    empty = SimpleNamespace(nbytes=0)
    store = graph._store
    for cache in (Columns()._columns, CodedColumns()._known, VectorCache()._blocks, store.recent._tables):
        assert cache._cost(empty) >= ENTRY_BYTES  # type: ignore[arg-type] # all that a cost looks at
    assert store.deletions._cost(empty) >= ENTRY_BYTES  # type: ignore[arg-type] # the same
    assert graph._compared._cost(()) >= ENTRY_BYTES
