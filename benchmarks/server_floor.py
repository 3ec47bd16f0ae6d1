"""The cost of a point read over HTTP in parts: the web server alone, ours without its log, ours, and the call itself.

    python -m benchmarks.server_floor [--rounds 5]

The floor is uvicorn and Starlette with the settings of ``omnigraph serve`` and an application that takes the body of
the request as JSON and answers as many bytes as ours. All servers run at the same time and are measured in turns, so
that other work on the machine meets all of them; the smallest of the rounds is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.processes import processor_seconds
from benchmarks.server import Client, build, in_process, measure, serving

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


@contextmanager
def serving_floor() -> Iterator[tuple[int, Callable[[], float]]]:
    """A server of the floor; yields its port and its processor time so far."""
    command = [sys.executable, "-m", "benchmarks.server_floor", "--serve"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline()), lambda: processor_seconds(process.pid)
    finally:
        process.kill()
        process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", action="store_true")
    given = parser.parse_args()
    if given.serve:
        serve_floor()
        return
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "kb.omni"
        graph = build(path)
        servers = {
            "uvicorn and Starlette alone": stack.enter_context(serving_floor()),
            "omnigraph serve": stack.enter_context(serving(path, 0)),
        }
        for port, _ in servers.values():
            for _ in range(20):
                Client(port, OPERATION)()
        cells: dict[tuple[str, int], list[float]] = {}
        for _ in range(given.rounds):
            cells.setdefault(("the call itself", 1), []).append(in_process(graph, OPERATION).processor_ms)
            for name, (port, used) in servers.items():
                for clients in (1, 16):
                    found = measure(lambda port=port: Client(port, OPERATION), clients, used)  # type: ignore[misc]
                    cells.setdefault((name, clients), []).append(found.processor_ms)
    print("| point read | clients | processor ms |")
    print("|---|---|---|")
    for (name, clients), found in cells.items():
        print(f"| {name} | {clients} | {min(found):.3f} |")


if __name__ == "__main__":
    main()
