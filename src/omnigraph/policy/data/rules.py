"""The data rules of a bundle: read and checked once, validated against each catalog, evaluated for each actor.

An entity is visible if a rule permits ``read_entity`` and none forbids it, and changeable likewise. Properties are
visible with their entity, unless a rule names ``read_property``: then each needs a rule that permits it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from omnigraph.core.actors import Action, Actor, Attribute, Need
from omnigraph.core.lru import Lru
from omnigraph.errors import PolicyInvalid
from omnigraph.policy.bundle import Bundle
from omnigraph.policy.data.checks import DataRule, problems_of, read_rules, unfit
from omnigraph.policy.data.entity_types import (
    CHANGE_ENTITY,
    READ_ENTITY,
    READ_PROPERTY,
    cedar_types,
    schema_text,
)
from omnigraph.policy.data.partial import DataPolicies, NotEvaluated, Residual
from omnigraph.policy.data.translate import Translator, Untranslatable, both, either, negation
from omnigraph.policy.library import cedar
from omnigraph.query import expressions as ir
from omnigraph.query.rewrite.coerce import coerce_predicate
from omnigraph.query.visibility.data_scope import DataScope, TypeScope
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog

SCOPES_MAX = 4_096
"""Cached scopes of one bundle; each holds a predicate for each type."""

CATALOGS_MAX = 64
"""Catalogs that the rules of one bundle are validated against."""


@dataclass(frozen=True)
class _Fitted:
    """The rules under one catalog, or the problems that they have there."""

    catalog: Catalog
    translators: tuple[Translator, ...]
    policies: DataPolicies | None
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    catalog: Catalog
    scope: DataScope | None


class DataRules:
    """The rules about data of one bundle."""

    def __init__(self, bundle: Bundle, text: str) -> None:
        self._bundle = bundle
        self._text = text
        self.rules = _parsed(text, bundle)
        self._has_property_rules = any(rule.names_properties for rule in self.rules)
        self._fitted: Lru[int, _Fitted] = Lru(CATALOGS_MAX)
        self._scopes: Lru[tuple[Actor, str, str, int], _Known] = Lru(SCOPES_MAX)

    def check(self, catalog: Catalog) -> None:
        """Raise PolicyInvalid unless every rule validates against a catalog and can be applied to its types."""
        problems = self._under(catalog).problems
        if problems:
            raise _invalid(problems)

    def scope(self, actor: Actor, action: Action, branch: str, catalog: Catalog) -> DataScope | None:
        """The part of a graph that the actor may see, or change; None if all of it.

        Raises PolicyDenied if that cannot be decided: rules that cannot be applied must not show everything.
        """
        data_action = CHANGE_ENTITY if action is Action.CHANGE else READ_ENTITY
        key = (actor, data_action, branch, id(catalog))
        known = self._scopes.get(key)
        # Ids of objects are used again, so the catalog itself is compared too.
        if known is None or known.catalog is not catalog:
            known = _Known(catalog, self._evaluated(actor, Need(action, branch), data_action, branch, catalog))
            self._scopes.put(key, known)
        return known.scope

    def _evaluated(self, actor: Actor, need: Need, data_action: str, branch: str, catalog: Catalog) -> DataScope | None:
        fitted = self._under(catalog)
        if fitted.policies is None:
            raise need.denied(f": the data rules do not fit the schema of the branch: {fitted.problems[0]}", actor)
        attributes = self._bundle.attributes_of(actor)
        wrong = [name for name, value in attributes.items() if not self._bundle.attributes[name].holds(value)]
        if wrong:
            raise need.denied(f": the attribute {wrong[0]!r} of the actor is no {self._declared(wrong[0])}", actor)
        try:
            return self._scope(fitted, fitted.policies, actor, attributes, data_action, branch)
        except (NotEvaluated, Untranslatable) as problem:
            raise need.denied(f": the data rules cannot be applied: {problem}", actor) from problem

    def _declared(self, name: str) -> str:
        return self._bundle.attributes[name].value

    def _scope(
        self,
        fitted: _Fitted,
        policies: DataPolicies,
        actor: Actor,
        attributes: Mapping[str, Attribute],
        action: str,
        branch: str,
    ) -> DataScope | None:
        groups = self._bundle.groups_of(actor)
        residuals = policies.residuals(actor, groups, attributes, action, {"branch": branch})
        tests = [(translator, _permitted(translator, residuals)) for translator in fitted.translators]
        hidden: dict[str, frozenset[str]] = {}
        if action == READ_ENTITY and self._has_property_rules:
            names = {name for translator in fitted.translators for name in translator.entity.properties}
            for name in sorted(names):
                context = {"branch": branch, "property": name}
                found = policies.residuals(actor, groups, attributes, READ_PROPERTY, context)
                hidden[name] = frozenset(
                    translator.name for translator in fitted.translators if not _is_shown(translator, found)
                )
        types = {
            translator.entity.table_key: TypeScope(
                frozenset(name for name in translator.entity.properties if translator.name not in hidden.get(name, ())),
                coerce_predicate(test),
            )
            for translator, test in tests
            if test != ir.FALSE
        }
        return _scope_of(types, [translator.entity for translator in fitted.translators])

    def _under(self, catalog: Catalog) -> _Fitted:
        known = self._fitted.get(id(catalog))
        if known is None or known.catalog is not catalog:
            known = self._fit(catalog)
            self._fitted.put(id(catalog), known)
        return known

    def _fit(self, catalog: Catalog) -> _Fitted:
        library, schema = cedar(), schema_text(catalog, self._bundle.attributes)
        translators = tuple(Translator(entity, name) for name, entity in cedar_types(catalog).items())
        result = library.validate_policies(self._text, schema)
        names = {rule.policy_id: rule.name for rule in self.rules}
        problems = [f"rule {names.get(error.policy_id, error.policy_id)!r}: {error}" for error in result.errors]
        if not problems and not result.validation_passed:
            problems.append("the rules do not validate")
        for rule in self.rules if not problems else ():
            problems += [f"rule {rule.name!r}: {reason}" for reason in dict.fromkeys(unfit(rule, translators))]
        if problems:
            return _Fitted(catalog, translators, None, tuple(problems))
        policies = DataPolicies(library.PolicySet.from_str(self._text), library.Schema.from_str(schema), {*names})
        return _Fitted(catalog, translators, policies, ())


def _parsed(text: str, bundle: Bundle) -> tuple[DataRule, ...]:
    try:
        parsed = json.loads(cedar().policies_to_json_str(text))
    except ValueError as error:
        raise PolicyInvalid(f"the data rules do not parse: {error}") from error
    if parsed["templates"] or parsed["templateLinks"]:
        raise PolicyInvalid("the data rules have templates, which cannot be applied to entities")
    rules = read_rules(parsed)
    problems = problems_of(rules, bundle.groups)
    if problems:
        raise _invalid(problems)
    return rules


def _invalid(problems: Iterable[str]) -> PolicyInvalid:
    listed = "".join(f"\n  {problem}" for problem in problems)
    return PolicyInvalid(f"the data rules are not valid:{listed}")


def _permitted(translator: Translator, residuals: tuple[Residual, ...]) -> ir.Expr:
    """The predicate of the entities that some policy permits and none forbids."""
    permits = [_holds(translator, residual) for residual in residuals if residual.permits]
    forbids = [_holds(translator, residual) for residual in residuals if not residual.permits]
    return both(either(*permits), negation(either(*forbids)))


def _holds(translator: Translator, residual: Residual) -> ir.Expr:
    test: ir.Expr = ir.TRUE
    for node in residual.conditions:
        test = ir.FALSE if test == ir.FALSE else both(test, translator.predicate(node))
    return test


def _is_shown(translator: Translator, residuals: tuple[Residual, ...]) -> bool:
    """The decision about a property, which no row may change."""
    test = _permitted(translator, residuals)
    if test not in (ir.TRUE, ir.FALSE):
        raise NotEvaluated(f"{READ_PROPERTY} depends on the entity")
    return test == ir.TRUE


def _scope_of(types: Mapping[str, TypeScope], entities: list[Entity]) -> DataScope | None:
    is_whole = all(
        entity.table_key in types and types[entity.table_key] == TypeScope(frozenset(entity.properties))
        for entity in entities
    )
    if is_whole:
        return None
    facts = [(key, sorted(type_.properties), repr(type_.predicate)) for key, type_ in sorted(types.items())]
    return DataScope(types, hashlib.sha256(repr(facts).encode()).hexdigest())
