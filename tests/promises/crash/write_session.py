"""A program that makes all writes of a session and prints a line for each that was acknowledged.

Run as `write_session.py <uri>`.
"""

import sys

from tests.promises.crash.writers import SESSION, open_counted
from tests.support.faults.window import armed

graph = open_counted(sys.argv[1], era=2)
with armed():
    for step, write in enumerate(SESSION):
        write(graph)
        print(step, flush=True)
