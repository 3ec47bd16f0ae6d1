"""Cleanup: the commits it keeps and gives up, the files it deletes, and when."""

from __future__ import annotations

import json
import pickle
import shutil
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import omnigraph
from omnigraph.core.lru import Lru
from omnigraph.core.tuning import Tuning
from omnigraph.errors import CorruptionError, HistoryCleaned, UsageError
from omnigraph.manifest import records
from omnigraph.wire.maintenance import cleanup_json
from omnigraph.write import limits
from tests.promises.cleanup.graphs import HOUR_US, Hands, age, check_tidy, directories, root
from tests.promises.cleanup.reachable import files
from tests.promises.protocol.graphs import contents, edge, insert, names, person, reopen, run
from tests.support.tuning import retuned, tuned

RECENT_COMMITS_MAX = Tuning().recent_commits_max


def overwrite(graph: omnigraph.Graph, *people: str, **options: str) -> str:
    return graph.load([person(name) for name in people], "overwrite", **options).commit.id


def test_old_commits_go_with_everything_that_only_they_needed(graph: omnigraph.Graph) -> None:
    for number in range(80):
        insert(graph, f"p{number}")
    graph.load([person("a", email="a@"), person("b"), edge("Knows", "a", "b", "k")])
    run(graph, 'delete Person where name = "p3"')
    graph.optimize()
    kept = {commit.id: contents(graph.snapshot(at=commit.id)) for commit in graph.commits(limit=5)}
    every = [commit.id for commit in graph.commits()]
    result = graph.cleanup(keep=5, grace="0s")
    assert (result.commits_retained, result.commits_given_up, result.commits_gone) == (
        5,
        len(every) - 5,
        len(every) - 5,
    )
    assert result.deleted.files > 250
    for handle in (graph, reopen(graph)):
        assert [commit.id for commit in handle.commits()] == every
        assert {id_: contents(handle.snapshot(at=id_)) for id_ in every[:5]} == kept
        for id_ in every[5:]:
            with pytest.raises(HistoryCleaned, match="given up by cleanup"):
                handle.snapshot(at=id_)
    check_tidy(graph)
    insert(graph, "next")
    assert graph.cleanup(grace="0s").commits_given_up == 0
    check_tidy(graph)


def test_every_way_to_an_older_state_says_that_it_was_given_up(graph: omnigraph.Graph, hands: Hands) -> None:
    old = insert(graph, "a").commit
    hands.turn(1)
    insert(graph, "b")
    graph.cleanup(keep=1)
    moment = datetime.fromtimestamp(old.created_at_us / 1e6, UTC)
    for read in (
        lambda: graph.snapshot(at=old.id),
        lambda: graph.snapshot(at=moment),
        lambda: graph.query("query q() { match { $p: Person } return { $p.name } }", at=old.id),
        lambda: list(graph.export(at=old.id)),
        lambda: graph.create_branch("late", at=old.id),
    ):
        with pytest.raises(HistoryCleaned) as caught:
            read()
        assert caught.value.facts["commit"] == old.id
        assert "keep=" in (caught.value.hint or "")
    assert graph.commit(old.id) == old
    assert [info.name for info in graph.branches()] == ["main"]


def test_without_a_policy_only_garbage_goes(graph: omnigraph.Graph) -> None:
    for number in range(3):
        overwrite(graph, f"p{number}")
    before = [contents(graph.snapshot(at=commit.id)) for commit in graph.commits()]
    stray = next(root(graph).glob("nodes/*/data")) / "stray.lance#1"
    stray.write_bytes(b"half")
    age(graph)
    result = graph.cleanup()
    assert (result.commits_given_up, result.commits_retained) == (0, 4)
    assert not stray.exists()
    assert [contents(graph.snapshot(at=commit.id)) for commit in graph.commits()] == before
    check_tidy(graph)


