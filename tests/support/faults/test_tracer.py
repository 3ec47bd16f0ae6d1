"""The tracer sees every call that changes files, in whatever thread, and makes exactly the chosen one go wrong."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from tests.support.faults.child import python
from tests.support.faults.fault import FailAt, FailFrom, FileFault, KillAt, PartialWriteAt
from tests.support.faults.syscalls import AARCH64, X86_64
from tests.support.faults.tracer import Trace, TracerError, run, trace

pytestmark = pytest.mark.usefixtures("tracing")

APPEND = """
import sys
import lance, pyarrow as pa
from tests.support.faults.window import armed

uri = "file-object-store://" + sys.argv[1]
with armed():
    lance.write_dataset(pa.table({"a": [3]}), uri, mode="append")
"""

DETACHED = """
import sys
import lance, pyarrow as pa
from tests.support.faults.window import armed

dataset = lance.dataset("file-object-store://" + sys.argv[1])
with armed():
    fragments = lance.fragment.write_fragments(pa.table({"a": [3]}), dataset)
    lance.LanceDataset.commit(
        dataset, lance.LanceOperation.Append(fragments), read_version=dataset.version, detached=True
    )
"""

# A commit on a local object store is a data file, a transaction and a manifest, each written aside and then moved.
DATA = [("openat", "data"), ("write", "data"), ("rename", "data")]
TRANSACTION = [("openat", "_transactions"), ("write", "_transactions"), ("rename", "_transactions")]
MANIFEST = [("openat", "_versions"), ("write", "_versions"), ("linkat", "_versions"), ("unlink", "_versions")]
HINT = [("openat", "_versions"), ("write", "_versions"), ("rename", "_versions")]
WHOLE = DATA + TRANSACTION + MANIFEST + HINT
PUBLISHED = 1 + WHOLE.index(("linkat", "_versions"))
"""The number of the call that gives the manifest its name."""

positions = pytest.mark.parametrize(
    "positions",
    [
        pytest.param([1, 5, PUBLISHED - 1, PUBLISHED, PUBLISHED + 1, len(WHOLE)], id="some"),
        pytest.param(range(1, len(WHOLE) + 1), id="all", marks=pytest.mark.long),
    ],
)

Writer = Callable[[Path, FileFault | None], Trace]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with two rows. Nobody writes to it: each run gets a copy."""
    path = tmp_path_factory.mktemp("base") / "dataset"
    lance.write_dataset(pa.table({"a": [1, 2]}), f"file-object-store://{path}")
    return path


@pytest.fixture
def append(tmp_path: Path) -> Writer:
    script = tmp_path / "append.py"
    script.write_text(APPEND)
    return lambda path, fault: run(python(script, path), root=path, fault=fault)


def rows(path: Path) -> list[int]:
    values = lance.dataset(f"file-object-store://{path}").to_table()["a"].to_pylist()
    return sorted(values)


def steps(found: Trace) -> list[tuple[str, str]]:
    return [(call.name, os.path.dirname(call.path)) for call in found.calls]


def sweep(
    writer: Writer, base: Path, directory: Path, faults: Iterable[FileFault]
) -> list[tuple[FileFault, Path, Trace]]:
    """Each fault on its own copy, two at a time: most of a run is one thread importing modules."""

    def one(job: tuple[int, FileFault]) -> tuple[FileFault, Path, Trace]:
        number, fault = job
        path = directory / str(number)
        shutil.copytree(base, path)
        return fault, path, writer(path, fault)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, enumerate(faults)))


def small(code: str, root: Path, fault: FileFault | None = None, *, window: bool = False) -> Trace:
    """Run a line of Python that needs no package, with `root` as its first argument."""
    argv = [sys.executable, "-S", "-c", f"import os, sys; root = sys.argv[1]\n{code}", str(root)]
    return run(argv, root=root, fault=fault, window=window)


def test_a_trace_shows_every_step_of_a_lance_append(base: Path, append: Writer, tmp_path: Path) -> None:
    path = shutil.copytree(base, tmp_path / "dataset")
    found = append(path, None)
    assert found.returncode == 0, found.stderr
    assert steps(found) == WHOLE
    assert all(call.result is not None and call.result >= 0 for call in found.calls)
    assert rows(path) == [1, 2, 3]


