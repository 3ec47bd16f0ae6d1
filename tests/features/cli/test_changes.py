"""`diff`, `commit changes`, `changes` and `revert` on the command line."""

import fcntl
import json
import os
import stat
from pathlib import Path

import pytest

from tests.features.cli.graphs import add, as_json, everything, exported, head
from tests.features.cli.run import run

AGE = "query q($n: String, $a: I32) { update Person set {age: $a} where name = $n }"


def set_age(graph: Path, name: str, age: int, *words: object) -> str:
    params = json.dumps({"n": name, "a": age})
    result = run("mutate", "--store", graph, "-e", AGE, "--params", params, *words)
    assert result.exit_code == 0, result.output
    return head(graph)


def test_a_diff_is_counts_and_changes(graph: Path) -> None:
    before = head(graph)
    set_age(graph, "Ada", 37)
    add(graph, "Eve")
    shown = run("diff", before, "--store", graph)
    assert shown.exit_code == 0
    assert shown.stdout.splitlines() == [
        "table        inserted  updated  deleted",
        "node:Person         1        1        0",
        "",
        "~ node Person Ada  age: 36 -> 37",
        '+ node Person Eve  name: "Eve"',
    ]
    summary = run("diff", before, "main", "--summary", "--store", graph).stdout
    assert summary.splitlines() == shown.stdout.splitlines()[:2]
    limited = run("diff", before, "--limit", 1, "--store", graph).stdout
    assert limited.splitlines()[-1] == "... 1 more; --limit shows more of them, --summary only the counts"
    document = as_json("diff", before, "--store", graph, "--op", "update")
    assert document["stats"] == {"inserts": 0, "updates": 1, "deletes": 0, "types_affected": 1}
    assert document["changes"][0]["changed"] == ["age"]  # type: ignore[index]
    assert run("diff", "main", "--store", graph).stdout == "no differences\n"
    assert run("diff", before, "--type", "City", "--store", graph).stdout == "no differences\n"


def test_wrong_moments_and_filters_are_told(graph: Path) -> None:
    missing = run("diff", "mian", "--store", graph)
    assert missing.exit_code == 1
    assert "there is no branch and no commit 'mian'" in missing.stderr
    assert "main" in missing.stderr
    assert run("diff", "main", "--kind", "table", "--store", graph).exit_code == 2
    assert "did you mean `Person`" in run("diff", "main", "--type", "Persn", "--store", graph).stderr


def test_the_changes_of_a_commit_come_in_pages(graph: Path) -> None:
    commit = head(graph)
    first = as_json("commit", "changes", commit, "--store", graph, "--limit", 3)
    assert [change["id"] for change in first["changes"]] == ["London", "Ada", "Alan"]  # type: ignore[attr-defined]
    assert first["cause"]["actor_id"] == "ann"  # type: ignore[index]
    rest = run("commit", "changes", commit, "--store", graph, "--page-token", first["next_page_token"])
    assert rest.stdout == "+ edge Knows k1 (Ada -> Alan)  since: 18276\n"
    assert "more follows; --page-token " in run("commit", "changes", commit, "--store", graph, "--limit", 1).stdout
    edges = as_json("commit", "changes", commit, "--store", graph, "--kind", "edge")
    assert [change["type"]["name"] for change in edges["changes"]] == ["Knows"]  # type: ignore[attr-defined]


def test_a_branch_is_followed_by_its_cursor(graph: Path) -> None:
    start = as_json("changes", "poll", "--store", graph)
    assert (start["blocks"], start["caught_up"]) == ([], True)
    commit = set_age(graph, "Ada", 37, "--as", "bo")
    shown = run("changes", "poll", "--store", graph, "--cursor", start["cursor"])
    lines = shown.stdout.splitlines()
    assert lines[0].startswith(f"{commit}  ")
    assert lines[0].endswith("  mutation  bo")
    assert lines[1] == "  ~ node Person Ada  age: 36 -> 37"
    assert lines[2].startswith("caught up; cursor: ")
    page = as_json("changes", "poll", "--store", graph, "--start", "beginning", "--limit", 2)
    assert "cursor" not in page
    more = as_json("changes", "poll", "--store", graph, "--cursor", page["next_page_token"])
    assert [len(block["changes"]) for block in more["blocks"]] == [2, 1]  # type: ignore[attr-defined]
    assert "no changes\ncaught up; cursor: " in run("changes", "poll", "--store", graph).stdout


def test_wrong_cursors_and_limits_are_refused(graph: Path) -> None:
    rejected = run("changes", "poll", "--store", graph, "--cursor", "nonsense", "--json")
    assert rejected.exit_code == 1
    assert json.loads(rejected.stdout)["code"] == "cursor_rejected"
    assert json.loads(rejected.stdout)["error"].startswith("change cursor rejected:")
    both = run("changes", "poll", "--store", graph, "--cursor", "x", "--start", "now")
    assert (both.exit_code, "not both" in both.stderr) == (2, True)
    assert run("changes", "poll", "--store", graph, "--start", "tomorrow").exit_code == 2
    assert run("changes", "poll", "--store", graph, "--limit", 0).exit_code == 2
    above = run("changes", "poll", "--store", graph, "--limit", 8193, "--json")
    assert json.loads(above.stdout)["code"] == "resource_limit"


