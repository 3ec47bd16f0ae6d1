"""Sections 4.1 to 4.5 of the specification: bindings, traversals, hops, conditions, `not`; and `maybe`, `shortest`."""

from typing import Any

import pytest

from tests.features.exec.people import People, edge, person

# --- 4.1 clauses -----------------------------------------------------------------------------------------


def test_separate_parts_are_combined_in_every_way(people: People) -> None:
    assert len(people.rows("$p: Person $c: Company", "$p, $c")) == 15


def test_the_order_of_clauses_does_not_matter(people: People) -> None:
    forwards = people.rows("$p: Person $p worksAt $c $c.founded = 1990 $p.age > 20", "$p, $c")
    assert (
        forwards == people.rows("$p.age > 20 $c.founded = 1990 $p worksAt $c $p: Person", "$p, $c") == [("Ann", "Acme")]
    )


def test_an_inline_match_on_a_reached_variable_filters_it(people: People) -> None:
    assert people.rows('$p: Person $p worksAt $c $c: Company { name: "Zeta" }', "$p, $c") == [("Ann", "Zeta")]


def test_a_part_without_a_typed_binding_is_matched(people: People) -> None:
    assert people.rows("$p worksAt $c", "$p, $c") == [("Ann", "Acme"), ("Ann", "Zeta"), ("Bob", "Acme")]


def test_a_variable_bound_twice_has_both_conditions(people: People) -> None:
    assert people.names("$p: Person { age: 30 } $p: Person { active: true }") == "Ann"


def test_a_cycle_is_closed(people: People) -> None:
    assert (
        people.rows("$p knows $q $q knows{3,3} $p", "$p, $q")
        == [("Ann", "Bob"), ("Bob", "Cid"), ("Cid", "Dan"), ("Dan", "Ann"), ("Dan", "Dan")][:4]
    )


def test_a_node_that_leads_to_itself(people: People) -> None:
    assert people.names("$p knows $p") == "Dan"


def test_an_anonymous_end_gives_one_row_per_neighbour(people: People) -> None:
    assert people.names("$p: Person $p worksAt $_") == "Ann Ann Bob"
    assert people.names("$p: Person $p knows $_") == "Ann Bob Cid Dan Dan"


# --- 4.2 one hop -----------------------------------------------------------------------------------------


def test_parallel_edges_are_one_pair(people: People) -> None:
    assert people.rows('$p: Person { name: "Ann" } $p knows $f', "$f") == [("Bob",)]


def test_a_bound_edge_gives_one_row_per_edge_and_its_properties(people: People) -> None:
    found = people.rows('$p: Person { name: "Ann" } $p $e: knows $f', "$f, $e.note")
    assert found == [("Bob", "again"), ("Bob", None)]


def test_an_anonymous_edge_is_unbound(people: People) -> None:
    assert people.rows('$p: Person { name: "Ann" } $p $_: knows $f', "$f") == [("Bob",)]


def test_either_text_order_means_the_same_edge_between_two_types(people: People) -> None:
    assert people.rows("$c: Company $c worksAt $p", "$p, $c") == people.rows("$p: Person $p worksAt $c", "$p, $c")


def test_written_order_is_the_direction_within_one_type(people: People) -> None:
    assert people.rows('$p: Person { name: "Dan" } $p knows $f', "$f") == [("Ann",), ("Dan",)]
    assert people.rows('$p: Person { name: "Dan" } $f knows $p', "$f") == [("Cid",), ("Dan",)]


def test_an_undirected_traversal_finds_each_neighbour_once(people: People) -> None:
    assert people.rows('$p: Person { name: "Dan" } $p <knows> $f', "$f") == [("Ann",), ("Cid",), ("Dan",)]
    assert people.rows('$p: Person { name: "Ann" } $p <knows> $f', "$f") == [("Bob",), ("Dan",)]


