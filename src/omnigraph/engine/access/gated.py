"""The gate in front of every verb of a graph: the authorizer decides first, then the verb runs as the actor.

A graph without a policy and without an actor passes its gates for the cost of one comparison.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from omnigraph.core.actors import Caller
from omnigraph.core.calls.arguments import Arguments
from omnigraph.engine.access.data_rules import check_data_rules
from omnigraph.engine.access.gates import Gate
from omnigraph.engine.history.moments import Moments
from omnigraph.engine.permits.permit import ANYONE, Permit

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


class Gated(Protocol):
    """The part of a graph that its gates use."""

    _permit: Permit
    _moments: Moments

    def _acting(self: G, permit: Permit) -> G: ...


G = TypeVar("G", bound=Gated)


def gated(gates: Mapping[str, Gate]) -> Callable[[type[C]], type[C]]:
    """Put every public method and property of a class behind its gate. The table has exactly their names."""

    def decorate(decorated: type[C]) -> type[C]:
        verbs = {name: member for name, member in vars(decorated).items() if not name.startswith("_")}
        if verbs.keys() != gates.keys():
            raise TypeError(f"verbs and gates differ: {sorted(verbs.keys() ^ gates.keys())}")
        for name, member in verbs.items():
            if isinstance(member, property):
                assert member.fget is not None
                setattr(decorated, name, property(_behind(gates[name], member.fget), doc=member.__doc__))
            else:
                setattr(decorated, name, _behind(gates[name], member))
        return decorated

    return decorate


def _behind(gate: Gate, method: Callable[Concatenate[G, P], R]) -> Callable[Concatenate[G, P], R]:
    arguments = Arguments(method, method.__name__)

    @functools.wraps(method)
    def call(self: G, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._permit is ANYONE:
            return method(self, *args, **kwargs)
        given = arguments.bind((self, *args), kwargs)
        permit = self._permit.acting_as(_named_actor(gate, given))
        # The moments of the call are resolved only if there is an authorizer to decide about them.
        if permit.authorizer is not None:
            permit = _granted(gate, method.__name__, permit, self._moments, given)
        return method(self if permit is self._permit else self._acting(permit), *args, **kwargs)

    return call


def _named_actor(gate: Gate, given: Mapping[str, Any]) -> Caller:
    options = given.get("options")
    named: Caller = given.get(gate.actor) if options is None else options.actor
    return named


def _granted(gate: Gate, verb: str, permit: Permit, moments: Moments, given: Mapping[str, Any]) -> Permit:
    needs = tuple(gate.needs(moments, given))
    granted = permit.granting(needs)
    check_data_rules(gate.data, verb, permit, moments.manifests, needs)
    return granted
