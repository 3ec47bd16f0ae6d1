"""The server as a process: what it prints, what signals do, and that a stop lets requests finish."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO

import httpx2
import pytest

from omnigraph import Graph
from tests.features.server.kills import reader_pids
from tests.features.server.live import READ_ALL


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("queries")
    (folder / "first.gq").write_text(READ_ALL)
    return folder


@pytest.fixture
def server(graph: Graph, queries: Path) -> Iterator[subprocess.Popen[str]]:
    program = "import sys; from omnigraph.cli.main import server; sys.exit(server())"
    command = [sys.executable, "-c", program, f"kb={graph.uri}", "--bind", "127.0.0.1:0", "--queries", str(queries)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMNIGRAPH_")}
    command += ["--readers", "1", "--metrics-bind", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    yield process
    process.kill()
    process.communicate()


class Lines:
    """The lines of a stream as they come, without waiting for ever."""

    def __init__(self, stream: IO[str]) -> None:
        self._lines: Queue[str] = Queue()
        Thread(target=lambda: [self._lines.put(line) for line in stream], daemon=True).start()
        self.seen = ""

    def find(self, pattern: str) -> str:
        """The next line that matches, or the part of it in parentheses."""
        while True:
            line = self._lines.get(timeout=60)
            self.seen += line
            if found := re.search(pattern, line):
                return found[1] if found.groups() else line


def test_the_address_is_printed_queries_are_reloaded_and_a_stop_is_graceful(
    server: subprocess.Popen[str], queries: Path
) -> None:
    assert server.stdout is not None
    found = re.fullmatch(r"OMNIGRAPH_LISTEN_ADDR=(127\.0\.0\.1:\d+)\n", server.stdout.readline())
    assert found is not None
    assert server.stderr is not None
    log = Lines(server.stderr)
    metrics = log.find(r"metrics on (http://\S+)")
    token = log.find(r"^token: (\S+)")
    base = f"http://{found[1]}/graphs/kb"
    with httpx2.Client(headers={"authorization": f"Bearer {token}"}, verify=False, timeout=60) as client:
        assert client.post(f"{base}/queries/everyone").json()["row_count"] == 3
        assert client.get(f"http://{found[1]}/graphs").status_code == 200, "the owner may do everything"
        (queries / "second.gq").write_text(READ_ALL.replace("everyone", "again"))
        server.send_signal(signal.SIGHUP)
        log.find("reloaded: 1 graph")
        assert client.post(f"{base}/queries/again").json()["row_count"] == 3, "the token is still the same"
        (queries / "third.gq").write_text("query broken(")
        server.send_signal(signal.SIGHUP)
        log.find("nothing was reloaded: ")
        assert client.post(f"{base}/queries/again").status_code == 200
        assert httpx2.get(metrics, verify=False).text.count("omnigraph_readers 1.0") == 1
        log.find(r"method=POST route=/graphs/\{graph_id\}/queries/\{name\} graph=kb status=200")
    readers = reader_pids(server.pid)
    server.send_signal(signal.SIGTERM)
    assert (server.wait(timeout=60), server.stdout.read()) == (0, "")
    assert log.seen.count(token) == 1, "tokens are not logged"
    assert len(readers) == 1
    assert not os.path.exists(f"/proc/{readers[0]}"), "no reader is left behind"
    (queries / "third.gq").unlink()
