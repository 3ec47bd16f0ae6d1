"""Copy, backup and restore: from the caller's places to a verified result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from omnigraph.core.hints import verify_hint
from omnigraph.engine.copies.fill import Copied, Progress
from omnigraph.engine.copies.heads import HeadCopy
from omnigraph.engine.copies.history import HistoryCopy
from omnigraph.engine.copies.result import CopyResult
from omnigraph.engine.names import name_list
from omnigraph.engine.results import VerifyReport
from omnigraph.engine.upkeep.verify import verify
from omnigraph.errors import AlreadyExistsError, CorruptionError, Hint, UsageError
from omnigraph.manifest.branches import every_branch, find_ref
from omnigraph.manifest.copied import Marker, begin, begin_replacement, is_taken, read_marker
from omnigraph.manifest.layout import MAIN, STAMP_PATH, read_stamp
from omnigraph.manifest.reader import Manifests
from omnigraph.manifest.refs import Damaged
from omnigraph.storage.objects.uri import Root
from omnigraph.storage.tables.store import Store
from omnigraph.write.context import WriteContext

ALL_BRANCHES = "*"
"""Every branch, ``main`` first."""


def place(beside: Store, target: str | os.PathLike[str], options: Mapping[str, str] | None) -> Store:
    """The place of a copy, opened like another store; its options are those of the other one if none are given."""
    return Store(target, beside.options if options is None else options, beside.durability, beside.tuning)


def backup(manifests: Manifests, target: Store, *, deep: bool, progress: Progress | None) -> CopyResult:
    """Copy the whole graph to an empty place, or bring an earlier backup of it up to date."""
    check_apart(manifests.store, target)
    marker = Marker(manifests.stamp.graph_id, is_history=True)
    if target.objects.read(STAMP_PATH) is None:
        begin(target, marker)
    elif read_stamp(target).graph_id != marker.source_id:
        raise AlreadyExistsError(
            f"{target.root} holds another graph",
            hint="a backup is brought up to date from the graph that it was made of; name a new place",
            root=str(target.root),
        )
    return _copy_history(manifests, target, deep, progress)


def restore(source: Store, target: Store, *, replace: bool, deep: bool, progress: Progress | None) -> CopyResult:
    """Copy a backup to a place without a graph, or replace the graph that is there."""
    manifests = Manifests(source, read_stamp(source))
    check_apart(source, target)
    marker = Marker(manifests.stamp.graph_id, is_history=True)
    if replace and _is_replaceable(target, marker):
        begin_replacement(target, marker)
    else:
        _check_free(target, Hint("pass replace=True to delete it first", "pass --replace to delete it first"))
        begin(target, marker)
    return _copy_history(manifests, target, deep, progress)


def _is_replaceable(target: Store, marker: Marker) -> bool:
    found = read_marker(target)
    is_other = found is not None and (found.source_id, found.is_history) != (marker.source_id, marker.is_history)
    return is_taken(target) or is_other


def copy(
    context: WriteContext,
    target: Store,
    branches: str | Sequence[str] | None,
    actor: str | None,
    *,
    history: bool,
    deep: bool,
    progress: Progress | None,
) -> CopyResult:
    """Copy the whole graph, or the heads of some branches as a fresh graph, to an empty place."""
    manifests = context.manifests
    check_apart(manifests.store, target)
    if history and branches is not None:
        raise UsageError("a copy with history has every branch", hint="leave out the branches, or the history")
    names = [] if history else _chosen(manifests, MAIN if branches is None else branches)
    updates = "brings an earlier copy with history up to date"
    _check_free(
        target, Hint(f"name a new place; graph.backup {updates}", f"name a new place; omnigraph backup {updates}")
    )
    begin(target, Marker(manifests.stamp.graph_id, is_history=history))
    if history:
        return _copy_history(manifests, target, deep, progress)
    copied = Copied()
    graph_id, heads = HeadCopy(manifests, target, context.clock, context.ids, actor, copied, progress).run(names)
    return _result(manifests, target, graph_id, heads, copied, is_history=False, deep=deep)


def _copy_history(manifests: Manifests, target: Store, deep: bool, progress: Progress | None) -> CopyResult:
    run = HistoryCopy(manifests, target, progress)
    heads = run.run().branches
    return _result(manifests, target, manifests.stamp.graph_id, heads, run.copied, is_history=True, deep=deep)


def _result(
    manifests: Manifests,
    target: Store,
    graph_id: str,
    heads: Mapping[str, str],
    copied: Copied,
    *,
    is_history: bool,
    deep: bool,
) -> CopyResult:
    places = str(manifests.store.root), str(target.root)
    report = _verified(target, deep)
    return CopyResult(*places, graph_id, is_history, heads, copied.files, copied.bytes, copied.kept, report)


def _chosen(manifests: Manifests, branches: str | Sequence[str]) -> list[str]:
    """The branches by name, without repetition; an unknown one is an error before anything is written."""
    given = name_list(branches, "branch")
    if ALL_BRANCHES in given:
        found = list(every_branch(manifests))
        for item in found:
            if isinstance(item, Damaged):
                raise CorruptionError(f"{item.path} {item.what}", hint=verify_hint("lists the damage"), path=item.path)
        return [item[0].name for item in found if not isinstance(item, Damaged)]
    names = list(dict.fromkeys(find_ref(manifests, name).name for name in given))
    if MAIN in names[1:]:
        raise UsageError(
            f"{MAIN!r} is named after {names[0]!r}, which becomes the main branch of the copy",
            hint=f"name {MAIN} first",
        )
    return names


def _check_free(target: Store, hint: Hint) -> None:
    if is_taken(target):
        raise AlreadyExistsError(f"there is a graph at {target.root} already", hint=hint, root=str(target.root))


def check_apart(source: Store, target: Store) -> None:
    """Refuse a copy into itself: neither place may lie within the other one."""
    one, other = (f"{_real(store.root)}/" for store in (source, target))
    if one.startswith(other) or other.startswith(one):
        raise UsageError(
            f"{target.root} and {source.root} are the same place, or one lies within the other",
            hint="copy to a place outside the graph",
        )


def _real(root: Root) -> str:
    return root.url if root.path is None else os.path.realpath(root.path)


def _verified(target: Store, deep: bool) -> VerifyReport:
    """The verification of a copy; an error if it is damaged."""
    # With caches of its own: what the copy has read must not hide what is stored.
    store = target.apart()
    report = verify(Manifests(store, read_stamp(store)), deep=deep, sources=False)
    if not report.is_clean:
        shown = "; ".join(f"{problem.path} {problem.what}" for problem in report.problems[:3])
        raise CorruptionError(
            f"the copy at {target.root} has {len(report.problems)} damaged files: {shown}",
            hint="delete these files of the copy and repeat the command, which copies them again",
            path=report.problems[0].path,
            problems=len(report.problems),
        )
    return report
