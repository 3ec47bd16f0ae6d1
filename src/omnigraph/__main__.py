"""``python -m omnigraph``: the command line without its script on the path."""

import sys

from omnigraph.cli.main import main

sys.exit(main())
