"""Stages of a read: what a later one sees of the former, and how its rows are shaped."""

from __future__ import annotations

import pytest

from omnigraph.errors import CompileError
from tests.features.exec.people import People


def test_entities_of_a_former_stage_are_matched_on_and_read(people: People) -> None:
    then = "order { n desc, $p.name } limit 2 then match { $p worksAt $c } return { $p.age, $c, $n } order { $c }"
    found = people.rows("$p: Person $p $e: knows $q", "$p, count(*) as n, $p.name", then)
    assert found == [(30, "Acme", 2), (30, "Zeta", 2)]


def test_a_limit_of_a_stage_cuts_the_rows_of_the_next(people: People) -> None:
    for limit, names in ((0, []), (1, ["Dan"]), (2, ["Bob", "Dan"])):
        then = f"order {{ $p.age, $p.name }} limit {limit} then return {{ $p }} order {{ $p }}"
        assert [name for (name,) in people.rows("$p: Person", "$p", then)] == names


def test_aggregates_of_a_stage_are_filtered_and_aggregated_again(people: People) -> None:
    then = "then return { $n as n, count(*) as people } order { n }"
    assert people.rows("$p: Person maybe { $p knows $q }", "$p, count($q) as n", then) == [(0, 1), (1, 3), (2, 1)]
    then = "then match { $n > 0 $total > 20 } return { $p } order { $p }"
    found = people.rows("$p: Person $p knows $q", "$p, count(*) as n, sum($q.age) as total", then)
    assert found == [("Bob",), ("Dan",)]


def test_equal_rows_of_a_stage_stay(people: People) -> None:
    assert people.rows("$p: Person", "$p.age as a", "then return { $a, count(*) as n } order { $a }") == [
        (None, 1),
        (20, 1),
        (25, 1),
        (30, 2),
    ]
    assert len(people.ask("$p: Person", "1 as one", "then match { $q: Person } return { $q }")) == 25


def test_values_are_read_by_alias_or_as_they_were_written(people: People) -> None:
    then = "then match { $twin: Person { age: $p.age } $twin.name != $p.name } return { $p.name, $twin, $next }"
    assert people.rows("$p: Person", "$p.name, $p.age, $p.age + 1 as next", then) == [
        ("Ann", "Cid", 31),
        ("Cid", "Ann", 31),
    ]
    then = "then match { $q: Person $q.age in $ages id($q) in $who } return { $q } order { $q }"
    match = '$p: Person $p.name in ["Ann", "Bob"]'
    assert people.rows(match, "collect($p.age) as ages, collect($p) as who", then) == [("Ann",), ("Bob",)]


def test_the_first_of_a_group_is_an_entity(people: People) -> None:
    then = "then match { $boss $w: worksAt $c } return { $c, $boss.name, $w.role } order { $c }"
    found = people.rows("$p: Person $p worksAt $c", "$c, last($p, $p.age) as boss", then)
    assert found == [("Acme", "Ann", "boss"), ("Zeta", "Ann", "aide")]


def test_an_edge_is_an_entity_of_the_next_stage(people: People) -> None:
    then = "order { $e.since desc } limit 1 then return { $e.since, $e.*, type($e) as t }"
    ((since, entity, kind),) = people.rows("$p: Person $p $e: knows $q", "$e", then)
    assert (str(since), entity["id"], entity["from"], entity["to"], kind) == ("2003-01-01", "cd", "Cid", "Dan", "Knows")


def test_an_optional_entity_may_be_null_in_the_next_stage(people: People) -> None:
    match, returns = "$p: Person maybe { $p worksAt $c }", "$p, $c"
    assert people.rows(match, returns, "then match { $c is null } return { $p } order { $p }") == [
        ("Cid",),
        ("Dan",),
        ("Eve",),
    ]
    found = people.rows(match, returns, "then match { $q worksAt $c } return { $p, $q } order { $p, $q }")
    assert found == [("Ann", "Ann"), ("Ann", "Ann"), ("Ann", "Bob"), ("Bob", "Ann"), ("Bob", "Bob")]
    found = people.rows(
        match, returns, "then match { maybe { $q worksAt $c } } return { $p, count($q) as n } order { n, $p }"
    )
    assert found == [("Cid", 0), ("Dan", 0), ("Eve", 0), ("Bob", 2), ("Ann", 3)]


