"""Random schemas, and random histories of one schema."""

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

SCALARS = ("String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime", "Blob")
EXACT = ("Decimal(12, 3)", "Time", "Duration", "Uuid")
LISTS = tuple(f"[{scalar}]" for scalar in (*SCALARS, *EXACT) if scalar != "Blob")
ENUMS = ("enum(a)", "enum(b, a)", "enum(x-1, 2nd, Y)")
NUMBERS = frozenset({"I32", "I64", "U32", "U64", "F32", "F64"})
PATTERNS = ("^a", "\\d+$", "[[:alpha:]]", '"')
NAMES = ("a", "b", "c", "name", "age", "true_story", "type", "x1", "camelCase", "_under")

texts = st.text(alphabet=st.sampled_from('ab Zä"\\\n\t\r{}@/*😀'), min_size=1, max_size=8).filter(str.strip)


def spelled(text: str) -> str:
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f'"{text}"'


@st.composite
def _annotation(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(("x_owner", "x_beta", "x_unit")))
    value = draw(st.one_of(st.none(), st.sampled_from(("1", "2.50", "true", "word")), texts.map(spelled)))
    if value is None:
        return f"@{name}"
    arguments = draw(st.lists(st.tuples(st.sampled_from("pqr"), texts.map(spelled)), max_size=2))
    return f"@{name}({', '.join([value, *(f'{key}={text}' for key, text in arguments)])})"


@st.composite
def _property(draw: st.DrawFn, name: str, kind: str, *, may_be_key: bool) -> str:
    type_ = draw(st.sampled_from((*SCALARS, *EXACT, "Json", *LISTS, *ENUMS, "Vector(3)")))
    nullable = draw(st.booleans())
    is_list, is_plain = type_.startswith("["), not type_.startswith(("[", "Vector", "Blob", "Json"))
    parts = [f"{name}: {type_}{'?' if nullable else ''}"]
    is_key = may_be_key and is_plain and not nullable and draw(st.booleans())
    parts += ["@key"] if is_key and kind != "edge" else []
    parts += ["@unique"] if is_plain and draw(st.booleans()) else []
    parts += ["@index"] if not is_list and type_ not in ("Blob", "Json") and draw(st.booleans()) else []
    parts += [f"@description({spelled(draw(texts))})"] if draw(st.booleans()) else []
    policies = ["source", "target", "newest", "review", *(["union"] if is_list else [])]
    policies += ["sum", "max", "min"] if type_ in NUMBERS else []
    parts += [f"@merge({draw(st.sampled_from(policies))})"] if not is_key and draw(st.booleans()) else []
    parts += draw(st.lists(_annotation(), max_size=2))
    return " ".join(parts)


@st.composite
def _body(draw: st.DrawFn, kind: str, names: list[str]) -> str:
    key = draw(st.sampled_from([None, *names])) if names else None
    members = [draw(_property(name, kind, may_be_key=name == key)) for name in names]
    plain = [member.split(":")[0] for member in members if not member.split(" ")[1].startswith(("Blob", "Json"))]
    if kind != "interface" and plain:
        ends = ["src", "dst"] if kind == "edge" else []
        for constraint in draw(st.lists(st.sampled_from(("unique", "index")), max_size=3)):
            chosen = draw(st.lists(st.sampled_from(plain + ends), min_size=1, max_size=3))
            members.append(f"@{constraint}({', '.join(chosen)})")
    if kind == "node":
        for member in members[: len(names)]:
            name, type_ = member.split(" ")[0].rstrip(":"), member.split(" ")[1].rstrip("?")
            if type_ in NUMBERS and draw(st.booleans()):
                members.append(f"@range({name}, {draw(st.sampled_from(('0..', '..-1.5', '-3..4.0', '0.25..1')))})")
            if type_ == "String" and draw(st.booleans()):
                members.append(f"@check({name}, {spelled(draw(st.sampled_from(PATTERNS)))})")
    return "\n".join(draw(st.permutations(members)))


@st.composite
def _ends(draw: st.DrawFn, names: list[str]) -> str:
    """Ends of an edge type: one type at each end most of the time."""
    sides = [
        draw(st.lists(st.sampled_from(names), min_size=1, max_size=draw(st.sampled_from((1, 1, 3))))) for _ in "->"
    ]
    return " -> ".join(" | ".join(side) for side in sides)


