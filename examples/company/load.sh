#!/usr/bin/env bash
# Makes a graph from the tables beside this script, with Spark. `load.sh GRAPH` says where; it must not exist yet.
set -euo pipefail
OMNIGRAPH=${OMNIGRAPH:-omnigraph}
graph=${1:?usage: load.sh GRAPH}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

"$OMNIGRAPH" init "$graph" --schema "$here/company.pg"
"$OMNIGRAPH" load "$graph" --mapping "$here/mapping.yaml" --mode append --message 'people and their jobs'
"$OMNIGRAPH" query staff --store "$graph" --query "$here/company.gq" --params '{"industry": "energy"}'
