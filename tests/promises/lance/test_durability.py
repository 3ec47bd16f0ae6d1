"""Durability of Lance: fsync, failing writes, checksums, the types of errors."""

import platform
import signal
import struct
import subprocess
import sys

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance import LanceOperation
from lance.fragment import write_fragments

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="uses seccomp and RLIMIT_FSIZE of Linux")

# The system calls that force data to disk, by machine: fsync, fdatasync, sync_file_range, msync, sync, syncfs.
SYNC_CALLS = {
    "x86_64": (74, 75, 277, 26, 162, 306),
    "aarch64": (82, 83, 84, 227, 81, 267),
}

# Installs a filter that kills the process at the first such call, then runs what the second argument says.
FORBID_SYNC = """
import ctypes, os, struct, sys
numbers = [int(number) for number in sys.argv[1].split(",")]
def instruction(code, jump_true, jump_false, value):
    return struct.pack("HBBI", code, jump_true, jump_false, value)
LOAD, EQUAL, RETURN, KILL, ALLOW = 0x20, 0x15, 0x06, 0x80000000, 0x7FFF0000
program = instruction(LOAD, 0, 0, 0)
for position, number in enumerate(numbers):
    program += instruction(EQUAL, len(numbers) - position, 0, number)
program += instruction(RETURN, 0, 0, ALLOW) + instruction(RETURN, 0, 0, KILL)
code = ctypes.create_string_buffer(program)
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
def install():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)
    if libc.prctl(22, 2, ctypes.byref(Filter(len(program) // 8, ctypes.addressof(code))), 0, 0):
        sys.exit(77)
install()
"""

WRITE_WITH_LANCE = """
import lance, pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments
rows = pa.table({"id": [str(number) for number in range(1_000)]})
base = lance.write_dataset(rows, sys.argv[2], enable_stable_row_ids=True)
new = LanceDataset.commit(
    base, LanceOperation.Append(write_fragments(rows, base)), read_version=base.version, detached=True
)
transaction, _ = new.merge_insert("id").when_matched_delete().execute_uncommitted(rows.slice(0, 10))
LanceDataset.commit(new, transaction, detached=True)
segment = new.create_index_uncommitted("id", "BTREE", name="i", fragment_ids=[0, 1])
"""

SYNC_ONE_FILE = """
with open(sys.argv[2], "wb") as file:
    os.fsync(file.fileno())
"""


def run_without_sync(program: str, argument: str) -> int:
    numbers = ",".join(str(number) for number in SYNC_CALLS[platform.machine()])
    command = [sys.executable, "-c", FORBID_SYNC + program, numbers, argument]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode


@linux_only
@pytest.mark.skipif(platform.machine() not in SYNC_CALLS, reason="system call numbers of this machine are not listed")
@pytest.mark.parametrize("scheme", ["", "file-object-store://"])
def test_lance_never_forces_data_to_disk(place, scheme):
    """We fsync staged files and directories ourselves, before and after the swap.

    If this fails because Lance was killed, it has begun to sync, and our own work may be redundant.
    """
    if run_without_sync(SYNC_ONE_FILE, str(place.directory / "control")) != -signal.SIGSYS:
        pytest.skip("system calls cannot be filtered here")
    assert run_without_sync(WRITE_WITH_LANCE, scheme + str(place.directory / "t")) == 0


# Appends a table under falling limits of the file size: a write beyond the limit fails as on a full disk. Prints, per
# limit, the version that was acknowledged or 0.
WRITE_ON_A_FULL_DISK = """
import resource, sys
import lance, numpy, pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments
base = lance.dataset(sys.argv[1])
rows = base.to_table()
for limit in sys.argv[2].split(","):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    try:
        new = LanceDataset.commit(
            base, LanceOperation.Append(write_fragments(rows, base)), read_version=base.version, detached=True
        )
        print(new.version)
    except OSError:
        print(0)
"""


def acknowledged_but_unreadable(uri: str) -> tuple[int, int]:
    """(refused, acknowledged although unreadable), over limits up to just below the size of the data file."""
    numbers = np.random.default_rng(1).integers(0, 2**62, 500)
    base = lance.write_dataset(pa.table({"number": pa.array(numbers)}), uri)
    size = base.get_fragments()[0].metadata.files[0].file_size_bytes
    limits = [*range(1_000, size, 331), size - 200, size - 100, size - 1]
    command = [sys.executable, "-c", WRITE_ON_A_FULL_DISK, uri, ",".join(str(limit) for limit in limits)]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    versions = [int(line) for line in outcome.stdout.split()]
    assert len(versions) == len(limits)
    unreadable = 0
    for version in versions:
        if version:
            with pytest.raises(ValueError):  # noqa: PT011 - the text differs with where the file was cut
                lance.dataset(uri, version=version).to_table()
            unreadable += 1
    return versions.count(0), unreadable


