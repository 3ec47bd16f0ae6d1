"""Queries over all rows of one table: groups, aggregates and distinct rows of a scan, or of every edge of a type."""

from __future__ import annotations

from dataclasses import dataclass

from tests.features.exec.generate import Query, Writer


@dataclass
class WholeWriter(Writer):
    """Writes queries whose columns are properties of one variable, and aggregates of them."""

    def query(self) -> Query:
        rng = self.rng
        clauses = self.every_edge() if rng.random() < 0.4 else self.binding()
        for _ in range(rng.choice([0, 0, 1, 2])):
            clauses += f"\n    {self.filter()}"
        shape = rng.random()
        rest = self.grouped() if shape < 0.6 else self.distinct()
        text = f"query q({', '.join(self.declared)}) {{\n  match {{\n    {clauses}\n  }}\n  {rest}\n}}"
        return Query(text, self.params, self.values)

    def every_edge(self) -> str:
        """One hop from every node; only the edge is read."""
        edge = self.rng.choice(list(self.schema.edges.values()))
        word = edge.name.lower()
        if edge.source == edge.target and self.rng.random() < 0.1:
            word = f"<{word}>"
        name = self.fresh(edge, is_node=False).name
        return f"$near: {edge.source}\n    $near ${name}: {word} $far"

    def distinct(self) -> str:
        properties = self.properties(lambda p: True)
        if not properties:
            return "return { count(*) as n }"
        keys = self.rng.sample(properties, min(len(properties), self.rng.randint(1, 3)))
        return f"return distinct {{ {', '.join(keys)} }}{self.ending([])}"