def test_an_undirected_bound_edge_is_found_from_both_ends_and_a_loop_once(people: People) -> None:
    assert people.rows('$p: Person { name: "Bob" } $p $e: <knows> $f', "$f, $e.note") == [
        ("Ann", "again"),
        ("Ann", None),
        ("Cid", None),
    ]
    assert people.rows('$p: Person { name: "Dan" } $p $e: <knows> $f', "$f") == [("Ann",), ("Cid",), ("Dan",)]


def test_conditions_on_an_edge_are_tested(people: People) -> None:
    assert people.rows('$p $e: knows $f $e.since > date("2002-01-01")', "$p, $f") == [("Cid", "Dan")]


# --- 4.3 several hops ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hops", "found"),
    [
        ("{1,1}", "Bob"),
        ("{1,2}", "Bob Cid"),
        ("{2,3}", "Cid Dan"),
        ("{3,3}", "Dan"),
        ("{4,4}", "Dan"),  # over its own loop
        ("{4,9}", "Dan"),
        ("{1,9}", "Bob Cid Dan"),  # never the start, although there is a cycle
        ("{5,9}", ""),
    ],
)
def test_a_node_is_found_at_its_shortest_distance(people: People, hops: str, found: str) -> None:
    assert people.names(f'$p: Person {{ name: "Ann" }} $p knows{hops} $f', "$f") == found


def test_the_start_is_found_only_over_its_own_loop(people: People) -> None:
    assert people.names('$p: Person { name: "Dan" } $p knows{1,9} $f', "$f") == "Ann Bob Cid Dan"
    assert people.names('$p: Person { name: "Dan" } $p knows{2,9} $f', "$f") == "Bob Cid"


def test_hops_mean_the_same_from_the_other_end(people: People) -> None:
    forwards = people.rows("$p: Person $p knows{4,4} $f", "$p, $f")
    assert forwards == people.rows("$f: Person $p knows{4,4} $f", "$p, $f") == [("Ann", "Dan")]


def test_hops_in_both_directions(people: People) -> None:
    assert people.names('$p: Person { name: "Ann" } $p <knows>{2,2} $f', "$f") == "Cid Dan"


def test_an_edge_between_two_types_cannot_be_followed_twice(people: People) -> None:
    assert people.rows("$p: Person $p worksAt{2,3} $c", "$c") == []
    assert people.rows("$p worksAt{1,3} $c", "$p, $c") == people.rows("$p worksAt $c", "$p, $c")


def test_equal_row_numbers_of_two_types_are_not_one_node(made: Any) -> None:
    graph = made(
        "node A { k: String @key } node B { k: String @key } edge E: A -> B",
        [{"type": t, "data": {"k": str(n)}} for t in "AB" for n in range(3)]
        + [edge("E", "1", "1"), edge("E", "2", "0")],
    )
    ask = People(graph).rows
    assert ask("$a: A $a e{2,3} $b", "$b") == []
    assert ask("$a: A $b: B $a e{2,3} $b", "$b") == []
    assert ask("$a: A $b: B $a $path: shortest e $b", "$a, $b, $path.length, $path.nodes") == [
        ("1", "1", 1, ["1", "1"]),
        ("2", "0", 1, ["2", "0"]),
    ]


