"""Repair: previews what it does, restores what has a copy, goes back where it must, and deletes nothing."""

import json
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import CorruptionError, NotAGraphError, NotFoundError
from tests.features.cli.run import run
from tests.promises.damage import sweep
from tests.promises.damage.graphs import files, insert


def only(root: Path, pattern: str) -> str:
    [path] = sorted(str(path.relative_to(root)) for path in root.glob(pattern))
    return path


def newest_manifest(root: Path, location: str = "__manifest") -> str:
    return str(min((root / location / "_versions").glob("*.manifest")).relative_to(root))


def mark_of(root: Path, branch: str) -> str:
    """The mark of a branch: a copy of its ref."""
    [path] = [path for path in root.glob("branches/*/named.json") if f'"{branch}"' in path.read_text()]
    return str(path.relative_to(root))


def branch_names(root: Path) -> list[str]:
    return [branch.name for branch in omnigraph.open(root).branches()]


def check_restored(root: Path, *damaged: str) -> None:
    """A preview changes nothing, a repair makes the graph sound and keeps what was damaged."""
    before = {path: (root / path).read_bytes() for path in files(root)}
    preview = omnigraph.repair(root)
    assert {step.path for step in preview.steps} == set(damaged)
    assert not preview.applied
    assert not preview.is_clean
    assert {path: (root / path).read_bytes() for path in files(root)} == before
    report = omnigraph.repair(root, apply=True)
    assert report.applied
    assert report.is_clean, report
    assert omnigraph.open(root).verify().is_clean
    assert not omnigraph.repair(root).steps
    kept = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    assert all(content in kept for content in before.values())


@pytest.mark.parametrize("damage", [sweep.flip(0.5), sweep.empty, sweep.remove])
def test_the_stamp_is_restored_from_the_manifest(root: Path, damage: sweep.Damage) -> None:
    before = omnigraph.open(root).id
    damage(root / "omnigraph.json")
    with pytest.raises((CorruptionError, NotAGraphError)):
        omnigraph.open(root)
    check_restored(root, "omnigraph.json")
    assert omnigraph.open(root).id == before
    assert branch_names(root) == ["main", "old", "review/one"]


@pytest.mark.parametrize("damage", [sweep.flip(0.5), sweep.empty, sweep.remove])
def test_a_ref_is_restored_from_its_mark(root: Path, damage: sweep.Damage) -> None:
    path = "refs/review%2Fone.json"
    content = (root / path).read_bytes()
    damage(root / path)
    [broken] = omnigraph.open(root).branches().damaged
    assert (broken.path, broken.branch) == (path, "review/one")
    check_restored(root, path)
    assert (root / path).read_bytes() == content


def test_a_damaged_ref_without_a_mark_is_set_aside(root: Path) -> None:
    (root / mark_of(root, "old")).unlink()
    sweep.flip(0.5)(root / "refs/old.json")
    check_restored(root, "refs/old.json")
    assert branch_names(root) == ["main", "review/one"]
    assert only(root, "aside/refs/old.json.*")


@pytest.mark.parametrize("damage", [sweep.flip(0.5), sweep.remove])
@pytest.mark.parametrize("has_mark", [True, False])
def test_a_damaged_or_lost_ref_can_be_deleted(root: Path, damage: sweep.Damage, has_mark: bool) -> None:
    mark = root / mark_of(root, "old")
    damage(root / "refs/old.json")
    if not has_mark:
        mark.unlink()
    graph = omnigraph.open(root)
    if has_mark or (root / "refs/old.json").exists():
        graph.delete_branch("old")
    else:
        with pytest.raises(NotFoundError):
            graph.delete_branch("old")
    assert not mark.exists()
    assert branch_names(root) == ["main", "review/one"]
    assert graph.verify().is_clean
    graph.create_branch("old")
    assert graph.verify().is_clean


@pytest.mark.parametrize("damage", [sweep.flip(0.5), sweep.empty])
def test_a_mark_is_written_again(root: Path, damage: sweep.Damage) -> None:
    path = mark_of(root, "old")
    content = (root / path).read_bytes()
    damage(root / path)
    check_restored(root, path)
    assert (root / path).read_bytes() == content


@pytest.mark.parametrize("damage", [sweep.flip(0.75), sweep.truncate, sweep.remove])
def test_without_its_newest_manifest_a_branch_goes_back_to_the_version_before(root: Path, damage: sweep.Damage) -> None:
    before = omnigraph.open(root)
    head, parent = [commit.id for commit in before.commits(limit=2)]
    other = b"".join(before.snapshot("review/one").export())
    path = newest_manifest(root)
    damage(root / path)
    with pytest.raises(CorruptionError):
        omnigraph.open(root).snapshot()
    [step] = omnigraph.repair(root).steps
    assert parent in step.effect
    assert "lost" in step.effect
    check_restored(root, path)
    after = omnigraph.open(root)
    assert after.snapshot().commit_id == parent
    with pytest.raises(NotFoundError):
        after.commit(head)
    assert b"".join(after.snapshot("review/one").export()) == other
    insert(after, "going on")
    assert omnigraph.open(root).verify().is_clean


def test_records_notes_and_marks_of_versions_are_set_aside_or_written_again(root: Path) -> None:
    damaged = [only(root, "cleanup/*.json"), "jobs/JOB.0.json", only(root, "__manifest/_published/*.json")]
    for path in damaged:
        sweep.flip(0.5)(root / path)
    check_restored(root, *damaged)
    assert only(root, "aside/cleanup/*")
    assert only(root, "__manifest/_published/*.json") == damaged[2]


def test_what_has_no_copy_is_listed_with_its_commits_and_left_alone(root: Path) -> None:
    graph = omnigraph.open(root)
    [path] = [record.path for record in next(graph.commits()).files if "/data/" in record.path]
    sweep.flip(0.5)(root / path)
    for report in (omnigraph.repair(root), omnigraph.repair(root, apply=True)):
        assert not report.steps
        [left] = report.unrepaired
        assert left.path == path
        assert graph.snapshot().commit_id in left.commits
        assert "copy of the graph" in left.advice
    assert not (root / "aside").exists()


def test_what_is_no_graph_is_not_repaired(tmp_path: Path) -> None:
    with pytest.raises(NotAGraphError):
        omnigraph.repair(tmp_path)


def test_the_command_previews_and_applies(root: Path) -> None:
    sweep.empty(root / "refs/old.json")
    listed = run("branch", "list", root, "--json")
    assert listed.exit_code == 1
    assert json.loads(listed.stdout)["damaged"][0]["branch"] == "old"
    assert json.loads(listed.stdout)["branches"] == ["main", "review/one"]
    preview = run("repair", root)
    assert preview.exit_code == 1
    assert "restore it from branches/" in preview.stdout
    assert run("repair", root, "--apply", "--quiet").exit_code == 0
    again = run("repair", root, "--json")
    assert (again.exit_code, json.loads(again.stdout)["steps"]) == (0, [])
    assert "old" in run("branch", "list", root).stdout
