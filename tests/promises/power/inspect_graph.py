"""A program that looks at a graph after a power cut as the next user would, and prints what it found as JSON.

Run as `inspect_graph.py <graph>`: read every branch, verify, write to every branch, verify again. A process of its own,
because an open file would keep the disk from being unmounted.
"""

import json
import sys
from pathlib import Path

import omnigraph
from omnigraph.storage.publish.newest import ASIDE
from tests.promises.crash.observe import observe
from tests.promises.power.workload import INSERT


def main(uri: str) -> None:
    graph = omnigraph.open(uri)
    seen = observe(graph)
    branches = {
        name: {"names": [json.loads(line)["data"]["name"] for line in content.splitlines()], "commits": commits}
        for name, (content, commits) in seen.branches.items()
    }
    problems = [str(problem) for problem in graph.verify(deep=True).problems]
    for name in branches:
        commit = graph.mutate(INSERT, {"n": f"after-{graph.snapshot(name).commit_id}"}, branch=name).commit
        assert commit is not None
    problems += [str(problem) for problem in omnigraph.open(uri).verify(deep=False).problems]
    aside = sum(1 for path in (Path(uri) / ASIDE).rglob("*") if path.is_file())
    scratch = sum(1 for _ in (Path(uri)).rglob("_beside/*"))
    print(json.dumps({"branches": branches, "problems": problems, "aside": aside, "scratch": scratch}))


main(sys.argv[1])
