"""How commits descend from each other, drawn beside them: a lane for every line of history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from omnigraph.core.commit import GraphCommit


def drawn(commits: Iterable[GraphCommit]) -> Iterator[tuple[str, GraphCommit | None]]:
    """The lines of a drawing, and the commit that stands on each; lines between commits have none.

    Commits come before their parents. A parent that does not come ends its lane nowhere.
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
    """Bars, with the sign on the way between a lane and the one left of it."""
    parts = ["|" if lane < place else f"{sign}" if lane == place else f" {sign}" for lane in range(len(lanes))]
    left, right = parts[:place], parts[place:]
    return " ".join(left) + "".join(right)
