"""Wrong inputs as a new user would type them: exit code, the value and the next step on standard error."""

import shutil
from pathlib import Path

import pytest

from tests.features.cli.graphs import SCHEMA
from tests.features.cli.run import run
from tests.support.messages import judge_output

ALL = "query q() { match { $p: Person } return { $p.name } }"
ONE = "query q($name: String) { match { $p: Person { name: $name } } return { $p.name } }"
ADD = "query add($name: String) { insert Person { name: $name } }"

Case = tuple[str, str, int]
"""Words of the command line, the value that the message has to name, and the exit code."""

GRAPHS: list[Case] = [
    ("snapshot nowhere", "nowhere", 1),
    ("snapshot grahp", "grahp", 1),
    ("snapshot note.txt", "note.txt", 1),
    ("snapshot empty", "empty", 1),
    ("snapshot ftp://host/g", "ftp://", 2),
    ("snapshot graph --storage-option region", "region", 2),
    ("snapsht graph", "snapsht", 2),
    ("snapshot graph --frmat json", "--frmat", 2),
    ("snapshot graph --format yaml", "yaml", 2),
    ("init --schema nope.pg new", "nope.pg", 1),
    ("init --schema note.txt new", "hello", 1),
    ("init --schema kye.pg new", "@kye", 1),
    ("init --schema schema.pg graph", "graph", 1),
    ("init new", "--schema", 2),
    ("doctor nowhere --json-lines", "--json-lines", 2),
]

READS: list[Case] = [
    ("query --store graph", "query", 2),
    ("query --store graph -e $SQL", "SELECT", 1),
    ("query --store graph --query nope.gq", "nope.gq", 1),
    ("query --store graph -e $ALL --branch mian", "'mian'", 1),
    ("query --store graph -e $ALL --at someday", "'someday'", 1),
    ("query --store graph -e $ALL --at main~99", "'main~99'", 1),
    ("query --store graph -e $ALL --branch main --at main~1", "'main~1'", 2),
    ("query --store graph -e $ALL other", "other", 1),
    ("query --store graph -e $ALL --engine sparck", "sparck", 2),
    ("query --store graph -e $ALL --timeout soon", "soon", 2),
    ("query --store graph -e $ONE", "'name'", 1),
    ("query --store graph -e $ONE --params Ann", "--params", 1),
    ("query --store graph -e $ONE --params ['Ann']", "--params", 1),
    ('query --store graph -e $ONE --params {"nam":"Ann"}', "'nam'", 1),
    ('query --store graph -e $ONE --params {"name":5}', "5", 1),
    ("query --store graph -e $ONE --params-file nope.json", "nope.json", 1),
    ("query --store graph -e $ADD", "add", 2),
    ("explain --store graph -e $ALL --at someday", "'someday'", 1),
    ("sql --store graph selct", "selct", 1),
    ("export graph --type Persn", "'Persn'", 1),
    ("export graph --at 01", "'01'", 1),
    ("analyze pagernk --store graph", "pagernk", 2),
    ("schema show graph --branch mian", "'mian'", 1),
]

WRITES: list[Case] = [
    ("mutate --store graph -e $ALL", "q", 2),
    ('mutate --store graph -e $ADD --params {"nme":"x"}', "'nme'", 1),
    ('mutate --store graph -e $ADD --params {"name":"x"} --branch mian', "'mian'", 1),
    ('mutate --store graph -e $ADD --params {"name":"x"} --if-commit 01ABC', "01ABC", 4),
    ("load graph --data nope.jsonl --mode merge", "nope.jsonl", 1),
    ("load graph --data Persn=people.csv", "'Persn'", 1),
    ("load graph --data ends.csv --type Person", "--type Knows", 1),
    ("load graph --mapping nope.yaml", "nope.yaml", 1),
    ("load graph --mapping note.txt", "note.txt", 2),
    ("import people.csv", "--into", 2),
    ("import people.csv --into note.txt", "note.txt", 1),
    ("schema infer ragged.csv", "ragged.csv:2", 1),
    ("schema infer nope.csv", "nope.csv", 1),
    ("export graph --format csv", "--type", 2),
    ("export graph --out nowhere/x.jsonl", "nowhere", 1),
    ("restore nowhere new", "nowhere", 1),
    ("backup graph note.txt", "note.txt", 1),
    ("copy graph graph", "graph", 2),
    ("load graph --data good.jsonl --mode upsrt", "upsrt", 2),
    ("load graph --data bad.jsonl --mode merge", "'Persn'", 1),
    ("load graph --data good.jsonl --mode merge --branch mian", "'mian'", 1),
    ("schema apply graph --schema nope.pg", "nope.pg", 1),
    ("schema apply graph --schema kye.pg", "@kye", 1),
    ("schema plan --from schema.pg --to kye.pg", "@kye", 1),
    ("cleanup graph --older-than week --yes", "week", 2),
    ("optimize graph --type Persn", "Persn", 1),
]

HISTORY: list[Case] = [
    ("branch create main --store graph", "main", 1),
    ("branch create my!branch --store graph", "my!branch", 2),
    ("branch create x --from mian --store graph", "'mian'", 1),
    ("branch create x --from main --at main~1 --store graph", "--from", 2),
    ("branch delete nope --store graph --yes", "'nope'", 1),
    ("branch merge nope --store graph", "'nope'", 1),
    ("branch merge main --store graph", "'main'", 2),
    ("diff nope --store graph", "'nope'", 1),
    ("diff main~1..main main --store graph", "'main~1..main'", 2),
    ("commit show nope --store graph", "'nope'", 1),
    ("commit show 01 --store graph", "'01'", 1),
    ("commit list graph --limit ten", "ten", 2),
    ("commit list graph --branch mian", "'mian'", 1),
    ("revert nope --store graph", "'nope'", 1),
    ("revert --since someday --store graph", "'someday'", 2),
    ("changes poll --cursor garbage --store graph", "cursor", 1),
]

CASES = [*GRAPHS, *READS, *WRITES, *HISTORY]
TEXTS = {"$ALL": ALL, "$ONE": ONE, "$ADD": ADD, "$SQL": "SELECT * FROM Person"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, _loaded_graph: Path) -> Path:
    place = tmp_path_factory.mktemp("wrong")
    shutil.copytree(_loaded_graph, place / "graph")
    (place / "empty").mkdir()
    (place / "note.txt").write_text("hello")
    (place / "schema.pg").write_text(SCHEMA)
    (place / "kye.pg").write_text(SCHEMA.replace("@key", "@kye"))
    (place / "people.csv").write_text("id,name\n1,Ann\n")
    (place / "ends.csv").write_text("src,dst\nAda,Alan\n")
    (place / "ragged.csv").write_text("id,name\n1\n")
    (place / "good.jsonl").write_text('{"type": "City", "data": {"name": "Oslo"}}\n')
    (place / "bad.jsonl").write_text('{"type": "Persn", "data": {"name": "x"}}\n')
    return place


@pytest.mark.parametrize(("line", "value", "exit_code"), CASES, ids=[case[0] for case in CASES])
def test_a_wrong_command_line_gets_its_value_and_the_next_step(
    place: Path, monkeypatch: pytest.MonkeyPatch, line: str, value: str, exit_code: int
) -> None:
    monkeypatch.chdir(place)
    judge_output(run(*(TEXTS.get(word, word) for word in line.split())), value, exit_code)
