"""Who is read, and by whom: an analysis of a graph of papers, cell by cell as in a notebook.

Run it in this directory: python analysis.py [DIRECTORY]. Needs the extra `analytics` and pandas.
"""

# %% A graph of papers: everybody cites older ones, and more often those that are cited already.
import random
import sys
from pathlib import Path

import omnigraph

SCHEMA = """
node Paper {
  doi: String @key
  title: String @index
  year: I32
  field: enum(biology, physics, computing)
  rank: F64?
}

edge Cites: Paper -> Paper
"""
FIELDS = ("biology", "physics", "computing")


def papers(count: int) -> list[dict[str, object]]:
    chance = random.Random(7)
    records: list[dict[str, object]] = []
    popular: list[int] = []
    for number in range(count):
        field = FIELDS[number % len(FIELDS)]
        data = {"doi": f"10.0/{number}", "title": f"On {field}, part {number}", "year": 1990 + number * 35 // count}
        records.append({"type": "Paper", "data": {**data, "field": field}})
        for _ in range(min(number, 4)):
            cited = chance.choice(popular) if popular and chance.random() < 0.7 else chance.randrange(number)
            popular.append(cited)
            records.append({"edge": "Cites", "from": f"10.0/{number}", "to": f"10.0/{cited}"})
    return records


place = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
graph = omnigraph.create(place / "papers.omni", SCHEMA)
print(graph.load(papers(2_000), "append", message="all papers").total, "entities")

# %% First look: SQL over the tables of the snapshot.
by_field = graph.sql("select field, count(*) as papers, min(year) as first from Paper group by all order by field")
print(by_field.to_pandas())

# %% The most cited, by a query; and their citations from other fields.
cited = graph.query(
    """
    query most_cited() {
      match {
        $p: Paper
        $by cites $p
        $by.field != $p.field
      }
      return { $p.title as title, $p.year as year, count($by) as from_elsewhere }
      order { from_elsewhere desc, title }
      limit 5
    }
    """
).to_pandas()
print(cited)

# %% PageRank over the citations, written to a branch of its own as one commit.
ranks = graph.analyze.pagerank(edges=["Cites"])
ranks.write("rank", branch="ranked", base="main", message="PageRank of citations")
best = "query best() { match { $p: Paper } return { $p.title as title, $p.rank as rank } order { rank desc } limit 5 }"
print(graph.query(best, branch="ranked").to_pandas())
print("on main nothing has changed:", graph.query(best).to_pylist()[0]["rank"])

# %% Is everything connected? And what would the merge do?
sizes = graph.analyze.components(edges=["Cites"]).to_pandas()
print("components:", sizes["component"].nunique())
print(graph.merge_preview("ranked"))

# %% Merge it, and look at the difference for one paper.
graph.merge("ranked", actor="analyst")
print(graph.query(best).to_pandas())
