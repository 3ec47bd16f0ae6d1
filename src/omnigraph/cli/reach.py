"""The commands that do not work on a graph behind a server, with the reason. Every other command takes ``--server``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NEEDS_FILES: Final[Mapping[str, str]] = {
    "init": "it creates the files of a graph; graphs of a server are declared with `omnigraph cluster`",
    "import": "it creates the files of a graph; load into a graph of a server with `omnigraph load`",
    "analyze": "algorithms run in the process or on Spark, over the files of the graph",
    "mirror": "a mirror refers to the data files of the graph; use the Lance namespace of the server",
    "copy": "it copies the files of the graph with their history; `omnigraph export` works on a server",
    "backup": "it copies the files of the graph with their history; `omnigraph export` works on a server",
    "restore": "it creates the files of a graph",
    "repair": "it replaces damaged files of the graph, which no server may have open",
    "doctor": "it examines the files and the store of the graph; the health of a server is at /healthz",
    "serve": "it serves graphs from their files",
    "ui": "it serves graphs from their files; the page of a server is at /ui/",
    "namespace serve": "it serves tables from their files; a server has them at /lance/",
    "branch rename": "the interface of servers has no such operation; create a branch and delete the old one",
}
"""Commands on a graph that work on its files only."""

NO_GRAPH: Final[Mapping[str, str]] = {
    "fmt": "it works on files",
    "embed": "it works on a file of JSON lines",
    "demo": "it makes a graph of its own",
    "version": "it describes the program",
    "schema infer": "it works on files of data",
    "policy validate": "it works on a policy bundle",
    "policy test": "it works on a policy bundle",
    "policy explain": "it works on a policy bundle",
    "profile list": "it shows the settings",
    "profile show": "it shows the settings",
    "login": "it takes the name of the server as its argument",
    "logout": "it takes the name of the server as its argument",
    "alias": "an alias says itself which server and graph it calls",
    "queries validate": "a server checks its stored queries when it starts; their texts are in the cluster",
    **{
        f"cluster {verb}": "clusters are named by --config"
        for verb in ("init", "validate", "plan", "apply", "status", "observe", "approve", "unlock", "import")
    },
}
"""Commands that work on no single graph."""


def files_reason(path: str) -> str | None:
    """The reason why a command does not work on a graph behind a server; None for one that does."""
    return NEEDS_FILES.get(path) or NEEDS_FILES.get(path.partition(" ")[0])


def refusal(path: str, option: str) -> str:
    """The reason why a command does not take one of the options that name graphs, servers and actors."""
    if path in NO_GRAPH:
        return NO_GRAPH[path]
    reason = files_reason(path)
    if option in ("--server", "--graph") and reason is not None:
        return reason
    if option == "--cluster":
        return "only commands for maintenance work on the files of a cluster; name its server with --server"
    return "the command does not take it"
