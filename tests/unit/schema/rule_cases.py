"""One golden case or more for every schema rule: a text, its message, and the position of the message."""

from dataclasses import dataclass

from omnigraph.schema.codes import Rule


@dataclass(frozen=True)
class Case:
    rule: Rule
    text: str
    gist: str
    place: str
    hint: str | None = None
    before: str | None = None
    """The accepted schema, for rules about renames."""


# Spec 1.5 to 1.7: names, types, interfaces, endpoints.
NAMES = [
    Case(Rule.DUPLICATE_TYPE, "node A {} node A {}", "duplicate node type 'A'", "A"),
    Case(Rule.DUPLICATE_TYPE, "node A {} edge E: A -> A edge E: A -> A", "duplicate edge type 'E'", "E"),
    Case(Rule.DUPLICATE_TYPE, "interface I {} interface I {}", "duplicate interface name 'I'", "I"),
    Case(Rule.DUPLICATE_PROPERTY, "node A { p: I32 p: String }", "duplicate property 'p' in node A", "p"),
    Case(Rule.DUPLICATE_PROPERTY, "interface A { p: I32 p: I32 }", "duplicate property 'p' in interface A", "p"),
    Case(
        Rule.UNKNOWN_INTERFACE,
        "interface Named {} node A implements Name {}",
        "node A implements unknown interface 'Name'",
        "Name",
        "did you mean `Named`?",
    ),
    Case(
        Rule.INTERFACE_TYPE_CLASH,
        "interface I { p: String } node A implements I { p: String? }",
        "node A property 'p' has type String? but interface I declares it as String",
        "p",
    ),
    Case(
        Rule.INTERFACE_TYPE_CLASH,
        "interface I { p: enum(a, b) } node A implements I { p: enum(a, c) }",
        "node A property 'p' has type enum(a, c) but interface I declares it as enum(a, b)",
        "p",
    ),
    Case(
        Rule.INTERFACES_DISAGREE,
        "interface I { p: String } interface J { p: String @unique } node A implements I, J {}",
        "incompatible property semantics",
        "J",
        "declare `p` in A itself, or make the two interfaces agree",
    ),
    Case(
        Rule.UNKNOWN_ENDPOINT,
        "node Person {} edge E: Persn -> Person",
        "edge E references unknown source type: Persn",
        "Persn",
        "did you mean `Person`?",
    ),
    Case(Rule.UNKNOWN_ENDPOINT, "node A {} edge E: A -> B", "edge E references unknown target type: B", "B"),
    Case(
        Rule.UNKNOWN_ENDPOINT,
        "interface I {} node A {} edge E: A -> I",
        "edge E has no target: no node type implements I",
        "I",
        "declare one: `node ... implements I { ... }`",
    ),
    Case(
        Rule.UNKNOWN_ENDPOINT, "node A {} edge E: A -> A, A | B -> A", "edge E references unknown source type: B", "B"
    ),
    Case(
        Rule.EDGE_CASE_COLLISION,
        "node A {} edge Knows: A -> A edge KNOWS: A -> A",
        "edge name collision after case folding: 'KNOWS' conflicts with 'Knows'",
        "KNOWS",
    ),
    *(
        Case(Rule.SYSTEM_COLUMN, f"node A {{ {name}: I64 }}", f"property name '{name}' is reserved for a virtual", name)
        for name in ("_rowid", "_rowaddr", "_rowoffset", "_row_created_at_version", "_row_last_updated_at_version")
    ),
    Case(Rule.ENTITY_FIELD, "node A { id: String }", "property name 'id' is reserved", "id"),
    Case(Rule.ENTITY_FIELD, "interface I { id: String }", "property name 'id' is reserved", "id"),
    *(
        Case(Rule.ENTITY_FIELD, f"node A {{}} edge E: A -> A {{ {name}: I32 }}", f"'{name}' is reserved", name)
        for name in ("id", "src", "dst", "from", "to")
    ),
    *(
        Case(
            Rule.ENTITY_FIELD,
            f"node A {{}} node B {{}} edge E: A | B -> A | B {{ {name}: I32 }}",
            f"'{name}' is reserved: edge E has ends of several types",
            name,
        )
        for name in ("src_type", "dst_type", "from_type", "to_type")
    ),
    Case(Rule.LIST_OF_BLOB, "node A { p: [Blob] }", "list of Blob is not supported", "[Blob]"),
]