# --- 4.4 conditions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("$p.age = 30", "Ann Cid"),
        ("$p.age != 30", "Bob Eve"),  # null is dropped
        ("$p.age < 30.5 and $p.age > 24.5", "Ann Cid Eve"),
        ("$p.age = 30.5", ""),
        ("$p.age != 30.5", "Ann Bob Cid Eve"),
        ("$p.age < 99999999999", "Ann Bob Cid Eve"),
        ("$p.age in [20, 25.0, 99999999999]", "Bob Eve"),
        ("$p.age is null", "Dan"),
        ("$p.age is not null and $p.nick is null", "Ann Eve"),
        ("($p.age = 30) = false", "Bob Eve"),
        ("$p.age = 30 or $p.active", "Ann Cid Dan"),
        ("$p.active", "Ann Dan"),
        ("$p.active < true", "Bob"),
        ("$p.score = 0", "Bob Cid"),  # also the negative zero
        ("$p.score in [0.0]", "Bob Cid"),
        ("$p.height = 0.1", ""),  # no F32 is 0.1
        ("$p.height > 0.1", "Ann Eve"),
        ("$p.visits > 9223372036854775807", "Ann"),
        ("$p.visits > $p.big", "Ann Eve"),
        ("$p.big = 9007199254740992.0", ""),
        ("$p.big > 9007199254740992.0", "Ann"),
        ("$p.big > $p.score", "Ann"),
        ('$p.nick starts_with "O\'"', "Dan"),
        ('$p.nick contains ""', "Bob Cid Dan"),
        ('"long Bob text" contains $p.name', "Bob"),
        ('$p.nick contains "%"', ""),
        ('$p.name < "Bz"', "Ann Bob"),
        ('$p.tags contains "x"', "Bob Dan"),
        ('("x" in $p.tags) = false', "Cid"),
        ("2 in $p.lucky", "Bob"),
        ("$p.lucky contains 2.5", ""),
        ('$p.born < date("1970-01-01")', "Dan"),
        ("$p.seen < now()", "Cid"),
        ('$p.level = "zzz"', ""),
        ("$p.age % 7 = 2", "Ann Cid"),
        ("$p.age / 0 is null", "Ann Bob Cid Dan Eve"),
        ("$p.age + $p.score > 26.5", "Ann Cid Eve"),
        ("1 = 2", ""),
    ],
)
def test_conditions(people: People, condition: str, found: str) -> None:
    assert people.names(f"$p: Person {condition}") == found


def test_a_list_property_is_matched_by_one_of_its_items(people: People) -> None:
    assert people.names('$p: Person { tags: "x" }') == "Bob Dan"


def test_a_null_parameter_matches_nothing(people: People) -> None:
    assert people.names("$p: Person { age: $x }", params="$x: I32?") == ""
    assert people.names("$p: Person $p.age != $x", params="$x: I32?") == ""
    assert people.names("$p: Person $p.age in $x", params="$x: [I32]?") == ""


def test_a_condition_may_read_several_variables(people: People) -> None:
    assert people.rows("$p: Person $q: Person $p.age = $q.age $p != $q", "$p, $q") == [("Ann", "Cid"), ("Cid", "Ann")]


# --- exists ----------------------------------------------------------------------------------------------


def test_exists_keeps_a_row_once_whatever_the_number_of_matches(people: People) -> None:
    assert people.names("$p: Person exists { $p $e: knows $q }") == "Ann Bob Cid Dan"
    assert people.names("$p: Person exists { $p knows $q $q.age = 20 }") == "Ann"


def test_exists_is_true_or_false_and_never_null(people: People) -> None:
    found = people.rows(
        "$p: Person", "$p, exists { $p worksAt $_ }, not exists { $p worksAt $_ }, exists { $p wrote $_ } is null"
    )
    assert found == [
        ("Ann", True, False, False),
        ("Bob", True, False, False),
        ("Cid", False, True, False),
        ("Dan", False, True, False),
        ("Eve", False, True, False),
    ]


def test_exists_of_an_optional_variable_is_false_where_that_is_null(people: People) -> None:
    found = people.rows("$p: Person maybe { $p knows $q }", "$p, $q, exists { $q worksAt $_ }")
    assert ("Eve", None, False) in found
    assert ("Ann", "Bob", True) in found


def test_not_exists_means_not(people: People) -> None:
    for block in ("{ $p worksAt $_ }", "{ $p <knows> $x $x.age > 20 }", "{ $p: Person { age: 30 } }"):
        assert people.names(f"$p: Person not exists {block}") == people.names(f"$p: Person not {block}")
        assert people.names(f"$p: Person exists {block} = false") == people.names(f"$p: Person not {block}")


