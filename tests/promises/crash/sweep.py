"""Running one writer with one fault, and judging the graph it leaves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.promises.crash.cells import CELLS, Cell, describe
from tests.promises.crash.observe import Options, Seen, check_sound, look
from tests.promises.crash.writers import CREATE, KILLED, SESSION, WRITERS, build, open_counted
from tests.support.faults import python, run, trace
from tests.support.faults.fault import FileFault, KillAt, RequestFault
from tests.support.faults.s3 import Bucket, Server

PROGRAM = Path(__file__).with_name("write_once.py")
SESSION_PROGRAM = Path(__file__).with_name("write_session.py")

DONE, REFUSED = "done", "refused"
OUTCOME_UNKNOWN = "outcome_unknown"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run of the program ended: killed, or with the line it printed."""

    killed: bool
    ended: str = ""
    code: str = ""
    message: str = ""

    @classmethod
    def of(cls, returncode: int, killed: bool, stdout: str, stderr: str) -> Ending:
        if killed:
            return cls(killed=True)
        assert returncode == 0, stderr
        return cls(killed=False, **json.loads(stdout))


def judge(ending: Ending, found: Seen | None, old: Seen | None, new: Seen) -> None:
    """The promise: done is done, refused is not done, and everything else is one of the two and nothing between."""
    either = found in (old, new)
    if ending.killed:
        assert either, f"neither the old nor the new graph: {found}"
        return
    assert ending.ended in (DONE, REFUSED), f"not one of our errors: {ending.message}"
    if ending.ended == DONE:
        assert found == new, f"acknowledged, but what is there is not the new graph: {found}"
    elif ending.code == OUTCOME_UNKNOWN:
        assert either, f"neither the old nor the new graph: {found}"
    else:
        assert found == old, f"refused with {ending.code} ({ending.message}), but the graph is not the old one: {found}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where and on what a writer works. The name is what counts of cells are kept by."""

    name: str
    durability: str = "fsync"
    is_aged: bool = False


FSYNC = Place("local fsync")
AGED = Place("local fsync, aged graph", is_aged=True)
UNSYNCED = Place("local os", durability="os")


class LocalSweep:
    """The positions of one writer on local disk."""

    def __init__(self, writer: str, directory: Path, place: Place = FSYNC) -> None:
        self._directory = directory
        self._base = directory / "base"
        self.writer, self.place = writer, place
        if writer != CREATE:
            build(writer, self._base, place.is_aged)
        self.old = _before(writer, self._fresh())
        root = self._fresh()
        undisturbed = trace(self._program(root), root=root, warm=True)
        assert Ending.of(undisturbed.returncode, False, undisturbed.stdout, undisturbed.stderr).ended == DONE
        self.calls = undisturbed.calls
        seen = look(str(root))
        assert seen is not None
        self.new = seen
        check_sound(str(root), names=_names(self.writer))

    def _program(self, root: Path) -> list[str]:
        return python(PROGRAM, self.writer, root, self.place.durability)

    def _fresh(self) -> Path:
        root = self._directory / "graph"
        shutil.rmtree(root, ignore_errors=True)
        if self._base.exists():
            shutil.copytree(self._base, root)
        return root

    def strike(self, fault: FileFault) -> Ending:
        """Run the writer with a fault on a fresh copy and judge what is left."""
        root = self._fresh()
        result = run(self._program(root), root=root, fault=fault, warm=True)
        ending = Ending.of(result.returncode, result.killed, result.stdout, result.stderr)
        try:
            judge(ending, look(str(root)), self.old, self.new)
            check_sound(str(root), names=_names(self.writer))
        except Exception as error:
            error.add_note(f"{self.writer}, {fault}: {result.hit}; {ending}")
            raise
        return ending


