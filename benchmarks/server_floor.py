"""The cost of a point read over HTTP in parts: the web server alone, ours without its log, ours, and the call itself.

    python -m benchmarks.server_floor [--rounds 10] [--requests 500]

The floor is uvicorn and Starlette with the settings of ``omnigraph serve`` and an application that takes the body of
the request as JSON and answers as many bytes as ours. All servers run at the same time and are measured in turns, so
that other work on the machine meets all of them alike.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.server import QUERIES, Client, build, params
from omnigraph import Graph
from omnigraph.wire.http.read_output import read_output_chunks

OPERATION = "point read"
ANSWER = (
    b'{"query_name":"q","target":{"branch":"main","snapshot":null},"row_count":1,"columns":["p.name","p.age"],'
    b'"rows":[{"p.name":"p7919","p.age":89}],"graph_commit_id":"01M7R6EVD495MQ0XYJA9PMF91C"}'
)


async def floor(scope: Any, receive: Any, send: Any) -> None:
    """The smallest application that does the same on the wire."""
    from starlette.requests import Request
    from starlette.responses import Response

    assert json.loads(await Request(scope, receive).body())["query"]
    await Response(ANSWER, media_type="application/json")(scope, receive, send)


def serve_floor() -> None:
    """Serve ``floor`` on a free port, and print the port."""
    import uvicorn

    listener = socket.socket()
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.bind(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(floor, log_config=None, access_log=False, server_header=False, lifespan="off")
    uvicorn.Server(config).run([listener])


def on_processor_ns(process: int) -> int:
    """Time that the threads of a process have run, from the scheduler: exact, where ticks count hundredths."""
    times = (path.read_text().split()[0] for path in Path(f"/proc/{process}/task").glob("*/schedstat"))
    return sum(map(int, times))


@contextmanager
def started(arguments: list[str]) -> Iterator[tuple[int, int]]:
    """A server process; yields its id and its port."""
    command = [sys.executable, "-m", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"(\d+)$", process.stdout.readline())
        assert found is not None
        yield process.pid, int(found[1])
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--serve", action="store_true")
    given = parser.parse_args()
    if given.serve:
        serve_floor()
        return
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "kb.omni"
        graph = build(path)
        serve = ["omnigraph", "serve", f"kb={path}", "--bind", "127.0.0.1:0", "--unauthenticated", "--readers", "0"]
        servers = {"uvicorn and Starlette alone": ["benchmarks.server_floor", "--serve"], "omnigraph serve": serve}
        running = {name: stack.enter_context(started(arguments)) for name, arguments in servers.items()}
        calls: dict[str, tuple[int, Callable[[], object]]] = {"the call itself": (os.getpid(), call_of(graph))}
        calls |= {name: (process, Client(port, OPERATION)) for name, (process, port) in running.items()}
        cells: dict[str, list[float]] = {name: [] for name in calls}
        for number in range(given.rounds + 1):
            for name, (process, call) in calls.items():
                before = on_processor_ns(process)
                for _ in range(given.requests):
                    call()
                # The first round brings everything into memory.
                cells[name] += [(on_processor_ns(process) - before) / given.requests / 1e6] * bool(number)
    print("| point read | processor ms: median | lowest |")
    print("|---|---|---|")
    for name, found in cells.items():
        print(f"| {name} | {statistics.median(found):.3f} | {min(found):.3f} |")


def call_of(graph: Graph) -> Callable[[], object]:
    """The same call in process, with the JSON of its answer."""

    def call() -> bytes:
        result = graph.query(QUERIES[OPERATION], params(OPERATION))
        return b"".join(read_output_chunks(result, branch="main", snapshot=None, with_commit=True))

    return call


if __name__ == "__main__":
    main()
