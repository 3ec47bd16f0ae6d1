"""The loopback S3 counts what Lance really sends, and each fault does to a request what its name says."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, RemoteDisconnected
from pathlib import Path
from typing import Any

import boto3
import lance
import pyarrow as pa
import pytest
from botocore.exceptions import ClientError
from lance.commit import CommitConflictError

from tests.support.faults.child import python
from tests.support.faults.fault import DelayAt, DropAt, KillAt, RespondAt
from tests.support.faults.request_log import Kind, Request, classify
from tests.support.faults.s3 import Bucket, S3Error, Server

pytestmark = pytest.mark.s3

APPEND = """
import sys
import lance, pyarrow as pa
from tests.support.faults.window import armed

dataset = lance.dataset(sys.argv[1])
with armed():
    lance.write_dataset(pa.table({"a": [3]}), dataset, mode="append")
"""

# What one Lance append sends. The list looks for commits made meanwhile.
APPEND_STEPS = [
    ("PUT", "data"),
    ("LIST", ""),
    ("PUT", "_transactions"),
    ("PUT", "_versions"),
]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "append.py"
    path.write_text(APPEND)
    return path


@pytest.fixture
def client(s3_server: Server) -> Iterator[Any]:
    """boto3 through the counting proxy."""
    client = boto3.client("s3", **s3_server.boto3_options())
    yield client
    client.close()


def create(server: Server, bucket: Bucket, path: str) -> lance.LanceDataset:
    return lance.write_dataset(pa.table({"a": [1, 2]}), bucket.uri(path), storage_options=server.storage_options())


def rows(server: Server, bucket: Bucket, path: str) -> list[int]:
    dataset = lance.dataset(bucket.uri(path), storage_options=server.storage_options())
    return sorted(dataset.to_table()["a"].to_pylist())


def steps(requests: tuple[Request, ...]) -> list[tuple[str, str]]:
    return [(request.kind.value, os.path.basename(os.path.dirname(request.key))) for request in requests]


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("PUT", "/b/k", (Kind.PUT, "b", "k", "")),
        ("PUT", "/b/k?partNumber=1&uploadId=u", (Kind.PUT, "b", "k", "partNumber=1&uploadId=u")),
        ("GET", "/b/a%20b/c", (Kind.GET, "b", "a b/c", "")),
        ("HEAD", "/b/k", (Kind.HEAD, "b", "k", "")),
        ("GET", "/b?list-type=2&prefix=x%2F", (Kind.LIST, "b", "", "list-type=2&prefix=x%2F")),
        ("GET", "/b/?list-type=2", (Kind.LIST, "b", "", "list-type=2")),
        ("DELETE", "/b/k", (Kind.DELETE, "b", "k", "")),
        ("POST", "/b?delete", (Kind.DELETE, "b", "", "delete")),
        ("POST", "/b/k?uploads", (Kind.POST, "b", "k", "uploads")),
        ("POST", "/b/k?uploadId=u", (Kind.POST, "b", "k", "uploadId=u")),
    ],
)
def test_requests_are_told_apart_as_a_price_list_does(
    method: str, target: str, expected: tuple[Kind, str, str, str]
) -> None:
    assert classify(method, target) == expected


def test_an_append_is_three_puts_and_a_list(s3_server: Server, s3_bucket: Bucket) -> None:
    dataset = create(s3_server, s3_bucket, "d")
    with s3_server.proxy.recording() as log:
        lance.write_dataset(pa.table({"a": [3]}), dataset, mode="append")
    assert steps(log.requests()) == APPEND_STEPS
    assert log.counts() == {"PUT": 3, "LIST": 1}
    assert log.requests()[-1].precondition == "if-none-match: *"
    assert all(request.status == 200 for request in log.requests())


def test_a_detached_commit_is_three_puts_and_nothing_else(s3_server: Server, s3_bucket: Bucket) -> None:
    dataset = create(s3_server, s3_bucket, "d")
    with s3_server.proxy.recording() as log:
        fragments = lance.fragment.write_fragments(pa.table({"a": [3]}), dataset)
        lance.LanceDataset.commit(
            dataset, lance.LanceOperation.Append(fragments), read_version=dataset.version, detached=True
        )
    assert log.counts() == {"PUT": 3}
    assert rows(s3_server, s3_bucket, "d") == [1, 2]


def test_a_lost_race_for_a_manifest_is_a_412_and_a_typed_conflict(s3_server: Server, s3_bucket: Bucket) -> None:
    first = create(s3_server, s3_bucket, "d")
    second = lance.dataset(s3_bucket.uri("d"), storage_options=s3_server.storage_options())
    fragments = lance.fragment.write_fragments(pa.table({"a": [9]}), first)
    overwrite = lance.LanceOperation.Overwrite(first.schema, fragments)
    lance.LanceDataset.commit(first, overwrite, read_version=1, max_retries=0)
    with s3_server.proxy.recording() as log, pytest.raises(CommitConflictError):
        lance.LanceDataset.commit(second, overwrite, read_version=1, max_retries=0)
    # Then it reads what the winner wrote, and removes its own transaction file.
    puts = [request for request in log.requests() if request.kind == Kind.PUT]
    assert steps(tuple(puts)) == [("PUT", "_transactions"), ("PUT", "_versions")]
    assert [request.status for request in puts] == [200, 412]
    assert rows(s3_server, s3_bucket, "d") == [9]


def test_create_if_absent_is_refused_the_second_time(s3_server: Server, s3_bucket: Bucket, client: Any) -> None:
    client.put_object(Bucket=s3_bucket.name, Key="k", Body=b"1", IfNoneMatch="*")
    with pytest.raises(ClientError) as raised:
        client.put_object(Bucket=s3_bucket.name, Key="k", Body=b"2", IfNoneMatch="*")
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412
    assert [request.status for request in s3_server.proxy.requests()] == [200, 412]
    assert client.get_object(Bucket=s3_bucket.name, Key="k")["Body"].read() == b"1"


def test_create_if_absent_has_one_winner_among_many(s3_bucket: Bucket, client: Any) -> None:
    def attempt(number: int) -> int:
        place = {"Bucket": s3_bucket.name, "Key": f"k{number // 8}"}
        try:
            answer = client.put_object(**place, Body=b"%d" % number, IfNoneMatch="*")
        except ClientError as error:
            answer = error.response
        return int(answer["ResponseMetadata"]["HTTPStatusCode"])

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(attempt, range(160)))
    rounds = [sorted(statuses[start : start + 8]) for start in range(0, 160, 8)]
    assert rounds == [[200] + [412] * 7] * 20


def test_a_store_that_ignores_preconditions_lets_everybody_win(
    s3_server: Server, s3_bucket: Bucket, client: Any
) -> None:
    with s3_server.proxy.ignoring_preconditions():
        for body in (b"1", b"2"):
            client.put_object(Bucket=s3_bucket.name, Key="k", Body=body, IfNoneMatch="*")
    assert [request.precondition for request in s3_server.proxy.requests()] == ["If-None-Match: *"] * 2
    with pytest.raises(ClientError):
        client.put_object(Bucket=s3_bucket.name, Key="k", Body=b"3", IfNoneMatch="*")


@pytest.mark.parametrize("after", [False, True])
def test_a_kill_at_any_request_leaves_exactly_the_requests_before_it(
    s3_server: Server, s3_bucket: Bucket, script: Path, after: bool
) -> None:
    create(s3_server, s3_bucket, "base")
    stored = len(s3_bucket.keys("base/"))
    for n in range(1, len(APPEND_STEPS) + 1):
        s3_bucket.copy("base", f"run{n}")
        found = s3_server.run(python(script, s3_bucket.uri(f"run{n}")), fault=KillAt(n, after))
        assert found.killed, found.stderr
        assert steps(found.requests) == APPEND_STEPS[:n]
        assert found.hit == found.requests[-1]
        assert found.requests[-1].status == (200 if after else None)
        done = APPEND_STEPS[: n if after else n - 1]
        assert len(s3_bucket.keys(f"run{n}/")) == stored + sum(kind == "PUT" for kind, _ in done)
        published = ("PUT", "_versions") in done
        assert rows(s3_server, s3_bucket, f"run{n}") == ([1, 2, 3] if published else [1, 2])


def test_a_program_is_counted_apart_from_everybody_else(s3_server: Server, s3_bucket: Bucket, script: Path) -> None:
    create(s3_server, s3_bucket, "d")
    s3_server.proxy.reset()
    found = s3_server.run(python(script, s3_bucket.uri("d")))
    assert found.returncode == 0, found.stderr
    assert steps(found.requests) == APPEND_STEPS
    assert found.hit is None
    assert s3_server.proxy.requests() == ()


def test_a_program_that_never_arms_is_a_mistake(s3_server: Server) -> None:
    with pytest.raises(S3Error, match="never armed"):
        s3_server.run([sys.executable, "-S", "-c", ""])


def test_a_program_that_does_not_end_is_killed(s3_server: Server) -> None:
    argv = [sys.executable, "-S", "-c", "import os; print(os.getpid(), flush=True); os.read(os.pipe()[0], 1)"]
    with pytest.raises(S3Error, match="did not end within") as raised:
        s3_server.run(argv, timeout_s=0.5)
    with pytest.raises(ProcessLookupError):
        os.kill(int(str(raised.value).splitlines()[1]), 0)


@pytest.mark.parametrize("fault", [RespondAt(1, 500), RespondAt(1, 503), DropAt(1), DelayAt(1, 0.01)])
def test_lance_tries_again_after_one_failed_request(
    s3_server: Server, s3_bucket: Bucket, fault: RespondAt | DropAt | DelayAt
) -> None:
    dataset = create(s3_server, s3_bucket, "d")
    with s3_server.proxy.recording() as log, s3_server.proxy.inject(fault) as injection:
        lance.write_dataset(pa.table({"a": [3]}), dataset, mode="append")
    assert injection.hit is not None
    assert injection.hit.status is None
    retries = 0 if isinstance(fault, DelayAt) else 1
    assert steps(log.requests()) == [APPEND_STEPS[0]] * retries + APPEND_STEPS
    assert rows(s3_server, s3_bucket, "d") == [1, 2, 3]


@pytest.mark.parametrize("fault", [DropAt(4, after=True), RespondAt(4, 500, after=True)])
def test_a_lost_acknowledgement_of_the_manifest_commits_exactly_once(
    s3_server: Server, s3_bucket: Bucket, fault: DropAt | RespondAt
) -> None:
    dataset = create(s3_server, s3_bucket, "d")
    with s3_server.proxy.recording() as log, s3_server.proxy.inject(fault) as injection:
        lance.write_dataset(pa.table({"a": [3]}), dataset, mode="append")
    assert injection.hit is not None
    assert (injection.hit.kind, injection.hit.status) == (Kind.PUT, 200)
    assert 412 in [request.status for request in log.requests()]
    assert rows(s3_server, s3_bucket, "d") == [1, 2, 3]


def test_a_fault_can_last_longer_than_the_clients_patience(s3_server: Server, s3_bucket: Bucket, client: Any) -> None:
    with (
        s3_server.proxy.inject(RespondAt(1, 404, times=2)) as injection,
        pytest.raises(ClientError, match="injected"),
    ):
        client.put_object(Bucket=s3_bucket.name, Key="k", Body=b"1")
    assert injection.seen == 1
    assert s3_bucket.keys() == []


def test_a_process_of_the_test_can_be_killed_by_its_pid(s3_server: Server, s3_bucket: Bucket) -> None:
    code = f"""