# Spec 1.5: constraints.
CONSTRAINTS = [
    Case(
        Rule.MULTIPLE_KEYS,
        "node A { a: String @key b: String @key }",
        "node type A has multiple @key constraints; only one is supported",
        "b",
        "a key of several properties is written `@key(a, b)`",
    ),
    Case(Rule.MULTIPLE_KEYS, "node A { a: String @key @key(a) }", "multiple @key constraints", "@key(a)"),
    Case(Rule.MULTIPLE_KEYS, "node A { a: I32 b: I32 @key(a) @key(b) }", "multiple @key constraints", "@key(b)"),
    Case(
        Rule.MULTIPLE_KEYS,
        "interface I { a: I32 @key } node A implements I { b: I32 @key(b) }",
        "node type A has multiple @key constraints",
        "@key(b)",
    ),
    Case(Rule.NULLABLE_KEY, "node A { p: String? @key }", "@key property A.p cannot be nullable", "@key"),
    Case(Rule.NULLABLE_KEY, "node A { p: String? @key(p) }", "@key property A.p cannot be nullable", "p"),
    *(
        Case(
            Rule.UNKNOWN_PROPERTY,
            f"node A {{ name: String age: I32 @{kind}({wrong}) }}",
            f"@{kind} on A references unknown property '{wrong.split(',')[0]}'",
            wrong.split(",")[0],
            hint,
        )
        for kind, wrong, hint in (
            ("key", "nme", "did you mean `name`?"),
            ("unique", "nme", "did you mean `name`?"),
            ("index", "nme", "did you mean `name`?"),
            ("range", "agge, 0..1", "did you mean `age`?"),
            ("check", 'nme, "x"', "did you mean `name`?"),
        )
    ),
    Case(
        Rule.UNKNOWN_PROPERTY,
        "node A {} edge E: A -> A { @unique(from) }",
        "@unique on E references unknown property 'from'",
        "from",
        "in a schema the ends of an edge are called src and dst",
    ),
    Case(Rule.UNKNOWN_PROPERTY, "node A { @unique(src) }", "@unique on A references unknown property 'src'", "src"),
    *(
        Case(Rule.CONSTRAINT_TYPE, f"node A {{ p: {type_} @{kind} }}", f"@{kind} is not supported on A.p", f"@{kind}")
        for kind, types in (
            ("key", ("[String]", "Vector(2)", "Blob")),
            ("unique", ("[String]", "Vector(2)", "Blob")),
            ("index", ("[String]", "Blob")),
        )
        for type_ in types
    ),
    *(
        Case(Rule.CONSTRAINT_TYPE, f"node A {{ p: {type_} @{kind}(p) }}", f"@{kind} is not supported on A.p", "p")
        for kind, types in (("key", ("[I32]", "Vector(2)", "Blob")), ("unique", ("Blob",)), ("index", ("Blob",)))
        for type_ in types
    ),
    Case(
        Rule.RANGE_TYPE,
        "node A { p: String @range(p, 0..1) }",
        "@range on A.p requires a numeric type, got String",
        "p",
    ),
    Case(Rule.RANGE_TYPE, "node A { p: [I32] @range(p, 0..1) }", "requires a numeric type, got [I32]", "p"),
    Case(Rule.CHECK_TYPE, 'node A { p: I32 @check(p, "x") }', "@check on A.p requires String type, got I32", "p"),
    Case(Rule.CHECK_TYPE, 'node A { p: [String] @check(p, "x") }', "requires String type, got [String]", "p"),
    *(
        Case(
            Rule.CONSTRAINT_ON_EDGE,
            f"node A {{}} edge E: A -> A {{ p: {type_} {constraint} }}",
            f"{constraint.split('(')[0]} constraint is not supported on edges",
            constraint,
        )
        for type_, constraint in (
            ("I32", "@range(p, 0..1)"),
            ("String", '@check(p, "x")'),
        )
    ),
    Case(
        Rule.CONSTRAINT_ON_EDGE,
        "node A {} edge E: A -> A { p: I32 @key }",
        "a bare @key is not supported on edges (E.p)",
        "@key",
    ),
    Case(
        Rule.MULTIPLE_KEYS,
        "node A {} edge E: A -> A @key(src) { @key(dst) }",
        "edge type E has multiple @key constraints; only one is supported",
        "@key(dst)",
    ),
    Case(
        Rule.NULLABLE_KEY,
        "node A {} edge E: A -> A @key(src, p) { p: I32? }",
        "@key property E.p cannot be nullable",
        "p",
    ),
    Case(
        Rule.CONSTRAINT_ARGUMENTS,
        "node A { age: I32 @range(0..10) }",
        "@range on A takes a property and its bounds",
        "@range(0..10)",
        "write it as `@range(age, 0..150)`",
    ),
    Case(
        Rule.CONSTRAINT_ARGUMENTS,
        "node A { p: I32 @range(p, 0..1, 2..3) }",
        "takes a property",
        "@range(p, 0..1, 2..3)",
    ),
    Case(Rule.CONSTRAINT_ARGUMENTS, "node A { p: I32 @range(p) }", "takes a property and its bounds", "@range(p)"),
    Case(Rule.CONSTRAINT_ARGUMENTS, "node A { p: String @check(p) }", "takes a property and a pattern", "@check(p)"),
    Case(Rule.CONSTRAINT_ARGUMENTS, 'node A { p: String @key("p") }', "takes names of properties", '"p"'),
    Case(Rule.CONSTRAINT_ARGUMENTS, "node A { p: String @index(p, 1) }", "takes names of properties", "1"),
    *(
        Case(Rule.CHECK_PATTERN, f'node A {{ p: String @check(p, "{pattern}") }}', gist, f'"{pattern}"')
        for pattern, gist in (
            ("(a", "unclosed group"),
            ("(?=a)", "look-around, including look-ahead and look-behind, is not supported"),
            ("(?<!a)b", "is not supported"),
            ("(a)\\\\1", "backreferences are not supported"),
            ("*", "missing expression"),
        )
    ),
]

