"""Registry of graph algorithms: one row per algorithm.

A row declares name, parameters with defaults and ranges, edge form, result columns and runner. Everything else is
derived from it: ``graph.analyze`` checks and passes arguments, the command line builds a subcommand with options, the
reference pages list the columns, and Spark receives the edges in the declared form. To add an algorithm, add its
function to a module of ``algorithms`` and a row here.

The module imports no array library: the command line reads it to print help.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import UsageError
from omnigraph.exec.analytics.forms import Form

if TYPE_CHECKING:
    from omnigraph.exec.analytics.work import NodeValues, Walks, Work

Settings = Mapping[str, Any]
"""A value for every parameter of an algorithm."""


class Kind(Enum):
    """The kind of value a parameter takes."""

    FLAG = "flag"
    INTEGER = "integer"
    NUMBER = "number"
    PROPERTY = "property"
    """The name of a numeric edge property."""
    NODE_PROPERTY = "node property"
    """The name of an integer property of all nodes."""
    NODES = "nodes"
    """Node references: ids, or pairs of type and id."""
    NODE_WEIGHTS = "node weights"
    """A mapping from node references to numbers."""

    @property
    def phrase(self) -> str:
        """The kind with its article."""
        return f"{'an' if self is Kind.INTEGER else 'a'} {self.value}"


_PYTHON_TYPES: Mapping[Kind, tuple[type, ...]] = {
    Kind.FLAG: (bool,),
    Kind.INTEGER: (int,),
    Kind.NUMBER: (int, float),
    Kind.PROPERTY: (str,),
    Kind.NODE_PROPERTY: (str,),
}


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
        """Raise if the value is of another kind or outside the range."""
        if value is None and not self.is_required and self.default is None:
            return
        wanted = _PYTHON_TYPES.get(self.kind)
        if wanted is not None and (not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted)):
            raise UsageError(
                f"{self.name} is {value!r}, expected {self.kind.phrase}", hint=f"the default is {self.default}"
            )
        if self.low is None and self.high is None:
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


def _both(_settings: Settings) -> Form:
    return Form.BOTH


def _linked(settings: Settings) -> Form:
    """The simple graph, in which an edge in each direction counts twice if directions count."""
    return Form.LINKED if settings["directed"] else Form.SIMPLE


def _components_on_spark(settings: Settings) -> Form:
    # By steps, labels must travel both ways; in one process scipy ignores the direction by itself.
    return Form.DIRECTED if settings["strong"] else Form.BOTH


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One row of the registry. ``runner`` names a module of ``algorithms`` and a function of it."""

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
    is_per_node: bool = True
    """Gives a value for every node, which can be sorted by and written back."""
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

    def run(self, work: Work, settings: Settings) -> NodeValues | Walks:
        """Run the algorithm, in this process or over the steps of a cluster.

        Parameters that only select or weigh edges have shaped the steps; the runner does not name them.
        """
        # Imported late: the command line reads this table for its help and must not load numpy and Arrow.
        module, _, name = self.runner.partition(":")
        runner: Callable[..., NodeValues | Walks] = getattr(import_module(f"{_ALGORITHMS}.{module}"), name)
        wanted = inspect.signature(runner).parameters
        return runner(work, **{name: value for name, value in settings.items() if name in wanted})


_ALGORITHMS = "omnigraph.exec.analytics.algorithms"

_WEIGHT = Parameter("weight", Kind.PROPERTY, None, "--weight", "Numeric edge property used as weight.", "PROPERTY")
_DIRECTED = Parameter("directed", Kind.FLAG, True, "--undirected", "Follow edges in both directions.")
_SEED = Parameter("seed", Kind.INTEGER, 0, "--seed", "Seed of the random numbers.", "N", low=0)


def _iterations(default: int) -> Parameter:
    return Parameter(
        "max_iterations", Kind.INTEGER, default, "--max-iterations", "Maximum number of rounds.", "N", low=1
    )


