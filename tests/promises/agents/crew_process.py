"""A crew as a process: `crew_process.py ORDERS`."""

import sys
from pathlib import Path

from tests.promises.agents.crew import Orders, work

if __name__ == "__main__":
    work(Orders.read(Path(sys.argv[1])))
