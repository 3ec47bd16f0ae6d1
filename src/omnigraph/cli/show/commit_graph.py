"""Drawing of the commit graph: one lane for every line of history.

A merge opens a lane for its second parent, and the lane ends at the common ancestor:

    *    merge of b          lanes: [merge]
    |\\                      lanes: [a2, b1]
    * |  a2
    | *  b1
    |/                       both lanes wait for a1 and become one
    *    a1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from omnigraph.core.commit import GraphCommit


def drawn(commits: Iterable[GraphCommit]) -> Iterator[tuple[str, GraphCommit | None]]:
    """The lines of a drawing, each with its commit; lines between commits have none.

    Commits must come before their parents. The lane of a parent that is not listed stays open.
    """
    lanes: list[str] = []
    for commit in commits:
        if commit.id not in lanes:
            lanes.append(commit.id)
        place = lanes.index(commit.id)
        for other in reversed([lane for lane, id_ in enumerate(lanes) if id_ == commit.id and lane > place]):
            yield _line(lanes, "/", other), None
            del lanes[other]
        yield " ".join("*" if lane == place else "|" for lane in range(len(lanes))), commit
        first, *merged = commit.parents or (None,)
        for parent in merged:
            if parent not in lanes:
                lanes.insert(place + 1, parent)
                yield _line(lanes, "\\", place + 1), None
        if first is None:
            del lanes[place]
        else:
            lanes[place] = first


def _line(lanes: list[str], sign: str, place: int) -> str:
    """A line of bars, with the sign between a lane and the lane left of it."""
    parts = ["|" if lane < place else f"{sign}" if lane == place else f" {sign}" for lane in range(len(lanes))]
    left, right = parts[:place], parts[place:]
    return " ".join(left) + "".join(right)
