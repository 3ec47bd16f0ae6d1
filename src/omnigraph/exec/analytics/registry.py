"""Registry of graph algorithms: one row per algorithm.

A row declares name, parameters with defaults and ranges, edge form, result columns and runner. Everything else is
derived from it: ``graph.analyze`` checks and passes arguments, the command line builds a subcommand with options, the
reference pages list the columns, and Spark receives the edges in the declared form. To add an algorithm, add its
function to ``algorithms.py`` and a row here.

The module imports no array library: the command line reads it to print help.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import UsageError
from omnigraph.exec.analytics.forms import Form

if TYPE_CHECKING:
    from omnigraph.exec.analytics.algorithms import NodeValues, Work

Settings = Mapping[str, Any]
"""A value for every parameter of an algorithm."""


class Kind(Enum):
    """The kind of value a parameter takes."""

    FLAG = "flag"
    INTEGER = "integer"
    NUMBER = "number"
    PROPERTY = "property"
    """The name of a numeric edge property."""
    NODES = "nodes"
    """Node references: ids, or pairs of type and id."""
    NODE_WEIGHTS = "node weights"
    """A mapping from node references to numbers."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named argument of an algorithm. ``option`` is its spelling on the command line, if it has one there."""

    name: str
    kind: Kind
    default: Any = None
    option: str | None = None
    help: str = ""
    metavar: str | None = None
    low: float | None = None
    high: float | None = None
    is_required: bool = False

    def check(self, value: Any) -> None:
        """Raise if the value is outside the range."""
        if value is None or (self.low is None and self.high is None):
            return
        # Written as `not (inside)`, because every comparison with NaN is false.
        if not ((self.low is None or value >= self.low) and (self.high is None or value <= self.high)):
            expected = f"at least {self.low}" if self.high is None else f"between {self.low} and {self.high}"
            raise UsageError(
                f"{self.name} is {value}, expected a number {expected}", hint=f"the default is {self.default}"
            )

    def normalized(self, value: Any) -> Any:
        """The value in the form that the runner takes; iterators of nodes are read once, here."""
        if self.kind is Kind.NODES:
            return [value] if isinstance(value, str) else list(value)
        return value

    def identity(self, value: Any) -> object:
        """The value in a form whose ``repr`` is the same for equal settings; it names the checkpoint."""
        if self.kind is Kind.NODES:
            return sorted(value, key=repr)
        if self.kind is Kind.NODE_WEIGHTS:
            return sorted((value or {}).items(), key=repr)
        return value


def _directed(settings: Settings) -> Form:
    return Form.DIRECTED if settings.get("directed", True) else Form.BOTH


def _simple(_settings: Settings) -> Form:
    return Form.SIMPLE


