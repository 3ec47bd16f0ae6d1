"""Expansion of ``implements``: interface properties injected into node types that do not declare them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from omnigraph.lang.syntax import Name
from omnigraph.schema.codes import Rule
from omnigraph.schema.declared import DeclaredInterface, DeclaredProperty
from omnigraph.schema.findings import Findings


def known_interfaces(
    findings: Findings, node: Name, implements: tuple[Name, ...], interfaces: Mapping[str, DeclaredInterface]
) -> dict[str, Name]:
    """The existing interfaces that a node implements, by name, with the first place each is written."""
    known: dict[str, Name] = {}
    for name in implements:
        if name.text in interfaces:
            known.setdefault(name.text, name)
        else:
            message = f"node {node.text} implements unknown interface '{name.text}'"
            findings.unresolved(Rule.UNKNOWN_INTERFACE, message, name.span, findings.suggest(name.text, interfaces))
    return dict(sorted(known.items()))


def inject(
    findings: Findings,
    node: Name,
    own: Mapping[str, DeclaredProperty],
    implements: Mapping[str, Name],
    interfaces: Mapping[str, DeclaredInterface],
) -> dict[str, DeclaredProperty]:
    """Declared and injected properties of a node. A direct declaration wins and drops the interface's constraints."""
    found = dict(own)
    for interface_name, written in implements.items():
        for prop in interfaces[interface_name].properties:
            name = prop.name.text
            present = found.get(name)
            if present is None:
                found[name] = replace(prop, injected_from=interface_name)
            elif present.injected_from is None and present.type != prop.type:
                message = (
                    f"node {node.text} property '{name}' has type {present.type} "
                    f"but interface {interface_name} declares it as {prop.type}"
                )
                findings.error(Rule.INTERFACE_TYPE_CLASH, message, present.name.span)
            elif present.injected_from is not None and present.semantics != prop.semantics:
                message = (
                    f"incompatible property semantics: interfaces {present.injected_from} and {interface_name} "
                    f"declare '{name}' differently, and node {node.text} implements both"
                )
                hint = f"declare `{name}` in {node.text} itself, or make the two interfaces agree"
                findings.error(Rule.INTERFACES_DISAGREE, message, written.span, hint)
    return found