class SessionSweep:
    """The positions of one process that writes again and again: what it was acknowledged must be there."""

    writer, place = "session", FSYNC

    def __init__(self, directory: Path) -> None:
        self._base, self._root = directory / "base", directory / "graph"
        build("insert", self._base)
        graph = open_counted(self._fresh(), era=2)
        self._states = [look(str(self._root))]
        for write in SESSION:
            write(graph)
            self._states.append(look(str(self._root)))
        self.calls = trace(python(SESSION_PROGRAM, self._fresh()), root=self._root, warm=True).calls
        assert look(str(self._root)) == self._states[-1]

    def _fresh(self) -> Path:
        shutil.rmtree(self._root, ignore_errors=True)
        shutil.copytree(self._base, self._root)
        return self._root

    def strike(self, fault: FileFault) -> Ending:
        """Kill the process and compare with the state it was acknowledged, or the one it was about to make."""
        result = run(python(SESSION_PROGRAM, self._fresh()), root=self._root, fault=fault, warm=True)
        acknowledged = len(result.stdout.splitlines())
        assert result.killed, result.stderr
        try:
            allowed = self._states[acknowledged : acknowledged + 2]
            found = look(str(self._root))
            assert found in allowed, f"{acknowledged} writes were acknowledged; found {found}"
            check_sound(str(self._root), names=("review",))
        except Exception as error:
            error.add_note(f"session, {fault}: {result.hit}; {acknowledged} acknowledged")
            raise
        return Ending(killed=True)


def _before(writer: str, root: Path) -> Seen | None:
    """What is there right before the write; what the program does to warm up is done for it."""
    if writer == CREATE:
        return None
    KILLED[writer].warm(open_counted(root, era=2))
    return look(str(root))


def _names(writer: str) -> Sequence[str]:
    return ("trial", "review", "final") if writer.startswith("branch-") else ()


S3 = Place("s3")


class S3Sweep:
    """The positions of one writer on S3."""

    def __init__(self, writer: str, directory: Path, server: Server) -> None:
        self._server = server
        self._bucket: Bucket = server.bucket()
        self.writer, self.place = writer, S3
        self._options: Options = server.storage_options()
        self._copies = 0
        if writer != CREATE:
            build(writer, directory / "base")
            self._upload(directory / "base", "base")
        self.old = _before(writer, directory / "base")
        uri = self._fresh()
        undisturbed = server.run(python(PROGRAM, writer, uri), warm=True)
        assert Ending.of(undisturbed.returncode, False, undisturbed.stdout, undisturbed.stderr).ended == DONE
        self.requests = undisturbed.requests
        seen = look(uri, self._options)
        assert seen is not None
        self.new = seen

    def _upload(self, directory: Path, prefix: str) -> None:
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                key = f"{prefix}/{path.relative_to(directory)}"
                self._bucket.client.put_object(Bucket=self._bucket.name, Key=key, Body=path.read_bytes())

    def _fresh(self) -> str:
        self._copies += 1
        name = f"graph{self._copies}"
        self._bucket.copy("base", name)
        return self._bucket.uri(name)

    def strike(self, fault: RequestFault) -> Ending:
        """Run the writer with a fault on a fresh copy and judge what is left."""
        uri = self._fresh()
        result = self._server.run(python(PROGRAM, self.writer, uri), fault=fault, warm=True)
        ending = Ending.of(result.returncode, result.killed, result.stdout, result.stderr)
        try:
            if isinstance(fault, KillAt) and not result.killed:
                # The undisturbed run may have made more requests than this one; then there was nothing to strike.
                assert len(result.requests) < fault.n, "the writer made this request and was not killed"
            judge(ending, look(uri, self._options), self.old, self.new)
            check_sound(uri, self._options, _names(self.writer))
        except Exception as error:
            error.add_note(f"{self.writer}, {fault}: {result.hit}; {ending}")
            raise
        finally:
            # The server keeps everything in memory.
            self._bucket.clear(f"graph{self._copies}/")
        return ending


def sample(writer: str, positions: int, count: int) -> Sequence[int]:
    """Some positions from 1 on, evenly spread, at other places for every writer."""
    if positions <= count:
        return range(1, positions + 1)
    shift = list(WRITERS).index(writer) + 1
    return sorted({(shift * 7 + number * positions // count) % positions + 1 for number in range(count)})


def walk(sweep: LocalSweep | SessionSweep | S3Sweep, faults: Iterable[FileFault | RequestFault]) -> list[Ending]:
    """Strike with every fault; all that went wrong is shown, not only the first."""
    endings: list[Ending] = []
    wrong: list[str] = []
    for fault in faults:
        is_right = False
        try:
            endings.append(sweep.strike(fault))  # type: ignore[arg-type] # a sweep is given faults of its own kind
            is_right = True
        except Exception as error:
            wrong.append("\n".join([f"{type(error).__name__}: {error}"[:600], *error.__notes__]))
        finally:
            CELLS.add(Cell(sweep.place.name, sweep.writer, describe(fault)), is_right)
    assert not wrong, f"{len(wrong)} of {len(wrong) + len(endings)} positions:\n\n" + "\n\n".join(wrong)
    return endings
