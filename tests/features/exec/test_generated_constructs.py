"""The generators of queries and mutations write every construct they claim to cover, often enough to matter."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

from tests.features.exec.generate import SCALARS, Writer, make_schema
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
    "comparison of nodes": r"\n\s+(not )?\$\w+ !?= \$\w+\n",
    "narrowed in a block": r"(exists|not) \{ \$\w+: \w+ \$\w+\.\w+ is ",
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
    "decimal": r"\bdecimal\(",
    "time": r"\btime\(",
    "uuid": r"\buuid\(",
    "json": r"\bjson\(",
    "json_set": r"\bjson_set\(",
    "member of json": r"\$\w+\.\w+\.[a-z]",
    "item of json": r"\$\w+\.\w+(\.\w+)?\[-?\d\]",
    "quoted member": r'\["x y"\]',
    "cast to Decimal": r" as Decimal\(12, 3\)\)",
    "cast to Time": r" as Time\)",
    "cast to Duration": r" as Duration\)",
    "cast to Uuid": r" as Uuid\)",
    "cast to Json": r" as Json\)",
    "Decimal parameter": r": Decimal\(12, 3\)",
    "Time parameter": r": Time\b",
    "Duration parameter": r": Duration\b",
    "Uuid parameter": r": Uuid\b",
    "Json parameter": r": Json\b",
    "list of decimals": r": \[Decimal\(12, 3\)\]",
    "pow": r"\bpow\(",
    "log": r"\blog\(",
    "call of contains": r"\bcontains\(",
    "call of starts_with": r"\bstarts_with\(",
    "call of ends_with": r"\bends_with\(",
    **{
        name: rf"\b{name}\(" for name in ("lower", "upper", "trim", "length", "substring", "replace", "split", "concat")
    },
    **{
        name: rf"\b{name}\("
        for name in ("regex_match", "regex_extract", "abs", "round", "floor", "ceil", "sqrt", "mod")
    },
    **{
        name: rf"\b{name}\("
        for name in ("sign", "least", "greatest", "year", "month", "day", "hour", "minute", "second")
    },
    **{name: rf"\b{name}\(" for name in ("date_trunc", "size", "coalesce", "nullif", "if", "type", "id")},
}
WRITES = {
    "and": r" and ",
    "or": r" or ",
    "not": r"\(not ",
    "in": r" in \[",
    "is null": r" is (not )?null",
    "expression in set": r"set \{ \w+: \(",
    "part of json": r"\bdata\.(a|n|t)[\w.\[\]]*: ",
    "decimal in set": r"\bpaid: ",
    "time in set": r"\bopens: ",
    "duration in set": r"\btook: ",
    "uuid in set": r"\bdevice: ",
    "json in set": r"\bdata: ",
    "call of contains": r"\bcontains\(",
    "call of starts_with": r"\bstarts_with\(",
    "decimal of a record": r"\$r\.cost\b",
    "part of a record": r"\$r\.part\.",
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
    assert {name: seen[name] for name in READS if seen[name] < 5} == {}


def test_every_construct_is_among_generated_mutations() -> None:
    mutations = Mutations(11)
    seen = found([mutations.one()[0] for _ in range(1000)], WRITES)
    print(seen.most_common())
    assert {name: seen[name] for name in WRITES if seen[name] < 20} == {}


def test_every_scalar_is_a_property_and_a_key_of_generated_schemas() -> None:
    texts = "\n".join(make_schema(Random(seed)).text for seed in range(200))
    for scalar in SCALARS:
        assert len(re.findall(rf"\w: {scalar}\b", texts)) > 20, scalar
    for scalar in ("String", "I32", "Date", "U64", "F64", "Bool", "Decimal", "Time", "Duration", "Uuid"):
        assert re.search(rf"key: {scalar}\b[^:]*@key", texts), scalar
