"""One idea has one word.

The glossary gives some words one meaning. Here we hold the part of it that a name can betray: classes and
functions are split into words, and a reserved word may appear only in the packages where it has its meaning.
Fields, variables and the names of foreign libraries are not looked at, so that the check gives no false
alarms; the rest of the glossary is for reviewers.
"""

from tests.architecture.source_tree import modules, words

# Such a name means that the idea was not found.
EMPTY_MODULE_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff"})
EMPTY_CLASS_WORDS = frozenset({"manager", "helper", "helpers", "util", "utils"})

# word -> (packages in which no class or function may carry it, what to say instead)
RESERVED: dict[str, tuple[frozenset[str], str]] = {
    # A merge has base, source and target. Storing entities by id is an upsert, whatever Lance calls it.
    "merge": (frozenset({"rows", "storage", "exec"}), "upsert; a merge is of branches and schemas"),
    # A commit is a graph commit. The pure front end and the executor never see one.
    "commit": (
        frozenset({"lang", "schema", "query", "rows", "exec", "policy", "embed"}),
        "a graph commit only",
    ),
    # The graph has entities. Rows exist where they are stored, typed, computed or printed.
    "row": (frozenset({"core", "lang", "schema", "query", "policy"}), "entity; a row is stored data"),
    "rows": (frozenset({"core", "lang", "schema", "query", "policy"}), "entities; rows are stored data"),
}

# Words of other systems for ideas that have a name here, wherever they appear.
FOREIGN_WORDS = {
    "vertex": "node",
    "vertices": "nodes",
    "relationship": "edge",
    "checkout": "capture or snapshot",
    "transaction": "mutation, plan or commit",
}


def test_no_module_has_an_empty_name() -> None:
    parts = {(module.path, part) for module in modules() for part in module.path.removesuffix(".py").split("/")}
    assert not sorted(path for path, part in parts if part.strip("_") in EMPTY_MODULE_NAMES)


def test_no_class_is_a_manager() -> None:
    found = [
        f"{module.path}:{name}"
        for module in modules()
        for name, definition in module.definitions()
        if words(definition.name) & EMPTY_CLASS_WORDS
    ]
    assert not found


def test_reserved_words_keep_their_one_meaning() -> None:
    found = [
        f"{module.path}:{name}: {word!r} -> {RESERVED[word][1]}"
        for module in modules()
        for name, definition in module.definitions()
        for word in sorted(words(definition.name) & RESERVED.keys())
        if module.room in RESERVED[word][0]
    ]
    assert not found


def test_ideas_are_called_by_our_own_words() -> None:
    # Storage speaks Lance, which has transactions of its own; so does the interface that the namespace implements.
    found = [
        f"{module.path}:{name}: {word!r} -> {FOREIGN_WORDS[word]}"
        for module in modules()
        if module.room not in ("storage", "namespace")
        for name, definition in module.definitions()
        for word in sorted(words(definition.name) & FOREIGN_WORDS.keys())
    ]
    assert not found


def test_a_plan_says_what_it_plans() -> None:
    # `plan` alone is the PublishPlan; every other one carries its name.
    found = [
        f"{module.path}:{name}"
        for module in modules()
        for name, definition in module.definitions()
        if definition.name == "Plan"
    ]
    assert not found
