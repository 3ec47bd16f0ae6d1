"""A small social network in the shape of LDBC's, as JSON lines for ``omnigraph load``; equal seeds give equal files.

Run it in the directory of the examples: python -m ldbc.generate FILE [--persons 120] [--seed 7]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random

Record = dict[str, object]

PERSONS = 120
PERSONS_MIN = 20
SEED = 7
START = datetime(2010, 1, 1, tzinfo=UTC)
DAYS = 1_000
BORN_FROM = date(1960, 1, 1)
BORN_DAYS = 35 * 365

PLACES = {
    "Europe": {"Norway": ("Oslo", "Bergen"), "Italy": ("Rome", "Turin", "Bari"), "Latvia": ("Riga",)},
    "Asia": {"India": ("Delhi", "Pune", "Agra"), "Japan": ("Kyoto", "Osaka")},
    "Africa": {"Ghana": ("Accra", "Tamale"), "Kenya": ("Nairobi",)},
}
TAG_CLASSES = {
    "Thing": None,
    "Agent": "Thing",
    "Person": "Agent",
    "Artist": "Person",
    "MusicalArtist": "Artist",
    "Scientist": "Person",
    "Work": "Thing",
    "Album": "Work",
}
TAGS = {
    "Agent": ("Choir_of_Lights",),
    "Person": ("Ibn_Battuta", "Sacagawea"),
    "Artist": ("Hokusai", "Frida_Kahlo", "Hilma_af_Klint"),
    "MusicalArtist": ("Miriam_Makeba", "Edvard_Grieg", "Ravi_Shankar", "Clara_Schumann"),
    "Scientist": ("Ada_Lovelace", "Emmy_Noether", "Srinivasa_Ramanujan", "Galileo_Galilei", "Lise_Meitner"),
    "Work": ("The_Great_Wave", "Divine_Comedy"),
    "Album": ("Kind_of_Blue", "Graceland", "Pata_Pata"),
}
FIRST_NAMES = ("Amira", "Bo", "Chen", "Dalia", "Emil", "Freya", "Goran", "Hana", "Ivo", "Jun")
LAST_NAMES = ("Abe", "Berg", "Costa", "Diaz", "Endo", "Fenn", "Garg", "Holm", "Iyer", "Juma", "Khan", "Lund")
BROWSERS = ("Firefox", "Chrome", "Safari")
LANGUAGES = ("en", "no", "it", "hi", "ja")
WORDS = ("about", "the", "river", "music", "a", "proof", "again", "maybe", "good", "light", "no", "thanks")


def node(kind: str, **properties: object) -> Record:
    return {"type": kind, "data": properties}


def edge(kind: str, start: object, end: object, **properties: object) -> Record:
    return {"edge": kind, "from": start, "to": end, "data": properties}


def end(kind: str, number: int) -> dict[str, str]:
    """An end of an edge that connects several types: there a number alone does not tell the node."""
    return {"type": kind, "id": str(number)}


class Network:
    """Makes the records of one network, part by part; later parts choose among what earlier ones made."""

    def __init__(self, persons: int, seed: int) -> None:
        self.random = Random(seed)
        self.persons = range(1, persons + 1)
        self.cities: list[tuple[int, int]] = []
        self.countries: list[int] = []
        self.country_of: dict[int, int] = {}
        self.tags = range(1, sum(map(len, TAGS.values())) + 1)
        self.interests: dict[int, list[int]] = {}
        self.friends: dict[int, list[int]] = {person: [] for person in self.persons}
        self.message_count = 0

    def records(self) -> Iterator[Record]:
        yield from self.places()
        yield from self.classified_tags()
        yield from self.people()
        yield from self.friendships()
        yield from self.organisations()
        yield from self.forums()

    def places(self) -> Iterator[Record]:
        number = 0
        for continent, countries in PLACES.items():
            number += 1
            continent_number = number
            yield node("Continent", placeId=number, name=continent)
            for country, cities in countries.items():
                number += 1
                country_number = number
                self.countries.append(number)
                yield node("Country", placeId=number, name=country)
                yield edge("IsPartOf", end("Country", number), end("Continent", continent_number))
                for city in cities:
                    number += 1
                    self.cities.append((number, country_number))
                    yield node("City", placeId=number, name=city)
                    yield edge("IsPartOf", end("City", number), end("Country", country_number))

    def classified_tags(self) -> Iterator[Record]:
        numbers = {name: number for number, name in enumerate(TAG_CLASSES, 1)}
        for name, parent in TAG_CLASSES.items():
            yield node("TagClass", tagClassId=numbers[name], name=name)
            if parent is not None:
                yield edge("IsSubclassOf", str(numbers[name]), str(numbers[parent]))
        named = ((kind, name) for kind, names in TAGS.items() for name in names)
        for number, (kind, name) in enumerate(named, 1):
            yield node("Tag", tagId=number, name=name)
            yield edge("HasType", str(number), str(numbers[kind]))

    def people(self) -> Iterator[Record]:
        for person in self.persons:
            city, country = self.random.choice(self.cities)
            self.country_of[person] = country
            first, last = self.random.choice(FIRST_NAMES), self.random.choice(LAST_NAMES)
            yield node(
                "Person",
                personId=person,
                firstName=first,
                lastName=last,
                gender=self.random.choice(("female", "male")),
                birthday=(BORN_FROM + timedelta(days=self.random.randrange(BORN_DAYS))).isoformat(),
                creationDate=self.moment(0, 100),
                **self.client(),
                speaks=self.random.sample(LANGUAGES, self.random.randint(1, 3)),
                email=[
                    f"{first}{person}@{host}.example".lower() for host in ("post", "work")[: self.random.randint(1, 2)]
                ],
            )
            yield edge("IsLocatedIn", end("Person", person), end("City", city))
            self.interests[person] = self.random.sample(self.tags, self.random.randint(0, 5))
            for tag in self.interests[person]:
                yield edge("HasInterest", str(person), str(tag))

    def friendships(self) -> Iterator[Record]:
        """Friends live in one country more often than not, so that there are triangles within countries.

        Of the last three persons two know only each other, and the third knows no one.
        """
        *connected, first, second, _ = self.persons
        pairs = {(first, second)}
        while len(pairs) < len(self.persons) * 3:
            start, end_ = sorted(self.random.sample(connected, 2))
            if self.country_of[start] == self.country_of[end_] or self.random.random() < 0.1:
                pairs.add((start, end_))
        for start, end_ in sorted(pairs):
            self.friends[start].append(end_)
            self.friends[end_].append(start)
            yield edge("Knows", str(start), str(end_), creationDate=self.moment(100, 300))

    def organisations(self) -> Iterator[Record]:
        """Each city has a university, each country two companies; people have none, one or two of each."""
        universities = range(1, len(self.cities) + 1)
        for number, (city, _) in zip(universities, self.cities, strict=True):
            yield node("University", organisationId=number, name=f"University_{number}")
            yield edge("IsLocatedIn", end("University", number), end("City", city))
        companies = range(len(self.cities) + 1, len(self.cities) + 2 * len(self.countries) + 1)
        for place, number in enumerate(companies):
            yield node("Company", organisationId=number, name=f"Company_{number}")
            country = self.countries[place % len(self.countries)]
            yield edge("IsLocatedIn", end("Company", number), end("Country", country))
        for person in self.persons:
            for university in self.random.sample(universities, self.random.choice((0, 1, 1, 2))):
                yield edge("StudyAt", str(person), str(university), classYear=self.random.randint(1985, 2012))
            for company in self.random.sample(companies, self.random.choice((0, 1, 1, 2))):
                yield edge("WorkAt", str(person), str(company), workFrom=self.random.randint(1990, 2012))

    def forums(self) -> Iterator[Record]:
        """Every third person has a forum with friends as members; every tenth forum is empty of posts."""
        for forum, owner in enumerate(self.persons[::3], 1):
            tags = self.random.sample(self.tags, self.random.randint(1, 4))
            yield node("Forum", forumId=forum, title=f"Wall of {owner}", creationDate=self.moment(100, 200))
            yield edge("HasModerator", str(forum), str(owner))
            for tag in tags:
                yield edge("HasTag", end("Forum", forum), str(tag))
            members = [owner, *self.friends[owner], *self.random.sample(self.persons, 3)]
            members = list(dict.fromkeys(members))
            for member in members:
                yield edge("HasMember", str(forum), str(member), joinDate=self.moment(200, 600))
            for _ in range(0 if forum % 10 == 0 else self.random.randint(2, 14)):
                yield from self.discussion(forum, members, tags)

    def discussion(self, forum: int, members: list[int], tags: list[int]) -> Iterator[Record]:
        """A post and a tree of comments, each later than the message that it answers."""
        day = self.random.randint(200, DAYS - 100)
        yield from self.message("Post", self.random.choice(members), day, members, tags)
        post = self.message_count
        yield edge("ContainerOf", str(forum), str(post))
        answered = [("Post", post, day)]
        for _ in range(self.random.randint(0, 5)):
            kind, number, before = self.random.choice(answered)
            after = before + self.random.randint(1, 9)
            yield from self.message("Comment", self.random.choice(members), after, members, tags)
            yield edge("ReplyOf", str(self.message_count), end(kind, number))
            answered.append(("Comment", self.message_count, after))

    def message(self, kind: str, creator: int, day: int, members: list[int], tags: list[int]) -> Iterator[Record]:
        self.message_count += 1
        number = self.message_count
        image = kind == "Post" and self.random.random() < 0.2
        content = None if image else " ".join(self.random.choices(WORDS, k=self.random.randint(2, 8)))
        properties: Record = {"imageFile": f"photo{number}.jpg"} if image else {"content": content}
        if kind == "Post":
            properties["language"] = self.random.choice(LANGUAGES)
        yield node(
            kind,
            messageId=number,
            creationDate=self.moment(day, day),
            **self.client(),
            **properties,
            length=len(content or ""),
        )
        yield edge("HasCreator", end(kind, number), str(creator))
        abroad = self.random.random() < 0.25
        country = self.random.choice(self.countries) if abroad else self.country_of[creator]
        yield edge("IsLocatedIn", end(kind, number), end("Country", country))
        chosen = {*self.random.sample(tags, self.random.randint(0, len(tags))), *self.random.sample(self.tags, 1)}
        for tag in sorted(chosen) if self.random.random() < 0.9 else ():
            yield edge("HasTag", end(kind, number), str(tag))
        # Whole days, so that one person may like two messages at the same time.
        for liker in self.random.sample(members, min(len(members), self.random.choice((0, 0, 1, 2, 4)))):
            liked = START + timedelta(days=day + self.random.randint(1, 20))
            yield edge("Likes", str(liker), end(kind, number), creationDate=liked.isoformat())

    def client(self) -> dict[str, str]:
        address = ".".join(str(self.random.randint(1, 250)) for _ in range(4))
        return {"locationIP": address, "browserUsed": self.random.choice(BROWSERS)}

    def moment(self, first: int, last: int) -> str:
        """Any time of a day from `first` to `last`, counted from the start."""
        at = START + timedelta(days=self.random.randint(first, last), seconds=self.random.randrange(86_400))
        return at.isoformat()


def records(persons: int = PERSONS, seed: int = SEED) -> Iterator[Record]:
    return Network(persons, seed).records()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m ldbc.generate", description="Write a small social network as JSON lines."
    )
    parser.add_argument("file", type=Path, help="Where the records are written.")
    parser.add_argument("--persons", type=int, default=PERSONS, help="Number of persons. [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=SEED, help="Seed of the random choices. [default: %(default)s]")
    chosen = parser.parse_args()
    if chosen.persons < PERSONS_MIN:
        # With fewer there are not enough pairs for three friends each.
        parser.error(f"argument --persons: at least {PERSONS_MIN}")
    lines = [json.dumps(record) + "\n" for record in records(chosen.persons, chosen.seed)]
    chosen.file.write_text("".join(lines), encoding="utf-8")
    print(f"{len(lines)} records in {chosen.file}")


if __name__ == "__main__":
    main()