def test_young_garbage_waits(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    stray = root(graph) / "__manifest" / "data" / "stray.lance"
    stray.write_bytes(b"being written")
    assert graph.cleanup().waiting.files > 0
    assert stray.exists()
    age(graph, hours=23)
    graph.cleanup()
    assert stray.exists()
    age(graph, hours=25)
    graph.cleanup()
    assert not stray.exists()


def test_a_snapshot_can_be_read_for_the_grace_period_however_old_its_files_are(
    graph: omnigraph.Graph, hands: Hands
) -> None:
    overwrite(graph, "old")
    held = graph.snapshot()
    stranger = pickle.loads(pickle.dumps(held))
    overwrite(graph, "new")
    age(graph)
    assert graph.cleanup(keep=1).commits_waiting == 2
    hands.turn(23)
    assert graph.cleanup(keep=1).commits_waiting == 2
    assert names(held) == names(stranger) == ["old"]
    hands.turn(2)
    result = graph.cleanup(keep=1)
    assert (result.commits_waiting, result.commits_gone) == (0, 2)
    check_tidy(graph)
    with pytest.raises(HistoryCleaned):
        names(pickle.loads(pickle.dumps(held)))


def test_what_was_given_up_is_taken_back_by_keeping_more(graph: omnigraph.Graph, hands: Hands) -> None:
    first = overwrite(graph, "first")
    overwrite(graph, "second")
    age(graph)
    graph.cleanup(keep=1)
    hands.turn(23)
    assert graph.cleanup(keep=5).commits_retained == 3
    hands.turn(23)
    age(graph)
    graph.cleanup(keep=5)
    assert names(graph.snapshot(at=first)) == ["first"]
    assert graph.verify().is_clean


def test_an_age_keeps_younger_commits(graph: omnigraph.Graph, hands: Hands) -> None:
    commits = []
    for number in range(4):
        commits.append(overwrite(graph, f"p{number}"))
        hands.turn(24)
    result = graph.cleanup(older_than="2d", grace="0s")
    assert result.commits_retained == 1
    assert graph.cleanup(older_than=timedelta(days=3), grace="0s").commits_given_up == 0
    assert names(graph.snapshot(at=commits[3])) == ["p3"]
    check_tidy(graph)


def test_a_dry_run_says_what_would_happen_and_writes_nothing(graph: omnigraph.Graph) -> None:
    for number in range(5):
        overwrite(graph, f"p{number}")
    (root(graph) / "refs").mkdir(exist_ok=True)
    (root(graph) / "refs" / f".{'a' * 32}.tmp").write_bytes(b"")
    # The scratch directory of this process: the fence of the real run would use it again.
    shutil.rmtree(root(graph) / "__manifest" / "_beside")
    age(graph)
    before = {path: (root(graph) / path).stat().st_mtime_ns for path in files(root(graph))}
    said = graph.cleanup(keep=2, grace="0s", dry_run=True)
    assert {path: (root(graph) / path).stat().st_mtime_ns for path in files(root(graph))} == before
    assert names(graph.snapshot(at=list(graph.commits())[4].id)) == ["p0"]
    done = graph.cleanup(keep=2, grace="0s")
    assert (said.commits_given_up, said.commits_retained) == (done.commits_given_up, done.commits_retained) == (4, 2)
    assert said.deleted == done.deleted
    check_tidy(graph)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"keep": 0}, "cannot be kept"),
        ({"older_than": "7 days"}, "not a duration"),
        ({"grace": "-1s"}, "not a duration"),
        ({"older_than": timedelta(seconds=-1)}, "not a duration"),
        ({"engine": "fast"}, "unknown engine"),
    ],
)
def test_what_makes_no_sense_is_refused(graph: omnigraph.Graph, options: dict[str, object], wrong: str) -> None:
    before = files(root(graph))
    with pytest.raises(UsageError, match=wrong):
        graph.cleanup(**options)  # type: ignore[arg-type] # that is the point
    assert files(root(graph)) == before


