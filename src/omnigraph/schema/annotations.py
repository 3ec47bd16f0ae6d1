"""Semantic checks of annotations on types and properties.

Known annotations become fields. Those that begin with ``x_`` belong to the user and are kept verbatim as a
``CustomAnnotation``; any other name is an error, because a misspelled ``@key`` must not be a silent nothing. Graphs of
earlier versions may hold such names: they are kept where the accepted schema has them already. Rules that need the
other properties of the type (the source of an embedding, merge policies on keys) are checked by ``declare``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from omnigraph.lang.pg_ast import Annotation, ConstraintKind, PgLiteral
from omnigraph.lang.syntax import Name
from omnigraph.schema.codes import Rule
from omnigraph.schema.findings import Findings
from omnigraph.schema.ir import CustomAnnotation, Embed, External, ExternalFormat, MergePolicy, TypeKind
from omnigraph.schema.merge_policies import policy_misfit
from omnigraph.schema.types import PropertyType

SUGAR: Final = {kind.value: kind for kind in (ConstraintKind.KEY, ConstraintKind.UNIQUE, ConstraintKind.INDEX)}
ON_TYPES: Final = frozenset({"description", "instruction", "rename_from", "external"})
ON_PROPERTIES: Final = frozenset({"description", "rename_from", "embed", "merge", "column", *SUGAR})
KNOWN: Final = ON_TYPES | ON_PROPERTIES
OWN: Final = "x_"
"""The beginning of the names that users give their own annotations."""
_WITH_ARGUMENTS_ONLY: Final = {
    "range": "`@range(property, 0..10)`",
    "check": '`@check(property, "pattern")`',
    "card": "`@card(0..1)` directly after the ends of an edge",
}
_MAY_REPEAT: Final = frozenset({"unique", "index"})


@dataclass(frozen=True, slots=True)
class TypeNotes:
    """Meaning of the annotations of a node or edge type."""

    description: str | None = None
    instruction: str | None = None
    rename_from: Name | None = None
    custom: tuple[CustomAnnotation, ...] = ()
    external: External | None = None


@dataclass(frozen=True, slots=True)
class PropertyNotes:
    """Meaning of the annotations of a property."""

    description: str | None = None
    embed: Embed | None = None
    merge: MergePolicy | None = None
    sugar: frozenset[ConstraintKind] = frozenset()
    rename_from: Name | None = None
    custom: tuple[CustomAnnotation, ...] = ()
    column: Name | None = None


def read_type_annotations(
    findings: Findings, kind: TypeKind, owner: str, annotations: tuple[Annotation, ...]
) -> TypeNotes:
    """Check and read the annotations of a type; ``owner`` is its name in messages."""
    known = _known(findings, owner, annotations)
    for name in sorted(known.keys() - ON_TYPES):
        message = f"@{name} is not supported on {owner}: it belongs on a property"
        hint = f"write `@{name}` after a property, or `@{name}(property)` in the body" if name in SUGAR else None
        findings.error(Rule.MISPLACED_ANNOTATION, message, known[name].span, hint)
    return TypeNotes(
        description=_text(findings, known.get("description")),
        instruction=_text(findings, known.get("instruction")),
        rename_from=_named(findings, known.get("rename_from")),
        custom=_custom(annotations),
        external=_external(findings, kind, owner, known.get("external")),
    )


def read_property_annotations(
    findings: Findings, kind: TypeKind, owner: str, type_: PropertyType, annotations: tuple[Annotation, ...]
) -> PropertyNotes:
    """Check and read the annotations of a property; ``owner`` is its name in messages, as in ``Person.name``."""
    known = _known(findings, f"property {owner}", annotations)
    for name in sorted(known.keys() - ON_PROPERTIES):
        message = f"@{name} is not supported on property {owner}: it belongs on a node or edge type"
        hint = "use `@description` for a property" if name == "instruction" else None
        findings.error(Rule.MISPLACED_ANNOTATION, message, known[name].span, hint)
    return PropertyNotes(
        description=_text(findings, known.get("description")),
        embed=_embed(findings, kind, owner, type_, known.get("embed")),
        merge=_merge(findings, owner, type_, known.get("merge")),
        sugar=_sugar(findings, kind, owner, type_, known),
        rename_from=_named(findings, known.get("rename_from")),
        custom=_custom(annotations),
        column=_named(findings, known.get("column")),
    )


def written_name(value: PgLiteral | Name | object) -> str | None:
    """A bare word or string as text; ``true`` and ``false`` are names where a name is expected."""
    match value:
        case Name(text=text) | PgLiteral(value=str(text)):
            return text
        case PgLiteral(value=bool(truth)):
            return "true" if truth else "false"
        case _:
            return None


def _known(findings: Findings, owner: str, annotations: tuple[Annotation, ...]) -> dict[str, Annotation]:
    known: dict[str, Annotation] = {}
    for annotation in annotations:
        name = annotation.name.text
        if name in known and name not in _MAY_REPEAT:
            message = f"@{name} is written more than once on {owner}; only one is supported"
            findings.error(Rule.REPEATED_ANNOTATION, message, annotation.span)
        elif name in KNOWN:
            known[name] = annotation
        elif not name.startswith(OWN) and name not in findings.kept_annotations:
            _refuse_unknown(findings, owner, annotation)
    return known


def _refuse_unknown(findings: Findings, owner: str, annotation: Annotation) -> None:
    name = annotation.name.text
    message = f"unknown annotation @{name} on {owner}"
    if name in _WITH_ARGUMENTS_ONLY:
        message = f"@{name} on {owner} has no arguments"
        hint = f"write {_WITH_ARGUMENTS_ONLY[name]}"
    elif name == "default":
        hint = "nothing fills in values that are left out; make the property nullable: `I32?`"
    else:
        meant = findings.suggest(name, sorted(KNOWN | _WITH_ARGUMENTS_ONLY.keys()))
        hint = meant or f"annotations of your own begin with {OWN}: `@{OWN}{name}`"
    findings.error(Rule.UNKNOWN_ANNOTATION, message, annotation.span, hint)


def _custom(annotations: tuple[Annotation, ...]) -> tuple[CustomAnnotation, ...]:
    """Custom annotations, sorted: their written order has no meaning."""
    found = [
        CustomAnnotation(
            annotation.name.text,
            None if annotation.value is None else _verbatim(annotation.value),
            tuple(sorted((key.text, _verbatim(value)) for key, value in annotation.arguments)),
        )
        for annotation in annotations
        if annotation.name.text not in KNOWN
    ]
    return tuple(sorted(found, key=lambda item: (item.name, item.value is not None, item.value or "", item.arguments)))


def _verbatim(value: PgLiteral | Name) -> str:
    text = written_name(value)
    if text is not None:
        return text
    assert isinstance(value, PgLiteral)
    return str(value.value)


def _text(findings: Findings, annotation: Annotation | None) -> str | None:
    """The single non-empty text argument of an annotation; anything else is reported."""
    if annotation is None:
        return None
    name = annotation.name.text
    for key, _ in annotation.arguments:
        findings.error(Rule.ANNOTATION_ARGUMENTS, f"@{name} has no argument `{key.text}`", key.span)
    text = written_name(annotation.value)
    if text is None or not text.strip():
        message = f'@{name} requires exactly one non-empty text, as in `@{name}("...")`'
        findings.error(Rule.ANNOTATION_ARGUMENTS, message, annotation.span)
        return None
    return text


def _named(findings: Findings, annotation: Annotation | None) -> Name | None:
    """The single text argument of an annotation with its place."""
    text = _text(findings, annotation)
    return None if text is None or annotation is None else Name(text, annotation.span)


def _sugar(
    findings: Findings, kind: TypeKind, owner: str, type_: PropertyType, known: dict[str, Annotation]
) -> frozenset[ConstraintKind]:
    found: set[ConstraintKind] = set()
    for name in sorted(known.keys() & SUGAR.keys()):
        span = known[name].span
        is_indexable = type_.scalar.info.is_indexable and not type_.is_list
        fits = is_indexable if name == "index" else type_.is_plain_scalar
        if name == "key" and kind is TypeKind.EDGE:
            message = f"a bare @key is not supported on edges ({owner})"
            hint = "the key of an edge type is written `@key(src, dst)`, with properties if they are part of it"
            findings.error(Rule.CONSTRAINT_ON_EDGE, message, span, hint)
        elif not fits:
            findings.error(Rule.CONSTRAINT_TYPE, f"@{name} is not supported on {owner} of type {type_}", span)
        elif name == "key" and type_.nullable:
            findings.error(Rule.NULLABLE_KEY, f"@key property {owner} cannot be nullable", span)
        else:
            found.add(SUGAR[name])
    return frozenset(found)


def _embed(
    findings: Findings, kind: TypeKind, owner: str, type_: PropertyType, annotation: Annotation | None
) -> Embed | None:
    if annotation is None:
        return None
    if kind is TypeKind.EDGE:
        message = f"@embed is not supported on edge properties ({owner})"
        findings.error(Rule.MISPLACED_ANNOTATION, message, annotation.span)
        return None
    if not type_.is_vector:
        message = f"@embed on {owner} requires a Vector type, got {type_}"
        findings.error(Rule.EMBED_TYPE, message, annotation.span)
    source = written_name(annotation.value)
    if source is None or not source.strip():
        message = '@embed requires the name of its source property, as in `@embed("text")`'
        findings.error(Rule.ANNOTATION_ARGUMENTS, message, annotation.span)
    model: str | None = None
    for key, value in annotation.arguments:
        if key.text != "model":
            hint = findings.suggest(key.text, ["model"]) or "only `model` is known"
            findings.error(Rule.ANNOTATION_ARGUMENTS, f"@embed has no argument `{key.text}`", key.span, hint)
        elif model is not None or not isinstance(value.value, str) or not value.value.strip():
            message = '@embed takes one non-empty model name, as in `model="..."`'
            findings.error(Rule.ANNOTATION_ARGUMENTS, message, value.span)
        else:
            model = value.value
    return Embed(source, model) if source else None


def _merge(findings: Findings, owner: str, type_: PropertyType, annotation: Annotation | None) -> MergePolicy | None:
    word = _text(findings, annotation)
    if word is None or annotation is None:
        return None
    policies = {policy.value: policy for policy in MergePolicy}
    if word not in policies:
        hint = findings.suggest(word, policies) or f"the policies are {', '.join(policies)}"
        findings.error(Rule.MERGE_POLICY, f"@merge on {owner} names unknown policy '{word}'", annotation.span, hint)
        return None
    policy = policies[word]
    if (wanted := policy_misfit(policy, type_)) is not None:
        message = f"@merge({word}) on {owner} requires {wanted}, got {type_}"
        findings.error(Rule.MERGE_TYPE, message, annotation.span)
    return policy


def _external(findings: Findings, kind: TypeKind, owner: str, annotation: Annotation | None) -> External | None:
    if annotation is None:
        return None
    address = written_name(annotation.value)
    if address is None or not address.strip():
        message = '@external requires the address of a table, as in `@external("/data/orders/*.parquet")`'
        findings.error(Rule.ANNOTATION_ARGUMENTS, message, annotation.span)
        return None
    _check_address(findings, owner, address, annotation)
    columns = ("id", "from", "to") if kind is TypeKind.EDGE else ("id",)
    given: dict[str, str] = {}
    for key, value in annotation.arguments:
        if key.text not in ("format", *columns):
            names = ", ".join(f"`{name}`" for name in ("format", *columns))
            hint = findings.suggest(key.text, ["format", *columns]) or f"the arguments on {owner} are {names}"
            findings.error(Rule.ANNOTATION_ARGUMENTS, f"@external has no argument `{key.text}`", key.span, hint)
        elif key.text in given or not isinstance(value.value, str) or not value.value.strip():
            message = f'@external takes one non-empty text for `{key.text}`, as in `{key.text}="..."`'
            findings.error(Rule.ANNOTATION_ARGUMENTS, message, value.span)
        else:
            given[key.text] = value.value
    return External(address, _format(findings, annotation, given), given.get("id"), given.get("from"), given.get("to"))


def _format(findings: Findings, annotation: Annotation, given: Mapping[str, str]) -> ExternalFormat | None:
    formats = {item.value: item for item in ExternalFormat}
    word = given.get("format")
    if word is not None and word not in formats:
        hint = findings.suggest(word, formats) or f"the formats are {', '.join(formats)}"
        findings.error(Rule.ANNOTATION_ARGUMENTS, f"@external names unknown format '{word}'", annotation.span, hint)
    return formats.get(word or "")


def _check_address(findings: Findings, owner: str, address: str, annotation: Annotation) -> None:
    """An address is valid in every process that opens the graph, and shows no secrets to those that read its schema."""
    scheme, separator, rest = address.partition("://")
    if not separator and not address.startswith("/"):
        message = f"the address of {owner} is relative: '{address}'"
        hint = "write the whole path, such as `/data/orders/*.parquet`, or the address of a bucket with its scheme"
        findings.error(Rule.EXTERNAL_ADDRESS, message, annotation.span, hint)
    elif separator and scheme.lower() != "file" and "@" in rest.partition("/")[0]:
        message = f"the address of {owner} holds credentials, which a schema must not"
        hint = "pass them as storage options when the graph is opened, or in the environment"
        findings.error(Rule.EXTERNAL_ADDRESS, message, annotation.span, hint)
