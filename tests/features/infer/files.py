"""Everyday files for the tests of inference and imports."""

from pathlib import Path

PEOPLE = """id,Full Name,born,status,score
1,Ada,1815-12-10,active,1.5
2,Alan,1912-06-23,gone,2
3,Grace,,active,3
4,Kurt,1906-04-28,gone,4
5,Emmy,1882-03-23,active,5
6,Rosa,1905-02-17,active,6
"""
KNOWS = "src,dst,since\n1,2,1950\n2,3,1951\n"
SCHEMA = """// Inferred from data: review the comments, which state every guess, and edit what does not fit.

// from people.csv: 6 rows
node Person {
  personId: I64 @key // column "id"; guessed: integers from 1 to 6; unique and never null in 6 rows
  fullName: String // column "Full Name"; guessed: never null in 6 rows
  born: Date? // guessed: every value is an ISO date; null in 1 of 6 rows
  status: enum(active, gone) // guessed: 2 different values; never null in 6 rows
  score: F64 // guessed: every value is a number; never null in 6 rows
}

// from knows.csv: 2 rows
// from = column "src"; guessed: every value is a key of Person (2 different values)
// to = column "dst"; guessed: every value is a key of Person (2 different values)
edge Knows: Person -> Person {
  since: I64 // guessed: integers from 1950 to 1951; never null in 2 rows
  @key(src, dst) // guessed: no two edges connect the same nodes; loading a pair again updates its edge
}
"""
COUNTS = {"edge:Knows": 2, "node:Person": 6}


def write_files(directory: Path) -> None:
    (directory / "people.csv").write_text(PEOPLE)
    (directory / "knows.csv").write_text(KNOWS)
