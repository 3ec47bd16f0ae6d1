"""Merges from what a caller says to what they did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from omnigraph.core.commit import CommitKind
from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.engine_choice import BY_SPARK, EMBEDDED
from omnigraph.engine.idempotency import earlier_commit
from omnigraph.engine.merge.choice import distributed_merge
from omnigraph.engine.merge.result import MergePreview, MergeResult, Policy
from omnigraph.errors import Hint, PreconditionFailed, UsageError
from omnigraph.history.conflicts import Resolution, read_resolutions
from omnigraph.history.merge import Policies
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.layout import MAIN
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.ir import MergePolicy
from omnigraph.schema.merge_policies import policy_misfit
from omnigraph.write.attempt import WriteJob, commit
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.merge.decide import MergeDecision, MergeOutcome, decide_merge
from omnigraph.write.merge.formulas import read_formulas
from omnigraph.write.merge.guarded import guarded, prepare_merge
from omnigraph.write.merge.images import MergeRules
from omnigraph.write.merge.parts import DistributedMerge
from omnigraph.write.merge.schema import merged_catalog
from omnigraph.write.merge_guard import MergeGuard
from omnigraph.write.property_policies import type_of

Said = Sequence[Mapping[str, Any] | Resolution]


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine for large tables: ``auto``, ``embedded`` or ``spark``, and its session."""

    name: str
    spark: Any | None = None


def merge_or_resume(
    context: WriteContext,
    source: str | MergePreview,
    target: str | None,
    policy: Policy,
    resolutions: Said,
    engine: Engine,
    options: WriteOptions,
    guard: MergeGuard | None = None,
) -> MergeResult:
    """Merge a branch, or exactly what a preview has shown."""
    if isinstance(source, str):
        return merge(context, source, target or MAIN, policy, resolutions, engine, options, guard)
    return resume(context, source, target, policy, resolutions, engine, options, guard)


def merge(
    context: WriteContext,
    source: str,
    target: str,
    policy: Policy,
    resolutions: Said,
    engine: Engine,
    options: WriteOptions,
    guard: MergeGuard | None = None,
) -> MergeResult:
    """Merge the head that the source has now."""
    heads = _heads(context, source, target)
    rules = _rules(context, *heads, policy, resolutions, guard)
    return _merge(context, *heads, rules, engine, options, guard)


def resume(
    context: WriteContext,
    preview: MergePreview,
    into: str | None,
    policy: Policy,
    resolutions: Said,
    engine: Engine,
    options: WriteOptions,
    guard: MergeGuard | None = None,
) -> MergeResult:
    """Merge exactly what a preview showed; refused if one of the heads has moved."""
    if into is not None or policy is not None or options.expected_head is not None:
        raise UsageError("a preview says itself what is merged, where and how", hint="pass only resolutions")
    source, target = _heads(context, preview.source, preview.target)
    # A repeated call finds the heads moved by the first one, which is the answer and no conflict.
    earlier = _earlier(context, source, target, options)
    if earlier is not None:
        return earlier
    for state, seen in ((source, preview.source_head), (target, preview.target_head)):
        if state.head != seen:
            raise PreconditionFailed(
                f"{state.branch} has moved since the preview was made: it was at {seen} and is at {state.head}",
                hint="make the preview again",
                expected=seen,
                actual=state.head,
                branch=state.branch,
            )
    rules = _rules(context, source, target, preview.policy, [*resolutions, *preview.resolutions], guard)
    return _merge(context, source, target, rules, engine, replace(options, expected_head=preview.target_head), guard)


def _merge(
    context: WriteContext,
    source: ManifestState,
    target: ManifestState,
    rules: MergeRules,
    engine: Engine,
    options: WriteOptions,
    guard: MergeGuard | None,
) -> MergeResult:
    earlier = _earlier(context, source, target, options)
    if earlier is not None:
        return earlier
    info = replace(options.info(context, CommitKind.MERGE), merged_parents=(source.head,))
    with _distributed(context, source, target, engine, guard) as distributed:
        checked = None if guard is None else guard.checked
        prepare = partial(prepare_merge, context.manifests, source, rules, distributed, checked)
        change = WriteJob(
            target.incarnation,
            prepare,
            info,
            options,
            since=target.fence,
            renew=lambda _: branches.check_kept(context.manifests, source, f"{source.branch!r} was being merged"),
        )
        decision, published = commit(context, change)
    return MergeResult(
        source.branch,
        target.branch,
        decision.outcome,
        decision.base,
        source.head,
        decision.counts,
        options.actor,
        published.commit if published else None,
        repeated=published is not None and published.repeated,
        engine=_used(decision),
    )


def _earlier(
    context: WriteContext, source: ManifestState, target: ManifestState, options: WriteOptions
) -> MergeResult | None:
    """The merge that an earlier call with the same idempotency key made."""
    found = earlier_commit(context, target.incarnation, options)
    if found is None:
        return None
    outcome = MergeOutcome.MERGED
    return MergeResult(source.branch, target.branch, outcome, None, source.head, (), found.actor, found, repeated=True)


def _used(decision: MergeDecision) -> str:
    return BY_SPARK if decision.is_distributed else EMBEDDED