# Spec 1.4: annotations, and the merge policies of ours.
ANNOTATIONS = [
    *(
        Case(
            Rule.MISPLACED_ANNOTATION,
            f"node A @{name} {{ p: String }}",
            f"@{name} is not supported on node A",
            f"@{name}",
        )
        for name in ("key", "unique", "index")
    ),
    Case(Rule.MISPLACED_ANNOTATION, "node A @embed(p) {}", "@embed is not supported on node A", "@embed(p)"),
    Case(Rule.MISPLACED_ANNOTATION, "node A @merge(max) {}", "@merge is not supported on node A", "@merge(max)"),
    Case(Rule.MISPLACED_ANNOTATION, "node A {} edge E: A -> A @key", "@key is not supported on edge E", "@key"),
    Case(Rule.MISPLACED_ANNOTATION, "node A {} edge E: A -> A @index", "@index is not supported on edge E", "@index"),
    Case(
        Rule.MISPLACED_ANNOTATION,
        'node A { p: String @instruction("x") }',
        "@instruction is not supported on property A.p",
        '@instruction("x")',
        "use `@description` for a property",
    ),
    Case(
        Rule.MISPLACED_ANNOTATION,
        "node A {} edge E: A -> A { t: String v: Vector(2) @embed(t) }",
        "@embed is not supported on edge properties",
        "@embed(t)",
    ),
    *(
        Case(Rule.REPEATED_ANNOTATION, text, f"@{name} is written more than once", place)
        for name, place, text in (
            ("key", "@key", "node A { p: String @key @key }"),
            ("embed", "@embed(t)", "node A { t: String v: Vector(2) @embed(t) @embed(t) }"),
            ("description", '@description("b")', 'node A @description("a") @description("b") {}'),
            ("description", '@description("b")', 'node A { p: I32 @description("a") @description("b") }'),
            ("instruction", '@instruction("b")', 'node A @instruction("a") @instruction("b") {}'),
            ("rename_from", '@rename_from("C")', 'node A @rename_from("B") @rename_from("C") {}'),
            ("merge", "@merge(min)", "node A { p: I32 @merge(max) @merge(min) }"),
        )
    ),
    *(
        Case(Rule.ANNOTATION_ARGUMENTS, text, gist, place)
        for text, gist, place in (
            ('node A @description("  ") {}', "@description requires exactly one non-empty text", '@description("  ")'),
            ("node A @description {}", "@description requires exactly one non-empty text", "@description"),
            ("node A @description(1) {}", "@description requires exactly one non-empty text", "@description(1)"),
            ('node A @instruction("") {}', "@instruction requires exactly one non-empty text", '@instruction("")'),
            ('node A @rename_from("") {}', "@rename_from requires exactly one non-empty text", '@rename_from("")'),
            ('node A @rename_from("B", c="d") {}', "@rename_from has no argument `c`", "c"),
            ("node A { v: Vector(2) @embed }", "@embed requires the name of its source property", "@embed"),
            ('node A { v: Vector(2) @embed("") }', "@embed requires the name of its source", '@embed("")'),
            ('node A { t: String v: Vector(2) @embed(t, mdel="m") }', "@embed has no argument `mdel`", "mdel"),
            ("node A { t: String v: Vector(2) @embed(t, model=1) }", "@embed takes one non-empty model name", "1"),
            ("node A { p: I32 @merge }", "@merge requires exactly one non-empty text", "@merge"),
        )
    ),
    *(
        Case(
            Rule.EMBED_TYPE,
            f"node A {{ t: String p: {type_} @embed(t) }}",
            f"requires a Vector type, got {type_}",
            "@embed(t)",
        )
        for type_ in ("String", "[F32]", "Blob")
    ),
    Case(
        Rule.EMBED_SOURCE_UNKNOWN,
        "node A { text: String v: Vector(2) @embed(txt) }",
        "@embed on A.v references unknown property 'txt'",
        "v",
        "did you mean `text`?",
    ),
    Case(
        Rule.EMBED_SOURCE_UNKNOWN,
        "interface I { v: Vector(2) @embed(text) } node A implements I {}",
        "@embed on A.v references unknown property 'text'",
        "A",
    ),
    *(
        Case(Rule.EMBED_SOURCE_TYPE, f"node A {{ t: {type_} v: Vector(2) @embed(t) }}", f"but t is {type_}", "v")
        for type_ in ("I32", "[String]", "Vector(2)", "Blob")
    ),
    Case(
        Rule.MERGE_POLICY,
        "node A { p: I32 @merge(mx) }",
        "@merge on A.p names unknown policy 'mx'",
        "@merge(mx)",
        "did you mean `max`?",
    ),
    *(
        Case(Rule.MERGE_TYPE, f"node A {{ p: {type_} @merge({policy}) }}", f"got {type_}", f"@merge({policy})")
        for policy, types in (
            ("sum", ("String", "[I32]", "Bool", "Vector(2)")),
            ("max", ("Bool", "[I32]", "Blob")),
            ("min", ("Bool", "[Date]", "Vector(2)")),
            ("union", ("String", "Vector(2)")),
        )
        for type_ in types
    ),
    Case(Rule.MERGE_ON_KEY, "node A { p: I32 @key @merge(max) }", "@merge is not supported on @key property A.p", "p"),
    Case(Rule.MERGE_ON_KEY, "node A { p: I32 @merge(max) @key(p) }", "not supported on @key property A.p", "@key(p)"),
    Case(
        Rule.MERGE_ON_KEY,
        "interface I { p: I32 @merge(max) } node A implements I { @key(p) }",
        "not supported on @key property A.p",
        "@key(p)",
    ),
    Case(Rule.MERGE_ON_KEY, "interface I { p: I32 @key @merge(max) } node A implements I {}", "property I.p", "p"),
    Case(
        Rule.TOO_MANY_ENDS,
        "interface I {} " + "".join(f"node A{number} implements I {{}} " for number in range(65)) + "edge Wide: I -> I",
        "edge Wide connects 4225 pairs of node types; the limit is 4096",
        "Wide",
    ),
]

