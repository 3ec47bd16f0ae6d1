"""Clients that are slow, vanish, lie or attack: an answer of the contract or a closed connection, and nothing else."""

import json
import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from omnigraph import Graph
from tests.features.server.conftest import STORED, small_graph
from tests.features.server.live import BASE, READ_ALL, Live, queries_of, running, serving_of

ADD = "query add($name: String) { insert Person {name: $name} }"
HEAD = f"POST {BASE}/mutate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
BODY = json.dumps({"query": ADD, "params": {"name": "hostile"}}).encode()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return small_graph(tmp_path_factory.mktemp("hostile") / "kb.omni")


@pytest.fixture(scope="module")
def live(graph: Graph) -> Iterator[Live]:
    with running(serving_of(graph, queries=queries_of(graph, *STORED))) as live:
        yield live


def raw(live: Live, *parts: bytes) -> tuple[int | None, bytes]:
    """Send bytes and read until the server closes; the status is None if it closed without an answer."""
    with live.connect() as connection:
        try:
            for part in parts:
                connection.sendall(part)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        found = bytearray()
        try:
            while part := connection.recv(65536):
                found += part
        except OSError:
            pass
    words = bytes(found[:64]).split()
    return (int(words[1]) if len(words) > 1 else None), bytes(found)


def headed(*lines: str) -> bytes:
    return (HEAD + "".join(f"{line}\r\n" for line in lines) + "\r\n").encode("latin-1")


