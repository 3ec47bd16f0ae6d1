"""Records of rejected rows, looked up again in their source; what can be read only once is copied to a file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import IO, BinaryIO, cast

from omnigraph.ingest.files.content import READ_BYTES, Content, open_content
from omnigraph.ingest.files.find import FoundFile
from omnigraph.ingest.files.json_files import Numbered, array_records, is_array
from omnigraph.ingest.objects import as_record
from omnigraph.rows.read.json_lines import records_at
from omnigraph.rows.rejected.reasons import EveryViolation, Recall
from omnigraph.rows.rejected.records import json_form


def recall_file(file: FoundFile) -> Recall:
    """The records of a JSON file by line, or by number in an array."""

    def recall(lines: Collection[int]) -> Mapping[int, object]:
        with open_content(file.source) as content:
            return _records(content, lines)

    return recall


def _records(content: Content, lines: Collection[int]) -> Mapping[int, object]:
    if not is_array(content):
        return records_at(content.chunks(), lines)
    wanted = set(lines)
    return dict(item for item in array_records(content.chunks(), lambda line, reason: None) if item[0] in wanted)


def recall_items(items: Sequence[object]) -> Recall:
    """Objects of a list by number, counted from 1."""
    return lambda lines: {line: json_form(as_record(items[line - 1])) for line in lines}


def recallable_chunks(content: Content, file: FoundFile | None, violations: EveryViolation) -> Iterator[bytes]:
    """The bytes of a JSON file, whose records can be looked up again. A stream is copied to a temporary file."""
    if file is not None:
        violations.recalls[content.name] = recall_file(file)
        return content.chunks()
    copy = _copy(violations)

    def recall(lines: Collection[int]) -> Mapping[int, object]:
        copy.seek(0)
        with open_content(cast(BinaryIO, copy)) as copied:
            return _records(copied, lines)

    def passed() -> Iterator[bytes]:
        for chunk in content.chunks():
            copy.write(chunk)
            yield chunk

    violations.recalls[content.name] = recall
    return passed()


def recallable_records(records: Iterable[Numbered], source: str, violations: EveryViolation) -> Iterator[Numbered]:
    """Records that are numbered from 1 without gaps, and are copied so that they can be looked up again."""
    copy = _copy(violations)

    def recall(lines: Collection[int]) -> Mapping[int, object]:
        copy.seek(0)
        return records_at(iter(lambda: copy.read(READ_BYTES), b""), lines)

    violations.recalls[source] = recall
    for number, record in records:
        copy.write(json.dumps(json_form(record)).encode() + b"\n")
        yield number, record


def _copy(violations: EveryViolation) -> IO[bytes]:
    """A temporary file that is open until the load ends."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115
    violations.copies.append(copy)
    return copy