_BEFORE = "interface I {} node Person { name: String } node Other { title: String } edge Knows: Person -> Person"

# Spec 9.4: rename hints that stop a change.
RENAMES = [
    Case(
        Rule.RENAME_UNKNOWN,
        'node Human @rename_from("Persn") {}',
        "the accepted schema has no node 'Persn' to rename",
        '@rename_from("Persn")',
        "did you mean `Person`?",
        _BEFORE,
    ),
    Case(
        Rule.RENAME_UNKNOWN,
        "node Person { label: String @rename_from(nme) }",
        "the accepted type has no property 'nme' to rename",
        "@rename_from(nme)",
        "did you mean `name`?",
        _BEFORE,
    ),
    Case(
        Rule.RENAME_KIND,
        'node Acquaintance @rename_from("Knows") {}',
        "node Acquaintance cannot continue Knows, which is a type of kind edge",
        '@rename_from("Knows")',
        before=_BEFORE,
    ),
    Case(
        Rule.RENAME_OWNER,
        "node Person { label: String? @rename_from(title) }",
        "cannot continue 'title', which is a property of node Other",
        "@rename_from(title)",
        before=_BEFORE,
    ),
    Case(
        Rule.RENAME_IN_NEW_TYPE,
        "node Brand { label: String @rename_from(name) }",
        "node Brand is new, so its property 'label' cannot continue 'name'",
        "@rename_from(name)",
        "if the type was renamed, give it a `@rename_from` as well",
        _BEFORE,
    ),
    Case(
        Rule.RENAME_TWICE,
        'node A @rename_from("Person") {} node B @rename_from("Person") {}',
        "node B cannot continue Person: A does already",
        '@rename_from("Person")',
        before=_BEFORE,
    ),
    Case(
        Rule.RENAME_TWICE,
        'node Human @rename_from("Person") {} node Person {}',
        "node Human cannot continue Person: Person does already",
        '@rename_from("Person")',
        before=_BEFORE,
    ),
    Case(
        Rule.RENAME_TWICE,
        "node Person { a: String @rename_from(name) b: String @rename_from(name) }",
        "property Person.b cannot continue 'name': 'a' does already",
        "@rename_from(name)",
        before=_BEFORE,
    ),
]

