"""The data of ``omnigraph demo``: people, companies and documents in any number, for the schema and queries in
``demo_world``.

Deterministic: the same size gives the same bytes, on any machine.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SEED: Final = 20_260_131
DIMENSIONS: Final = 32
PEOPLE: Final = 200_000

TOPICS: Final = {
    "batteries": ("energy", "storage lithium cell charge grid capacity anode recycling"),
    "fusion": ("energy", "plasma reactor tokamak magnet confinement neutron heat"),
    "payments": ("finance", "ledger settlement card fraud transfer clearing bank"),
    "insurance": ("finance", "risk premium claim actuary policy underwriting loss"),
    "vaccines": ("health", "antibody trial dose immune virus protein patient"),
    "imaging": ("health", "scan tissue radiology contrast diagnosis resolution"),
    "databases": ("software", "query index transaction storage graph branch merge"),
    "compilers": ("software", "parser register optimisation type inference loop memory"),
}
_FIRST = (
    "Ada",
    "Alan",
    "Barbara",
    "Edsger",
    "Frances",
    "Grace",
    "Hedy",
    "John",
    "Katherine",
    "Ken",
    "Lynn",
    "Margaret",
    "Niklaus",
    "Radia",
    "Robin",
    "Tony",
)
_LAST = (
    "Hopper",
    "Kay",
    "Lamport",
    "Lamarr",
    "Liskov",
    "Lovelace",
    "Milner",
    "Perlman",
    "Ritchie",
    "Shannon",
    "Turing",
    "Wirth",
    "Hamilton",
    "Allen",
)
_CITIES = (
    "Berlin",
    "Cairo",
    "Lagos",
    "Lima",
    "Mumbai",
    "Nairobi",
    "Oslo",
    "Porto",
    "Quito",
    "Seoul",
    "Tokyo",
    "Zurich",
)
_ROLES = ("analyst", "designer", "engineer", "manager", "researcher")
_WORDS = (
    "we",
    "show",
    "how",
    "new",
    "results",
    "for",
    "and",
    "against",
    "an",
    "old",
    "idea",
    "change",
    "what",
    "people",
    "expect",
    "from",
    "it",
)


@dataclass(frozen=True, slots=True)
class World:
    """The sizes of the data set, derived from the number of people."""

    people: int = PEOPLE

    @property
    def companies(self) -> int:
        return max(self.people // 20, len(TOPICS))

    @property
    def documents(self) -> int:
        return max(self.people * 3 // 20, len(TOPICS))

    def write(self, path: Path) -> int:
        """Write everything as JSON lines; returns the number of lines."""
        count = 0
        with path.open("w", encoding="utf-8") as file:
            for line in self._lines():
                file.write(line + "\n")
                count += 1
        return count

    def _lines(self) -> Iterator[str]:
        chance = random.Random(SEED)
        yield from self._companies(chance)
        yield from self._people(chance)
        yield from self._documents(chance)

    def _companies(self, chance: random.Random) -> Iterator[str]:
        industries = [industry for industry, _ in TOPICS.values()]
        for number in range(self.companies):
            name = f"{chance.choice(_LAST)} {chance.choice(_CITIES)} {number}"
            data = {"domain": company(number), "name": name, "industry": industries[number % len(industries)]}
            yield json.dumps({"type": "Company", "data": data})

    def _people(self, chance: random.Random) -> Iterator[str]:
        for number in range(self.people):
            name = f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"
            city, born = chance.choice(_CITIES), chance.randint(1950, 2005)
            yield (
                f'{{"type": "Person", "data": {{"handle": "{person(number)}", "name": "{name}", '
                f'"city": "{city}", "born": {born}}}}}'
            )
            for _ in range(5 if number % 2 else 0):
                other, since = self._acquaintance(chance), chance.randint(2000, 2026)
                yield _edge("Knows", person(number), person(other), f'"since": {since}')
            if number % 10:
                # A few employers are large and most are small.
                place = int(self.companies * chance.random() ** 3)
                yield _edge("WorksAt", person(number), company(place), f'"role": "{chance.choice(_ROLES)}"')

    def _acquaintance(self, chance: random.Random) -> int:
        return int(self.people * chance.random() ** 2)

    def _documents(self, chance: random.Random) -> Iterator[str]:
        topics = list(TOPICS)
        for number in range(self.documents):
            topic = topics[number % len(topics)]
            words = TOPICS[topic][1].split()
            body = " ".join(chance.choices(words, k=12) + chance.choices(_WORDS, k=12))
            vector = [round(value + chance.gauss(0, 0.35), 3) for value in meaning(topic)]
            data = {
                "slug": f"doc-{number}",
                "title": f"{chance.choice(words).capitalize()} and {chance.choice(words)}, {topic} note {number}",
                "body": body,
                "published": f"20{chance.randint(10, 25)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
                "embedding": vector,
            }
            yield json.dumps({"type": "Document", "data": data})
            yield _edge("Wrote", person(self._acquaintance(chance)), f"doc-{number}")
            for _ in range(2):
                same = number % len(topics) + len(topics) * chance.randrange(self.companies // len(topics))
                yield _edge("Mentions", f"doc-{number}", company(same))


def person(number: int) -> str:
    """The key of a person."""
    return f"p{number}"


def company(number: int) -> str:
    """The key of a company."""
    return f"c{number}.example"


def meaning(topic: str) -> list[float]:
    """The vector around which the documents of a topic are scattered."""
    start = list(TOPICS).index(topic) + 1
    return [round(math.sin(start * (axis + 1)), 3) for axis in range(DIMENSIONS)]


def _edge(name: str, source: str, target: str, data: str = "") -> str:
    return f'{{"edge": "{name}", "from": "{source}", "to": "{target}", "data": {{{data}}}}}'