def test_a_deleted_branch_goes_a_grace_period_after_it_was_first_missed(graph: omnigraph.Graph, hands: Hands) -> None:
    insert(graph, "a")
    graph.create_branch("review")
    overwrite(graph, "only", branch="review")
    held = graph.snapshot("review")
    graph.delete_branch("review")
    age(graph)
    graph.cleanup()
    hands.turn(23)
    graph.cleanup()
    assert names(pickle.loads(pickle.dumps(held))) == ["only"]
    hands.turn(2)
    age(graph)
    graph.cleanup()
    check_tidy(graph)
    assert not list((root(graph) / "branches").iterdir())
    with pytest.raises(HistoryCleaned):
        names(pickle.loads(pickle.dumps(held)))


def test_a_branch_of_a_deleted_branch_keeps_its_history(graph: omnigraph.Graph) -> None:
    graph.create_branch("parent")
    first = insert(graph, "a", branch="parent").commit.id
    second = insert(graph, "b", branch="parent").commit.id
    graph.create_branch("child", "parent")
    insert(graph, "c", branch="child")
    graph.delete_branch("parent")
    graph.cleanup(grace="0s")
    stranger = reopen(graph)
    assert names(stranger.snapshot(at=first)) == ["a"]
    assert names(stranger.snapshot(at=second)) == ["a", "b"]
    graph.cleanup(keep=2, grace="0s")
    assert names(reopen(graph).snapshot(at=second)) == ["a", "b"]
    check_tidy(graph)
    insert(graph, "d", branch="child")
    graph.cleanup(keep=1, grace="0s")
    with pytest.raises(HistoryCleaned):
        graph.snapshot(at=second)
    assert names(reopen(graph).snapshot("child")) == ["a", "b", "c", "d"]
    check_tidy(graph)


def test_what_two_branches_would_be_merged_from_stays(graph: omnigraph.Graph) -> None:
    base = overwrite(graph, "base")
    graph.create_branch("review")
    for number in range(3):
        overwrite(graph, f"main{number}")
        overwrite(graph, f"review{number}", branch="review")
    graph.cleanup(keep=1, grace="0s")
    assert names(reopen(graph).snapshot(at=base)) == ["base"]
    check_tidy(graph)
    graph.delete_branch("review")
    graph.cleanup(keep=1, grace="0s")
    with pytest.raises(HistoryCleaned):
        graph.snapshot(at=base)
    check_tidy(graph)


def test_a_renamed_branch_stays(graph: omnigraph.Graph) -> None:
    graph.create_branch("review")
    insert(graph, "a", branch="review")
    graph.rename_branch("review", "final")
    insert(graph, "b", branch="final")
    graph.cleanup(keep=1, grace="0s")
    assert names(reopen(graph).snapshot("final")) == ["a", "b"]
    check_tidy(graph)


def test_a_writer_that_slept_loses_nothing(graph: omnigraph.Graph) -> None:
    """Its swap would create a version of the manifest that is long gone, if the name were free again."""
    insert(graph, "a")
    sleepers = [reopen(graph) for _ in range(3)]
    for sleeper in sleepers:
        assert names(sleeper) == ["a"]
    for number in range(70):
        insert(graph, f"b{number}")
    overwrite(graph, "z")
    graph.cleanup(keep=1, grace="0s")
    insert(sleepers[0], "c")
    run(sleepers[1], 'update Person set {age: 3} where name = "z"')
    sleepers[2]._store._open = Lru(8)
    sleepers[2].load([person("z", age=4), person("d")])
    assert contents(reopen(graph))["Person"] == [{"age": 4, "name": "z"}, {"name": "c"}, {"name": "d"}]
    assert len(list(graph.commits())) == 76
    assert graph.verify().is_clean