UNKNOWN = [
    Case(
        Rule.UNKNOWN_ANNOTATION,
        "node A { p: String @kye }",
        "unknown annotation @kye on property A.p",
        "@kye",
        "did you mean `key`?",
    ),
    Case(
        Rule.UNKNOWN_ANNOTATION,
        'node A @desription("x") { p: String @key }',
        "unknown annotation @desription on",
        '@desription("x")',
        "did you mean `description`?",
    ),
    Case(
        Rule.UNKNOWN_ANNOTATION,
        "node A { p: String @key @pii }",
        "unknown annotation @pii",
        "@pii",
        "annotations of your own begin with x_: `@x_pii`",
    ),
    Case(
        Rule.UNKNOWN_ANNOTATION,
        "node A { p: String @check }",
        "@check on property A.p has no arguments",
        "@check",
        'write `@check(property, "pattern")`',
    ),
    Case(
        Rule.UNKNOWN_ANNOTATION,
        "node A { n: I32 @default(1) }",
        "unknown annotation @default",
        "@default(1)",
        "nothing fills in values that are left out; make the property nullable: `I32?`",
    ),
    Case(Rule.UNKNOWN_ANNOTATION, "interface I { p: I32 @indx }", "@indx", "@indx", "did you mean `index`?"),
    Case(
        Rule.EXTERNAL_ADDRESS,
        'node A @external("data/a.parquet") { p: I32? }',
        "relative",
        '@external("data/a.parquet")',
    ),
    Case(
        Rule.EXTERNAL_ADDRESS,
        'node A @external("s3://key:secret@bucket/a") { p: I32? }',
        "holds credentials",
        '@external("s3://key:secret@bucket/a")',
        hint="pass them as storage options when the graph is opened, or in the environment",
    ),
    *(
        Case(
            Rule.MISPLACED_ANNOTATION,
            f'interface I {{}} node A implements I {{}} node B {{}} edge E: {ends} @external("/data/e.parquet")',
            "@external is not supported on edge E: an end has several types, or is an interface",
            "E",
            hint="name one node type at each end, or declare an edge type for each pair",
        )
        for ends in ("A | B -> B", "A -> B, B -> A", "I -> B")
    ),
]

