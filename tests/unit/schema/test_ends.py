"""Edge types over several node types: what their ends stand for, how they are stored, changed and merged."""

import pytest

from omnigraph.errors import SchemaConflict
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.schema.ends.tags import ALWAYS_TAGGED
from omnigraph.schema.ir import SchemaIR
from omnigraph.schema.json_form import digest, from_json, from_json_text, shape_hash, to_json, to_json_text
from omnigraph.schema.merge import merge_schemas
from omnigraph.schema.print import to_pg
from tests.unit.schema.schemas import accepted, edge, node, planned

NODES = "interface M { text: String } node Post implements M {} node Comment implements M {} node Person {} node Tag {}"


def _edge_type(text: str, name: str = "E", previous: SchemaIR | None = None) -> EdgeType:
    return Catalog(accepted(f"{NODES} {text}", previous)).edges[name]


@pytest.mark.parametrize(
    ("ends", "pairs", "printed"),
    [
        ("Person -> Tag", [("Person", "Tag")], "Person -> Tag"),
        ("Person -> M", [("Person", "Comment"), ("Person", "Post")], "Person -> M"),
        ("Post | Comment -> Tag", [("Comment", "Tag"), ("Post", "Tag")], "Comment | Post -> Tag"),
        ("Post -> Tag, Post -> Person", [("Post", "Person"), ("Post", "Tag")], "Post -> Person | Tag"),
        ("Post -> Tag, Tag -> Person", [("Post", "Tag"), ("Tag", "Person")], "Post -> Tag, Tag -> Person"),
        ("Post | M -> Tag", [("Comment", "Tag"), ("Post", "Tag")], "M | Post -> Tag"),
        ("Post | Post -> Tag", [("Post", "Tag")], "Post -> Tag"),
    ],
)
def test_declared_ends_stand_for_pairs_of_node_types(ends: str, pairs: list[tuple[str, str]], printed: str) -> None:
    found = _edge_type(f"edge E: {ends}")
    assert list(found.pairs) == pairs
    assert found.ends_text == printed
    assert _edge_type(f"edge E: {printed}").ir == found.ir


def test_a_node_type_with_the_name_of_an_interface_is_the_end() -> None:
    schema = accepted("interface M {} node M {} node A implements M {} edge E: A -> M")
    assert Catalog(schema).edges["E"].pairs == (("A", "M"),)


def test_the_stored_form_of_a_single_pair_is_what_it_always_was() -> None:
    stored = to_json(accepted("node A {} node B {} edge E: A -> B"))
    assert stored["version"] == 1
    [found] = stored["edges"]  # type: ignore[misc] # the form is an object of any values
    assert (found["source"], found["target"]) == ("A", "B")
    assert not {"ends", "tagged"} & found.keys()


@pytest.mark.parametrize("ends", ["Person -> M", "Post | Comment -> Tag", "Post -> Tag, Tag -> Person"])
def test_several_ends_are_stored_in_a_version_that_older_readers_refuse(ends: str) -> None:
    schema = accepted(f"{NODES} edge E: {ends}")
    stored = to_json(schema)
    assert stored["version"] == 3
    assert from_json(stored) == schema
    assert from_json_text(to_json_text(schema)) == schema
    assert shape_hash(accepted(to_pg(schema))) == shape_hash(schema)


def test_the_version_is_the_lowest_that_has_what_a_schema_needs() -> None:
    external = 'node X @external("/data/x.parquet") { k: String @key }'
    several = "edge E: Post | Comment | X -> Tag"
    texts = (NODES, f"{NODES} {external}", f"{NODES} {external} {several}")
    schemas = [accepted(text) for text in texts]
    assert [to_json(schema)["version"] for schema in schemas] == [1, 2, 3]
    assert [from_json(to_json(schema)) for schema in schemas] == schemas


def test_an_end_with_several_types_has_a_column_of_tags() -> None:
    found = _edge_type("edge E: Person -> M")
    assert (found.source.type_column, found.target.type_column) == (None, "dst_type")
    assert found.ir.tagged == (None, ALWAYS_TAGGED)
    assert [found.target.stored_tag(name) for name in found.target.types] == ["Comment", "Post"]
    assert [found.target.type_of(tag) for tag in ("Comment", "Post", "Tag", None)] == ["Comment", "Post", None, None]


def test_edges_from_before_an_end_was_added_need_no_tag() -> None:
    before = accepted(f"{NODES} edge E: Post -> Tag")
    after = accepted(f"{NODES} edge E: Post | Comment -> Tag", before)
    assert edge(after, "E").tagged == ("Post", None)
    end = Catalog(after).edges["E"].source
    assert [end.stored_tag(name) for name in end.types] == ["Comment", None]
    assert [end.type_of(tag) for tag in (None, "Comment", "Post")] == ["Post", "Comment", "Post"]


def test_the_column_of_tags_stays_when_one_type_is_left() -> None:
    wide = accepted(f"{NODES} edge E: Post | Comment -> Tag")
    narrow = accepted(f"{NODES} edge E: Comment -> Tag", wide)
    assert edge(narrow, "E").tagged == (ALWAYS_TAGGED, None)
    end = Catalog(narrow).edges["E"].source
    assert not end.is_typed
    assert (end.type_column, end.stored_tag("Comment")) == ("src_type", "Comment")
    assert edge(accepted(f"{NODES} edge E: Comment | Tag -> Tag", narrow), "E").tagged == (ALWAYS_TAGGED, None)


