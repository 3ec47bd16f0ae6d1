#!/usr/bin/env bash
# A short tour of what works today, on the files beside this script. `make demo` runs it; it changes nothing
# here: the graph it makes is in a temporary directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
OMNIGRAPH=${OMNIGRAPH:-.venv/bin/omnigraph}
case "$OMNIGRAPH" in */*) OMNIGRAPH=$(cd "$(dirname "$OMNIGRAPH")" && pwd)/$(basename "$OMNIGRAPH") ;; esac
cd examples

bold='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; fi

chapter() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }

# show EXPECTED_STATUS COMMAND...: print the command, run it, and insist on its exit code.
show() {
  local expected=$1 status=0 word
  shift
  printf '\n%s$ omnigraph' "$dim"
  for word in "$@"; do
    case "$word" in *[!A-Za-z0-9_.,/=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  printf '%s\n' "$plain"
  "$OMNIGRAPH" "$@" 2>&1 || status=$?
  if [ "$status" -ne "$expected" ]; then
    printf 'the demo expected exit code %s, but got %s\n' "$expected" "$status" >&2
    exit 1
  fi
}

show 0 version

chapter '1. A schema says what may exist; queries are checked against it.'
show 0 lint --schema social.pg --query social.gq

chapter '2. Mistakes are found before anything runs, all in one go.'
show 1 lint --schema social.pg --query mistakes.gq

chapter '3. One canonical form, comments kept.'
show 0 fmt --diff untidy.gq

chapter '4. A migration is a plan you can read first. Renames keep their data.'
show 0 schema plan --from social.pg --to social_v2.pg

chapter '5. What cannot be done safely is refused, with the reason. Here is the way back:'
show 1 schema plan --from social_v2.pg --to social.pg

chapter '6. A query becomes a plan. Read it from the bottom: rows flow upwards.'
show 0 explain --schema social.pg --query social.gq circle --params '{"email": "ada@example.org"}'

chapter '7. Search by text and by meaning, in one ranking.'
show 0 explain --schema social.pg --query social.gq find_posts

# Ids and times differ from run to run; everything else is the same.
GRAPH_HOME=$(mktemp -d)
trap 'rm -rf "$GRAPH_HOME"' EXIT
export OMNIGRAPH_STORE=$GRAPH_HOME/social.omni OMNIGRAPH_ACTOR=ann

chapter '8. A graph is a directory, or a prefix in a bucket. A load is one commit, whole or not at all.'
show 0 init --schema social.pg --quiet
show 0 load --data social.jsonl --mode append --message 'first people' --quiet

chapter '9. The query planned above, run on it; and how many work where.'
show 0 query circle --query social.gq --params '{"email": "ada@example.org"}'
show 0 query employers --query social.gq

chapter '10. A branch costs nothing until it is written to, and nobody else sees what happens there.'
show 0 branch create plan --quiet
show 0 mutate --branch plan --as bob --message 'a new employer' \
  -e 'query add($domain: String) { insert Company { domain: $domain, name: "New", industry: "energy" } }' \
  --params '{"domain": "new.example"}'
show 0 export --branch plan --type Company
show 0 export --type Company

chapter '11. Every state stays readable: the history of the branch, and the graph as it was after the load.'
show 0 commit list --branch plan
first=$("$OMNIGRAPH" commit list --limit 1 | awk 'NR == 2 { print $1 }')
show 0 snapshot --at "$first"

chapter '12. What does not fit is refused with its place, and nothing is written.'
printf '%s\n' '{"type": "Company", "data": {"domain": "x.example", "name": "X", "industry": "magic"}}' \
  > "$GRAPH_HOME/wrong.jsonl"
(cd "$GRAPH_HOME" && show 1 load --data wrong.jsonl --mode append --quiet)
show 0 verify --quick

cat <<END

${bold}What to try next${plain}
  Edit examples/social.pg or examples/social.gq and lint them again:
    .venv/bin/omnigraph lint --schema examples/social.pg --query examples/social.gq
  Ask something of your own:
    .venv/bin/omnigraph explain --schema examples/social.pg -e 'query q() { match { \$p: Person } return { count(\$p) } }'
  Make a graph that stays:
    .venv/bin/omnigraph init social.omni --schema examples/social.pg
    .venv/bin/omnigraph load social.omni --data examples/social.jsonl --mode append
  Give the same answers to a program:  add --json to any command.
  Read on: README.md, docs/user/schema.md, docs/user/queries.md, docs/user/storage.md, docs/user/cli.md
END
