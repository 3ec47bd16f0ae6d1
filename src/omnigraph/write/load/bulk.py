"""Loads larger than memory, bounded by disk, with the same result as ``write.load.plan``.

Rows are written as fragments while they are read, and their keys go into a database on disk. At the end the database
checks the input as a whole; then the fragments become versions of their tables. After a concurrent commit the same
fragments are checked and staged again. A failed load deletes its files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from omnigraph.errors import OmnigraphError
from omnigraph.history.plan import CommitInfo
from omnigraph.history.state import Fence
from omnigraph.manifest.queue import Published
from omnigraph.manifest.reader import Capture
from omnigraph.rows.rejected.reasons import without_rows
from omnigraph.rows.violations import Violations
from omnigraph.storage.stage.discard import discard_rows, discard_version
from omnigraph.storage.stage.staging import WrittenRows
from omnigraph.storage.tables.store import Store
from omnigraph.write.attempt import CHECK, READ, WriteJob
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.load.bulk_images import BulkImages, stage_given
from omnigraph.write.load.bulk_plan import BulkInput, PreparedBulk
from omnigraph.write.load.checks import GraphChecks, settle_duplicates
from omnigraph.write.load.committed_keys import CommittedKeys
from omnigraph.write.load.fragments import FragmentWriter
from omnigraph.write.load.kept_files import check_files_kept
from omnigraph.write.load.keys import InputKeys, open_keys
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.outcome import Loaded
from omnigraph.write.load.plan import SourcedRows
from omnigraph.write.load.reject.checks import Rejecting
from omnigraph.write.load.reject.rows import Rejection, WrittenRejects
from omnigraph.write.preview import Finish, Previewed, is_committed
from omnigraph.write.retyping import check_same_type
from omnigraph.write.violations import violation_error


def load_bulk(
    context: WriteContext,
    incarnation: str,
    rows: Iterable[SourcedRows],
    mode: LoadMode,
    violations: Violations,
    info: CommitInfo,
    options: WriteOptions,
    finish: Finish,
    rejection: Rejection | None = None,
) -> Loaded:
    """Load any number of rows as one commit, or preview it."""
    state = context.manifests.warm(incarnation)
    grouped_rows = context.store.tuning.grouped_rows
    with open_keys(lambda connection: InputKeys(connection, grouped_rows=grouped_rows)) as keys:
        fragments = FragmentWriter(context.store, state.tables, keys)
        whole = BulkInput(keys, fragments.written, mode, state.fence, found=violations)
        if rejection is not None:
            rejects = WrittenRejects(rejection, context.store, state.tables, keys, fragments.written)
            whole.set_aside = Rejecting(keys, mode, rejects).run
        try:
            try:
                _take(context, rows, whole, fragments)
            finally:
                fragments.close()
            if rejection is not None:
                # Rejection is final, so the first check must not use a stale cached state.
                context.manifests.fresh(incarnation)
            finished = finish_bulk(context, incarnation, whole, info, options, finish)
        except BaseException:
            # Once the publisher has a plan, only the manifest shows the outcome: the files may be in use.
            if not whole.is_handed_over:
                _discard(fragments)
            raise
    if isinstance(finished, Published) and is_committed(finished, info.id):
        _discard_unused(context.store, fragments.written, finished)
    else:
        # A preview, or an earlier load with the same idempotency key was committed instead of this one.
        _discard(fragments)
    return Loaded(whole.counts(), finished, whole.cleared)


def _take(
    context: WriteContext,
    rows: Iterable[SourcedRows],
    whole: BulkInput,
    fragments: FragmentWriter,
) -> None:
    """Write the rows. After the first violation the rest is only read and its keys are noted, to report all of them."""
    with context.profiler.step(READ) as step:
        context.profiler.say("input exceeds memory: rows were written while reading")
        for source, typed in rows:
            step.rows += typed.batch.num_rows
            if whole.found.total:
                fragments.only_note()
            good = without_rows(typed, source, whole.found)
            if good.batch.num_rows:
                fragments.add(source, good)
        if whole.found.total:
            fragments.only_note()
        fragments.finish()
    with context.profiler.step(CHECK):
        if whole.set_aside is None:
            settle_duplicates(whole.keys, whole.mode, whole.found)
        fragments.wait()


def finish_bulk(
    context: WriteContext, incarnation: str, whole: BulkInput, info: CommitInfo, options: WriteOptions, finish: Finish
) -> Published | Previewed:
    """Check an input whose duplicates are settled, and publish or preview it."""

    def prepare(capture: Capture) -> PreparedBulk:
        with context.profiler.step(CHECK) as step:
            prepared = _prepare(context, capture, whole)
            step.rows = sum(whole.counts().values())
        return prepared

    def renew(fence: Fence) -> None:
        every = (rows for parts in whole.written.values() for rows in parts)
        check_files_kept(context.store, every, fence, whole.noted(fence))
        # Completed rows are written again: their files may be older than the fence.
        whole.images.clear()

    is_published = False
    try:
        finished = finish(context, WriteJob(incarnation, prepare, info, options, whole.since, renew))
        is_published = is_committed(finished, info.id)
        return finished
    finally:
        if is_published or not whole.is_handed_over:
            kept = {key: images.completed for key, images in whole.images.items()} if is_published else {}
            _discard_completed(context.store, whole, [part for parts in kept.values() for part in parts])


def _prepare(context: WriteContext, capture: Capture, whole: BulkInput) -> PreparedBulk:
    """Check the input against the graph; raises without any change."""
    for table in whole.keys.tables.values():
        check_same_type(table.entity, capture.catalog)
    tables_read: set[str] = set()
    violations = Violations()
    violations.absorb(whole.found)
    committed = CommittedKeys(context.store, capture.state, tables_read)
    if whole.set_aside is not None and not violations.total:
        whole.set_aside(capture.catalog, committed)
    GraphChecks(whole.keys, capture.catalog, committed, whole.mode, violations).run()
    if not violations.total:
        _compare(context.store, capture, whole, violations)
    if violations.total:
        raise violation_error(violations)
    return PreparedBulk(context.store, whole, frozenset(tables_read))


def _compare(store: Store, capture: Capture, whole: BulkInput, violations: Violations) -> None:
    """Compare the input with the committed rows of every table that changed since the last attempt."""
    for key, table in whole.keys.tables.items() if whole.mode is not LoadMode.APPEND else ():
        pin = capture.state.tables[key]
        known = whole.images.get(key)
        if known is not None and (known.pin, known.rows) == (pin, table.rows):
            continue
        whole.images.pop(key, None)
        if not table.has_parts and not whole.keys.number(f"SELECT count(*) FROM {table.found_name}"):
            continue
        given, version = stage_given(store, pin, whole.written[key])
        try:
            images = BulkImages(store, whole.keys, table, given, pin, whole.mode, violations).run()
        finally:
            discard_version(store, version)
        whole.completed.extend(images.completed)
        if violations.total:
            return
        whole.images[key] = images


def _discard_completed(store: Store, whole: BulkInput, kept: list[WrittenRows]) -> None:
    """Delete completed rows of attempts that were not published."""
    try:
        for rows in whole.completed:
            if rows not in kept:
                discard_rows(store, rows)
    except OmnigraphError:
        # Cleanup deletes the remaining files later.
        return


def _discard_unused(store: Store, written: Mapping[str, list[WrittenRows]], published: Published) -> None:
    """Delete fragments that the commit does not need, because none of their rows changes anything."""
    used = {record.path for record in published.commit.files}
    try:
        for rows in (rows for parts in written.values() for rows in parts):
            unused = [item for item in rows.fragments if f"{rows.location}/data/{item.files[0].path}" not in used]
            discard_rows(store, replace(rows, fragments=tuple(unused)))
    except OmnigraphError:
        # Cleanup deletes the remaining files later; the load is committed.
        return


def _discard(fragments: FragmentWriter) -> None:
    try:
        fragments.discard()
    except OmnigraphError:
        # Cleanup deletes the remaining files later; the original failure matters more.
        return