def test_after_some_minutes_a_state_in_memory_is_not_worked_on_without_asking(graph: omnigraph.Graph) -> None:
    """A large load opens the tables of the state at hand before it looks for a newer one."""
    graph = tuned(graph, buffered_rows_max=0)
    overwrite(graph, "a")
    sleeper = pickle.loads(pickle.dumps(graph))
    assert names(sleeper) == ["a"]
    overwrite(graph, "b")
    graph.cleanup(keep=1, grace="0s")
    sleeper._store._open = Lru(8)
    with pytest.raises(CorruptionError):
        sleeper.load([person("c")])
    with retuned(sleeper, warm_seconds_max=0):
        sleeper.load([person("c")])
    assert names(reopen(graph)) == ["b", "c"]
    assert graph.verify().is_clean


def test_a_writer_that_slept_before_a_spill_loses_nothing(graph: omnigraph.Graph) -> None:
    """Its next write would move commits to a version of the log that is gone."""
    for number in range(RECENT_COMMITS_MAX - 1):
        insert(graph, f"a{number}")
    sleeper = reopen(graph)
    assert len(names(sleeper)) == RECENT_COMMITS_MAX - 1
    for number in range(RECENT_COMMITS_MAX + 1):
        insert(graph, f"b{number}")
    graph.cleanup(keep=1, grace="0s")
    insert(sleeper, "late", idempotency_key="once")
    insert(sleeper, "never", idempotency_key="once")
    assert len(names(reopen(graph))) == 2 * RECENT_COMMITS_MAX + 1
    assert len(list(graph.commits())) == 2 * RECENT_COMMITS_MAX + 2
    assert graph.verify().is_clean