def test_blocks_of_a_later_stage_see_entities_and_values(people: People) -> None:
    match, returns = "$p: Person", "$p, $p.age as limit"
    then = "then match { not { $p knows $q $q.age < $limit } } return { $p } order { $p }"
    assert people.rows(match, returns, then) == [("Bob",), ("Cid",), ("Dan",), ("Eve",)]
    then = "then return { $p, exists { $p knows $q $q.age < $limit } as younger } order { younger desc, $p } limit 1"
    assert people.rows(match, returns, then) == [("Ann", True)]
    then = "then match { maybe { $p knows $q $q.age >= $limit } } return { $p, $q } order { $p }"
    assert people.rows(match, returns, then) == [
        ("Ann", None),
        ("Bob", "Cid"),
        ("Cid", None),
        ("Dan", None),
        ("Eve", None),
    ]


def test_a_stage_of_several_types_keeps_the_type_of_every_row(people: People) -> None:
    then = "then match { $n <$e> $m } return { $n.name, type($n) as t, count(*) as edges } order { t, edges }"
    assert people.rows("$n: Named", "$n", f"order {{ $n.name }} limit 3 {then}") == [
        ("Acme", "Company", 2),
        ("Bob", "Person", 6),
        ("Ann", "Person", 7),
    ]
    then = "then match { $n: Company $n.founded > 1995 } return { $n.name, $n.founded }"
    assert people.rows("$n: Named", "$n", then) == [("Void", 2000)]
    then = "then return { type($e) as t, sum($n) as n } order { t }"
    assert people.rows("$a <$e> $b", "$e, count(*) as n", then) == [("Knows", 11.0), ("WorksAt", 6.0), ("Wrote", 8.0)]


def test_stages_may_be_unions_and_have_unions(people: People) -> None:
    other = "union all match { $c: Company $p worksAt $c } return { $p }"
    then = "then return { $p, count(*) as n } order { n desc, $p }"
    assert people.rows("$p: Person $p.age = 30", "$p", f"{other} {then}") == [("Ann", 3), ("Bob", 1), ("Cid", 1)]
    then = "then match { $p knows $q } return { $q.name as x }"
    other = "union match { $p worksAt $c } return { $c.name } order { x }"
    assert people.rows('$p: Person { name: "Ann" }', "$p", f"{then} {other}") == [("Acme",), ("Bob",), ("Zeta",)]


def test_a_row_is_its_own_entity_in_a_stage_after_a_stage(people: People) -> None:
    then = (
        "order { $p.age desc, $p } limit 3 then match { $p knows $q } return { $q as p, $p as by } "
        "then match { $p knows $r } return { $by, $p, $r } order { $by }"
    )
    assert people.rows("$p: Person", "$p", then) == [
        ("Ann", "Bob", "Cid"),
        ("Cid", "Dan", "Ann"),
        ("Cid", "Dan", "Dan"),
    ]


def test_search_and_rankings_work_in_every_stage(people: People) -> None:
    then = "then match { $p wrote $d } return { $p, $d } order { nearest($d.vec, [0.0, 0.0]) } limit 2"
    found = people.rows("$p: Person $p.age > 15", "$p", then.replace("then", "order { $p } limit 2 then"))
    assert found == [("Ann", "d1"), ("Bob", "d5")]
    then = 'order { bm25($d.body, "fox") } limit 1 then match { $p wrote $d } return { $p, $d } order { $p }'
    assert people.rows("$d: Doc", "$d", then) == [("Ann", "d2"), ("Bob", "d2")]


def test_what_is_not_returned_is_gone(people: People) -> None:
    for then in ("match { $p knows $q } return { $p }", "return { $q.age }", "match { $q: Person } return { $q }"):
        with pytest.raises(CompileError, match=r"does not return `\$q`"):
            people.ask("$p: Person $p knows $q", "$p", f"then {then}")
