"""The generators of queries and mutations write every construct they claim to cover, often enough to matter."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

from tests.features.exec.generate import Writer, make_schema
from tests.features.mutations.naive import Mutations

READS = {
    "exists": r"\bexists \{",
    "not block": r"\bnot \{",
    "maybe": r"\bmaybe \{",
    "then": r"\bthen (match|return)",
    "union": r"\bunion\b",
    "having": r"\bhaving \{",
    "any type": r"match \{\n\s+\$\w+\n",
    "any edge": r"<\$\w+>",
    "interface": r": Shared\b",
    "several ends": r"\bw\d\b",
    "shortest": r": shortest ",
    "all shortest": r": all shortest ",
    "walk": r"\{\d,\d\}",
    "entity": r"\$\w+\.\*",
    "count(*)": r"count\(\*\)",
    "count(distinct)": r"count\(distinct ",
    "collect": r"\bcollect\(",
    "percentile": r"\bpercentile\(",
    "stddev": r"\bstddev\(",
    "first": r"\bfirst\(",
    "last": r"\blast\(",
    "limit by parameter": r"limit \$",
    "offset by parameter": r"offset \$",
    "case": r"\bcase ",
    "quantifier": r"\b(any|all)\(\$",
    "cast": r"\bcast\(",
    "duration": r"\bduration\(",
}
WRITES = {
    "and": r" and ",
    "or": r" or ",
    "not": r"\(not ",
    "in": r" in \[",
    "is null": r" is (not )?null",
    "expression in set": r"set \{ \w+: \(",
    "edge update": r"update Knows set",
    "edge delete": r"delete Knows where",
    "match update": r"match \{.*\} update \$",
    "match delete": r"match \{.*\} delete \$",
    "match insert": r"match \{.*\} insert ",
    "upsert": r"upsert ",
    "for": r"for \$r in",
    "returning": r"returning \{",
}


def found(texts: list[str], constructs: dict[str, str]) -> Counter[str]:
    return Counter(name for text in texts for name, pattern in constructs.items() if re.search(pattern, text))


def test_every_construct_is_among_generated_queries() -> None:
    schemas = [make_schema(Random(seed), has_wide=True) for seed in range(20)]
    texts = [Writer(Random(f"constructs/{index}"), schemas[index % 20]).query().text for index in range(2000)]
    seen = found(texts, READS)
    print(seen.most_common())
    assert {name: seen[name] for name in READS if seen[name] < 10} == {}


def test_every_construct_is_among_generated_mutations() -> None:
    mutations = Mutations(11)
    seen = found([mutations.one()[0] for _ in range(1000)], WRITES)
    print(seen.most_common())
    assert {name: seen[name] for name in WRITES if seen[name] < 20} == {}
