"""Texts in Cypher or SQL: recognised by how they start, and shown as the same question in ``.gq``.

A text of one pattern or one table is translated as far as its words go; the result is advice in a message and is never
run. Other texts get an example of the same kind.
"""

from __future__ import annotations

import re
from typing import Final

from omnigraph.lang.reads.foreign_writes import foreign_write

TRANSLATED_MAX: Final = 2000
"""Characters of a text that are looked at: a message shows a line, and the patterns are not linear."""

_CYPHER: Final = re.compile(r"(?:optional\s+)?match\s*(?:\w+\s*=\s*)?\(|unwind\s*[\[(]", re.I)
_SQL: Final = re.compile(r"(?:select|with|from)\s+[\w*\"(]", re.I)

_CYPHER_EXAMPLE: Final = "match { $p: Person $p knows $f $f.age > 30 } return { $p.name, $f.name } limit 10"
_SQL_EXAMPLE: Final = "match { $p: Person $p.age > 30 } return { $p.name } order { $p.name } limit 10"

_NODE: Final = r"\(\s*(\w*)\s*(?::\s*(\w+))?\s*(?:\{([^}]*)\})?\s*\)"
_EDGE: Final = r"(<?)-(?:\[\s*(\w*)\s*(?::\s*(\w+))?\s*(?:\*\s*(\d*)\s*(?:\.\.\s*(\d*))?)?\s*\])?-(>?)"
_PARTS: Final = re.compile(
    r"match\s+(?P<pattern>.+?)(?:\s+where\s+(?P<where>.+?))?\s+return\s+(?P<distinct>distinct\s+)?(?P<columns>.+?)"
    r"(?:\s+order\s+by\s+(?P<order>.+?))?(?:\s+skip\s+(?P<offset>\d+))?(?:\s+limit\s+(?P<limit>\d+))?\s*;?\s*",
    re.I | re.S,
)
_SELECT: Final = re.compile(
    r"select\s+(?P<distinct>distinct\s+)?(?P<columns>.+?)\s+from\s+(?P<table>\w+)(?:\s+(?:as\s+)?(?!where\b|order\b|"
    r"limit\b|join\b|group\b|left\b|inner\b)(?P<name>\w+))?(?:\s+where\s+(?P<where>.+?))?"
    r"(?:\s+order\s+by\s+(?P<order>.+?))?(?:\s+limit\s+(?P<limit>\d+))?(?:\s+offset\s+(?P<offset>\d+))?\s*;?\s*",
    re.I | re.S,
)


def foreign_text(text: str) -> tuple[str, str] | None:
    """A message and a hint with the same question, if the text starts as Cypher or SQL does; else None."""
    # A text within a query ends with the brace that closes the query.
    whole = text.strip().removesuffix("}") if text.count("}") > text.count("{") else text.strip()
    write = foreign_write(whole)
    if write is not None:
        return write
    if _CYPHER.match(whole):
        return "this is Cypher", _shown(_from_cypher(whole), _CYPHER_EXAMPLE)
    if _SQL.match(whole):
        return "this is SQL", f"{_shown(_from_sql(whole), _SQL_EXAMPLE)}; the verb `sql` runs SQL"
    return None


def _shown(translated: str | None, example: str) -> str:
    return f"a question in `.gq`: {example}" if translated is None else f"the same in `.gq`: {translated}"


def _from_cypher(text: str) -> str | None:
    found = _PARTS.fullmatch(text)
    clauses = None if found is None else _pattern(found["pattern"])
    if found is None or clauses is None or re.search(r"\b(?:match|with|unwind)\b", found["columns"], re.I):
        return None
    names = re.findall(r"\$(\w+)", " ".join(clauses))
    if found["where"]:
        clauses.append(_expression(found["where"], names))
    return _read(clauses, found, names)


