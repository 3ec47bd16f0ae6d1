"""Retrieval over texts and a graph: chunks with vectors, linked to documents and to the people they mention.

Run it in this directory: python graphrag.py [DIRECTORY] [QUESTION]. Set OMNIGRAPH_EMBED_PROVIDER and its key for
vectors with a meaning; without them the offline embedder makes vectors that only find equal texts.
"""

import sys
from pathlib import Path

import omnigraph
from omnigraph.config.documents_file import read_pipeline_file
from omnigraph.embed import MockEmbedder, configured

HERE = Path(__file__).parent
QUERIES = (HERE / "ask.gq").read_text(encoding="utf-8")


def build(directory: Path) -> omnigraph.Graph:
    """The entities, then the texts. A second run skips documents that have not changed."""
    graph = omnigraph.open(
        directory / "graphrag.omni", create=HERE / "graphrag.pg", embedder=configured() or MockEmbedder()
    )
    graph.load(HERE / "entities.jsonl")
    result = graph.load_documents(HERE / "texts", read_pipeline_file(HERE / "documents.yaml"))
    print(result.counts.summary())
    return graph


def ask(graph: omnigraph.Graph, question: str) -> str:
    """The context that a language model would get with the question."""
    found = graph.query(QUERIES, {"question": question}, name="ask").to_pylist()
    chunks = [row["chunk"] for row in found]
    people = graph.query(QUERIES, {"chunks": chunks}, name="people").to_pylist()
    around = graph.query(QUERIES, {"chunks": chunks}, name="around").to_pylist()
    lines = [f"Question: {question}", ""]
    lines += [f"[{row['title']}] {row['text']}" for row in found]
    lines += ["", *(f"{row['person']} designed {', '.join(row['designed']) or 'nothing here'}." for row in people)]
    shown = {row["title"] for row in found}
    others = [row for row in around if row["title"] not in shown]
    lines += [f"See also: {row['title']}, about {', '.join(row['through'])}." for row in others]
    return "\n".join(lines)


def main(directory: Path, question: str) -> None:
    print(ask(build(directory), question))


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0] if given else "."), " ".join(given[1:]) or "Who published the first program?")
