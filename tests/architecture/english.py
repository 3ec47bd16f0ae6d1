"""Phrases that hide the field's term, and where they are: ``python -m tests.architecture.english [PATH ...]``.

`docs/dev/glossary.md` holds the terms. A phrase here has a better word in almost every place; the budget in
`test_english.py` says how many places are left, and may only shrink.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.architecture.source_tree import REPOSITORY

_WORDS = (
    "nobody|somebody|whoever|everybody|anybody|told|asked|so many|of which|anew|elsewhere|now and then"
    "|there or not|is there or|what is there|as it is there|at once|who does|who reads|who runs|goes on|go on"
    "|in the words of|is known of|says of|said of|made of it|for good"
)
_PHRASES = re.compile(rf"\b(?:{_WORDS})\b", re.IGNORECASE)
_OPENINGS = re.compile(r'^\s*(?:[rf]?""")(?:What|Who|How|Whether|Which|Where|Why)\b', re.MULTILINE)
_PLACES = ("src", "docs", "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "benchmarks")


def places(paths: Iterable[Path] = ()) -> Iterator[tuple[Path, int, str]]:
    """File, line and phrase of everything on the list, below the paths or in the whole project."""
    for path in paths or [REPOSITORY / name for name in _PLACES]:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix in {".py", ".md"}:
                text = file.read_text(encoding="utf-8")
                for pattern in (_PHRASES, _OPENINGS):
                    for found in pattern.finditer(text):
                        yield file, text.count("\n", 0, found.start()) + 1, found.group().strip()


if __name__ == "__main__":
    count = 0
    for file, line, phrase in places([Path(argument).resolve() for argument in sys.argv[1:]]):
        print(f"{file}:{line}: {phrase}")
        count += 1
    print(count, "places")