@st.composite
def schema_texts(draw: st.DrawFn) -> str:
    """A valid schema text with anything in it: names are unique, and nothing else is held back."""
    interfaces = {name: draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3)) for name in ("I", "J")}
    taken = set(interfaces["I"])
    interfaces["J"] = [name for name in interfaces["J"] if name not in taken]
    found = [f"interface {name} {{ {draw(_body('interface', names))} }}" for name, names in interfaces.items()]
    implemented: set[str] = set()
    keyed = {name for name, text in zip(interfaces, found, strict=True) if "@key" in text}
    nodes = draw(st.lists(st.sampled_from(("A", "B", "Person")), unique=True, min_size=1))
    for node in nodes:
        implements = draw(st.sampled_from(([], ["I"], ["J"], ["J", "I"])))
        implements = [] if len(keyed & set(implements)) > 1 else implements
        implemented |= set(implements)
        brought = {name for interface in implements for name in interfaces[interface]}
        own = draw(st.lists(st.sampled_from([name for name in NAMES if name not in brought]), unique=True, max_size=4))
        body = draw(_body("node", own))
        body = body.replace("@key", "") if keyed & set(implements) else body
        notes = (
            f"@description({spelled(draw(texts))}) @instruction({spelled(draw(texts))})" if draw(st.booleans()) else ""
        )
        annotations = " ".join(draw(st.lists(_annotation(), max_size=1)))
        joined = f"implements {', '.join(implements)}" if implements else ""
        found.append(f"node {node} {notes} {annotations} {joined} {{ {body} }}")
    for edge in draw(st.lists(st.sampled_from(("Knows", "A", "Has")), unique=True)):
        card = draw(st.sampled_from(("", "@card(0..1)", "@card(2..)")))
        ends = ", ".join(draw(st.lists(_ends([*nodes, *sorted(implemented)]), min_size=1, max_size=2)))
        own = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=2))
        found.append(f"edge {edge}: {ends} {card} {{ {draw(_body('edge', own))} }}")
    return "\n".join(draw(st.permutations(found)))


# --- histories -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Thing:
    """A type or property with an identity of its own; ``before`` is its name in the revision before, if renamed."""

    uid: int
    name: str
    before: str | None = None
    properties: tuple["Thing", ...] = ()


@dataclass
class History:
    """Revisions of one schema. Every revision is a text and the things it declares."""

    revisions: list[tuple[str, tuple[Thing, ...]]] = field(default_factory=list)


def _text(things: tuple[Thing, ...]) -> str:
    lines = []
    for thing in things:
        hint = f'@rename_from("{thing.before}") ' if thing.before else ""
        members = [
            f"{item.name}: I32?{f' @rename_from({item.before})' if item.before else ''}" for item in thing.properties
        ]
        lines.append(f"node {thing.name} {hint}{{ {' '.join(members)} }}")
    return "\n".join(lines)


@st.composite
def _evolved(
    draw: st.DrawFn, things: tuple[Thing, ...], pool: tuple[str, ...], uids: list[int], depth: int
) -> tuple[Thing, ...]:
    """Keep, rename, drop and add. Names of the revision before are never targets of a rename, as hints demand."""
    free = [name for name in pool if name not in {thing.name for thing in things}]
    kept: list[Thing] = []
    for thing in things:
        fate = draw(st.sampled_from(("keep", "keep", "rename", "drop")))
        if fate == "drop":
            continue
        properties = draw(_evolved(thing.properties, ("p", "q", "r", "s"), uids, 0)) if depth else ()
        if fate == "rename" and free:
            name = free.pop(draw(st.integers(0, len(free) - 1)))
            kept.append(replace(thing, name=name, before=thing.name, properties=properties))
        else:
            kept.append(replace(thing, before=None, properties=properties))
    for name in draw(st.lists(st.sampled_from(free), unique=True, max_size=2)) if free else []:
        uids.append(len(uids))
        fresh = Thing(uids[-1], name)
        kept.append(replace(fresh, properties=draw(_evolved((), ("p", "q", "r", "s"), uids, 0))) if depth else fresh)
    return tuple(draw(st.permutations(kept)))


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A chain of revisions with the truth about what continues what."""
    history, uids = History(), [0]
    things: tuple[Thing, ...] = ()
    for _ in range(draw(st.integers(2, 5))):
        things = draw(_evolved(things, ("A", "B", "C", "D", "E"), uids, 1))
        history.revisions.append((_text(things), things))
    return history
