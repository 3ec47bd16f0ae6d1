"""The memory of a team of agents: a branch per task, merged when the task is done, forgotten when it failed.

Run it in this directory: python memory.py [DIRECTORY]
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import omnigraph

HERE = Path(__file__).parent
QUERIES = (HERE / "memory.gq").read_text(encoding="utf-8")
THINGS = [
    {"type": "Thing", "data": {"name": "Ada", "kind": "person", "mentions": 1, "tags": ["science"]}},
    {"type": "Thing", "data": {"name": "London", "kind": "place", "mentions": 1}},
    {"type": "Thing", "data": {"name": "Engine", "kind": "project", "mentions": 1}},
    {"edge": "RelatesTo", "from": "Ada", "to": "Engine", "data": {"how": "works on"}},
    {"edge": "RelatesTo", "from": "Engine", "to": "London", "data": {"how": "is built in"}},
]


def research(graph: omnigraph.Graph) -> None:
    """A task that finds something out. It works on a branch of its own; nobody waits for it."""
    branch, actor = "task/research", "researcher"
    graph.create_branch(branch, actor=actor)
    fact = {
        "slug": "loops",
        "text": "The engine can repeat a series of operations",
        "thing": "Engine",
        "confidence": 0.9,
    }
    graph.mutate(QUERIES, fact, name="learn", branch=branch, actor=actor)
    change = {"name": "Ada", "tags": ["science", "mathematics"], "mentions": 4}
    graph.mutate(QUERIES, change, name="retag", branch=branch, actor=actor)


def write_up(graph: omnigraph.Graph) -> None:
    """Another task, at the same time, about the same person."""
    branch, actor = "task/write-up", "writer"
    graph.create_branch(branch, actor=actor)
    summary = {"name": "Ada", "summary": "Wrote the first program"}
    graph.mutate(QUERIES, summary, name="summarize", branch=branch, actor=actor)
    change = {"name": "Ada", "tags": ["science", "history"], "mentions": 3}
    graph.mutate(QUERIES, change, name="retag", branch=branch, actor=actor)


def rumour(graph: omnigraph.Graph) -> None:
    """A task that went wrong: its branch is deleted, and nothing of it was ever seen."""
    branch = "task/rumour"
    graph.create_branch(branch)
    fact = {"slug": "moon", "text": "The engine went to the moon", "thing": "Engine", "confidence": 0.1}
    graph.mutate(QUERIES, fact, name="learn", branch=branch)
    graph.delete_branch(branch)


def main(directory: Path) -> None:
    graph = omnigraph.create(directory / "memory.omni", (HERE / "memory.pg").read_text(encoding="utf-8"))
    graph.load(THINGS, "append", actor="lead", message="what we know")
    with ThreadPoolExecutor() as agents:
        for task in [agents.submit(task, omnigraph.open(graph.uri)) for task in (research, write_up, rumour)]:
            task.result()

    for branch in ("task/research", "task/write-up"):
        preview = graph.merge_preview(branch)
        merged = graph.merge(branch, actor="lead")
        print(f"{branch}: {preview.outcome.value}, commit {merged.commit.id}")
        graph.delete_branch(branch)

    ada = graph.query(
        'query ada() { match { $t: Thing { name: "Ada" } } return { $t.summary, $t.tags, $t.mentions } }'
    ).to_pylist()
    print("both agents' work:", ada)
    print("recalled:", graph.query(QUERIES, {"words": "operations"}, name="recall").to_pylist())
    print("around Ada:", graph.query(QUERIES, {"name": "Ada"}, name="around").to_pylist())
    print("who did what:", [(commit.actor, commit.kind.value) for commit in graph.commits()])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