def _pattern(text: str) -> list[str] | None:
    """The clauses of a pattern of nodes and edges, or None if there is more in it."""
    clauses: list[str] = []
    unnamed = iter("abcdefgh")
    for chain in re.split(r",\s*(?=\()", text):
        place, before, edge = 0, "", None
        while place < len(chain.rstrip()):
            node = re.compile(rf"\s*{_NODE}").match(chain, place)
            if node is None:
                return None
            name = node[1] or next(unnamed, "x")
            matches = f" {{ {node[3].strip()} }}".replace("'", '"') if node[3] else ""
            if node[2]:
                clauses.append(f"${name}: {node[2]}{matches}")
            elif edge is None and not chain[node.end() :].strip():
                # A node of any type.
                clauses.append(f"${name}")
            if edge is not None:
                clauses.append(_traversal(edge, before, name))
            place, before = node.end(), name
            edge = re.compile(rf"\s*{_EDGE}").match(chain, place)
            if edge is None:
                break
            place = edge.end()
        if chain[place:].strip():
            return None
    return clauses


def _traversal(edge: re.Match[str], left: str, right: str) -> str:
    incoming, name, type_name, low, high, outgoing = edge.groups()
    if not type_name:
        return f"${left} <${name or '_'}> ${right}"
    words = type_name.lower().split("_")
    word = words[0] + "".join(map(str.capitalize, words[1:])) if type_name.isupper() else type_name
    word = word[:1].lower() + word[1:]
    if not incoming and not outgoing:
        word = f"<{word}>"
    if low is not None or high is not None:
        word += f"{{{low or 1},{high or low or 5}}}"
    bound = f"${name}: " if name else ""
    ends = (right, left) if incoming else (left, right)
    return f"${ends[0]} {bound}{word} ${ends[1]}"


def _from_sql(text: str) -> str | None:
    found = _SELECT.fullmatch(text)
    if found is None or re.search(r"\b(?:join|group\s+by|union|having|over)\b", text, re.I):
        return None
    name = found["name"] or found["table"][:1].lower()
    clauses = [f"${name}: {found['table']}"]
    if found["where"]:
        clauses.append(_columns_of(found["where"], name))
    return _read(clauses, found, [name], name)


def _read(clauses: list[str], found: re.Match[str], names: list[str], only: str = "") -> str:
    def spelled(part: str) -> str:
        return _columns_of(part, only) if only else _expression(part, names)

    columns = spelled(found["columns"])
    parts = [f"match {{ {' '.join(clauses)} }}", f"return{' distinct' if found['distinct'] else ''} {{ {columns} }}"]
    if found["order"]:
        parts.append(f"order {{ {spelled(found['order'])} }}")
    parts.extend(f"{word} {found[word]}" for word in ("limit", "offset") if found[word])
    return " ".join(parts)


def _expression(text: str, names: list[str]) -> str:
    """Variables with a dollar sign, texts in double quotes, `!=` for `<>`."""
    named = "|".join(dict.fromkeys(map(re.escape, names))) or "(?!)"
    quoted = re.sub(r"'([^'\"]*)'", r'"\1"', text.strip()).replace("<>", "!=")
    spelled = re.sub(rf'(?<![\w$."])(?:{named})\b(?![\w"(])', lambda found: f"${found[0]}", quoted)
    words = r"\b(AND|OR|NOT|IN|IS|NULL|AS|DESC|ASC|CONTAINS|COUNT|SUM|AVG|MIN|MAX|DISTINCT)\b"
    return re.sub(words, lambda found: found[0].lower(), spelled)


_SQL_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        "and or not in is null as desc asc count sum avg min max distinct true false like between case when then else "
        "end lower upper trim length coalesce cast",
    )
)


def _columns_of(text: str, name: str) -> str:
    """The columns of a table as properties of its variable; a star is the whole entity."""
    if text.strip() == "*":
        return f"${name}.*"
    quoted = re.sub(r"'([^'\"]*)'", r'"\1"', text.strip()).replace("<>", "!=")

    def word(found: re.Match[str]) -> str:
        known = found[0].lower() in _SQL_WORDS
        return found[0].lower() if known else f"${name}.{found[0]}"

    pieces = re.split(r'("[^"]*"|\bas\s+\w+)', re.sub(rf"\b{name}\.", "", quoted), flags=re.I)
    return "".join(
        re.sub(r"\b[A-Za-z_]\w*\b", word, piece) if number % 2 == 0 else re.sub(r"(?i)^as\b", "as", piece)
        for number, piece in enumerate(pieces)
    )
