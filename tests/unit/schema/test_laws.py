"""Laws that hold for every schema and every history of one."""

import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from omnigraph.lang.pg_format import format_schema
from omnigraph.schema.ir import SchemaIR
from omnigraph.schema.json_form import digest, from_json, shape_hash, to_json
from omnigraph.schema.lint import lint_schema
from omnigraph.schema.migrate import plan
from omnigraph.schema.print import to_pg
from omnigraph.schema.steps import (
    AddProperty,
    AddType,
    DropProperty,
    DropType,
    RenameProperty,
    RenameType,
)
from omnigraph.wire.schemas import migration_json
from tests.unit.schema.schemas import accepted, errors, parse
from tests.unit.schema.strategies import History, histories, schema_texts

# Half of the usual examples: a schema is long, and eleven laws look at each.
few = settings(max_examples=settings().max_examples // 2)


@few
@given(schema_texts())
def test_a_printed_schema_means_the_same(text: str) -> None:
    schema = accepted(text)
    printed = to_pg(schema)
    assert accepted(printed) == schema
    assert shape_hash(accepted(printed)) == shape_hash(schema)
    assert to_pg(accepted(printed)) == printed


@few
@given(schema_texts())
def test_a_printed_schema_is_in_canonical_form(text: str) -> None:
    printed = to_pg(accepted(text))
    assert format_schema(parse(printed)) == printed


@few
@given(schema_texts())
def test_formatting_a_text_changes_nothing_that_is_accepted(text: str) -> None:
    assert accepted(format_schema(parse(text))) == accepted(text)


@few
@given(schema_texts())
def test_json_is_read_back_exactly(text: str) -> None:
    schema = accepted(text)
    assert from_json(to_json(schema)) == schema
    assert digest(from_json(to_json(schema))) == digest(schema)


@few
@given(schema_texts())
def test_a_schema_is_one_nothing_away_from_itself(text: str) -> None:
    schema = accepted(text)
    assert accepted(text, schema) == schema
    assert plan(schema, schema).steps == ()


@few
@given(schema_texts(), schema_texts())
def test_a_plan_is_empty_exactly_when_the_shapes_are_equal(before: str, after: str) -> None:
    old = accepted(before)
    new = accepted(after, old)
    found = plan(old, new)
    assert (found.steps == ()) == (shape_hash(old) == shape_hash(new))
    assert len(found.render().splitlines()) == max(1, len(found.steps))
    assert migration_json(found)["supported"] == found.supported


@few
@given(schema_texts())
def test_any_accepted_schema_can_be_linted(text: str) -> None:
    assert {finding.code[:2] for finding in lint_schema(parse(text))} <= {"S2"}


@few
@given(schema_texts(), st.data())
def test_a_mutilated_text_gives_diagnostics_and_nothing_else(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    middle = data.draw(
        st.sampled_from(("", "}", "{", "@key", "@merge(max)", '"', "node A {}", "p: [Blob]", "@embed(p)"))
    )
    mutilated = text[:start] + middle + text[end:]
    for found in errors(mutilated):
        assert found.render()
    lint_schema(parse(mutilated))


def _ids(schema: SchemaIR) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    for node in schema.nodes:
        found[node.name,] = node.id
        found[node.name, "", "incarnation"] = node.incarnation
        found |= {(node.name, prop.name): prop.id for prop in node.properties}
    return found


@few
@given(histories())
def test_ids_follow_things_through_renames_and_are_never_reused(history: History) -> None:
    previous: SchemaIR | None = None
    ids_of: dict[tuple[int, str], int] = {}
    for text, things in history.revisions:
        schema = accepted(text, previous)
        found = _ids(schema)
        assert len(set(found.values())) == len(found)
        for thing in things:
            pairs = [((thing.uid, "id"), found[thing.name,])]
            pairs.append(((thing.uid, "incarnation"), found[thing.name, "", "incarnation"]))
            pairs += [((item.uid, "id"), found[thing.name, item.name]) for item in thing.properties]
            for key, number in pairs:
                is_new = key not in ids_of
                assert not (is_new and previous is not None) or number >= (previous.next_id if previous else 1)
                assert ids_of.setdefault(key, number) == number
        assert len(set(ids_of.values())) == len(ids_of)
        assert previous is None or schema.next_id >= previous.next_id
        previous = schema


@few
@given(histories())
def test_plans_name_exactly_what_happened(history: History) -> None:
    for (text, things), (next_text, next_things) in zip(history.revisions, history.revisions[1:], strict=False):
        old = accepted(text)
        found = plan(old, accepted(next_text, old))
        assert found.supported
        before, after = {thing.uid: thing for thing in things}, {thing.uid: thing for thing in next_things}
        both = before.keys() & after.keys()
        counts = {
            AddType: len(after.keys() - before.keys()),
            DropType: len(before.keys() - after.keys()),
            RenameType: sum(before[uid].name != after[uid].name for uid in both),
            AddProperty: 0,
            DropProperty: 0,
            RenameProperty: 0,
        }
        for uid in both:
            was = {item.uid: item.name for item in before[uid].properties}
            becomes = {item.uid: item.name for item in after[uid].properties}
            counts[AddProperty] += len(becomes.keys() - was.keys())
            counts[DropProperty] += len(was.keys() - becomes.keys())
            counts[RenameProperty] += sum(was[item] != becomes[item] for item in was.keys() & becomes.keys())
        assert {kind: sum(isinstance(step, kind) for step in found.steps) for kind in counts} == counts
        assert len(found.steps) == sum(counts.values())


@few
@given(schema_texts(), st.data())
def test_no_small_change_of_meaning_escapes_the_planner(text: str, data: st.DataObject) -> None:
    words = [match.span() for match in re.finditer(r"@\w+(\((\w+|[^()\"]*)\))?|\w+: [\w()]+|\?|implements \w", text)]
    assume(words)
    start, end = data.draw(st.sampled_from(words))
    smaller = text[:start] + text[end:]
    old = accepted(text)
    assume(not errors(smaller, old))
    new = accepted(smaller, old)
    assert (plan(old, new).steps == ()) == (shape_hash(old) == shape_hash(new))
