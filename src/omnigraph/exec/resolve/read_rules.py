"""Rules of entity resolution from plain values, as a YAML file holds them, checked against a node type.

    {"blocks": ["email", ["prefix(name, 4)", "city"]],
     "compare": {"name": "jaro_winkler", "email": {"by": "exact", "weight": 3}},
     "threshold": 0.9}

Every error names the place in the rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Any, Final, TypeVar

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import UsageError
from omnigraph.exec.resolve.rules import (
    BLOCK_FUNCTIONS,
    SIMILARITIES,
    BlockFunction,
    BlockPart,
    Comparison,
    Loops,
    Normalize,
    Parallels,
    ResolveRules,
    Similarity,
    Survivor,
)
from omnigraph.schema.catalog import NodeType
from omnigraph.schema.ir import PropertyIR

_EXAMPLE: Final = "for example {blocks: [email], compare: {name: jaro_winkler}}"
_QUOTES: Final = 'a comma divides a list of YAML in brackets: write it as "prefix(name, 4)", with the quotes'
_CALL: Final = re.compile(r"\s*(\w+)\s*\(\s*(\w+)\s*(?:,\s*([^\s,()]+)\s*)?\)\s*")
_WORDS: Final[Mapping[str, type[StrEnum]]] = {
    "survivor": Survivor,
    "self_loops": Loops,
    "parallel_edges": Parallels,
}
Word = TypeVar("Word", bound=StrEnum)


def read_rules(given: ResolveRules | Mapping[str, Any], node: NodeType) -> ResolveRules:
    """Rules for a node type; raises UsageError with the place of the first mistake."""
    rules = given if isinstance(given, ResolveRules) else _parsed(given)
    if not rules.compare:
        raise UsageError("rules: compare names no property", hint=_EXAMPLE)
    for number, comparison in enumerate(rules.compare):
        _check_comparison(comparison, node, f"compare[{number}]" if len(rules.compare) > 1 else "compare")
    for number, block in enumerate(rules.blocks):
        for part in block:
            _check_part(part, node, f"blocks[{number}]")
    _check_numbers(rules)
    return rules


def _parsed(given: object) -> ResolveRules:
    if not isinstance(given, Mapping):
        raise UsageError(f"rules must be a mapping, got {type(given).__name__}", hint=_EXAMPLE)
    known = [field.name for field in fields(ResolveRules)]
    for key in given:
        if key not in known:
            raise _unknown("rules", "key", key, known)
    said: dict[str, Any] = dict(given)
    said["compare"] = tuple(_comparisons(said.get("compare")))
    said["blocks"] = tuple(_blocks(said.get("blocks", ())))
    for name, words in _WORDS.items():
        if name in said:
            said[name] = _word(said[name], words, name)
    return ResolveRules(**said)


def _comparisons(given: object) -> Iterable[Comparison]:
    if isinstance(given, Mapping):
        for name, value in given.items():
            at = f"compare.{name}"
            spec = {"by": value} if isinstance(value, str) else value
            if not isinstance(spec, Mapping):
                raise UsageError(f"{at}: expected a similarity or a mapping, got {value!r}", hint=_EXAMPLE)
            yield _comparison({"property": name, **spec}, at)
    elif isinstance(given, Sequence) and not isinstance(given, str):
        for number, item in enumerate(given):
            if isinstance(item, Comparison):
                yield item
            elif isinstance(item, Mapping):
                yield _comparison(item, f"compare[{number}]")
            else:
                raise UsageError(f"compare[{number}]: expected a mapping, got {item!r}", hint=_EXAMPLE)
    else:
        raise UsageError("rules: compare must name the properties to compare", hint=_EXAMPLE)


def _comparison(given: Mapping[Any, Any], at: str) -> Comparison:
    known = [field.name for field in fields(Comparison)]
    for key in given:
        if key not in known:
            raise _unknown(at, "key", key, known)
    for needed in ("property", "by"):
        if not isinstance(given.get(needed), str):
            raise UsageError(f"{at}: {needed} is missing", hint=f"the similarities are {', '.join(Similarity)}")
    said = dict(given)
    said["by"] = _word(said["by"], Similarity, f"{at}.by")
    said["normalize"] = _word(said.get("normalize", Normalize.TEXT), Normalize, f"{at}.normalize")
    return Comparison(**said)


def _blocks(given: object) -> Iterable[tuple[BlockPart, ...]]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise UsageError(f"rules: blocks must be a list of keys, got {given!r}", hint=_EXAMPLE)
    for number, block in enumerate(given):
        at = f"blocks[{number}]"
        parts = [block] if isinstance(block, str | BlockPart) else block
        if not isinstance(parts, Sequence) or not parts:
            raise UsageError(f"{at}: expected a key or a list of them, got {block!r}", hint=_EXAMPLE)
        yield tuple(part if isinstance(part, BlockPart) else _part(part, at) for part in parts)


def _part(text: object, at: str) -> BlockPart:
    """``name``, ``prefix(name)`` or ``prefix(name, 4)``."""
    if not isinstance(text, str):
        raise UsageError(f"{at}: expected a property or a function of one, got {text!r}", hint="like prefix(name, 4)")
    if text.strip().isidentifier():
        return BlockPart(BlockFunction.VALUE, text.strip())
    call = _CALL.fullmatch(text)
    if call is None:
        hint = "like prefix(name, 4)" if text.count("(") == text.count(")") else _QUOTES
        raise UsageError(f"{at}: {text!r} is neither a property nor a function of one", hint=hint)
    name, property_, number = call.groups()
    function = _word(name, BlockFunction, at)
    info = BLOCK_FUNCTIONS[function]
    if number is None:
        return BlockPart(function, property_, info.default)
    try:
        return BlockPart(function, property_, float(number))
    except ValueError:
        raise UsageError(f"{at}: {number!r} is no number", hint=f"like {function}({property_}, 4)") from None


def _check_comparison(comparison: Comparison, node: NodeType, at: str) -> None:
    at = f"{at}: {comparison.property}"
    info, prop = SIMILARITIES[comparison.by], _property(comparison.property, node, at)
    if not info.fits(prop.type):
        raise UsageError(f"{at}: {comparison.by} compares {info.expected}, and the property is {prop.type}")
    if info.within is not None and comparison.within is None:
        hint = f"within: {info.within} at which two values have nothing in common"
        raise UsageError(f"{at}: {comparison.by} needs within", hint=hint)
    if info.within is None and comparison.within is not None:
        raise UsageError(f"{at}: {comparison.by} takes no within", hint="number and date do")
    if not info.is_text and comparison.normalize is not Normalize.TEXT:
        raise UsageError(f"{at}: normalize is for texts", hint="leave it out")
    _check_number(f"{at}: weight", comparison.weight, low=0, is_open=True)
    _check_number(f"{at}: within", comparison.within, low=0, is_open=True)
    _check_number(f"{at}: required", comparison.required, low=0, high=1)
    _check_number(f"{at}: missing", comparison.missing, low=0, high=1)


def _check_part(part: BlockPart, node: NodeType, at: str) -> None:
    info, prop = BLOCK_FUNCTIONS[part.function], _property(part.property, node, at)
    shown = f"{at}: {part}"
    if not info.fits(prop.type):
        raise UsageError(f"{shown}: {part.function} takes {info.expected}, and the property is {prop.type}")
    if info.number is None:
        if part.number is not None:
            raise UsageError(f"{shown}: {part.function} takes no number", hint=f"{part.function}({part.property})")
        return
    if part.number is None:
        raise UsageError(
            f"{shown}: {part.function} needs its {info.number}", hint=f"{part.function}({part.property}, 10)"
        )
    if info.is_whole and part.number != int(part.number):
        raise UsageError(f"{shown}: {info.number} must be a whole number", hint=f"the default is {info.default:g}")
    _check_number(f"{shown}: {info.number}", part.number, low=0, high=info.number_max, is_open=True)


def _check_numbers(rules: ResolveRules) -> None:
    _check_number("threshold", rules.threshold, low=0, high=1, is_open=True)
    _check_number("review", rules.review, low=0, high=1, is_open=True)
    _check_number("evidence", rules.evidence, low=0, high=1)
    for name, value in (("block_max", rules.block_max), ("cluster_max", rules.cluster_max)):
        if not _is_whole(value) or value < 2:
            raise UsageError(f"rules: {name} is {value!r}, expected a whole number from 2 on")
    if rules.review is not None and rules.review > rules.threshold:
        raise UsageError(
            f"rules: review ({rules.review:g}) is above the threshold ({rules.threshold:g})",
            hint="pairs from review up to the threshold are reported, not merged",
        )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_number(at: str, value: object, *, low: float, high: float | None = None, is_open: bool = False) -> None:
    """Raise unless the value is None or a number in the range; ``is_open`` excludes the lower bound."""
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if is_number:
        assert isinstance(value, int | float)
        if (value > low if is_open else value >= low) and (high is None or value <= high):
            return
    least = f"above {low:g}" if is_open else f"from {low:g}"
    raise UsageError(f"{at} is {value!r}, expected a number {least}{'' if high is None else f' to {high:g}'}")


def _property(name: str, node: NodeType, at: str) -> PropertyIR:
    if name not in node.properties:
        hint = did_you_mean(name, node.properties) or f"its properties are {', '.join(node.properties)}"
        raise UsageError(f"{at}: {node.name} has no property {name!r}", hint=hint, type=node.name, property=name)
    return node.properties[name]


def _word(value: object, words: type[Word], at: str) -> Word:
    try:
        return words(str(value))
    except ValueError:
        raise _unknown(at, "value", value, [*words]) from None


def _unknown(at: str, what: str, value: object, known: Sequence[str]) -> UsageError:
    hint = did_you_mean(str(value), known) or f"expected one of {', '.join(known)}"
    return UsageError(f"{at}: unknown {what} {value!r}", hint=hint)
