"""The records of cleanup, ``cleanup/<number>.json``: the commits that are given up or deleted, one small file per run.

The record with the highest number is the current one. A record is created if absent on top of the one it was decided
from, so decisions are serialized however many cleanups run. Readers use it to tell a commit that was given up from a
damaged one.
"""

from __future__ import annotations

from omnigraph.history.retention import Record
from omnigraph.storage.objects.protocol import Listed
from omnigraph.storage.objects.sealed import damaged, seal, unseal
from omnigraph.storage.tables.store import Store

DIRECTORY = "cleanup"


def newest_record(store: Store, known: Record) -> Record:
    """The current record: one LIST, and a GET if it is newer than the known one."""
    while True:
        number = max((_number(file) for file in _records(store)), default=0)
        if number <= known.number:
            return known
        content = store.objects.read(_path(number))
        if content is not None:
            return _from_bytes(content, _path(number))


def read_record(store: Store, path: str) -> Record | None:
    """One record by its path; None if it was deleted."""
    content = store.objects.read(path)
    return None if content is None else _from_bytes(content, path)


def record_paths(store: Store) -> list[str]:
    """The paths of all records, newest first."""
    return sorted((file.path for file in _records(store)), reverse=True)


def create_record(store: Store, record: Record, run: str) -> Listed | None:
    """Make this the current record; returns its file with the store's time, or None if another cleanup was faster."""
    if not store.objects.create(_path(record.number), _to_bytes(record, run)):
        return None
    listed = {_number(file): file for file in _records(store)}
    # Old records are deleted from the oldest on. If the base is deleted, this number was used before and deleted too.
    is_overtaken = record.number > 1 and record.number - 1 not in listed
    return None if is_overtaken else listed[record.number]


def was_nameless(store: Store, incarnation: str, since: int) -> bool:
    """True if a cleanup after record ``since`` found an incarnation without a name, or its record is missing."""
    newest = max((_number(file) for file in _records(store)), default=0)
    contents = {path: store.objects.read(path) for path in map(_path, range(since + 1, newest + 1))}
    return any(
        content is None or incarnation in _from_bytes(content, path).nameless for path, content in contents.items()
    )


def drop_old_records(store: Store) -> None:
    """Delete all but the newest records."""
    files = sorted(_records(store), key=_number)
    for file in files[: -store.tuning.cleanup_records_max]:
        store.objects.delete(file.path)


def _records(store: Store) -> list[Listed]:
    return [file for file in store.objects.level(DIRECTORY).files if file.path.endswith(".json")]


def _path(number: int) -> str:
    return f"{DIRECTORY}/{number:08d}.json"


def _number(file: Listed) -> int:
    return int(file.path.removeprefix(f"{DIRECTORY}/").removesuffix(".json"))


def _to_bytes(record: Record, run: str) -> bytes:
    stored = {
        "number": record.number,
        "run": run,
        "given_up": {incarnation: [list(span) for span in spans] for incarnation, spans in record.given_up.items()},
        "gone": {incarnation: [list(span) for span in spans] for incarnation, spans in record.gone.items()},
        "nameless": dict(record.nameless),
    }
    return seal(stored)


def _from_bytes(content: bytes, path: str) -> Record:
    stored = unseal(content, path, ("number", "run", "given_up", "gone", "nameless"))
    try:
        given_up, gone = (
            {
                incarnation: tuple((first, last, since) for first, last, since in spans)
                for incarnation, spans in stored[name].items()
            }
            for name in ("given_up", "gone")
        )
        return Record(stored["number"], given_up, gone, stored["nameless"])
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(path, f"it is no record of cleanup ({error!r})") from error