def test_a_baseline_is_an_export_and_a_cursor(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "baseline.jsonl"
    document = as_json("changes", "baseline", "--store", graph, "--out", out)
    lines = out.read_text().splitlines(keepends=True)
    assert "".join(lines[:-1]) == exported(graph)
    assert json.loads(lines[-1]) == {"baseline": document["baseline"]}
    assert document["baseline"]["snapshot_commit_id"] == head(graph)  # type: ignore[index]
    add(graph, "Eve")
    cursor = document["baseline"]["resume_cursor"]  # type: ignore[index]
    page = as_json("changes", "poll", "--store", graph, "--cursor", cursor)
    assert [change["id"] for block in page["blocks"] for change in block["changes"]] == ["Eve"]  # type: ignore[attr-defined]
    shown = run("changes", "baseline", "--store", graph, "--out", out, "--type", "City")
    assert shown.stdout.startswith("ok: 1 entity in ")


def test_a_gap_is_told_with_what_to_do(graph: Path) -> None:
    add(graph, "Eve")
    assert run("cleanup", graph, "--keep", 1).exit_code == 0
    gap = run("changes", "poll", "--store", graph, "--start", "beginning", "--json")
    assert gap.exit_code == 1
    document = json.loads(gap.stdout)
    assert document["code"] == "change_feed_gap"
    assert document["change_feed_gap"]["cursor"] is None
    assert len(document["change_feed_gap"]["first_unreadable_commit_id"]) == 26
    assert "omnigraph changes baseline" in document["hint"]


def test_commits_are_reverted_and_previewed(graph: Path) -> None:
    before = exported(graph)
    undone = set_age(graph, "Ada", 37, "--as", "bot")
    files = everything(graph)
    preview = run("revert", undone, "--store", graph, "--dry-run")
    assert preview.stdout.splitlines()[-1] == "1 commit can be reverted on main"
    assert everything(graph) == files
    document = as_json("revert", "--actor", "bot", "--store", graph, "--as", "ann", "--message", "wrong age")
    assert (document["outcome"], document["reverted_commit_ids"]) == ("reverted", [undone])
    assert document["commit"]["kind"] == "revert"  # type: ignore[index]
    assert (document["commit"]["actor_id"], document["commit"]["message"]) == ("ann", "wrong age")  # type: ignore[index]
    assert exported(graph) == before
    again = run("revert", undone, "--store", graph)
    assert again.exit_code == 0
    assert "ok: nothing that 1 commit did is left on main" in again.stdout
    assert "omnigraph revert →" in again.stderr


def test_a_revert_with_conflicts_changes_nothing(graph: Path) -> None:
    undone = set_age(graph, "Ada", 37)
    set_age(graph, "Ada", 38)
    files = everything(graph)
    preview = run("revert", undone, "--store", graph, "--dry-run")
    assert preview.exit_code == 1
    assert "divergent_update" in preview.stdout
    refused = run("revert", undone, "--store", graph, "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["code"] == "merge_conflicts"
    assert everything(graph) == files
    assert run("revert", undone, "--store", graph, "--policy", "source").exit_code == 0
    assert '"age":36' in exported(graph)
    assert run("revert", "--store", graph).exit_code == 2


def test_a_baseline_is_on_disk_before_its_cursor_is_told(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "baseline.jsonl"
    done: list[str] = []

    def synced(descriptor: int) -> None:
        is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        size = os.fstat(descriptor).st_size
        done.append("directory" if is_directory else "file" if size else "empty")
        fsync(descriptor)

    def replaced(temporary: str, target: str) -> None:
        done.append(f"rename to {Path(target).name}")
        rename(temporary, target)

    fsync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    shown = run("changes", "baseline", "--store", graph, "--out", out)
    assert shown.exit_code == 0
    assert done == ["file", "rename to baseline.jsonl", "directory"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("base")) == [
        "baseline.jsonl",
        "baseline.jsonl.lock",
    ]


def test_a_baseline_is_written_by_one_process_at_a_time(graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "baseline.jsonl"
    with open(f"{out}.lock", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = run("changes", "baseline", "--store", graph, "--out", out)
    assert refused.exit_code == 1
    assert "another process is writing" in refused.output
    assert not out.exists()
    assert run("changes", "baseline", "--store", graph, "--out", out).exit_code == 0


def test_a_cursor_is_not_told_of_a_baseline_that_somebody_replaced(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "baseline.jsonl"
    rename = os.replace

    def raced(temporary: str, target: str) -> None:
        rename(temporary, target)
        (tmp_path / "other").write_text("{}")
        rename(tmp_path / "other", target)

    monkeypatch.setattr(os, "replace", raced)
    refused = run("changes", "baseline", "--store", graph, "--out", out)
    assert refused.exit_code == 1
    assert "replaced by another process" in refused.output
    assert "cursor:" not in refused.output
