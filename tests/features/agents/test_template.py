"""The commands of the template for agents work as they are written, on a branch and up to its merge."""

import re
from pathlib import Path

import omnigraph
from tests.features.cli.run import REPOSITORY, run

PAGE = (REPOSITORY / "docs" / "agents" / "AGENTS.md").read_text()
SCHEMA = "node Person {\n  name: String @key\n}\n"
INSERT = 'query add() { insert Person { name: "Ada" } }'


def commands() -> list[str]:
    """Command lines with a place for the graph or the schema."""
    return [text for text in re.findall(r"`(omnigraph [^`]*)`", PAGE) if "<" in text]


def test_the_commands_of_the_template_work(tmp_path: Path) -> None:
    place, query, schema = tmp_path / "kb.omni", tmp_path / "q.gq", tmp_path / "kb.pg"
    schema.write_text(SCHEMA)
    query.write_text("query all() { match { $p: Person } return { $p } }")
    graph = omnigraph.create(place, SCHEMA, durability="os")
    values = {
        "<graph>": str(place),
        "<Type>": "Person",
        "<name>": "ann",
        "<task>": "t1",
        "<schema.pg>": str(schema),
        "<queries/*.gq>": str(query),
        "file.gq": str(query),
    }
    ran = []
    for line in commands():
        text = line
        for name, value in values.items():
            text = text.replace(name, value)
        quoted = {"<query>": INSERT} if "<query>" in text else {}
        words = [quoted.get(word.strip("'"), word.strip("'")) for word in re.findall(r"'[^']*'|\S+", text)[1:]]
        if words[0] == "mutate":
            # A preview first, as the template says, and then the write itself.
            assert run(*words).exit_code == 0
            words.remove("--dry-run")
        if words[0] == "revert":
            words[1] = graph.commit("agent/ann/t1").id
        result = run(*words)
        assert result.exit_code == 0, (line, result.output)
        ran.append(words[0])
    assert {"schema", "query", "lint", "branch", "mutate", "diff", "merge", "revert"} <= set(ran)
    assert graph.counts()["Person"] == 1, "the branch was merged"