_ROWS = (
    Algorithm(
        name="pagerank",
        summary="PageRank: importance of every node by its incoming edges.",
        columns=("rank",),
        runner="ranks:pagerank",
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
        runner="components:components",
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
        runner="communities:label_propagation",
        parameters=(
            _iterations(20),
            Parameter(
                "seed", Kind.NODE_PROPERTY, None, "--seed", "Integer node property with the initial labels.", "PROPERTY"
            ),
            Parameter(
                "directed",
                Kind.FLAG,
                False,
                "--directed",
                "Count a neighbour twice if there are edges in both directions.",
            ),
        ),
        form=_linked,
        has_rounds=True,
    ),
    Algorithm(
        name="louvain",
        summary="Communities of high modularity, by the Louvain method.",
        columns=("community",),
        runner="louvain:louvain",
        parameters=(
            Parameter("resolution", Kind.NUMBER, 1.0, "--resolution", "Above 1 smaller communities.", "NUMBER", low=0),
            Parameter("tolerance", Kind.NUMBER, 1e-7, "--tolerance", "Gain of modularity to stop at.", "NUMBER", low=0),
            Parameter("max_levels", Kind.INTEGER, 10, "--max-levels", "Maximum number of contractions.", "N", low=1),
            _WEIGHT,
        ),
        form=_both,
        has_rounds=True,
    ),
    Algorithm(
        name="shortest_paths",
        summary="Distance of every node from the nearest source.",
        columns=("distance",),
        runner="paths:shortest_paths",
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
        name="betweenness",
        summary="Betweenness centrality: share of shortest paths through every node.",
        columns=("betweenness",),
        runner="centrality:betweenness",
        parameters=(
            Parameter(
                "samples", Kind.INTEGER, None, "--samples", "Number of random sources. [default: all nodes]", "N", low=1
            ),
            _SEED,
            Parameter("normalized", Kind.FLAG, True, "--raw", "Count paths instead of dividing by those possible."),
            _DIRECTED,
        ),
        has_rounds=True,
    ),
    Algorithm(
        name="triangles",
        summary="Number of triangles every node is part of.",
        columns=("triangles",),
        runner="clusters:triangles",
        form=_simple,
    ),
    Algorithm(
        name="local_clustering",
        summary="Local clustering coefficient: share of possible edges between neighbours.",
        columns=("coefficient",),
        runner="clusters:local_clustering",
        parameters=(Parameter("directed", Kind.FLAG, True, "--undirected", "Ignore the directions of edges."),),
        form=_linked,
    ),
    Algorithm(
        name="k_core",
        summary="Core number: largest k of a subgraph in which every node has k neighbours.",
        columns=("core",),
        runner="clusters:k_core",
        form=_simple,
        has_rounds=True,
    ),
    Algorithm(
        name="degrees",
        summary="Number of edges of every node: all, incoming and outgoing.",
        columns=("degree", "in_degree", "out_degree"),
        runner="ranks:degrees",
    ),
    Algorithm(
        name="random_walks",
        summary="Random walks from every node, biased as in node2vec.",
        columns=("walk",),
        runner="walks:random_walks",
        parameters=(
            Parameter("walks", Kind.INTEGER, 1, "--walks", "Number of walks from every node.", "N", low=1),
            Parameter("length", Kind.INTEGER, 10, "--length", "Maximum number of nodes of a walk.", "N", low=1),
            Parameter("p", Kind.NUMBER, 1.0, "--p", "Below 1 a walk returns more often.", "NUMBER", low=1e-3, high=1e3),
            Parameter(
                "q", Kind.NUMBER, 1.0, "--q", "Below 1 a walk moves away more often.", "NUMBER", low=1e-3, high=1e3
            ),
            _SEED,
            _WEIGHT,
            _DIRECTED,
        ),
        is_per_node=False,
        details="A walk is the list of its node ids, or of TYPE:ID where several node types take part.",
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
