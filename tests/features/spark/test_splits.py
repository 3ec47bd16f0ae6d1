"""Files cut anywhere give every line once, with the number it has in the file. No Spark is needed for this."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph.errors import NotFoundError, UsageError
from omnigraph.spark.cluster import limits
from omnigraph.spark.load.splits import GroupLines, SplitLines, plan_groups, plan_splits

CONTENT = st.lists(st.sampled_from([b"a", b"bb\r", b"", b"long line", b"\xc3\xa9"]), max_size=12)


@given(lines=CONTENT, is_ended=st.booleans(), partitions=st.integers(1, 40), chunk=st.integers(1, 5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_line_is_in_exactly_one_split(
    tmp_path: Path, lines: list[bytes], is_ended: bool, partitions: int, chunk: int
) -> None:
    content = b"\n".join(lines) + (b"\n" if is_ended else b"")
    path = tmp_path / "lines"
    path.write_bytes(content)
    read, count = [], 0
    for split in plan_splits([str(path)], partitions):
        part = SplitLines(split, chunk, 2)
        chunks = list(part)
        assert b"" not in chunks
        data = b"".join(chunks)
        assert part.count == len(data.splitlines()) or b"\r" in data
        assert part.count == data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
        read.append(data)
        count += part.count
    assert b"".join(read) == content
    assert count == content.count(b"\n") + (bool(content) and not content.endswith(b"\n"))
    assert all(
        data.endswith(b"\n") for data in read[:-1] if data and b"".join(read).rindex(data) + len(data) < len(content)
    )


def test_files_are_cut_into_about_as_many_parts_as_wanted(tmp_path: Path) -> None:
    for name, size in (("a", 1_000), ("b", 10), ("empty", 0)):
        (tmp_path / name).write_bytes(b"\n" * size)
    paths = [str(tmp_path / name) for name in ("a", "b", "empty")]
    assert [os.path.basename(split.path) for split in plan_splits(paths, 1)] == ["a", "b"]
    splits = plan_splits(paths, 10)
    assert 10 <= len(splits) <= 12
    assert sum(split.end - split.start for split in splits) == 1_010
    assert len(plan_splits(paths)) == 2


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no file .*missing"):
        plan_splits([str(tmp_path / "missing")])
    with pytest.raises(UsageError, match="is a directory"):
        plan_splits([str(tmp_path)])
    path = tmp_path / "gone"
    path.write_bytes(b"x\n")
    [split] = plan_splits([str(path)])
    path.unlink()
    with pytest.raises(NotFoundError, match=r"no file .*gone"):
        list(SplitLines(split))


FILES = st.lists(CONTENT.map(b"\n".join), max_size=6)


@given(files=FILES, marks=st.booleans(), partitions=st.none() | st.integers(1, 9))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_of_several_files_stay_apart_and_are_counted_for_each(
    tmp_path: Path, files: list[bytes], marks: bool, partitions: int | None
) -> None:
    paths = [tmp_path / f"{number}" for number in range(len(files))]
    for path, content in zip(paths, files, strict=True):
        path.write_bytes(codecs.BOM_UTF8 * (marks and bool(content)) + content)
    lines: list[bytes] = []
    counts: dict[str, int] = {}
    for group in plan_groups([str(path) for path in paths], partitions):
        stream = GroupLines(group)
        data = b"".join(stream)
        # As the reader does it.
        data = data.removeprefix(codecs.BOM_UTF8) if group.is_start else data
        lines += data.removesuffix(b"\n").split(b"\n") if data else []
        assert data.count(b"\n") + (bool(data) and not data.endswith(b"\n")) == sum(stream.counts) or marks
        for split, count in zip(group.splits, stream.counts, strict=True):
            counts[split.path] = counts.get(split.path, 0) + count
    written = [content.removesuffix(b"\n").split(b"\n") for content in files if content]
    assert lines == [line for content in written for line in content]
    assert list(counts.values()) == [len(content) for content in written]


def test_small_files_share_tasks_and_large_ones_do_not(tmp_path: Path) -> None:
    small, large = limits.GROUPED_FILE_BYTES // 2, limits.GROUP_BYTES + 1
    for number in range(200):
        (tmp_path / f"a{number:03}").write_bytes(b"\n" * small)
    (tmp_path / "b").write_bytes(b"\n" * large)
    (tmp_path / "c").write_bytes(b"\n")
    groups = plan_groups([str(tmp_path / name) for name in (*sorted(os.listdir(tmp_path)),)])
    per_task = limits.GROUP_BYTES // limits.GROUPED_FILE_BYTES
    assert [len(group.splits) for group in groups] == [per_task, per_task, per_task, 200 - 3 * per_task, 1, 1]
    assert [group.number for group in groups] == list(range(6))
