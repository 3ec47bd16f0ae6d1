"""Jobs over HTTP: loads of files and maintenance, with progress, keys, and owners."""

import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import Action, Graph
from omnigraph.core.ids import is_ulid
from omnigraph.server.access.states import State
from omnigraph.server.http.refusals import Refusal
from omnigraph.server.jobs.job import JobState
from omnigraph.server.jobs.pool import KEPT_MAX, OPEN_PER_ACTOR_MAX, Jobs
from tests.features.server.live import BASE, Live, running, serving_of
from tests.features.server.requests import ARROW, arrow_stream, settled
from tests.features.server.test_matrix import TOKENS, Rules

PEOPLE = pa.table({"name": ["dan", "eli"], "age": pa.array([4, None], pa.int32())})


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(PEOPLE, sink)
    return sink.getvalue()


UPLOADS = {
    "application/x-ndjson": b"""{"type":"Person","data":{"name":"dan","age":4}}
{"type":"Person","data":{"name":"eli"}}
""",
    "application/json": b'[{"name": "dan", "age": 4}, {"name": "eli"}]',
    "text/csv": b"name,age\ndan,4\neli,\n",
    "text/tab-separated-values": b"name\tage\ndan\t4\neli\t\n",
    "application/vnd.apache.parquet": parquet(),
    ARROW: arrow_stream(PEOPLE),
}


def submit(
    client: httpx2.Client, media_type: str, content: bytes, key: str | None = None, **params: Any
) -> httpx2.Response:
    headers = {"content-type": media_type, **({} if key is None else {"idempotency-key": key})}
    return client.post(f"{BASE}/jobs/load", content=content, headers=headers, params=params)