from http.client import HTTPConnection
connection = HTTPConnection({s3_server.proxy.address!r})
connection.request("PUT", "/{s3_bucket.name}/k", b"1"); connection.getresponse()
"""
    with (
        subprocess.Popen([sys.executable, "-c", f"input()\n{code}"], stdin=subprocess.PIPE) as process,
        s3_server.proxy.inject(KillAt(1, after=True), pid=process.pid),
    ):
        process.communicate(b"\n")
        assert process.returncode == -signal.SIGKILL
    assert s3_bucket.keys() == ["k"]
    with pytest.raises(ValueError, match="pid"), s3_server.proxy.inject(KillAt(1)):
        pass


def test_bodies_of_every_form_pass_over_one_connection(s3_server: Server, s3_bucket: Bucket) -> None:
    body = os.urandom(100_000)
    with closing(HTTPConnection(s3_server.proxy.address)) as connection:

        def ask(method: str, content: Any = None, **headers: str) -> tuple[int, str | None, bytes]:
            # Moto refuses strangers but does not check signatures.
            headers["Authorization"] = "AWS test:signature"
            connection.request(method, f"/{s3_bucket.name}/k", content, headers)
            response = connection.getresponse()
            return response.status, response.getheader("Content-Length"), response.read()

        connection.connect()
        kept = connection.sock
        # An iterator has no length, so http.client sends it in chunks.
        assert ask("PUT", iter([body[:7], body[7:]]))[0] == 200
        assert ask("HEAD") == (200, "100000", b"")
        assert ask("GET", Range="bytes=5-9") == (206, "5", body[5:10])
        assert ask("GET") == (200, "100000", body)
        assert ask("DELETE")[0] == 204
        assert ask("HEAD")[0] == 404
        assert ask("PUT", b"")[0] == 200
        assert ask("HEAD") == (200, "0", b"")
        assert connection.sock is kept
    assert s3_server.proxy.counts() == {"PUT": 2, "HEAD": 3, "GET": 2, "DELETE": 1}
    sent = [request.bytes_sent for request in s3_server.proxy.requests() if request.kind == Kind.PUT]
    assert sent == [100_000, 0]


def test_multipart_uploads_and_bulk_deletes_pass(s3_server: Server, s3_bucket: Bucket, client: Any) -> None:
    upload = client.create_multipart_upload(Bucket=s3_bucket.name, Key="k")["UploadId"]
    place = {"Bucket": s3_bucket.name, "Key": "k", "UploadId": upload}
    sizes = [5 << 20, 3]
    parts = [
        {"PartNumber": number, "ETag": client.upload_part(**place, PartNumber=number, Body=b"x" * size)["ETag"]}
        for number, size in enumerate(sizes, 1)
    ]
    client.complete_multipart_upload(**place, MultipartUpload={"Parts": parts})
    assert client.head_object(Bucket=s3_bucket.name, Key="k")["ContentLength"] == sum(sizes)
    client.delete_objects(Bucket=s3_bucket.name, Delete={"Objects": [{"Key": "k"}]})
    assert s3_server.proxy.counts() == {"POST": 2, "PUT": 2, "HEAD": 1, "DELETE": 1}


def test_a_dropped_connection_gets_no_answer(s3_server: Server, s3_bucket: Bucket) -> None:
    with closing(HTTPConnection(s3_server.proxy.address)) as connection, s3_server.proxy.inject(DropAt(1)):
        connection.request("PUT", f"/{s3_bucket.name}/k", b"1")
        with pytest.raises(RemoteDisconnected):
            connection.getresponse()
    assert s3_bucket.keys() == []


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for the end of a stranger, which needs pidfd_open")
def test_the_server_does_not_outlive_a_test_process_that_is_killed() -> None:
    code = "from tests.support.faults.s3 import Server\nserver = Server.start()\nprint(server.pid, flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    ) as owner:
        assert owner.stdout is not None
        server = os.pidfd_open(int(owner.stdout.readline()))
        owner.kill()
    try:
        ended, _, _ = select.select([server], [], [], 30)
        assert ended
    finally:
        os.close(server)