ERRORS = [*UNKNOWN, *NAMES, *CONSTRAINTS, *ANNOTATIONS, *RENAMES]

_KEY = "k: String @key"
FINDINGS = [
    Case(
        Rule.EXTERNAL_INDEX,
        f'node A @external("s3://bucket/a") {{ {_KEY} n: I32? @index }}',
        "has no effect",
        "A",
    ),
    Case(Rule.NO_KEY, "node A { p: I32 }", "node A has no @key", "A"),
    Case(Rule.UNUSED_INTERFACE, "interface I { p: I32 }", "interface I is implemented by no node type", "I"),
    Case(Rule.EMPTY_RANGE, f"node A {{ {_KEY} n: I32 @range(n, 2..1) }}", "allows no value", "2..1"),
    Case(
        Rule.INERT_RENAME,
        f'node A @rename_from("A") {{ {_KEY} }}',
        "nothing can be renamed from A",
        '@rename_from("A")',
    ),
    Case(
        Rule.INERT_RENAME,
        f"node A {{ {_KEY} n: I32 @rename_from(k) }}",
        "nothing can be renamed from k",
        "@rename_from(k)",
    ),
    Case(
        Rule.INERT_RENAME,
        f'node A @rename_from("B") {{ {_KEY} }}',
        "this rename from B has been made",
        '@rename_from("B")',
        "the hint may stay or go",
        f"node A {{ {_KEY} }}",
    ),
    Case(Rule.COMPOSITE_INDEX, f"node A {{ {_KEY} n: I32 @index(k, n) }}", "no physical effect", "@index(k, n)"),
    Case(Rule.UNINDEXED_VECTOR, f"node A {{ {_KEY} v: Vector(2) @embed(k) }}", "A.v is embedded but", "v"),
    Case(Rule.UNIQUE_NEVER_HOLDS, f"node A {{ {_KEY} p: [I32] @unique(p) }}", "refuses every value of p", "@unique(p)"),
    Case(Rule.WRITTEN_TWICE, f"node A {{ {_KEY} n: I32 @unique(n, n) }}", "this property is written twice", "n"),
    Case(Rule.WRITTEN_TWICE, f"node A {{ {_KEY} @unique(k) @unique(k) }}", "this constraint is written", "@unique(k)"),
    Case(Rule.WRITTEN_TWICE, f"node A {{ {_KEY} @index @index }}", "this annotation is written", "@index"),
    Case(Rule.WRITTEN_TWICE, "interface I { p: I32 @key } node A implements I, I {}", "this interface is written", "I"),
]