def test_exists_is_an_operand_like_any_other(people: People) -> None:
    assert people.names("$p: Person exists { $p worksAt $_ } or $p.age = 25") == "Ann Bob Eve"
    assert people.names("$p: Person exists { $p worksAt $_ } != exists { $p knows $_ }") == "Cid Dan"
    assert people.names("$p: Person if(exists { $p wrote $_ }, $p.age, 0) = 20") == "Bob"
    assert people.names("$p: Person $p.active = exists { $p worksAt $_ }") == "Ann"


def test_blocks_of_exists_nest_and_see_every_variable_around_them(people: People) -> None:
    match = "$p: Person exists { $p knows $q exists { $q worksAt $c exists { $p worksAt $c } } }"
    assert people.names(match) == "Ann"
    match = "$p: Person not { $p knows $q not exists { $q worksAt $_ } }"
    assert people.names(match) == "Ann Eve"


def test_rows_are_grouped_ordered_and_counted_by_exists(people: People) -> None:
    returns = "exists { $p worksAt $_ } as works, count(*) as n, sum(if(exists { $p wrote $_ }, 1, 0)) as writers"
    assert people.rows("$p: Person", returns, "order { works }") == [(False, 3, 0.0), (True, 2, 2.0)]
    ordered = people.rows("$p: Person", "$p", "order { exists { $p worksAt $_ } desc, $p.name desc } limit 3")
    assert ordered == [("Bob",), ("Ann",), ("Eve",)]
    assert people.rows("$p: Person", "exists { $p knows $_ }", "distinct") == [(False,), (True,)]
    returns = "exists { $p knows $_ } as knows, count(*) as n"
    assert people.rows("$p: Person", returns, "having { knows and n > 1 }") == [(True, 4)]


# --- 4.5 not ---------------------------------------------------------------------------------------------


def test_not_drops_rows_with_a_match(people: People) -> None:
    assert people.names("$p: Person not { $p worksAt $_ }") == "Cid Dan Eve"


def test_not_infers_directions_from_outside(people: People) -> None:
    assert people.names("$c: Company not { $c worksAt $p }", "$c") == "Void"


@pytest.mark.parametrize(
    ("source_first", "target_first", "left"),
    [
        ("$c: Company not { $p worksAt $c }", "$c: Company not { $c worksAt $p }", "Void"),
        ("$c: Company not { $_ worksAt $c }", "$c: Company not { $c worksAt $_ }", "Void"),
        ("not { $p worksAt $c } $c: Company", "not { $c worksAt $p } $c: Company", "Void"),
        ("$c: Company not { $p $w:worksAt $c }", "$c: Company not { $c $w:worksAt $p }", "Void"),
        ("$c: Company not { $p worksAt{1,1} $c }", "$c: Company not { $c worksAt{1,1} $p }", "Void"),
        ("$c: Company not { $p worksAt $c $p.age = 30 }", "$c: Company not { $c worksAt $p $p.age = 30 }", "Void"),
        (
            '$c: Company not { $p: Person { name: "Bob" } $p worksAt $c }',
            '$c: Company not { $p: Person { name: "Bob" } $c worksAt $p }',
            "Void Zeta",
        ),
        (
            '$p: Person { name: "Bob" } $c: Company not { $p worksAt $c }',
            '$p: Person { name: "Bob" } $c: Company not { $c worksAt $p }',
            "Void Zeta",
        ),
    ],
)
def test_inside_not_an_edge_between_two_types_may_be_written_from_either_end(
    people: People, source_first: str, target_first: str, left: str
) -> None:
    assert people.names(source_first, "$c") == people.names(target_first, "$c") == left


def test_not_honours_hops_and_undirected_edges(people: People) -> None:
    assert people.names("$p: Person not { $p knows{2,2} $x }") == "Eve"
    assert people.names("$p: Person not { $p <knows> $x }") == "Eve"


def test_binding_an_outer_variable_again_inside_not_is_a_condition(people: People) -> None:
    assert people.names("$p: Person not { $p: Person { age: 30 } }") == "Bob Dan Eve"


