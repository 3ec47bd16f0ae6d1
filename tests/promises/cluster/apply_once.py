"""The program under test: one run of apply. Run as `apply_once.py DIRECTORY`."""

import json
import sys
from pathlib import Path

from omnigraph.cluster.control.apply import apply
from omnigraph.cluster.control.session import Operator
from tests.support.faults.window import armed


def main(directory: str) -> dict[str, object]:
    operator = Operator(Path(directory), actor="ann")
    with armed():
        found = apply(operator)
    return {"converged": found.converged, "codes": [item.code for item in found.diagnostics]}


print(json.dumps(main(*sys.argv[1:])))
