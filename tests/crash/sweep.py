"""Running one writer with one fault, and judging the graph it leaves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.crash.observe import Options, Seen, check_sound, look
from tests.crash.writers import CREATE, WRITERS, build, open_counted
from tests.faults import python, run, trace
from tests.faults.fault import FileFault, RequestFault
from tests.faults.s3 import Bucket, Server

PROGRAM = Path(__file__).with_name("write_once.py")

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


class LocalSweep:
    """The positions of one writer on local disk."""

    def __init__(self, writer: str, directory: Path) -> None:
        self._directory = directory
        self._base = directory / "base"
        self._writer = writer
        if writer != CREATE:
            build(writer, self._base)
        self.old = _before(writer, self._fresh())
        root = self._fresh()
        undisturbed = trace(python(PROGRAM, writer, root), root=root)
        assert Ending.of(undisturbed.returncode, False, undisturbed.stdout, undisturbed.stderr).ended == DONE
        self.calls = undisturbed.calls
        seen = look(str(root))
        assert seen is not None
        self.new = seen
        check_sound(str(root), names=_names(self._writer))

    def _fresh(self) -> Path:
        root = self._directory / "graph"
        shutil.rmtree(root, ignore_errors=True)
        if self._base.exists():
            shutil.copytree(self._base, root)
        return root

    def strike(self, fault: FileFault) -> Ending:
        """Run the writer with a fault on a fresh copy and judge what is left."""
        root = self._fresh()
        result = run(python(PROGRAM, self._writer, root), root=root, fault=fault)
        ending = Ending.of(result.returncode, result.killed, result.stdout, result.stderr)
        try:
            judge(ending, look(str(root)), self.old, self.new)
            check_sound(str(root), names=_names(self._writer))
        except Exception as error:
            error.add_note(f"{self._writer}, {fault}: {result.hit}; {ending}")
            raise
        return ending


def _before(writer: str, root: Path) -> Seen | None:
    """What is there right before the write; what the program does to warm up is done for it."""
    if writer == CREATE:
        return None
    WRITERS[writer].warm(open_counted(root, era=2))
    return look(str(root))


def _names(writer: str) -> Sequence[str]:
    return ("trial", "review", "final") if writer.startswith("branch-") else ()


class S3Sweep:
    """The positions of one writer on S3."""

    def __init__(self, writer: str, directory: Path, server: Server) -> None:
        self._server = server
        self._bucket: Bucket = server.bucket()
        self._writer = writer
        self._options: Options = server.storage_options()
        self._copies = 0
        if writer != CREATE:
            build(writer, directory / "base")
            self._upload(directory / "base", "base")
        self.old = _before(writer, directory / "base")
        uri = self._fresh()
        undisturbed = server.run(python(PROGRAM, writer, uri))
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
        result = self._server.run(python(PROGRAM, self._writer, uri), fault=fault)
        ending = Ending.of(result.returncode, result.killed, result.stdout, result.stderr)
        try:
            judge(ending, look(uri, self._options), self.old, self.new)
            check_sound(uri, self._options, _names(self._writer))
        except Exception as error:
            error.add_note(f"{self._writer}, {fault}: {result.hit}; {ending}")
            raise
        return ending


def sample(writer: str, positions: int, count: int) -> Sequence[int]:
    """Some positions from 1 on, evenly spread, at other places for every writer."""
    if positions <= count:
        return range(1, positions + 1)
    shift = list(WRITERS).index(writer) + 1
    return sorted({(shift * 7 + number * positions // count) % positions + 1 for number in range(count)})


def walk(sweep: LocalSweep | S3Sweep, faults: Iterable[FileFault | RequestFault]) -> list[Ending]:
    """Strike with every fault; all that went wrong is shown, not only the first."""
    endings: list[Ending] = []
    wrong: list[str] = []
    for fault in faults:
        try:
            endings.append(sweep.strike(fault))  # type: ignore[arg-type] # a sweep is given faults of its own kind
        except Exception as error:
            wrong.append("\n".join([f"{type(error).__name__}: {error}"[:600], *error.__notes__]))
    assert not wrong, f"{len(wrong)} of {len(wrong) + len(endings)} positions:\n\n" + "\n\n".join(wrong)
    return endings