def test_a_type_that_implements_an_interface_adds_ends() -> None:
    before = accepted("interface M {} node Post implements M {} node Tag {} edge E: M -> Tag")
    more = "interface M {} node Post implements M {} node Video implements M {} node Tag {} edge E: M -> Tag"
    after = accepted(more, before)
    assert Catalog(after).edges["E"].pairs == (("Post", "Tag"), ("Video", "Tag"))
    assert edge(after, "E").tagged == ("Post", None)


def test_a_renamed_type_keeps_its_tag_and_a_new_one_of_its_name_gets_another() -> None:
    before = accepted(f"{NODES} edge E: Post | Comment -> Tag")
    renamed = NODES.replace("node Post ", 'node Article @rename_from("Post") ')
    after = accepted(f"{renamed} edge E: Article | Comment -> Tag", before)
    assert node(after, "Article").tag == "Post"
    both = accepted(f"{renamed} node Post {{}} edge E: Article | Comment | Post -> Tag", after)
    assert (node(both, "Article").tag, node(both, "Post").tag) == ("Post", "Post~2")


def test_a_tag_of_a_dropped_type_is_never_given_again() -> None:
    before = accepted(f"{NODES} edge E: Post | Comment -> Tag")
    without = NODES.replace("node Post implements M {} ", "")
    gone = accepted(f"{without} edge E: Comment -> Tag", before)
    assert gone.retired_tags == ("Post",)
    again = accepted(f"{NODES} edge E: Post | Comment -> Tag", gone)
    assert node(again, "Post").tag == "Post~2"
    assert from_json(to_json(again)) == again


STEPS = {
    "add an end": ("edge E: Post -> Tag", "edge E: Post | Comment -> Tag", [("Comment", "Tag")], [], "safe"),
    "drop an end": ("edge E: M -> Tag", "edge E: Post -> Tag", [], [("Comment", "Tag")], "safe"),
    "exchange one": (
        "edge E: Post | Comment -> Tag",
        "edge E: Post | Person -> Tag",
        [("Person", "Tag")],
        [("Comment", "Tag")],
        "safe",
    ),
    "write it otherwise": ("edge E: M -> Tag", "edge E: Post | Comment -> Tag", [], [], "safe"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_change_of_ends_is_one_step(name: str) -> None:
    before, after, added, dropped, safety = STEPS[name]
    [step] = planned(f"{NODES} {before}", f"{NODES} {after}").steps
    assert (list(step.added), list(step.dropped), step.safety) == (added, dropped, safety)  # type: ignore[union-attr] # it is a change of ends


def test_dropping_ends_for_good_needs_a_check_of_the_data() -> None:
    [step] = planned(f"{NODES} edge E: M -> Tag", f"{NODES} edge E: Post -> Tag", allow_data_loss=True).steps
    assert step.safety == "needs_data_check"


def test_ends_that_have_nothing_in_common_are_refused() -> None:
    [refused] = planned(f"{NODES} edge E: M -> Tag", f"{NODES} edge E: Person -> Tag").refusals
    assert refused.reason == "changing the source of edge E from Comment | Post to Person is not supported"


def test_a_type_that_starts_to_implement_an_interface_adds_ends() -> None:
    before = NODES.replace("node Tag {}", "node Tag { text: String }")
    after = NODES.replace("node Tag {}", "node Tag implements M { text: String }")
    steps = planned(f"{before} edge E: Person -> M", f"{after} edge E: Person -> M").steps
    assert [(type(step).__name__, step.added) for step in steps] == [  # type: ignore[union-attr] # both kinds add something
        ("ChangeInterfaces", ("M",)),
        ("ChangeEnds", (("Person", "Tag"),)),
    ]


def _merged(base: str, source: str, target: str) -> SchemaIR:
    start = accepted(f"{NODES} {base}")
    return merge_schemas(start, accepted(f"{NODES} {source}", start), accepted(f"{NODES} {target}", start))


def test_ends_that_both_sides_added_and_dropped_are_merged_as_sets() -> None:
    merged = _merged("edge E: Post | Comment -> Tag", "edge E: Post -> Tag", "edge E: Post | Comment | Person -> Tag")
    assert edge(merged, "E").ends == (("Person", "Tag"), ("Post", "Tag"))


def test_an_end_added_by_one_side_keeps_the_edges_of_the_other_untagged() -> None:
    merged = _merged("edge E: Post -> Tag", "edge E: Post | Comment -> Tag", "edge E: Post -> Tag { w: I32? }")
    assert edge(merged, "E").tagged == ("Post", None)


def test_an_edge_type_of_one_side_and_a_type_of_the_other_make_several_ends() -> None:
    start = accepted("interface M {} node Post implements M {} node Tag {}")
    source = accepted("interface M {} node Post implements M {} node Tag {} edge E: M -> Tag", start)
    target = accepted("interface M {} node Alone implements M {} node Post implements M {} node Tag {}", start)
    for one, other in ((source, target), (target, source)):
        merged = merge_schemas(start, one, other)
        assert Catalog(merged).edges["E"].source.types == ("Alone", "Post")
        assert edge(merged, "E").tagged == ("Post", None)


def test_sides_that_drop_all_ends_together_are_in_conflict() -> None:
    with pytest.raises(SchemaConflict, match="has no ends left"):
        _merged("edge E: Post | Comment -> Tag", "edge E: Post -> Tag", "edge E: Comment -> Tag")


def test_the_digest_of_a_schema_depends_on_its_tags() -> None:
    born = accepted(f"{NODES} edge E: Post | Comment -> Tag")
    grown = accepted(f"{NODES} edge E: Post | Comment -> Tag", accepted(f"{NODES} edge E: Post -> Tag"))
    assert shape_hash(born) == shape_hash(grown)
    assert digest(born) != digest(grown)
