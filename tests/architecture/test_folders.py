"""A folder is read as a list of names, so it stays short; a longer one has a reason and a ceiling."""

from collections import Counter

from tests.architecture.source_tree import modules

MODULES_MAX = 20

# folder -> (most modules it may hold, why it is not divided)
EXCEPTIONS: dict[str, tuple[int, str]] = {
    "cli/commands": (48, "one file a verb: the folder is the list of commands"),
    "query": (22, "one compiler, read from parser to IR in one sitting; its rewrites have their own folder"),
    "schema": (23, "one compiler and the changes of its result; nothing in it is used alone"),
}


def _counts() -> Counter[str]:
    """Modules of every folder; `__init__.py` is the folder itself."""
    places = [module.path.rpartition("/") for module in modules()]
    return Counter(folder for folder, _, name in places if folder and name != "__init__.py")


def over_limit(counts: dict[str, int]) -> list[str]:
    """Folders with more modules than they may have."""
    limits = {folder: most for folder, (most, _) in EXCEPTIONS.items()}
    return [
        f"{folder}: {count} modules, at most {limits.get(folder, MODULES_MAX)}"
        for folder, count in sorted(counts.items())
        if count > limits.get(folder, MODULES_MAX)
    ]


def test_folders_keep_their_number_of_modules() -> None:
    assert not over_limit(_counts())


def test_a_folder_over_its_limit_is_named() -> None:
    most = EXCEPTIONS["query"][0]
    counts = {"write": MODULES_MAX, "storage": MODULES_MAX + 1, "query": most + 1}
    assert over_limit(counts) == [f"query: {most + 1} modules, at most {most}", "storage: 21 modules, at most 20"]


def test_every_exception_is_needed_and_its_ceiling_is_the_present_number() -> None:
    # A ceiling that is too high lets a folder grow back unseen.
    counts = _counts()
    assert {folder: most for folder, (most, _) in EXCEPTIONS.items()} == {
        folder: counts[folder] for folder in EXCEPTIONS if counts[folder] > MODULES_MAX
    }