def test_a_detached_commit_moves_no_latest_pointer(base: Path, tmp_path: Path) -> None:
    path = shutil.copytree(base, tmp_path / "dataset")
    script = tmp_path / "detached.py"
    script.write_text(DETACHED)
    found = trace(python(script, path), root=path)
    assert found.returncode == 0, found.stderr
    assert steps(found) == DATA + TRANSACTION + MANIFEST
    assert rows(path) == [1, 2]


def test_two_runs_count_the_same_calls(base: Path, append: Writer, tmp_path: Path) -> None:
    runs = [found for _, _, found in sweep(append, base, tmp_path, [KillAt(1000), KillAt(1000)])]
    first, second = ([call.shape for call in found.calls] for found in runs)
    assert first == second


@pytest.mark.parametrize("after", [False, True])
@positions
def test_a_kill_at_any_call_leaves_exactly_the_calls_before_it(
    base: Path, append: Writer, tmp_path: Path, after: bool, positions: Sequence[int]
) -> None:
    for fault, path, found in sweep(append, base, tmp_path, [KillAt(n, after) for n in positions]):
        assert isinstance(fault, KillAt)
        assert found.killed
        assert steps(found) == WHOLE[: fault.n]
        assert found.hit == found.calls[-1]
        assert (found.calls[-1].result is not None) == after
        done = fault.n if after else fault.n - 1
        assert rows(path) == ([1, 2, 3] if done >= PUBLISHED else [1, 2]), fault


def test_a_kill_past_the_last_call_hits_nothing(base: Path, append: Writer, tmp_path: Path) -> None:
    path = shutil.copytree(base, tmp_path / "dataset")
    found = append(path, KillAt(1 + len(WHOLE)))
    assert found.returncode == 0
    assert found.hit is None


@pytest.mark.parametrize("kind", [FailAt, FailFrom])
@positions
def test_an_append_with_failing_calls_is_refused_or_good(
    base: Path, append: Writer, tmp_path: Path, kind: type[FailAt] | type[FailFrom], positions: Sequence[int]
) -> None:
    code = errno.EIO if kind is FailAt else errno.ENOSPC
    refused = []
    for fault, path, found in sweep(append, base, tmp_path, [kind(n, code) for n in positions]):
        assert isinstance(fault, FailAt | FailFrom)
        assert found.hit is not None
        assert found.hit.result == -code
        if found.returncode == 0:
            assert rows(path) == [1, 2, 3], fault
        else:
            assert "OSError" in found.stderr
            assert rows(path) == [1, 2], fault
            refused.append(fault.n)
    # Once the manifest has its name, nothing is an error any more.
    assert refused == [n for n in positions if n <= PUBLISHED]


def test_a_short_write_is_continued(base: Path, append: Writer, tmp_path: Path) -> None:
    path = shutil.copytree(base, tmp_path / "dataset")
    found = append(path, PartialWriteAt(2))
    assert found.returncode == 0, found.stderr
    assert found.hit is not None
    assert found.hit.size is not None
    assert found.hit.result == found.hit.size // 2
    assert steps(found)[:4] == [DATA[0], DATA[1], DATA[1], DATA[2]]
    assert rows(path) == [1, 2, 3]


def test_a_torn_write_leaves_half_of_the_bytes(tmp_path: Path) -> None:
    found = small("open(root + '/file', 'wb', 0).write(b'0123456789')", tmp_path, PartialWriteAt(2, kill=True))
    assert found.killed
    assert (tmp_path / "file").read_bytes() == b"01234"


def test_a_vector_of_buffers_is_torn_too(tmp_path: Path) -> None:
    code = "f = os.open(root + '/file', os.O_RDWR | os.O_CREAT)\nprint({})"
    for write in ("os.writev(f, [b'abcd', b'efgh'])", "os.pwritev(f, [b'abcd', b'efgh'], 0)"):
        found = small(code.format(write), tmp_path, PartialWriteAt(2))
        assert found.stdout.strip() == "2", found.stderr
        assert (tmp_path / "file").read_bytes() == b"ab"
        (tmp_path / "file").unlink()


