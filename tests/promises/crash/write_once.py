"""The program under test: one writer, one write, one line that says how it ended.

Run as `write_once.py <writer> <uri> [<durability>]`. Its exit code is 0 for every ending it can report; another one is
a failure of the test, or the death it was sentenced to.
"""

import json
import sys

from omnigraph.errors import OmnigraphError
from tests.promises.crash.writers import CREATE, KILLED, create_counted, open_counted
from tests.support.faults.window import armed


def main(name: str, uri: str, durability: str = "fsync") -> dict[str, object]:
    writer = KILLED[name]
    graph = None
    if name != CREATE:
        graph = open_counted(uri, era=2, durability=durability, tuning=writer.tuning)
        writer.warm(graph)
    try:
        with armed():
            if graph is None:
                create_counted(uri, era=2, durability=durability)
            else:
                writer.write(graph)
    except OmnigraphError as error:
        return {"ended": "refused", "code": error.code, "message": str(error)}
    except Exception as error:
        return {"ended": "raw", "code": type(error).__name__, "message": repr(error)}
    return {"ended": "done"}


print(json.dumps(main(*sys.argv[1:])))