def test_commits_of_one_swap_are_given_up_one_by_one(graph: omnigraph.Graph) -> None:
    """Their states are told apart by what later ones of the same swap changed."""
    graph.load([person("base")])
    threads = [threading.Thread(target=insert, args=(graph, f"t{number}")) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    commits = list(graph.commits())
    assert len({commit.manifest.version for commit in commits}) < len(commits)
    before = {commit.id: names(graph.snapshot(at=commit.id)) for commit in commits}
    for keep in (30, 11, 10, 4, 2, 1):
        graph.cleanup(keep=keep, grace="0s")
        stranger = reopen(graph)
        assert {commit.id: names(stranger.snapshot(at=commit.id)) for commit in commits[:keep]} == {
            commit.id: before[commit.id] for commit in commits[:keep]
        }
        with pytest.raises(HistoryCleaned):
            stranger.snapshot(at=commits[keep].id)
        assert stranger.verify().is_clean


def test_damage_is_not_taken_for_cleanup(graph: omnigraph.Graph) -> None:
    ids = [overwrite(graph, f"p{number}") for number in range(4)]
    graph.cleanup(keep=2, grace="0s")
    assert graph.verify().is_clean
    [record] = [record for record in graph.commit(ids[2]).files if "/data/" in record.path]
    (root(graph) / record.path).unlink()
    stranger = reopen(graph)
    [problem] = stranger.verify().problems
    assert problem.commits == (ids[2],)
    with pytest.raises(CorruptionError):
        names(stranger.snapshot(at=ids[2]))
    with pytest.raises(HistoryCleaned):
        stranger.snapshot(at=ids[1])


def test_a_cleanup_that_cannot_read_what_it_must_keep_deletes_nothing(graph: omnigraph.Graph) -> None:
    ids = [overwrite(graph, f"p{number}") for number in range(4)]
    version = graph.commit(ids[2]).manifest.version
    manifest = root(graph) / "__manifest" / "_versions" / f"{2**64 - 1 - version:020d}.manifest"
    manifest.unlink()
    before = {path for path in files(root(graph)) if not path.startswith("cleanup/")}
    result = reopen(graph).cleanup(keep=3, grace="0s")
    assert [item.path for item in result.damaged] == [str(manifest.relative_to(root(graph)))]
    assert {path for path in files(root(graph)) if not path.startswith("cleanup/")} == before
    reopen(graph).cleanup(keep=1, grace="0s")
    assert names(reopen(graph)) == ["p3"]


def test_files_of_others_and_caches_are_left_alone(graph: omnigraph.Graph) -> None:
    insert(graph, "a")
    others = [root(graph) / name for name in ("README.txt", "cache/x/y.npy", "mine/data/z.lance", "refs/notes.txt")]
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    leftovers = [
        root(graph) / f".{'0' * 32}.tmp",
        root(graph) / f"probe-{'f' * 32}",
        root(graph) / f"schemas/.{'1' * 32}.tmp",
    ]
    for path in leftovers:
        path.write_text("")
    age(graph)
    assert graph.cleanup().files["unfinished"]
    assert all(path.read_text() == "mine" for path in others)
    assert not any(path.exists() for path in leftovers)


def test_directories_of_deleted_segments_go_too(graph: omnigraph.Graph) -> None:
    graph = tuned(graph, index_rows_min=0)
    for turn in range(3):
        graph.load([person(f"p{turn}-{number}") for number in range(50)], "overwrite")
        graph.optimize()
    graph.cleanup(keep=1, grace="0s")
    check_tidy(graph)
    segments = {path.split("/_indices/")[1].split("/")[0] for path in directories(graph) if "/_indices/" in path}
    used = {path.split("/_indices/")[1].split("/")[0] for path in files(root(graph)) if "/_indices/" in path}
    assert segments == used
    assert used


def test_blob_files_go_with_their_data_file(tmp_path: Path) -> None:
    graph = omnigraph.create(tmp_path / "g", "node Doc { name: String @key\n body: Blob? }", durability="os")
    big = "base64:" + "QUFB" * 40_000
    for turn in range(2):
        graph.load([{"type": "Doc", "data": {"name": f"d{turn}", "body": big}}], "overwrite")
    blobs = {path for path in files(root(graph)) if path.endswith(".blob")}
    assert len(blobs) == 2
    result = graph.cleanup(keep=1, grace="0s")
    assert cleanup_json(result)["files"]["blobs"]["deleted"]["files"] == 1
    assert len({path for path in files(root(graph)) if path.endswith(".blob")}) == 1
    assert len(graph.read_blob("node", "Doc", "d1", "body").read()) == 120_000
    check_tidy(graph)


def test_the_record_stays_small_and_old_ones_go(graph: omnigraph.Graph, hands: Hands) -> None:
    graph = tuned(graph, cleanup_records_max=3)
    for number in range(30):
        insert(graph, f"p{number}")
    for number in range(6):
        graph.cleanup(keep=2, grace="0s")
        hands.turn(1)
        insert(graph, f"again{number}")
    kept = sorted((root(graph) / "cleanup").iterdir())
    assert [path.name for path in kept] == ["00000004.json", "00000005.json", "00000006.json"]
    record = json.loads(kept[-1].read_text())
    assert record["given_up"] == {}
    assert record["gone"] == {graph.id: [[1, 34, 0]]}


def test_another_cleanup_that_decides_first_makes_this_one_start_again(
    graph: omnigraph.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [overwrite(graph, f"p{number}") for number in range(4)]
    other = reopen(graph)
    create, raced = records.create_record, []

    def late(*given: object) -> object:
        if not raced:
            raced.append(True)
            other.cleanup(keep=1, grace="0s")
        return create(*given)  # type: ignore[arg-type] # what the caller gave

    monkeypatch.setattr("omnigraph.write.upkeep.cleanup.create_record", late)
    result = graph.cleanup(keep=3)
    assert result.commits_retained == 1
    assert names(graph.snapshot(at=ids[3])) == ["p3"]
    check_tidy(graph)


def test_hours_are_microseconds() -> None:
    assert (limits.GRACE_US // HOUR_US, limits.JOB_LEASE_US // HOUR_US) == (24, 168)