def test_not_is_about_the_whole_row(people: People) -> None:
    found = people.rows("$p: Person $p knows $q not { $p worksAt $c $q worksAt $c }", "$p, $q")
    assert ("Ann", "Bob") not in found
    assert len(found) == 4


def test_not_blocks_nest_and_add_up(people: People) -> None:
    assert people.names("$p: Person not { $p knows $f not { $f worksAt $_ } }") == "Ann Eve"
    assert people.names("$p: Person not { $p worksAt $_ } not { $p.age = 30 }") == "Dan Eve"


# --- maybe and shortest ----------------------------------------------------------------------------------


def test_maybe_keeps_a_row_without_a_match_once(people: People) -> None:
    found = people.rows("$p: Person maybe { $p worksAt $c $c.founded > 1900 }", "$p, $c, $c.founded")
    assert found == [
        ("Ann", "Acme", 1990),
        ("Bob", "Acme", 1990),
        ("Cid", None, None),
        ("Dan", None, None),
        ("Eve", None, None),
    ]


def test_a_condition_on_the_variables_of_maybe_drops_rows(people: People) -> None:
    assert people.rows("$p: Person maybe { $p worksAt $c } $c.founded > 1900", "$p") == [("Ann",), ("Bob",)]
    assert people.names("$p: Person maybe { $p worksAt $c } $c is null") == "Cid Dan Eve"


def test_a_later_block_finds_nothing_where_an_earlier_one_did(people: People) -> None:
    found = people.rows("$p: Person maybe { $p worksAt $c } maybe { $q worksAt $c $q != $p }", "$p, $c, $q")
    assert ("Ann", "Acme", "Bob") in found
    assert ("Ann", "Zeta", None) in found
    assert ("Eve", None, None) in found
    assert people.names("$p: Person maybe { $p worksAt $c } not { $c: Company }") == "Cid Dan Eve"


def test_blocks_inside_maybe(people: People) -> None:
    found = people.rows(
        '$p: Person maybe { $p worksAt $c maybe { $p wrote $d } not { $c: Company { name: "Zeta" } } }', "$p, $c, $d"
    )
    assert ("Ann", "Acme", "d1") in found
    assert ("Ann", "Zeta", None) not in found
    assert ("Eve", None, None) in found


def test_shortest_paths(people: People) -> None:
    found = people.rows(
        '$a: Person { name: "Ann" } $b: Person $a $path: shortest knows $b', "$b, $path.length, $path.nodes"
    )
    assert found == [
        ("Bob", 1, ["Ann", "Bob"]),
        ("Cid", 2, ["Ann", "Bob", "Cid"]),
        ("Dan", 3, ["Ann", "Bob", "Cid", "Dan"]),
    ]


def test_shortest_paths_respect_bounds_direction_and_loops(people: People) -> None:
    ask = people.rows
    assert ask('$a: Person { name: "Ann" } $b: Person $a $w: shortest knows{2,2} $b', "$b, $w.length") == [("Cid", 2)]
    assert ask('$a: Person { name: "Ann" } $b: Person { name: "Dan" } $a $w: shortest <knows> $b', "$w.nodes") == [
        (["Ann", "Dan"],)
    ]
    assert ask('$a: Person { name: "Dan" } $a $w: shortest knows $a', "$w.nodes") == [(["Dan", "Dan"],)]
    assert ask('$a: Person { name: "Ann" } $a $w: shortest knows $a', "$w.nodes") == []


def test_a_path_in_maybe_is_null_where_there_is_none(people: People) -> None:
    found = people.rows(
        '$a: Person { name: "Eve" } $b: Company maybe { $a knows $f $a $w: shortest knows $f }',
        "$b, $w.length, $w.nodes",
    )
    assert found == [("Acme", None, None), ("Void", None, None), ("Zeta", None, None)]


