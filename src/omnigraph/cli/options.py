"""Options that several commands share, so that they are spelled and explained the same everywhere."""

from __future__ import annotations

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs, errors included.")

schema_option = click.option("--schema", "schema_path", required=True, metavar="FILE.pg", help="The schema.")
