"""Jobs over HTTP: loads of files and maintenance, with progress, keys, and owners."""

import io
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnigraph
from omnigraph import Action, Graph
from omnigraph.core.ids import is_ulid
from omnigraph.core.ports import SystemClock, UlidSource
from omnigraph.engine.upkeep.job_records import job_records
from omnigraph.server.access.states import State
from omnigraph.server.http.refusals import Refusal
from omnigraph.server.http.uploads import Upload
from omnigraph.server.jobs.job import JobFacts, JobState, Written
from omnigraph.server.jobs.owners import is_alive, this_process
from omnigraph.server.jobs.pool import OPEN_PER_ACTOR_MAX, Jobs
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
    @pytest.mark.parametrize("media_type", ["text/csv", ARROW])
    def test_a_dry_run_counts_the_changes_of_a_load_and_makes_none(
        self, media_type: str, client: httpx2.Client, graph: Graph, branch: str, uploads: Path
    ) -> None:
        before = graph.snapshot(branch).commit_id
        response = submit(client, media_type, UPLOADS[media_type], branch=branch, type="Person", dry_run=True)
        job = settled(client, response)
        assert (job["kind"], job["state"], job["error"]) == ("load_preview", "succeeded", None)
        assert [(item["table_key"], item["inserted"]) for item in job["result"]["tables"]] == [("node:Person", 2)]
        assert (job["result"]["dry_run"], job["result"]["head_commit_id"]) == (True, before)
        assert graph.snapshot(branch).commit_id == before
        assert list(uploads.iterdir()) == []

    def test_a_dry_run_lists_violations_with_their_lines(self, client: httpx2.Client, branch: str) -> None:
        response = submit(client, "text/csv", b"name,age\ndan,4\neli,old\n", branch=branch, type="Person", dry_run=True)
        job = settled(client, response)
        assert job["state"] == "failed"
        (sample,) = job["error"]["problem"]["violations"]["samples"]
        assert (sample["source"], sample["line"], sample["property"]) == ("upload.csv", 3, "age")

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
            every = bob.get(f"{BASE}/jobs", params={"all": "true"}).json()["jobs"]
            assert every[0]["id"] == job["id"]

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


def submitted(jobs: Jobs, graph: Graph, actor: str | None, work: Any, written: Written | None = None) -> JobFacts:
    return jobs.submit(jobs.new_id(), ("g", graph), "load", "rows", actor, work, written=written)


def ended(jobs: Jobs, graph: Graph, job_id: str) -> JobFacts:
    while (facts := jobs.find("g", graph, job_id)) is None or not facts.state.is_final:
        threading.Event().wait(0.001)
    return facts


class TestPool:
    def test_jobs_of_an_actor_are_bounded_and_those_of_others_are_not_in_the_way(self, graph: Graph) -> None:
        jobs, gate = Jobs(), threading.Event()

        def work(progress: Any) -> dict[str, Any]:
            gate.wait()
            return {}

        for _ in range(OPEN_PER_ACTOR_MAX):
            submitted(jobs, graph, "ann", work)
        with pytest.raises(Refusal) as refused:
            submitted(jobs, graph, "ann", work)
        assert (refused.value.status, refused.value.headers) == (429, {"retry-after": "60"})
        last = submitted(jobs, graph, "bob", work)
        gate.set()
        ended(jobs, graph, last.id)
        assert submitted(jobs, graph, "ann", work).state is JobState.WAITING

    def test_ended_jobs_are_forgotten_with_their_records_and_a_bug_is_an_internal_error(self, tmp_path: Path) -> None:
        graph = omnigraph.create(tmp_path / "kb.omni", "node Note { text: String }", durability="os")
        jobs = Jobs(kept_max=20)

        def work(progress: Any) -> dict[str, Any]:
            progress(3)
            raise KeyError("/a/secret/path")

        first = submitted(jobs, graph, None, work)
        facts = ended(jobs, graph, first.id)
        assert (facts.state, facts.done) == (JobState.FAILED, 3)
        assert facts.error == {
            "error": "internal error",
            "code": "internal",
            "problem": {"code": "internal", "retryable": False, "request_id": first.id},
        }
        assert jobs.find("other", graph, first.id) is None
        for number in range(25):
            ended(jobs, graph, submitted(jobs, graph, f"actor-{number}", lambda progress: {}).id)
        assert jobs.find("g", graph, first.id) is None
        assert len(jobs.listed("g", graph, 100)) <= 21
        # Another server forgets what is too much of the records that earlier ones have left.
        assert len(job_records(graph).ids()) <= 21
        ended(Jobs(kept_max=5), graph, submitted(Jobs(kept_max=5), graph, None, lambda progress: {}).id)
        assert len(job_records(graph).ids()) <= 6