def test_a_partial_write_aimed_at_another_call_does_nothing(tmp_path: Path) -> None:
    found = small("os.mkdir(root + '/directory')", tmp_path, PartialWriteAt(1, kill=True))
    assert found.returncode == 0
    assert found.hit is None


EVERY_CALL = """
os.chdir(root)
os.mkdir("d")
at = os.open("d", os.O_RDONLY)
f = os.open("a", os.O_RDWR | os.O_CREAT, dir_fd=at)
os.write(f, b"12"); os.pwrite(f, b"3", 2); os.writev(f, [b"4"]); os.pwritev(f, [b"5"], 4)
g = os.open("b", os.O_WRONLY | os.O_CREAT)
os.sendfile(g, f, 0, 2); os.copy_file_range(f, g, 2, 0); os.posix_fallocate(f, 0, 9)
os.ftruncate(f, 1); os.truncate("b", 1); os.fsync(f); os.fdatasync(f); os.fsync(at)
os.rename("a", "c", src_dir_fd=at); os.link("b", "e"); os.symlink("b", "s")
os.unlink("s"); os.unlink("e"); os.rmdir("d")
"""


def test_every_kind_of_change_is_counted_with_its_path(tmp_path: Path) -> None:
    found = small(EVERY_CALL, tmp_path)
    assert found.returncode == 0, found.stderr
    # Libraries choose between a call and its "at" variant; both are the same to us.
    aliases = {"renameat2": "rename", "renameat": "rename", "mkdirat": "mkdir", "unlinkat": "unlink"} | {
        "linkat": "link",
        "symlinkat": "symlink",
        "rmdir": "unlink",
        "pwritev2": "pwritev",
    }
    assert [(aliases.get(call.name, call.name), call.path, call.target) for call in found.calls] == [
        ("mkdir", "d", None),
        ("openat", "d/a", None),
        ("write", "d/a", None),
        ("pwrite64", "d/a", None),
        ("writev", "d/a", None),
        ("pwritev", "d/a", None),
        ("openat", "b", None),
        ("sendfile", "b", None),
        ("copy_file_range", "b", None),
        ("fallocate", "d/a", None),
        ("ftruncate", "d/a", None),
        ("truncate", "b", None),
        ("fsync", "d/a", None),
        ("fdatasync", "d/a", None),
        ("fsync", "d", None),
        ("rename", "d/a", "c"),
        ("link", "b", "e"),
        ("symlink", "s", None),
        ("unlink", "s", None),
        ("unlink", "e", None),
        ("unlink", "d", None),
    ]


def test_only_changes_below_the_root_count(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "root-other"
    root.mkdir()
    other.mkdir()
    (tmp_path / "link").symlink_to(root)
    code = "for name in ('root/a', 'root-other/b', 'link/c'): open(root + '/../' + name, 'w').close()"
    found = small(code, root)
    assert [call.path for call in found.calls] == ["a", "c"]


def test_a_full_disk_still_removes_syncs_and_opens(tmp_path: Path) -> None:
    (tmp_path / "old").touch()
    (tmp_path / "victim").touch()
    code = """
f = os.open(root + "/old", os.O_RDWR); os.fsync(f); os.unlink(root + "/victim")
for attempt in (lambda: os.write(f, b"x"), lambda: os.mkdir(root + "/d"), lambda: open(root + "/n", "w")):
    try: attempt()
    except OSError as error: print(error.errno)
"""
    found = small(code, tmp_path, FailFrom(1, errno.ENOSPC))
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == [str(errno.ENOSPC)] * 3
    assert [entry.name for entry in tmp_path.iterdir()] == ["old"]


def test_only_what_happens_between_arm_and_disarm_counts_or_fails(tmp_path: Path) -> None:
    code = """
from tests.support.faults.window import arm, disarm
os.mkdir(root + "/a"); arm()
try: os.mkdir(root + "/b")
except OSError: pass
disarm(); os.mkdir(root + "/c"); arm(); disarm(); os.mkdir(root + "/d")
"""
    found = small(code, tmp_path, FailFrom(1, errno.EIO), window=True)
    assert found.returncode == 0, found.stderr
    assert [call.path for call in found.calls] == ["b"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "c", "d"]


def test_a_program_finds_no_io_uring(tmp_path: Path) -> None:
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(425, 1, 0), ctypes.get_errno())
"""
    assert small(code, tmp_path).stdout.split() == ["-1", str(errno.ENOSYS)]


def test_a_program_that_never_arms_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(TracerError, match="never armed"):
        small("os.mkdir(root + '/a')", tmp_path, window=True)


def test_arming_without_a_tracer_does_nothing() -> None:
    code = "from tests.support.faults.window import armed\nwith armed(): print('fine')"
    tests = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": tests}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "fine\n"


THREADS = """
import threading
def work(name):
    for number in range(5): os.mkdir(f"{root}/{name}-{number}")
threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.mark.parametrize("fault", [KillAt(23), KillAt(23, after=True)])
def test_with_many_threads_the_kill_is_still_exact(tmp_path: Path, fault: KillAt) -> None:
    for attempt in range(5):
        root = tmp_path / str(attempt)
        root.mkdir()
        found = small(THREADS, root, fault)
        assert found.killed
        assert len(found.calls) == 23
        assert len(list(root.iterdir())) == (23 if fault.after else 22)


CHILD = """
import subprocess
subprocess.run([sys.executable, "-S", "-c", "import os, sys; os.mkdir(sys.argv[1] + '/child')", root], check=True)
os.mkdir(root + "/parent")
"""


def test_children_are_followed_and_killed_too(tmp_path: Path) -> None:
    found = small(CHILD, tmp_path, KillAt(1))
    assert found.killed
    assert [call.path for call in found.calls] == ["child"]
    assert list(tmp_path.iterdir()) == []
    found = small(CHILD, tmp_path)
    assert [call.path for call in found.calls] == ["child", "parent"]


def test_signals_and_exit_codes_pass_through(tmp_path: Path) -> None:
    code = """
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("handled", flush=True))
os.kill(os.getpid(), signal.SIGUSR1)
sys.exit(7)
"""
    found = small(code, tmp_path)
    assert (found.stdout, found.returncode) == ("handled\n", 7)
    assert small("os.abort()", tmp_path).returncode == -signal.SIGABRT


def test_a_program_that_does_not_end_is_killed(tmp_path: Path) -> None:
    argv = [sys.executable, "-S", "-c", "import os; print(os.getpid(), flush=True); os.read(os.pipe()[0], 1)"]
    with pytest.raises(TracerError, match="did not end within") as raised:
        run(argv, root=tmp_path, fault=None, window=False, timeout_s=0.5)
    pid = int(str(raised.value).splitlines()[1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_children_of_the_test_process_are_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(5)"]) as bystander:
        small("os.mkdir(root + '/a')", tmp_path)
        assert bystander.wait() == 5


def test_a_program_that_cannot_start_says_so(tmp_path: Path) -> None:
    found = run([str(tmp_path / "missing")], root=tmp_path, fault=None, window=False)
    assert found.returncode == 1
    assert "FileNotFoundError" in found.stderr


@pytest.mark.parametrize("machine", [X86_64, AARCH64])
def test_a_filter_fits_into_the_jumps_of_its_format(machine: object) -> None:
    assert isinstance(machine, type(X86_64))
    code = machine.filter()
    assert len(code) % 8 == 0
    assert len(machine.by_number) == len({signature.name for signature in machine.by_number.values()})


def test_a_program_may_end_while_its_threads_wait_for_their_turn(tmp_path: Path) -> None:
    code = """
import os, sys, threading
from tests.support.faults.window import arm
def work(name):
    for number in range(10_000):
        try: open(f"{sys.argv[1]}/{name}", "w").close()
        except OSError: pass
arm()
for name in "abcd": threading.Thread(target=work, args=(name,)).start()
try: open(f"{sys.argv[1]}/last", "w").close()
except OSError: pass
os._exit(3)
"""
    script = tmp_path / "program.py"
    script.write_text(code, encoding="utf-8")
    for position in range(1, 11):
        assert run(python(script, tmp_path), root=tmp_path, fault=FailFrom(position, errno.EIO)).returncode == 3