LIES: dict[str, list[bytes]] = {
    "half a body": [headed(f"content-length: {len(BODY)}"), BODY[:20]],
    "no body": [headed(f"content-length: {len(BODY)}")],
    "longer than announced": [headed(f"content-length: {len(BODY) - 5}"), BODY],
    "negative length": [headed("content-length: -5"), BODY],
    "length that is no number": [headed("content-length: many"), BODY],
    "huge length": [headed("content-length: 99999999999999999999"), BODY],
    "two lengths": [headed(f"content-length: {len(BODY)}", "content-length: 3"), BODY],
    "length and chunks": [headed(f"content-length: {len(BODY)}", "transfer-encoding: chunked"), BODY],
    "bad chunk size": [headed("transfer-encoding: chunked"), b"zz\r\n" + BODY],
    "half a chunk": [headed("transfer-encoding: chunked"), b"fff\r\n" + BODY],
    "unknown coding": [headed("transfer-encoding: gzip"), BODY],
    "half a head": [HEAD.encode()[:30]],
    "no request": [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"],
    "zero bytes": [b"\x00" * 1000],
    "null in a header": [headed("x: a\x00b", f"content-length: {len(BODY)}"), BODY],
    "folded header": [headed("x: a\r\n b", "content-length: 3"), b"abc"],
    "ten thousand headers": [headed(*(f"x-{number}: y" for number in range(10_000)), "content-length: 2"), b"{}"],
    "header of a megabyte": [headed("x: " + "y" * 1_000_000)],
    "path of a megabyte": [b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n"],
    "old version": [f"POST {BASE}/mutate HTTP/0.9\r\n\r\n".encode()],
    "upgrade": [headed("connection: upgrade", "upgrade: websocket", "content-length: 2"), b"{}"],
}


@pytest.mark.parametrize("name", LIES)
def test_a_client_that_lies_gets_a_refusal_and_changes_nothing(live: Live, graph: Graph, name: str) -> None:
    before = graph.snapshot().commit_id
    status, answer = raw(live, *LIES[name])
    assert status is None or 400 <= status < 500, answer[:300]
    assert graph.snapshot().commit_id == before
    with live.client() as client:
        assert client.get("/healthz").status_code == 200


DEEP = "[" * 100_000 + "]" * 100_000
JSON_BODIES: dict[str, tuple[bytes, int]] = {
    "deep": (f'{{"query":"{READ_ALL}","params":{DEEP}}}'.encode(), 400),
    "deep objects": (b'{"query":"q","params":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}", 400),
    "not UTF-8": (b'{"query":"\xff\xfe"}', 400),
    "overlong UTF-8": (b'{"query":"\xc0\xaf"}', 400),
    "half of a pair": (b'{"query":"\\ud800"}', 400),
    "byte order mark": (b"\xef\xbb\xbf{}", 400),
    "nul": (b'{"query":"\\u0000"}', 400),
    "not a number": (f'{{"query":"{READ_ALL}","params":{{"x":NaN}}}}'.encode(), 400),
    "infinite": (f'{{"query":"{READ_ALL}","params":{{"x":1e400}}}}'.encode(), 200),
    "many digits": (f'{{"query":"{READ_ALL}","params":{{"x":{"9" * 5000}}}}}'.encode(), 400),
    "repeated member": (f'{{"query":"x","query":"{READ_ALL}"}}'.encode(), 422),
    "a list": (b"[]", 422),
    "nothing": (b"", 400),
}


@pytest.mark.parametrize("name", JSON_BODIES)
def test_json_that_breaks_parsers_is_answered(live: Live, name: str) -> None:
    content, expected = JSON_BODIES[name]
    with live.client() as client:
        response = client.post(f"{BASE}/query", content=content, headers={"content-type": "application/json"})
    assert response.status_code == expected, response.text[:200]


WRONG_AGES = (2**31, -(2**31) - 1, 2**63, 10**300, 1e300, 1.5, True, None, "x", [1], {"a": 1}, "")


@pytest.mark.parametrize("value", WRONG_AGES, ids=lambda value: repr(value)[:12])
def test_a_parameter_that_does_not_fit_is_refused(live: Live, graph: Graph, value: Any) -> None:
    before = graph.snapshot().commit_id
    text = "query add($name: String, $age: I32) { insert Person {name: $name, age: $age} }"
    with live.client() as client:
        response = client.post(f"{BASE}/mutate", json={"query": text, "params": {"name": "big", "age": value}})
    assert (response.status_code, response.json()["code"]) == (400, "bad_request")
    assert graph.snapshot().commit_id == before


@pytest.mark.long
def test_a_client_that_stops_sending_is_cut_off_after_half_a_minute(live: Live) -> None:
    with live.connect() as connection:
        connection.sendall(headed(f"content-length: {len(BODY)}") + BODY[:10])
        answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 408 ")
        while connection.recv(65536):
            pass


def test_clients_that_vanish_leave_no_file_handle_behind(live: Live) -> None:
    def handles() -> int:
        return len(os.listdir("/proc/self/fd"))

    def vanish(count: int) -> None:
        for number in range(count):
            with live.connect() as connection:
                connection.sendall(headed(f"content-length: {len(BODY)}") + BODY[: number % len(BODY)])

    with live.client() as client:
        vanish(20)
        client.get("/healthz")
        before = handles()
        vanish(200)
        for _ in range(200):
            client.get("/healthz")
            if handles() <= before + 5:
                return
    raise AssertionError(f"{handles()} handles, before {before}")


class Canary:
    """A server that counts requests, and files that must not be read or written."""

    def __init__(self, folder: Path) -> None:
        canary = self
        self.hits: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                canary.hits.append(self.path)
                self.send_error(404)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self.folder = folder
        self.secret = "the-content-of-a-secret-file"
        self.file = folder / "secret.jsonl"
        self.file.write_text(json.dumps({"type": "Person", "data": {"name": self.secret}}))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canary]:
    canary = Canary(tmp_path_factory.mktemp("canary"))
    yield canary
    canary.close()


def payloads(canary: Canary) -> list[str]:
    """Texts that mean something to a shell, a file system, SQL, a filter, a template, or a client of HTTP."""
    file, made = canary.file, canary.folder / "made"
    return [
        str(file),
        f"file://{file}",
        f"../../../../..{file}",
        f"..%2f..%2f..%2f..{file}",
        f"....//....//{file}",
        f"{file}\x00.omni",
        canary.address,
        f"{canary.address}/data.csv",
        f"s3://bucket/key?endpoint={canary.address}",
        "http://169.254.169.254/latest/meta-data",
        f"' UNION SELECT * FROM read_text('{file}') --",
        f"'; COPY (SELECT 1) TO '{made}'; --",
        f"\"); ATTACH '{made}'; --",
        "x' OR '1'='1",
        "name = 'ann' OR true",
        f"${{jndi:ldap://{canary.address}}}",
        "{{7*7}}",
        f"$(touch {made})",
        f"`touch {made}`",
        f"| touch {made}",
        "__import__('os').system('id')",
        "a\r\nset-cookie: owned=1",
        "%0d%0aset-cookie:%20owned=1",
        "\u202e\u0000\u2028",
        "\ufffe",
        ".",
        "..",
        "/",
        "CON",
        "~root",
        "-rf",
        "x" * 5_000,
    ]


LITERAL = "query q() { match { $p: Person {name: $text} } return { $p.name } }"
POSITIONS = {
    "branch of a query": lambda text: ("POST", f"{BASE}/query", {"json": {"query": READ_ALL, "branch": text}}),
    "commit of a query": lambda text: ("POST", f"{BASE}/query", {"json": {"query": READ_ALL, "snapshot": text}}),
    "text of a query": lambda text: ("POST", f"{BASE}/query", {"json": {"query": text}}),
    "name of a query": lambda text: ("POST", f"{BASE}/query", {"json": {"query": READ_ALL, "name": text}}),
    "parameter": lambda text: ("POST", f"{BASE}/query", {"json": {"query": STORED[1], "params": {"name": text}}}),
    "literal": lambda text: ("POST", f"{BASE}/query", {"json": {"query": LITERAL.replace("$text", json.dumps(text))}}),
    "stored query": lambda text: ("POST", f"{BASE}/queries/" + quoted(text), {}),
    "graph": lambda text: ("GET", "/graphs/" + quoted(text) + "/snapshot", {}),
    "commit": lambda text: ("GET", f"{BASE}/commits/" + quoted(text), {}),
    "changes of a commit": lambda text: ("GET", f"{BASE}/commits/" + quoted(text) + "/changes", {}),
    "branch to delete": lambda text: ("DELETE", f"{BASE}/branches/" + quoted(text), {}),
    "source of a branch": lambda text: ("POST", f"{BASE}/branches", {"json": {"name": "new", "from": text}}),
    "merge": lambda text: ("POST", f"{BASE}/branches/merge", {"json": {"source": text, "target": "dev"}}),
    "data of a load": lambda text: ("POST", f"{BASE}/load", {"json": {"data": text, "branch": "dev"}}),
    "lines of a load": lambda text: (
        "POST",
        f"{BASE}/load/ndjson",
        {"content": text.encode(), "headers": {"content-type": "application/x-ndjson"}, "params": {"branch": "dev"}},
    ),
    "types of an export": lambda text: ("POST", f"{BASE}/export", {"json": {"type_names": [text]}}),
    "cursor": lambda text: ("GET", f"{BASE}/changes", {"params": {"cursor": text}}),
    "start": lambda text: ("GET", f"{BASE}/changes", {"params": {"start": f"after:{text}"}}),
    "type of a blob": lambda text: blob(type=text),
    "id of a blob": lambda text: blob(id=text),
    "property of a blob": lambda text: blob(property=text),
    "schema": lambda text: ("POST", f"{BASE}/schema/apply", {"json": {"schema_source": text}}),
    "idempotency key": lambda text: (
        "POST",
        f"{BASE}/mutate",
        {
            "json": {"query": "query q() { delete Person where name = \"none\" }", "branch": "dev"},
            "headers": {"idempotency-key": text.encode("unicode_escape").decode()},
        },
    ),
}  # fmt: skip


def quoted(text: str) -> str:
    return quote(text, safe="%")


def blob(**changed: str) -> tuple[str, str, dict[str, Any]]:
    known = {"entity": "node", "type": "Person", "id": "ann", "property": "photo"}
    return "GET", f"{BASE}/blob", {"params": {**known, **changed}}


@pytest.mark.parametrize("position", POSITIONS)
def test_no_text_of_a_client_reaches_a_file_an_address_or_a_language(
    live: Live, graph: Graph, canary: Canary, position: str
) -> None:
    before = sorted(os.listdir(canary.folder))
    people = graph.query("query q() { match { $p: Person } return { count($p) as n } }").rows
    with live.client() as client:
        for text in payloads(canary):
            method, path, options = POSITIONS[position](text)
            response: httpx2.Response = client.request(method, path, **options)
            assert response.status_code < 500, (text[:80], response.text[:300])
            assert "set-cookie" not in response.headers
            assert canary.secret not in response.text
            assert "Traceback" not in response.text
    assert canary.hits == []
    assert sorted(os.listdir(canary.folder)) == before
    assert graph.query("query q() { match { $p: Person } return { count($p) as n } }").rows == people


SPOOFED = ("x-actor", "x-actor-id", "x-forwarded-user", "x-remote-user", "omnigraph-actor", "x-user", "remote-user")


def test_the_actor_comes_from_the_token_alone(graph: Graph) -> None:
    with running(serving_of(graph, tokens={"ann": "t"})) as live, live.client("t") as client:
        headers = dict.fromkeys(SPOOFED, "mallory")
        body = {"query": ADD, "params": {"name": "by ann"}, "branch": "dev", "actor": "mallory", "actor_id": "mallory"}
        response = client.post(f"{BASE}/mutate", json=body, headers=headers, params={"actor": "mallory"})
        assert response.json()["actor_id"] == "ann"
        assert "mallory" not in response.text


def test_no_origin_may_call_the_server_from_a_browser(live: Live) -> None:
    with live.client() as client:
        asked = {"origin": "https://evil.example", "access-control-request-method": "POST"}
        assert client.options(f"{BASE}/query", headers=asked).status_code == 405
        response = client.post(f"{BASE}/query", json={"query": READ_ALL}, headers={"origin": "https://evil.example"})
        assert not [name for name in response.headers if name.startswith("access-control")]