GONE = f"{socket.gethostname()} 1 0"
"""A process of this machine that does not run: process 1 did not start with the machine's first tick."""


class TestRestarts:
    """A job whose server is gone: what the next one answers."""

    @pytest.fixture
    def graph(self, tmp_path: Path) -> Graph:
        return omnigraph.create(tmp_path / "kb.omni", "node Note { text: String }", durability="os")

    def record(self, graph: Graph, **facts: Any) -> str:
        job_id = UlidSource().new_id()
        known = JobFacts(job_id, "g", "load", "rows", "ann", 1, GONE, Written("main", f"job:{job_id}"), seen_us=1)
        job_records(graph).write(job_id, replace(known, **facts).to_record())
        return job_id

    def test_the_owner_of_a_job_is_known_to_run_or_to_be_gone(self) -> None:
        assert is_alive(this_process())
        assert is_alive(GONE) is False
        assert is_alive(f"{socket.gethostname()} {2**30} 7") is False
        assert is_alive("elsewhere 1 0") is None

    def test_a_job_that_has_ended_is_answered_as_before(self, graph: Graph) -> None:
        first = Jobs()
        made = ended(first, graph, submitted(first, graph, "ann", lambda progress: {"n": 1}).id)
        assert Jobs().find("g", graph, made.id) == made
        assert [facts.id for facts in Jobs().listed("g", graph, 10)] == [made.id]
        assert Jobs().find("other", graph, made.id) is None

    @pytest.mark.parametrize("state", [JobState.WAITING, JobState.RUNNING])
    def test_a_job_without_a_commit_was_interrupted(self, graph: Graph, state: JobState) -> None:
        job_id = self.record(graph, state=state)
        found = Jobs().find("g", graph, job_id)
        assert found is not None
        assert (found.state, found.result) == (JobState.FAILED, None)
        assert found.error is not None
        assert found.error["problem"] == {"code": "interrupted", "retryable": True}
        # The answer stays, whoever is asked.
        assert Jobs().find("g", graph, job_id) == found

    def test_a_job_whose_commit_was_made_has_succeeded(self, graph: Graph) -> None:
        job_id = self.record(graph, state=JobState.RUNNING)
        made = graph.load([{"type": "Note", "data": {"text": "x"}}], idempotency_key=f"job:{job_id}").commit
        found = Jobs().find("g", graph, job_id)
        assert found is not None
        assert made is not None
        assert found.state is JobState.SUCCEEDED
        assert found.result is not None
        assert found.result["commit"]["graph_commit_id"] == made.id
        assert found.finished_us == made.created_at_us

    def test_a_branch_that_is_gone_leaves_no_commit(self, graph: Graph) -> None:
        job_id = self.record(graph, written=Written("dropped", "k"))
        found = Jobs().find("g", graph, job_id)
        assert found is not None
        assert found.state is JobState.FAILED

    def test_a_job_of_another_machine_runs_until_it_was_silent_for_long(self, graph: Graph) -> None:
        now = SystemClock().now_us()
        job_id = self.record(graph, owner="elsewhere 1 0", state=JobState.RUNNING, seen_us=now)
        found = Jobs().find("g", graph, job_id)
        assert found is not None
        assert found.state is JobState.RUNNING
        job_id = self.record(graph, owner="elsewhere 1 0", state=JobState.RUNNING, seen_us=now - 600_000_000)
        found = Jobs().find("g", graph, job_id)
        assert found is not None
        assert found.state is JobState.FAILED

    def test_a_damaged_record_and_an_unknown_id_are_no_job(self, graph: Graph) -> None:
        job_id = self.record(graph)
        path = Path(graph.uri) / "served" / f"{job_id}.json"
        path.write_bytes(path.read_bytes().replace(b"ann", b"bob"))
        for name in (job_id, UlidSource().new_id(), "../omnigraph", "x"):
            assert Jobs().find("g", graph, name) is None


def test_an_upload_without_an_owner_goes_also_when_its_directory_was_emptied(tmp_path: Path) -> None:
    upload = Upload("csv", str(tmp_path))
    assert list(tmp_path.iterdir()) == [Path(upload.path)]
    del upload
    assert list(tmp_path.iterdir()) == []
    emptied = Upload("csv", str(tmp_path))
    Path(emptied.path).unlink()
    emptied.close()
