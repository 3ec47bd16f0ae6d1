"""Names in texts: whole words, without case, the longest name at a place."""

from __future__ import annotations

from omnigraph.ingest.documents.mentions import NameIndex

NAMES = [("ada", "Ada Lovelace"), ("ada", "Ada"), ("lovelace", "Lovelace"), ("ann", "Ann"), ("anna", "Ann"), ("c", "C")]


def found(text: str, chars_min: int = 3) -> dict[str, int]:
    return dict(NameIndex.of(NAMES, chars_min).find(text))


def test_the_longest_name_at_a_place_is_the_mention() -> None:
    assert found("ADA  Lovelace, and lovelace.") == {"ada": 1, "lovelace": 1}


def test_names_are_whole_words_and_are_counted() -> None:
    assert found("Ada's adaptation of Ada; nevada") == {"ada": 2}


def test_a_name_of_several_entities_mentions_all_of_them() -> None:
    assert found("ann") == {"ann": 1, "anna": 1}


def test_short_names_are_left_out() -> None:
    assert found("C") == {}
    assert found("C", chars_min=1) == {"c": 1}


def test_accents_in_either_form_are_the_same() -> None:
    assert NameIndex.of([("z", "Zürich")], 3).find("in Zürich") == {"z": 1}