@pytest.fixture(autouse=True)
def uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of uploads, which is empty when all jobs have ended."""
    monkeypatch.setenv("OMNIGRAPH_SERVER_UPLOADS", str(tmp_path))
    return tmp_path


class TestLoads:
    @pytest.mark.parametrize("media_type", UPLOADS)
    def test_a_file_of_any_format_is_loaded_as_one_commit(
        self, media_type: str, client: httpx2.Client, graph: Graph, branch: str, uploads: Path
    ) -> None:
        options = {} if "ndjson" in media_type else {"type": "Person"}
        response = submit(client, media_type, UPLOADS[media_type], branch=branch, **options)
        assert (response.status_code, response.json()["kind"]) == (202, "load")
        assert is_ulid(response.json()["id"])
        job = settled(client, response)
        assert (job["state"], job["error"]) == ("succeeded", None)
        assert job["created_at"] <= job["started_at"] <= job["finished_at"]
        assert job["progress"] == {"done": 2, "unit": "rows"}
        assert (job["result"]["inserted"], job["result"]["branch"]) == (2, branch)
        assert graph.snapshot(branch).commit_id == job["result"]["commit"]["graph_commit_id"]
        assert sorted(graph.nodes("Person", branch=branch).where(age=4)["name"]) == ["dan"]
        assert list(uploads.iterdir()) == []

    def test_the_same_key_is_the_same_job_and_one_commit(
        self, client: httpx2.Client, graph: Graph, branch: str
    ) -> None:
        first, again = (
            submit(client, "text/csv", UPLOADS["text/csv"], f"k-{branch}", type="Person", branch=branch)
            for _ in range(2)
        )
        assert first.json()["id"] == again.json()["id"]
        job = settled(client, first)
        assert graph.snapshot(branch).commit_id == job["result"]["commit"]["graph_commit_id"]
        assert len([item for item in client.get(f"{BASE}/jobs").json()["jobs"] if item["id"] == job["id"]]) == 1

    def test_a_key_that_an_earlier_server_has_seen_gives_the_first_commit(
        self, client: httpx2.Client, graph: Graph, branch: str
    ) -> None:
        options = {"type": "Person", "branch": branch}
        first = settled(client, submit(client, "text/csv", UPLOADS["text/csv"], f"r-{branch}", **options))
        with running(serving_of(graph)) as restarted, restarted.client() as other:
            again = settled(other, submit(other, "text/csv", UPLOADS["text/csv"], f"r-{branch}", **options))
        assert again["id"] != first["id"]
        assert again["result"]["commit"] == first["result"]["commit"]

    def test_a_job_that_failed_has_its_error_and_may_be_sent_again_under_its_key(
        self, client: httpx2.Client, graph: Graph, branch: str, uploads: Path
    ) -> None:
        key, before = f"f-{branch}", graph.snapshot(branch).commit_id
        bad = b"name,age\ndan,4\n,5\n"
        failed = settled(client, submit(client, "text/csv", bad, key, type="Person", branch=branch))
        assert (failed["state"], failed["result"], failed["error"]["code"]) == ("failed", None, "bad_request")
        assert failed["error"]["problem"]["violations"]["samples"][0]["source"] == "upload.csv"
        assert str(uploads) not in str(failed)
        assert (graph.snapshot(branch).commit_id, list(uploads.iterdir())) == (before, [])
        again = submit(client, "text/csv", UPLOADS["text/csv"], key, type="Person", branch=branch)
        assert again.json()["id"] != failed["id"]
        assert settled(client, again)["state"] == "succeeded"

    def test_a_damaged_arrow_stream_fails_the_job(self, client: httpx2.Client, branch: str) -> None:
        content = arrow_stream(PEOPLE, compression="zstd")
        job = settled(client, submit(client, ARROW, content, type="Person", branch=branch))
        assert (job["state"], "compressed" in job["error"]["error"]) == ("failed", True)

    @pytest.mark.parametrize(
        ("media_type", "content", "params", "status"),
        [
            ("text/plain", b"x", {}, 415),
            ("text/csv", b"", {}, 400),
            ("text/csv", b"x", {"branch": "nope"}, 404),
            ("text/csv", b"x", {"map": "x"}, 400),
            ("text/csv", b"x", {"path": "/etc/passwd"}, 400),
            ("text/csv", b"x", {"engine": "spark"}, 400),
        ],
    )
    def test_a_wrong_upload_is_refused_before_it_is_a_job(
        self,
        media_type: str,
        content: bytes,
        params: dict[str, str],
        status: int,
        client: httpx2.Client,
        uploads: Path,
    ) -> None:
        response = submit(client, media_type, content, **params)
        assert (response.status_code, "problem" in response.json()) == (status, True)
        assert list(uploads.iterdir()) == []

    def test_an_upload_over_its_limit_is_refused(
        self, client: httpx2.Client, uploads: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OMNIGRAPH_SERVER_UPLOAD_BYTES_MAX", "100")
        response = submit(client, "text/csv", b"x" * 101, type="Person")
        assert (response.status_code, response.json()["resource_limit"]["limit"]) == (413, 100)
        assert list(uploads.iterdir()) == []

    def test_the_operator_chooses_the_engine(
        self, client: httpx2.Client, branch: str, uploads: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OMNIGRAPH_SERVER_LOAD_ENGINE", "auto")
        options = {"type": "Person", "branch": branch}
        job = settled(client, submit(client, "text/csv", UPLOADS["text/csv"], **options))
        assert (job["state"], job["result"]["inserted"]) == ("succeeded", 2)
        bad = settled(client, submit(client, "text/csv", b"name,age\nx,old\n", **options))
        assert str(uploads) not in str(bad)
        assert bad["error"]["problem"]["violations"]["samples"][0]["source"] == "upload.csv"
        monkeypatch.setenv("OMNIGRAPH_SERVER_LOAD_ENGINE", "magic")
        assert submit(client, "text/csv", UPLOADS["text/csv"], **options).status_code == 400


class TestMaintenance:
    def test_optimize_cleanup_and_verify_are_jobs_with_results(
        self, client: httpx2.Client, graph: Graph, branch: str
    ) -> None:
        optimized = settled(client, client.post(f"{BASE}/maintenance/optimize", json={"branch": branch}))
        assert optimized["result"]["branch"] == branch
        assert optimized["progress"]["unit"] == "tables"
        cleaned = settled(client, client.post(f"{BASE}/maintenance/cleanup", json={"dry_run": True, "keep": 100}))
        assert (cleaned["result"]["dry_run"], cleaned["result"]["keep_versions"]) == (True, 100)
        verified = settled(client, client.post(f"{BASE}/maintenance/verify", json={"deep": False}))
        assert (verified["result"]["ok"], verified["progress"]["unit"]) == (True, "files")

    @pytest.mark.parametrize(
        ("task", "body"),
        [
            ("optimize", {"types": "Person"}),
            ("optimize", {"compact": "yes"}),
            ("cleanup", {"keep": 0}),
            ("cleanup", {"keep": "all"}),
            ("cleanup", {"nope": 1}),
            ("verify", {"deep": None}),
            ("verify", []),
        ],
    )
    def test_wrong_options_are_refused(self, task: str, body: Any, client: httpx2.Client) -> None:
        response = client.post(f"{BASE}/maintenance/{task}", json=body)
        assert (response.status_code, response.json()["code"]) == (400, "bad_request")

    @pytest.mark.parametrize(
        ("task", "body"),
        [("optimize", {"types": ["Nope"]}), ("cleanup", {"older_than": "soon"}), ("cleanup", {"grace": "-1d"})],
    )
    def test_options_that_only_the_engine_can_judge_fail_the_job(
        self, task: str, body: Any, client: httpx2.Client
    ) -> None:
        job = settled(client, client.post(f"{BASE}/maintenance/{task}", json=body))
        assert (job["state"], job["error"]["problem"]["code"] != "internal") == ("failed", True)

    def test_an_unknown_task_does_not_exist(self, client: httpx2.Client) -> None:
        assert client.post(f"{BASE}/maintenance/destroy").status_code == 404

    def test_a_key_of_other_work_is_a_conflict(self, client: httpx2.Client) -> None:
        key = {"idempotency-key": "one-key"}
        settled(client, client.post(f"{BASE}/maintenance/verify", json={"deep": False}, headers=key))
        other = client.post(f"{BASE}/maintenance/optimize", headers=key)
        assert (other.status_code, other.json()["code"]) == (409, "conflict")


@pytest.fixture(scope="module")
def rules() -> Rules:
    return Rules()


@pytest.fixture(scope="module")
def policed(graph: Graph, rules: Rules) -> Iterator[Live]:
    with running(serving_of(graph, tokens=TOKENS, authorizer=rules, state=State.POLICY_ENABLED)) as live:
        yield live


class TestOwners:
    def test_jobs_of_others_are_missing_without_admin(self, policed: Live, rules: Rules) -> None:
        rules.denied = frozenset()
        with policed.client(TOKENS["ann"]) as ann, policed.client(TOKENS["bob"]) as bob:
            made = ann.post(f"{BASE}/maintenance/verify", json={"deep": False})
            job = settled(ann, made)
            assert job["actor_id"] == "ann"
            rules.denied = frozenset(Action)
            assert ann.get(f"{BASE}/jobs/{job['id']}").json() == job
            hidden, missing = bob.get(f"{BASE}/jobs/{job['id']}"), bob.get(f"{BASE}/jobs/nope")
            assert (hidden.status_code, hidden.content) == (404, missing.content)
            assert [item["id"] for item in ann.get(f"{BASE}/jobs").json()["jobs"]] == [job["id"]]
            assert bob.get(f"{BASE}/jobs").json() == {"jobs": []}
            assert bob.get(f"{BASE}/jobs", params={"all": "true"}).status_code == 403
            rules.denied = frozenset()
            assert bob.get(f"{BASE}/jobs/{job['id']}").json() == job
            assert [item["id"] for item in bob.get(f"{BASE}/jobs", params={"all": "true"}).json()["jobs"]] == [
                job["id"]
            ]

    def test_the_policy_is_asked_again_when_the_job_runs(
        self, policed: Live, rules: Rules, graph: Graph, branch: str
    ) -> None:
        rules.denied = frozenset()
        rules.asked.clear()
        with policed.client(TOKENS["ann"]) as ann:
            job = settled(ann, submit(ann, "text/csv", UPLOADS["text/csv"], type="Person", branch=branch))
        assert job["result"]["commit"]["actor_id"] == "ann"
        asked = [(need.action, need.branch) for need in rules.asked]
        assert asked.count((Action.CHANGE, branch)) >= 2


class TestPool:
    def test_jobs_of_an_actor_are_bounded_and_those_of_others_are_not_in_the_way(self) -> None:
        jobs, gate = Jobs(), threading.Event()

        def work(progress: Any) -> dict[str, Any]:
            gate.wait()
            return {}

        for _ in range(OPEN_PER_ACTOR_MAX):
            jobs.submit("g", "load", "rows", "ann", work)
        with pytest.raises(Refusal) as refused:
            jobs.submit("g", "load", "rows", "ann", work)
        assert (refused.value.status, refused.value.headers) == (429, {"retry-after": "60"})
        last = jobs.submit("g", "load", "rows", "bob", work)
        gate.set()
        while not jobs.find("g", last.id).state.is_final:  # type: ignore[union-attr]
            threading.Event().wait(0.01)
        assert jobs.submit("g", "load", "rows", "ann", work).state is JobState.WAITING

    def test_ended_jobs_are_forgotten_and_a_bug_is_an_internal_error(self) -> None:
        jobs = Jobs()

        def work(progress: Any) -> dict[str, Any]:
            progress(3)
            raise KeyError("/a/secret/path")

        first = jobs.submit("g", "load", "rows", None, work)
        while not (facts := jobs.find("g", first.id)) or not facts.state.is_final:
            threading.Event().wait(0.01)
        assert (facts.state, facts.done) == (JobState.FAILED, 3)
        assert facts.error == {
            "error": "internal error",
            "code": "internal",
            "problem": {"code": "internal", "retryable": False, "request_id": first.id},
        }
        assert jobs.find("other", first.id) is None
        for number in range(KEPT_MAX + 5):
            made = jobs.submit("g", "load", "rows", f"actor-{number}", lambda progress: {})
            while not jobs.find("g", made.id).state.is_final:  # type: ignore[union-attr]
                threading.Event().wait(0.001)
        assert jobs.find("g", first.id) is None
        assert len(jobs.listed("g")) == KEPT_MAX