PATHS = '$a: Person { name: "Ann" } $b: Person maybe { $a $w: shortest knows $b }'
"""Ann's shortest ways to Bob, Cid and Dan: 1, 2 and 3 hops; to herself and to Eve there is none."""


def test_path_values_are_keys_of_groups(people: People) -> None:
    ask = people.rows
    assert ask(PATHS, "$w.length, count($b) as n") == [(1, 1), (2, 1), (3, 1), (None, 2)]
    assert ask(PATHS, "$w.nodes, count($b) as n, max($w.length) as m")[0] == (None, 2, None)
    assert ask(PATHS, "collect($b) as who, $w.length as far", "order { far desc } offset 2") == [
        (["Bob"], 1),
        (["Ann", "Eve"], None),
    ]
    assert ask(PATHS, "$w.length, $a.name, count($w.nodes) as n", "order { $w.length desc } limit 2") == [
        (3, "Ann", 1),
        (2, "Ann", 1),
    ]


def test_path_values_are_arguments_of_aggregates(people: People) -> None:
    ask, length = people.rows, "$w.length"
    functions = f"sum({length}) as s, avg({length}) as v, min({length}) as l, max({length}) as h, count({length}) as n"
    assert ask(PATHS, functions) == [(6.0, 2.0, 1, 3, 3)]
    assert ask(PATHS, f"$a, {functions}") == [("Ann", 6.0, 2.0, 1, 3, 3)]
    assert ask(PATHS, "count(distinct $w.length) as n, count(distinct $w.nodes) as m") == [(3, 3)]
    assert ask(PATHS, "$a, collect(distinct $w.length) as all") == [("Ann", [1, 2, 3])]


def test_path_values_are_ordered_by_and_told_apart(people: People) -> None:
    ask = people.rows
    assert ask(PATHS, "$b", "order { $w.length desc, $b } limit 3") == [("Dan",), ("Cid",), ("Bob",)]
    assert ask(PATHS, "$b", "order { $w.length, $b }") == [("Ann",), ("Eve",), ("Bob",), ("Cid",), ("Dan",)]
    assert ask(PATHS + " $b.name != $a.name", "$w.length = 1 as near", "order { near }") == [
        (None,),
        (False,),
        (False,),
        (True,),
    ]
    assert ask(PATHS, "$w.length", "distinct order { $w.length desc }") == [(3,), (2,), (1,), (None,)]
    assert ask(PATHS, "$a, $w.nodes", "distinct")[1] == ("Ann", ["Ann", "Bob", "Cid", "Dan"])
    assert len(ask(PATHS, "$a, $w.nodes", "distinct")) == 4


# --- empty graphs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("match", "found"),
    [
        ("$p: Person", 0),
        ("$p knows $q", 0),
        ("$p knows{1,5} $q not { $q worksAt $_ }", 0),
        ("$p: Person maybe { $p $e: knows $q }", 0),
        ("$p: Person $q: Person $p $w: shortest knows $q", 0),
    ],
)
def test_an_empty_graph_has_no_matches(made: Any, match: str, found: int) -> None:
    graph = made("node Person { name: String @key } edge Knows: Person -> Person edge WorksAt: Person -> Person", [])
    assert len(People(graph).rows(match, "$p")) == found


def test_deleted_nodes_and_edges_are_gone_and_the_past_still_has_them(made: Any) -> None:
    graph = made(
        "node Person { name: String @key age: I32? } edge Knows: Person -> Person",
        [person(name, age=n) for n, name in enumerate("abcd")] + [edge("Knows", "a", "b"), edge("Knows", "b", "c")],
    )
    before = graph.snapshot().commit_id
    graph.mutate('query q() { delete Person where name = "b" }')
    ask = People(graph).ask
    assert ask("$p knows $q", "$p").to_pylist() == []
    assert len(ask("$p: Person", "$p")) == 3
    assert ask('$p: Person { name: "c" }', "$p.age").to_pylist() == [{"p.age": 2}]
    assert len(ask("$p knows $q", "$p", at=before)) == 2