def _components_on_spark(settings: Settings) -> Form:
    # By steps, labels must travel both ways; in one process scipy ignores the direction by itself.
    return Form.DIRECTED if settings["strong"] else Form.BOTH


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One row of the registry. ``runner`` names a function of ``algorithms.py``."""

    name: str
    summary: str
    columns: tuple[str, ...]
    runner: str
    parameters: tuple[Parameter, ...] = ()
    form: Callable[[Settings], Form] = _directed
    spark_form: Callable[[Settings], Form] | None = None
    """The form for Spark where it differs from the form in one process."""
    has_rounds: bool = False
    """Iterates, and so can keep checkpoints."""
    details: str = ""

    @property
    def verb(self) -> str:
        """The subcommand of ``omnigraph analyze``."""
        return self.name.replace("_", "-")

    def settings(self, given: Mapping[str, Any]) -> Settings:
        """A checked value for every parameter; raises for unknown, missing and out-of-range arguments."""
        names = [parameter.name for parameter in self.parameters]
        for name in given:
            if name not in names:
                hint = did_you_mean(name, names) or f"its parameters are {', '.join(names) or 'none'}"
                raise UsageError(f"{self.name} has no parameter {name!r}", hint=hint)
        chosen = {}
        for parameter in self.parameters:
            if parameter.is_required and parameter.name not in given:
                raise UsageError(f"{self.name} needs {parameter.name}", hint=f"pass {parameter.name}=...")
            value = parameter.normalized(given.get(parameter.name, parameter.default))
            parameter.check(value)
            chosen[parameter.name] = value
        return chosen

    def identity(self, settings: Settings) -> dict[str, object]:
        """The settings as values that are equal if and only if two runs compute the same rounds."""
        return {parameter.name: parameter.identity(settings[parameter.name]) for parameter in self.parameters}

    def run(self, work: Work, settings: Settings) -> NodeValues:
        """Run the algorithm, in this process or over the steps of a cluster."""
        # Imported late: the command line reads this table for its help and must not load numpy and Arrow.
        from omnigraph.exec.analytics import algorithms

        runner: Callable[..., NodeValues] = getattr(algorithms, self.runner)
        own = {name: value for name, value in settings.items() if name not in EDGE_PARAMETERS}
        return runner(work, **own)


_WEIGHT = Parameter("weight", Kind.PROPERTY, None, "--weight", "Numeric edge property used as weight.", "PROPERTY")
_DIRECTED = Parameter("directed", Kind.FLAG, True, "--undirected", "Follow edges in both directions.")
EDGE_PARAMETERS = frozenset((_WEIGHT.name, _DIRECTED.name))
"""Parameters that select or weigh edges: they shape the steps and are not passed to the runner."""


def _iterations(default: int) -> Parameter:
    return Parameter(
        "max_iterations", Kind.INTEGER, default, "--max-iterations", "Maximum number of rounds.", "N", low=1
    )


_ROWS = (
    Algorithm(
        name="pagerank",
        summary="PageRank: importance of every node by its incoming edges.",
        columns=("rank",),
        runner="pagerank",
        parameters=(
            Parameter(
                "damping", Kind.NUMBER, 0.85, "--damping", "Probability of following an edge.", "SHARE", low=0, high=1
            ),
            Parameter(
                "tolerance", Kind.NUMBER, 1e-6, "--tolerance", "Total change of ranks to stop at.", "NUMBER", low=0
            ),
            _iterations(100),
            Parameter("personalization", Kind.NODE_WEIGHTS),
            _WEIGHT,
            _DIRECTED,
        ),
        has_rounds=True,
    ),
    Algorithm(
        name="components",
        summary="Connected components: weak by default, or strong.",
        columns=("component",),
        runner="components",
        parameters=(
            Parameter("strong", Kind.FLAG, False, "--strong", "Group only nodes that reach each other along edges."),
        ),
        spark_form=_components_on_spark,
        has_rounds=True,
    ),
    Algorithm(
        name="label_propagation",
        summary="Communities by label propagation.",
        columns=("community",),
        runner="label_propagation",
        parameters=(_iterations(20),),
        form=_simple,
        has_rounds=True,
    ),
    Algorithm(
        name="shortest_paths",
        summary="Distance of every node from the nearest source.",
        columns=("distance",),
        runner="shortest_paths",
        parameters=(
            Parameter("sources", Kind.NODES, (), "--source", "Start node; repeatable.", "[TYPE:]ID", is_required=True),
            _WEIGHT,
            Parameter(
                "max_distance", Kind.NUMBER, None, "--max-distance", "Largest distance to search.", "NUMBER", low=0
            ),
            _DIRECTED,
        ),
        has_rounds=True,
        details="Where several node types take part, a source is TYPE:ID.",
    ),
    Algorithm(
        name="triangles",
        summary="Number of triangles every node is part of.",
        columns=("triangles",),
        runner="triangles",
        form=_simple,
    ),
    Algorithm(
        name="degrees",
        summary="Number of edges of every node: all, incoming and outgoing.",
        columns=("degree", "in_degree", "out_degree"),
        runner="degrees",
    ),
)


ALGORITHMS: Mapping[str, Algorithm] = {algorithm.name: algorithm for algorithm in _ROWS}


def find_algorithm(name: str) -> Algorithm:
    """The row of that name; raises if there is none."""
    found = ALGORITHMS.get(name)
    if found is None:
        hint = did_you_mean(name, ALGORITHMS) or f"algorithms are {', '.join(ALGORITHMS)}"
        raise UsageError(f"unknown algorithm {name!r}", hint=hint)
    return found
