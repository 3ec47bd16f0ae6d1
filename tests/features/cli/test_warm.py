"""A command in the warm process is the command: output, exit code, signals, environment, directory, terminal."""

import os
import pty
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import omnigraph
from omnigraph.cli.root import COMMANDS
from omnigraph.cli.start.warm_place import (
    COLD,
    LENGTH_BYTES,
    SINGLE_THREADED,
    Request,
    directory,
    identity,
    read_request,
    socket_path,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the warm process needs Linux")

NOT_WARM = 99
WARM_ONLY = (
    "import os, sys\n"
    "from omnigraph.cli.start.warm_client import run_warm\n"
    f"status = run_warm(['omnigraph', *sys.argv[1:]])\nos._exit({NOT_WARM} if status is None else status)"
)
USUAL = "import sys\nfrom omnigraph.cli.main import program\nsys.argv[0] = 'omnigraph'\nprogram()"
SCHEMA = "node Person {\n    key: String @key\n}\n"
PEOPLE = "query people() { match { $p: Person } return { $p.key } }"
PIPE_BYTES = 1 << 16


class Warm:
    """A warm process of this test, and commands with its environment."""

    def __init__(self, runtime: Path, home: Path) -> None:
        runtime.mkdir(mode=0o700)
        self.home = home
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in SINGLE_THREADED},
            "XDG_RUNTIME_DIR": str(runtime),
            "LC_ALL": "C.UTF-8",
        }
        self.runtime = runtime
        command = [sys.executable, "-P", "-m", "omnigraph.cli.start.warm_process"]
        self.process = subprocess.Popen(
            command, env={**self.environment, **SINGLE_THREADED}, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    @property
    def path(self) -> Path:
        [found] = (self.runtime / "omnigraph").iterdir()
        return found

    def command(self, *words: str, program: str = WARM_ONLY) -> list[str]:
        return [sys.executable, "-c", program, *words]

    def run(
        self, *words: str, program: str = WARM_ONLY, cwd: Path | None = None, stdin: str = "", **environment: str
    ) -> tuple[int, str, str]:
        ended = subprocess.run(
            self.command(*words, program=program),
            env={**self.environment, **environment},
            cwd=cwd or self.home,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout, ended.stderr

    def start_reading(self) -> subprocess.Popen[bytes]:
        """A command that reads standard input and has begun to; its input stays open."""
        started = subprocess.Popen(
            # Programs that run in the background are started with it ignored, and hand that on.
            ["env", "--default-signal=INT", *self.command("query", "--store", "graph", "--query", "/dev/stdin")],
            env=self.environment,
            cwd=self.home,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert started.stdin is not None
        # More than a pipe holds: the call returns once the command reads.
        os.write(started.stdin.fileno(), b"/" * (2 * PIPE_BYTES))
        return started

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("warm")
    graph = omnigraph.create(found / "graph", SCHEMA)
    graph.mutate('query add() { insert Person { key: "ann" } }')
    return found


@pytest.fixture(scope="module")
def warm(home: Path) -> Iterator[Warm]:
    started = Warm(home / "run", home)
    yield started
    started.end()


@pytest.mark.parametrize(
    "words",
    [
        ["query", "--store", "graph", "-e", PEOPLE],
        ["query", "--store", "graph", "-e", PEOPLE, "--json"],
        ["query", "--store", "graph", "-e", "query people() { mtch }"],
        ["query", "--store", "nothing", "-e", PEOPLE],
        ["query", "--nonsense"],
    ],
    ids=["rows", "json", "compile-error", "no-graph", "usage"],
)
def test_output_errors_and_exit_code_are_those_of_an_ordinary_run(warm: Warm, words: list[str]) -> None:
    found = warm.run(*words)
    assert found[0] != NOT_WARM
    assert found == warm.run(*words, program=USUAL)


def test_the_environment_the_directory_and_the_input_of_the_caller_are_used(warm: Warm, tmp_path: Path) -> None:
    omnigraph.create(tmp_path / "other", SCHEMA)
    by_variable = warm.run("query", "-e", PEOPLE, "--json", OMNIGRAPH_STORE=str(warm.home / "graph"))
    by_directory = warm.run("query", "--store", "other", "-e", PEOPLE, "--json", cwd=tmp_path)
    by_input = warm.run("query", "--store", "graph", "--query", "/dev/stdin", "--json", stdin=PEOPLE)
    assert (by_variable[0], by_directory[0], by_input[0]) == (0, 0, 0)
    assert by_variable[1] == by_input[1]
    assert "ann" in by_variable[1]
    assert "ann" not in by_directory[1]


def test_a_write_is_committed_and_later_commands_see_it(warm: Warm) -> None:
    status, _, errors = warm.run("mutate", "--store", "graph", "-e", 'query add() { insert Person { key: "bob" } }')
    assert status == 0, errors
    assert "bob" in warm.run("query", "--store", "graph", "-e", PEOPLE)[1]


def test_a_terminal_is_a_terminal(warm: Warm) -> None:
    def shown(program: str) -> bytes:
        ours, theirs = pty.openpty()
        words = warm.command("query", "--store", "graph", "-e", PEOPLE, program=program)
        subprocess.run(
            words, env=warm.environment, cwd=warm.home, stdin=theirs, stdout=theirs, stderr=theirs, check=True
        )
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 4096):
                parts.append(part)
        except OSError:
            pass  # how Linux reports that the other side is closed
        os.close(ours)
        return b"".join(parts)

    found = shown(WARM_ONLY)
    assert b"ann" in found
    assert found == shown(USUAL)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_signals_reach_the_command_and_its_end_is_that_of_the_caller(warm: Warm, number: int, status: int) -> None:
    started = warm.start_reading()
    started.send_signal(number)
    started.communicate()
    assert started.returncode == status


def test_killing_the_caller_ends_the_work(warm: Warm) -> None:
    started = warm.start_reading()
    assert started.stdin is not None
    started.kill()
    started.wait()
    waiting = select.poll()
    waiting.register(started.stdin.fileno(), 0)
    # Reported once no process has the other end of the pipe open.
    assert waiting.poll(60_000) == [(started.stdin.fileno(), select.POLLERR)]
    started.stdin.close()
    assert started.stderr is not None
    started.stderr.close()


def test_commands_in_parallel_do_not_wait_for_each_other(warm: Warm) -> None:
    first = warm.start_reading()
    assert warm.run("query", "--store", "graph", "-e", PEOPLE)[0] == 0
    assert first.poll() is None
    first.kill()
    first.communicate()


def test_other_variables_of_libraries_and_cold_commands_are_not_for_the_warm_process(warm: Warm) -> None:
    other = {**warm.environment, "LANG": "other"}
    own = identity({os.fsencode(name): os.fsencode(value) for name, value in other.items()})
    mark = Path(socket_path(str(warm.runtime / "omnigraph"), own) + ".start")
    # The command finds that another one is starting a warm process, and starts none.
    mark.touch()
    assert warm.run("version", LANG="other")[0] == NOT_WARM
    assert warm.run("shell", "--help")[0] == NOT_WARM
    mark.unlink()


def test_a_request_of_another_version_is_not_accepted(warm: Warm) -> None:
    request = Request(b"another version", 0o022, (), (b"omnigraph", b"version"), {}).to_bytes()
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(str(warm.path))
        files = [os.open(os.devnull, os.O_RDONLY) for _ in range(4)]
        socket.send_fds(channel, [len(request).to_bytes(LENGTH_BYTES, "big")], files)
        for file in files:
            os.close(file)
        channel.sendall(request)
        assert channel.recv(16) == b""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_reaches_neither_the_socket_nor_its_directory(warm: Warm) -> None:
    program = f"import socket\nsocket.socket(socket.AF_UNIX).connect({str(warm.path)!r})"
    refused = subprocess.run(
        ["/usr/bin/env", "python3", "-c", program], user=65534, capture_output=True, text=True, check=False
    )
    assert "PermissionError" in refused.stderr


def test_a_directory_that_others_can_enter_or_have_made_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    place = tmp_path / "omnigraph"
    assert directory() == str(place)
    place.chmod(0o755)
    assert directory() is None
    place.rename(tmp_path / "another")
    (tmp_path / "another").chmod(0o700)
    place.symlink_to(tmp_path / "another")
    assert directory() is None


def test_a_warm_process_that_is_killed_takes_its_command_along_and_the_next_one_runs_as_usual(
    home: Path, tmp_path: Path
) -> None:
    short = Warm(tmp_path / "run", home)
    started = short.start_reading()
    short.end()
    _, errors = started.communicate()
    assert started.returncode == 1
    assert errors.count(b"the warm process ended") == 1
    # The socket is still there, and nothing listens: the mark of a start keeps the command from starting another.
    short.path.with_name(f"{short.path.name}.start").touch()
    words = ("query", "--store", "graph", "-e", PEOPLE)
    assert short.run(*words)[0] == NOT_WARM
    assert short.run(*words, program=USUAL, OMNIGRAPH_WARM="1")[0] == 0


def test_a_request_is_read_as_it_was_written() -> None:
    request = Request(b"me", 0o077, (1, 2), (b"omnigraph", b"", b"\xff"), {b"EMPTY": b"", b"A": b"x=y\n"})
    assert read_request(request.to_bytes()) == request
    with pytest.raises(ValueError, match="not enough values"):
        read_request(b"me")


def test_the_identity_has_the_variables_that_libraries_read_and_no_others() -> None:
    base = identity({b"LANG": b"C"})
    assert identity({b"LANG": b"C", b"OMNIGRAPH_STORE": b"x"}) == base
    assert identity({b"LANG": b"de_DE.UTF-8"}) != base
    assert socket_path("/run", base) != socket_path("/run", identity({}))


def test_cold_commands_exist() -> None:
    assert set(COMMANDS) >= COLD
