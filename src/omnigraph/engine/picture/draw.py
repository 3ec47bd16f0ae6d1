"""Pictures of types of a snapshot, of nodes that are named one by one, and of changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from omnigraph.engine.picture.change_scene import Changes, Key, change_scene
from omnigraph.engine.picture.picture import HEIGHT_PIXELS, Picture
from omnigraph.engine.picture.scene import Caption, Wanted, scene
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import UsageError

NODES_SHOWN = 300
HEIGHT_MIN = 100
HEIGHT_MAX = 10_000


@dataclass(frozen=True, slots=True)
class DrawOptions:
    """Options of every picture."""

    limit: int = NODES_SHOWN
    caption: Caption = None
    height: int = HEIGHT_PIXELS

    def __post_init__(self) -> None:
        if not HEIGHT_MIN <= self.height <= HEIGHT_MAX:
            raise UsageError(
                f"a picture is {HEIGHT_MIN} to {HEIGHT_MAX:,} pixels high, not {self.height}",
                hint="pass another height",
            )


def draw_types(snapshot: Snapshot, types: Sequence[str], options: DrawOptions) -> Picture:
    """A picture of some types, or of all."""
    title = f"{', '.join(types) or 'All types'} of {snapshot.branch}"
    return Picture(scene(snapshot, Wanted(types), options.limit, options.caption, title), options.height)


def draw_nodes(
    snapshot: Snapshot, ids: Mapping[str, Sequence[str]], edges: Sequence[str], title: str, options: DrawOptions
) -> Picture:
    """A picture of some nodes and the edges among them: those of some types, or of all between the nodes."""
    types = [f"node:{name}" for name in ids] + [f"edge:{name}" for name in edges]
    return Picture(scene(snapshot, Wanted(types, ids), options.limit, options.caption, title), options.height)


def draw_changes(diff: Changes, conflicts: Sequence[Key], title: str, limit: int, height: int) -> Picture:
    """A picture of a change: what differs, and its neighbours."""
    options = DrawOptions(height=height)
    return Picture(change_scene(diff, conflicts, title, limit), options.height)
