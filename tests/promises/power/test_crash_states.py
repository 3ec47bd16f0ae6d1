"""A power cut at any moment of one write leaves the old or the new graph, in a model of the file system."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from omnigraph.storage.objects import beside
from tests.promises.crash.observe import Seen, check_sound, look
from tests.promises.crash.sweep import PROGRAM
from tests.promises.crash.writers import CREATE, WRITERS, build
from tests.promises.power.crash_states import Recording, State, Tear, read_tree
from tests.support.faults import Call, python, trace
from tests.support.faults.fixtures import tracing

__all__ = ["tracing"]

GRAPH = "graph"
COLD = [name for name, writer in WRITERS.items() if writer.warm.__name__ == "_nothing"]
"""Writers whose process has written nothing before the recording."""


def _calls(*made: tuple[str, str] | tuple[str, str, str]) -> list[Call]:
    sizes = {"write": 10}
    return [
        Call(index, name, path, *target, result=sizes.get(name, 0))
        for index, (name, path, *target) in enumerate(made, 1)
    ]


LINKED_BEFORE_IT_IS_SYNCED = [("openat", "t"), ("write", "t"), ("link", "t", "v"), ("fsync", "t"), ("fsync", ".")]
SYNCED_BEFORE_IT_IS_LINKED = [("openat", "t"), ("write", "t"), ("fsync", "t"), ("link", "t", "v"), ("fsync", ".")]
CONTENT = b"0123456789"


@pytest.mark.parametrize(
    ("calls", "possible"),
    [
        (LINKED_BEFORE_IT_IS_SYNCED, {None, b"", bytes(10), CONTENT[:5], CONTENT}),
        (SYNCED_BEFORE_IT_IS_LINKED, {None, CONTENT}),
    ],
    ids=["linked first", "synced first"],
)
def test_the_model_knows_what_a_name_can_lead_to(calls: list[tuple[str, str]], possible: set[bytes | None]) -> None:
    recording = Recording({}, _calls(*calls), {"t": CONTENT, "v": CONTENT})
    assert {state.files.get("v") for state in recording.states()} == possible
    assert all(state.files == {"t": CONTENT, "v": CONTENT} for state in recording.states() if state.made == 5)


def test_in_the_model_a_name_is_lost_with_its_directory() -> None:
    calls = _calls(("mkdir", "d"), ("openat", "d/f"), ("fsync", "d"), ("rename", "d/f", "g"), ("unlink", "g"))
    recording = Recording({}, calls, {"d": None})
    assert recording.names == {"d": -1}
    assert recording.state(3, 0, Tear.WHOLE).directories == frozenset()
    assert set(recording.state(3, 1, Tear.WHOLE).files) == {"d/f"}
    assert set(recording.state(5, 4, Tear.WHOLE).files) == {"g"}


class Recorded:
    """One writer, run once, and the graphs before and after it."""

    def __init__(self, writer: str, directory: Path) -> None:
        # One level above the graph: its own directory may get lost, too.
        place = directory / "recorded"
        place.mkdir()
        root = place / GRAPH
        if writer != CREATE:
            build(writer, root)
        before = read_tree(place)
        self.old = look(str(root))
        found = trace(python(PROGRAM, writer, root), root=place)
        assert '"done"' in found.stdout, (found.stdout, found.stderr)
        after = read_tree(place)
        self.recording = Recording(before, found.calls, after)
        assert _lasting(self.recording.names) == _lasting(after), "the model disagrees with the file system"
        new = look(str(root))
        assert new is not None
        self.new: Seen = new

    def judge(self, state: State, place: Path) -> None:
        """The promise: acknowledged is there, everything else is as before or complete, and anybody can go on."""
        state.restore(place)
        root = str(place / GRAPH)
        found = look(root)
        if state.made == self.recording.calls:
            assert found == self.new, "an acknowledged write is lost"
        assert found in (self.old, self.new), f"neither the old nor the new graph: {found}"
        check_sound(root, durability="os")


def _lasting(paths: Iterable[str]) -> set[str]:
    """Paths without the scratch directories of a process, which go with it, after the recording."""
    return {path for path in paths if f"/{beside.DIRECTORY}/" not in path}


def _judge_all(writer: str, directory: Path, count: int) -> int:
    recorded = Recorded(writer, directory)
    wrong = []
    states = list(recorded.recording.states(count))
    for number, state in enumerate(states):
        try:
            recorded.judge(state, directory / str(number))
        except Exception as error:
            wrong.append(f"after {state.made} of {recorded.recording.calls} calls: {type(error).__name__}: {error}")
    assert not wrong, f"{len(wrong)} of {len(states)} states:\n\n" + "\n\n".join(wrong)
    return len(states)


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize("writer", ["insert", CREATE, "branch-rename"])
def test_power_cuts_of_a_write_leave_the_old_or_the_new_graph(writer: str, tmp_path: Path) -> None:
    _judge_all(writer, tmp_path, count=10)


@pytest.mark.long
@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize("writer", COLD)
def test_a_power_cut_at_any_moment_leaves_the_old_or_the_new_graph(writer: str, tmp_path: Path) -> None:
    print(writer, _judge_all(writer, tmp_path, count=120), "states")