def preview(
    context: WriteContext,
    source: str,
    target: str,
    policy: Policy,
    resolutions: Said,
    engine: Engine,
    guard: MergeGuard | None = None,
) -> MergePreview:
    """The counts and conflicts of a merge of the two heads. Writes nothing."""
    source_head, target_head = _heads(context, source, target)
    rules = _rules(context, source_head, target_head, policy, resolutions, guard)
    manifests, captured = context.manifests, context.manifests.capture(target_head)
    with _distributed(context, source_head, target_head, engine, guard) as distributed:
        decide = partial(decide_merge, manifests, source_head, captured, rules, distributed)
        shown = None if guard is None else guard.shown
        decision = guarded(shown, manifests, source_head, captured, decide)
    return MergePreview(
        source_head.branch,
        target_head.branch,
        decision.outcome,
        decision.base,
        source_head.head,
        target_head.head,
        decision.counts,
        decision.conflicts,
        policy,
        rules.resolutions.given,
        _used(decision),
    )


def _heads(context: WriteContext, source: str, target: str) -> tuple[ManifestState, ManifestState]:
    if source.strip() == target.strip():
        raise UsageError(
            f"{source!r} cannot be merged into itself",
            hint=Hint("name another branch: graph.merge(source, into)", "name another branch with --into"),
        )
    # The target first: a fence that is put on it after this was read is noticed when the merge is published, and the
    # source that is read then was not deleted before.
    target_head = branches.find_head(context.manifests, target)
    source_head = branches.find_head(context.manifests, source)
    branches.check_confirmed(context.manifests, source_head)
    return source_head, target_head


def _distributed(
    context: WriteContext, source: ManifestState, target: ManifestState, engine: Engine, guard: MergeGuard | None
) -> AbstractContextManager[DistributedMerge | None]:
    """The merger on Spark. Data rules need the merged rows in this process, so actors with a scope merge here."""
    if guard is not None and guard.is_restricted(context.manifests, source, context.manifests.capture(target)):
        if engine.name == BY_SPARK:
            raise guard.denied("a merge on Spark cannot apply the data rules of the actor")
        return nullcontext()
    return distributed_merge(engine.name, engine.spark)


def _rules(
    context: WriteContext,
    source: ManifestState,
    target: ManifestState,
    policy: Policy,
    resolutions: Said,
    guard: MergeGuard | None,
) -> MergeRules:
    """Rules name things as the conflicts do: as the merged schema has them, and as the actor may see it."""
    if not policy and not resolutions:
        return MergeRules()
    captured = context.manifests.capture(target)
    catalog = None if guard is None else guard.catalog(context.manifests, source, captured)
    return read_rules([catalog or merged_catalog(context.manifests, source, captured)], policy, resolutions)


def read_rules(catalogs: Sequence[Catalog], policy: Policy, resolutions: Said) -> MergeRules:
    """The caller's policies and resolutions; every name is one of a schema."""
    checked = read_resolutions(resolutions)
    named = {
        (item.type_name, item.property): _entities(catalogs, item.type_name, item.property)
        for item in checked.given
        if item.type_name is not None
    }
    return MergeRules(read_policies(catalogs, policy), checked, read_formulas(catalogs[0], checked, named))


def read_policies(catalogs: Sequence[Catalog], said: Policy) -> Policies:
    """The caller's policies, with every name checked."""
    if said is None:
        return Policies()
    if isinstance(said, str):
        return Policies(_policy(said))
    types: dict[str, MergePolicy] = {}
    properties: dict[tuple[str, str], MergePolicy] = {}
    for key, word in said.items():
        name, _, member = key.partition(".")
        if key == "*":
            continue
        entities = _entities(catalogs, name, member or None)
        if not member:
            types[name] = _policy(word)
            continue
        properties[name, member] = _policy(word)
        for entity in entities:
            _check_fits(entity, member, properties[name, member])
    return Policies(_policy(said["*"]) if "*" in said else None, types, properties)


def _policy(word: str) -> MergePolicy:
    words = {policy.value: policy for policy in MergePolicy}
    if word not in words:
        hint = did_you_mean(word, list(words)) or f"the policies are {', '.join(words)}"
        raise UsageError(f"{word!r} is no merge policy", hint=hint)
    return words[word]


def _entities(catalogs: Sequence[Catalog], name: str, member: str | None) -> list[Entity]:
    """The types of a name that have a property, if one is meant."""
    found = [kinds[name] for catalog in catalogs for kinds in (catalog.nodes, catalog.edges) if name in kinds]
    if not found:
        hint = did_you_mean(name, [known for catalog in catalogs for known in (*catalog.nodes, *catalog.edges)])
        raise UsageError(f"there is no type {name!r}", hint=hint, type=name)
    having = [entity for entity in found if member is None or type_of(entity, member) is not None]
    if not having:
        hint = did_you_mean(str(member), [known for entity in found for known in entity.properties])
        raise UsageError(f"{name} has no property {member!r}", hint=hint, type=name, property=member)
    return having


def _check_fits(entity: Entity, name: str, policy: MergePolicy) -> None:
    type_ = type_of(entity, name)
    wanted = None if type_ is None else policy_misfit(policy, type_)
    if wanted is not None:
        raise UsageError(f"{policy.value} of {entity.name}.{name} requires {wanted}, got {type_}")
