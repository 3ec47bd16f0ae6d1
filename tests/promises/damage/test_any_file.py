"""Each file of a small graph, damaged in several ways: found by name, no raw exception, no wrong answer in silence."""

import re
import shutil
from pathlib import Path

import pytest

import omnigraph
from omnigraph.core.commit import GraphCommit
from omnigraph.history.state import ManifestState
from omnigraph.storage.objects.version_names import manifest_file
from tests.promises.damage import sweep
from tests.promises.damage.graphs import copy, files

# Files that nothing needs, and that no cleanup deletes as long as their table or branch exists.
UNUSED = re.compile(r"(.*/)?_versions/latest_version_hint\.json")
# Files whose loss is no damage: copies, decisions that are made again, and notes of work that is done again.
DISPENSABLE = re.compile(r"branches/[^/]+/named\.json|cleanup/\d+\.json|jobs/.*")

DAMAGES = {
    "flipped": sweep.flip(0.4),
    "truncated": sweep.truncate,
    "empty": sweep.empty,
    "removed": sweep.remove,
}


pytestmark = pytest.mark.usefixtures("checked")


@pytest.fixture(scope="module")
def right(original: Path) -> sweep.Seen:
    seen = sweep.look(original)
    assert not list(seen.problems())
    assert not seen.raw
    assert not [name for name, answer in seen.answers.items() if isinstance(answer, Exception)]
    return seen


@pytest.fixture(scope="module")
def spare(original: Path) -> set[str]:
    """Files that nothing needs: those that a cleanup deletes, hints, and the content of versions without a commit."""
    root = copy(original, original.parent / "cleaned")
    graph = omnigraph.open(root)
    graph.cleanup(grace="0s")
    gone = set(files(original)) - set(files(root))
    kept = {(commit.manifest.incarnation, commit.manifest.version) for commit in _readable(graph)}
    kept |= {(state.incarnation, state.version) for state in _heads(graph)}
    needed = {manifest_file(graph._manifests.location(incarnation), version) for incarnation, version in kept}
    names = {path for path in files(original) if "__manifest/_versions/" in path} - needed
    return gone | names | {path for path in files(original) if UNUSED.fullmatch(path)}


def _readable(graph: omnigraph.Graph) -> list[GraphCommit]:
    record = graph._manifests.record()
    every = [commit for branch in graph.branches() for commit in graph.commits(branch.name)]
    return [commit for commit in every if record.given_up_since(commit) is None]


def _heads(graph: omnigraph.Graph) -> list[ManifestState]:
    return [graph.snapshot(branch.name).state for branch in graph.branches()]


def kinds(paths: list[str]) -> dict[str, list[str]]:
    """Files by what they are: the path without ids and numbers."""
    found: dict[str, list[str]] = {}
    for path in paths:
        kind = re.sub(r"[0-9A-Z]{26}|[0-9a-f]{8,}(-[0-9a-f]+)*|\d+", "*", path)
        found.setdefault(kind, []).append(path)
    return found


def check(original: Path, place: Path, path: str, damage: sweep.Damage, right: sweep.Seen, spare: set[str]) -> None:
    """Damage one file of a copy, look, and hold what is seen against what must be."""
    root = copy(original, place)
    damage(root / path)
    is_removed = not (root / path).exists()
    seen = sweep.look(root)
    assert not seen.raw
    assert not seen.wrong(right)
    if path not in spare and not (is_removed and DISPENSABLE.fullmatch(path)):
        assert path in set(seen.problems())
    _write(root)
    # A record of cleanup that was missing may have been decided again.
    if not (is_removed and (root / path).exists()):
        (root / path).unlink(missing_ok=True)
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(original / path, root / path)
    _check_whole(root, right)
    shutil.rmtree(root)


def _write(root: Path) -> None:
    """Write to the damaged graph, and clean it up without any grace period."""
    written = sweep.Seen()
    written.run(root, sweep.WRITES)
    assert not written.raw


def _check_whole(root: Path, right: sweep.Seen) -> None:
    """Nothing was lost that counts once the damaged file is as it was."""
    again = sweep.Seen()
    again.run(root, {"verify": lambda graph: graph.verify(), **sweep.EXPORTS})
    for name in sweep.EXPORTS:
        assert _without(again.answers[name], b'"after"') == right.answers[name]
    assert not again.answers["verify"].problems


def _without(exported: bytes, name: bytes) -> bytes:
    return b"".join(line for line in exported.splitlines(keepends=True) if name not in line)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_is_named_and_neither_breaks_nor_falsifies_the_rest(
    original: Path, tmp_path: Path, right: sweep.Seen, spare: set[str], how: str
) -> None:
    # An eighth of the kinds of files for each damage; the long run has all of them.
    turn = list(DAMAGES).index(how)
    found = list(kinds(sorted(set(files(original)) - spare)).values())
    assert len(found) > 20
    for path in [paths[turn % len(paths)] for paths in found[2 * turn :: 8]]:
        check(original, tmp_path / "g", path, DAMAGES[how], right, spare)


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_every_file_may_be_damaged_at_any_place(
    original: Path, tmp_path: Path, right: sweep.Seen, spare: set[str], part: int
) -> None:
    flips = [sweep.flip(step / 16, 1 << step % 8) for step in range(16)]
    for path in files(original)[part::4]:
        for damage in (*flips, sweep.truncate, sweep.empty, sweep.remove):
            check(original, tmp_path / "g", path, damage, right, spare)
