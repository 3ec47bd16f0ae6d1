"""The smallest set of queries that together contain every operator and expression of the IR.

``test_coverage.py`` runs each on both executors, and fails if a part of the IR is in none of them. Depth is the task of
the other modules; a new operator, expression kind or aggregate starts with a case here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """A query over the people graph."""

    match: str
    returns: str
    rest: str = ""
    params: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        word = "return distinct" if self.rest.startswith("distinct") else "return"
        rest = self.rest.removeprefix("distinct")
        return f"query q({self.params}) {{ match {{ {self.match} }} {word} {{ {self.returns} }} {rest} }}"


AGGREGATES = (
    "count($p.age), sum($p.age), avg($p.score), min($p.name), max($p.age), collect($p.age), "
    "count(*), stddev($p.age), percentile($p.age, 0.4), first($p.name), last($p.nick, $p.age), first($p.born, $p.score)"
)
DISTINCT = (
    "count(distinct $p.age), sum(distinct $p.age), avg(distinct $p.age), min(distinct $p.age), "
    "max(distinct $p.name), collect(distinct $p.age), stddev(distinct $p.age), percentile(distinct $p.age, 0.3), "
    "first(distinct $p.age), last(distinct $p.age, $q.name)"
)

CASES = {
    "scan": Case("$p: Person { name: $name }", "$p, $p.age", params="$name: String", values={"name": "Ann"}),
    "comparisons": Case(
        "$p: Person",
        "$p, $p.age = 30, $p.age != 30, $p.age < 30, $p.age <= 30, $p.age > 25, $p.big >= $p.visits, $p.age > 22.5",
    ),
    "logic": Case("$p: Person $p.age > 20 and $p.score < 2.0 or $p.active = true", "$p"),
    "null": Case("$p: Person $p.nick is not null $p.age is null", "$p"),
    "membership": Case(
        '$p: Person $p.age in [20, 30, $n] or $p.tags contains "x"',
        "$p, $p.age in $ages, $p.big in [-1, 7]",
        params="$n: I32, $ages: [I32]",
        values={"n": 25, "ages": [20, 25]},
    ),
    "text": Case('$p: Person $p.nick contains "b" or $p.name starts_with "D"', "$p, $p.name contains $p.nick"),
    "arithmetic": Case("$p: Person", "$p.age + 1, $p.age - $p.big, $p.age * 2, $p.age / 0, $p.age % 7, $p"),
    "functions": Case(
        '$p: Person not $p.nick ends_with "x" or regex_match($p.name, "^[AB]") or length(trim($p.name)) > 3',
        "$p, lower($p.nick) + upper($p.name), round($p.score / 3, 2), year($p.born), size($p.tags), $p.tags[0], "
        'coalesce($p.age, 0) * 2, regex_extract($p.nick, "(b)"), $p.born + duration("P1M1D"), now() - $p.seen',
    ),
    "choices": Case(
        "$p: Person",
        "$p, case when $p.age > 25 then $p.name else $p.nick end, if($p.active, 1, 2), [$p.name, $p.nick], "
        "cast($p.score as String), cast($p.age as F64), cast($p.seen as Date), nullif($p.age, 30)",
    ),
    "items": Case(
        '$p: Person any($t in $p.tags where $t = "x" or $t = $p.nick) or all($n in $p.lucky where $n + $p.age > 20)',
        '$p, any($t in $p.tags where regex_match($t, "[xy]") and $p.name != $t), $p.name in [$p.nick, "Ann"]',
    ),
    "types": Case("$p: Person maybe { $p worksAt $c }", "type($p), type($c), id($c), id($p)"),
    "computed keys": Case("$p: Person", "$p.age % 20, length($p.name) as n, count($p) as c", "order { n }"),
    "time": Case("$p: Person $p.seen < now()", "$p, now() as at"),
    "search": Case('$d: Doc search($d.body, "fox")', "$d"),
    "fuzzy": Case('$d: Doc fuzzy($d.body, "gaph", 1)', "$d"),
    "nearest": Case("$d: Doc", "$d", "order { nearest($d.vec, [0.0, 1.0]) } limit 3"),
    "bm25": Case("$d: Doc", "$d", 'order { bm25($d.body, "quick fox") } limit 3'),
    "fusion": Case("$d: Doc", "$d", 'order { rrf(bm25($d.body, "fox"), nearest($d.vec, [0.0, 0.0])) } limit 3'),
    "out": Case("$p: Person $p knows $q", "$p, $q"),
    "in": Case("$c: Company $c worksAt $p", "$c, $p"),
    "from the target": Case('$q: Person { name: "Ann" } $c: Company $q worksAt $c $other worksAt $c', "$other, $c"),
    "both": Case("$p: Person $p <knows>{1,2} $q", "$p, $q"),
    "edge": Case("$p: Person $p $e: knows $q $e.since is not null", "$p, $e.note, $q"),
    "closing": Case("$p: Person $q: Person $p.age = 30 $q.age = 20 $p knows $q", "$p, $q"),
    "a constant that Python computes": Case(
        '$p: Person not json("[1, 2]")[0] in [3] json("{}").a is null', '$p, json("[1, 2]") as two'
    ),
    "every path": Case(
        "$p: Person $q: Person $p $way: all shortest <knows>{1,3} $q", "$p, $q, $way.length, $way.nodes"
    ),
    "path": Case("$p: Person $q: Person $p $way: shortest knows{1,3} $q", "$p, $q, $way.length, $way.nodes"),
    "product": Case("$p: Person $c: Company $p.age > $c.founded - 1970", "$p, $c"),
    "not": Case("$p: Person not { $p worksAt $c $c.founded is null }", "$p"),
    "exists": Case(
        '$p: Person exists { $p knows $q $q.age > 20 } or $p.age = 25 not exists { $p knows $x $x.name = "Dan" }',
        "$p, exists { $p worksAt $c $c.founded > 1980 + $p.age / 100 } as e, exists { $p wrote $_ } as w",
        "order { e desc, exists { $p <knows>{2,3} $y $y.nick is null }, $p.name }",
    ),
    "groups of exists": Case(
        "$p: Person maybe { $p knows $q }",
        "exists { $q worksAt $_ } as works, count(*) as n, sum(if(exists { $p worksAt $c }, 1, 0)) as own, "
        "count(distinct exists { $q knows $p }) as back",
        "order { works }",
    ),
    "exists over several types": Case(
        "$n: Named exists { $n <$e> $m $m: Named $m.name > $n.name } or exists { $n wrote $d }",
        "$n, exists { $n: Company } as firm, type($n) as t",
        "order { firm, $n.name }",
    ),
    "maybe": Case("$p: Person maybe { $p worksAt $c }", "$p, $c, $c.founded"),
    "groups": Case("$p: Person", f"$p.active, {AGGREGATES}", "order { $p.active }"),
    "distinct groups": Case("$p: Person maybe { $p knows $q }", f"$p.active, {DISTINCT}"),
    "no rows": Case("$p: Person $p.age > 99", AGGREGATES),
    "distinct": Case("$p: Person", "$p.age", "distinct order { $p.age desc }"),
    "having": Case(
        "$p: Person maybe { $p knows $q }",
        "$p.name, count($q) as n, sum($q.age) as total",
        'having { n > $least and (total is null or total < 60.5) or $p.name starts_with "A" } order { n, $p.name }',
        params="$least: I32",
        values={"least": 0},
    ),
    "counted walks": Case(
        "$p: Person $p knows $q $q <knows>{1,2} $r", "count(*), stddev($p.age), percentile($p.age, 0.7), first($p.age)"
    ),
    "sizes": Case("$p: Person", "$p", "order { $p.name } limit $n offset $m", "$n: I32, $m: U64?", {"n": 2, "m": None}),
    "entities": Case("$p: Person maybe { $p $e: knows $q }", "$p.*, $q.* as q, $e.* as e", "order { $p.name }"),
    "grouped entities": Case("$p: Person $p knows $q", "$q.*, count(*) as n", "order { n }"),
    "an interface": Case("$n: Named", "$n, type($n) as t", "order { $n.name desc } limit 6 offset 1"),
    "groups of an interface": Case(
        '$n: Named $n.name != "Bob" $n <$e> $m',
        "type($n) as t, type($e) as e, count(*) as n, count(distinct $m) as m, first($n.name) as f",
        "having { n > 0 } order { t, e }",
    ),
    "entities as keys": Case("$n: Named $n <$e> $m", "$n as n, count(*) as c", "order { c desc, $n }"),
    "distinct entities": Case("$n: Named $n <$e> $m", "$n as n", "distinct order { n desc }"),
    "compared nodes": Case(
        "$n: Named $m: Named $n != $m maybe { $n worksAt $c } not $c = $m",
        "type($m) as t, type($n) as s, count(distinct $m) as d",
        'having { t != "" } order { type($n), count(distinct $m) desc, t }',
    ),
    "narrowed interfaces": Case(
        '$n: Named exists { $n: Person $n.age > 10 } or $n.name != "Ann" maybe { $n: Person $n.age > 20 $n knows $f }',
        "$n.name, $f.name as friend",
        "order { $n.name, friend }",
    ),
    "entities of any edge": Case("$n: Named $n <$e> $m", "$e.* as e, type($m) as t", "order { e, t, $n.name }"),
    "distinct over any type": Case("$x", "type($x) as t", "distinct order { t }"),
    "not any edge": Case("$n: Named not { $n <$e> $other $other: Named $other.name > $n.name }", "$n.name, type($n)"),
    "union": Case(
        "$p: Person",
        "$p.name as name, $p.age as number",
        "union match { $c: Company } return { $c.name, $c.founded } order { number desc, name } limit 4",
    ),
    "union all": Case("$p: Person", "$p.*", "union all match { $p: Person $p knows $q } return { $q.* }"),
    "stages": Case(
        "$p: Person maybe { $p knows $q }",
        "$p, count($q) as n, $p.age as age",
        "order { n desc, age } limit 4 then match { $n > 0 or $age = 25 maybe { $p worksAt $c $c.founded > $n } "
        "not { $p wrote $d $d.body is null } } "
        "return { $p.name, $c, $n + 1 as m, $age, exists { $p knows $x $x.age > $age } }",
    ),
    "stages of groups": Case(
        "$p: Person $p $e: knows $q",
        "$q as p, $e, first($p, $p.age) as friend, count(*) as n",
        "then match { $friend worksAt $c } "
        "return { $p, $c, $e.since as since, sum($n) as total, first($friend.name) as f } "
        "then return distinct { $c as c, max($total) as top, $p.age } order { top desc, c }",
    ),
    "stages over several types": Case(
        "$n: Named $n <$e> $m",
        "$n, $e, count(*) as edges",
        "then match { maybe { $x: Company $x.name = $n.name } } "
        "return { $n, type($e) as t, sum($edges) as s, count($x) as same } order { $n.name, t }",
    ),
    "slice": Case("$p: Person", "$p", "order { $p.age desc, $p.name } limit 2 offset 1"),
}