@linux_only
def test_with_the_object_store_scheme_a_failed_write_is_never_acknowledged(place):
    """Local datasets are opened as `file-object-store://`."""
    refused, unreadable = acknowledged_but_unreadable(place.uri("t"))
    assert refused > 0
    assert unreadable == 0


@linux_only
def test_with_a_plain_path_a_failed_last_write_is_acknowledged(place):
    """Why local datasets need the scheme. If this fails, Lance reports the error and plain paths have become safe."""
    _, unreadable = acknowledged_but_unreadable(str(place.directory / "t"))
    assert unreadable > 0


def test_a_flipped_bit_in_a_data_file_comes_back_as_a_wrong_value(place):
    """Nobody but us can notice, so size and checksum of every new file are recorded with its commit."""
    numbers = np.random.default_rng(1).integers(0, 2**62, 100)
    base = lance.write_dataset(pa.table({"number": pa.array(numbers)}), place.uri("t"))
    (file,) = base.get_fragments()[0].metadata.files
    path = place.directory / "t" / "data" / file.path
    content = bytearray(path.read_bytes())
    position = content.find(struct.pack("<q", numbers[7]))
    assert position > 0
    content[position] ^= 1
    path.write_bytes(content)

    read = lance.dataset(place.uri("t")).to_table()["number"].to_pylist()
    assert read[7] == numbers[7] ^ 1
    assert read[:7] + read[8:] == list(numbers[:7]) + list(numbers[8:])


def test_the_size_of_a_data_file_is_recorded_but_not_compared_when_it_is_opened(place, people):
    """`verify` has to stat files itself: a cut file is found only when it is read."""
    base = people.create(place.uri("t"), {"ann": 1})
    (file,) = base.get_fragments()[0].metadata.files
    path = place.directory / "t" / "data" / file.path
    path.write_bytes(path.read_bytes()[:-10])

    opened = lance.dataset(place.uri("t"))
    assert opened.count_rows() == 1
    with pytest.raises(ValueError, match="External error"):
        opened.to_table()


def test_a_missing_data_file_is_found_only_when_it_is_read(place, people):
    """So `verify` looks for every file a retained commit needs; opening a version proves nothing."""
    base = people.append(people.create(place.uri("t"), {"ann": 1}), {"bob": 2})
    (file,) = base.get_fragment(1).metadata.files
    (place.directory / "t" / "data" / file.path).unlink()

    opened = lance.dataset(place.uri("t"), version=base.version)
    assert opened.count_rows() == 2
    with pytest.raises(ValueError, match="Not found"):
        opened.to_table()


def test_errors_are_builtin_types_that_do_not_tell_missing_from_damaged(place, people):
    """Anything but a commit conflict means "unknown"; durable state is asked, never the text."""
    base = people.append(people.create(place.uri("t"), {"ann": 1}), {"bob": 2})
    damaged = place.directory / "t" / "_versions" / f"d{base.version}.manifest"
    damaged.write_bytes(b"not a manifest")

    for act in (
        lambda: lance.dataset(place.uri("nothing here")),
        lambda: lance.dataset(place.uri("t"), version=99),
        lambda: lance.dataset(place.uri("t"), version=2**63 + 1),
        lambda: lance.dataset(place.uri("t"), version=base.version),
    ):
        with pytest.raises(ValueError) as error:  # noqa: PT011 - that the type says nothing is the point
            act()
        assert type(error.value) is ValueError
    with pytest.raises(OSError, match="not found"):
        base.checkout_version(2**63 + 1)


def test_opening_and_reading_a_version_leaves_nothing_behind(place, people):
    """Readers need no permission to write."""
    base = people.append(people.create(place.uri("t"), {"ann": 1}), {"bob": 2})
    before = place.files("t")
    lance.dataset(place.uri("t"), version=base.version).to_table(filter="age = 2")
    assert place.files("t") == before


def test_no_temporary_file_is_left_by_a_commit(place, people, detach):
    """What is on disk after a commit is what the commit names; a leftover is a crash's."""
    base = people.create(place.uri("t"), {"ann": 1})
    detach(base, LanceOperation.Append(write_fragments(people.rows({"bob": 2}), base, mode="append")))
    assert {name.rpartition(".")[2] for name in place.files("t")} == {"lance", "txn", "manifest", "json"}
