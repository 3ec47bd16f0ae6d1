"""Fields of requests. A request is a model of the interface, or a dictionary with the same names: Lance's native code
hands over both, and so does the REST application. Values of dictionaries are checked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from lance_namespace import InvalidInputError

PAGE = 1000
"""Names or versions in a page without a ``limit``."""

Value = TypeVar("Value")


class Fields:
    """The fields of one request, which messages call ``what``. A field that is absent or null is None."""

    def __init__(self, request: Any, what: str = "the request") -> None:
        if request is None or isinstance(request, (str, bytes, int, float, list, tuple)):
            raise InvalidInputError(f"{what} is {request!r}; expected an object with named fields")
        self.request = request
        self.what = what

    @property
    def identifier(self) -> list[str] | None:
        """The identifier of a namespace or table."""
        found = self.given("id")
        if found is None:
            return None
        if (
            not isinstance(found, Sequence)
            or isinstance(found, str)
            or not all(isinstance(part, str) for part in found)
        ):
            raise self._wrong("id", found, 'a list of texts, such as ["main", "Person"]')
        return list(found)

    def given(self, name: str) -> Any:
        """A field as it was given."""
        return self.request.get(name) if isinstance(self.request, Mapping) else getattr(self.request, name, None)

    def text(self, name: str) -> str | None:
        return self._checked(name, str, "a text")

    def flag(self, name: str) -> bool:
        return bool(self._checked(name, bool, "true or false"))

    def number(self, name: str, least: int | None = 0) -> int | None:
        """A whole number that is not smaller than ``least``."""
        expected = "a whole number" if least is None else f"a whole number from {least} on"
        found = self._checked(name, int, expected)
        if isinstance(found, bool) or (found is not None and least is not None and found < least):
            raise self._wrong(name, found, expected)
        return found

    def texts(self, name: str) -> dict[str, str]:
        """A mapping of texts; empty if it is absent."""
        found = self.given(name) or {}
        if not isinstance(found, Mapping) or not all(isinstance(text, str) for pair in found.items() for text in pair):
            raise self._wrong(name, found, "an object with texts")
        return dict(found)

    def items(self, name: str) -> list[Fields]:
        """A list of objects; empty if it is absent."""
        found = self.given(name)
        if found is not None and (not isinstance(found, Sequence) or isinstance(found, str)):
            raise self._wrong(name, found, "a list")
        return [Fields(item, f"{name}[{number}]") for number, item in enumerate(found or ())]

    def item(self, name: str) -> Fields | None:
        found = self.given(name)
        return None if found is None else Fields(found, f"{name} of {self.what}")

    @property
    def limit(self) -> int:
        """The largest number of results."""
        return self.number("limit", least=1) or PAGE

    def page(self, names: Sequence[str]) -> tuple[list[str], str | None]:
        """The names after the page token, at most ``limit``, and the token of the next page."""
        after, limit = self.text("page_token"), self.limit
        rest = sorted(name for name in names if not after or name > after)
        return rest[:limit], rest[limit - 1] if len(rest) > limit else None

    def _checked(self, name: str, kind: type[Value], expected: str) -> Value | None:
        found = self.given(name)
        if found is not None and not isinstance(found, kind):
            raise self._wrong(name, found, expected)
        return found

    def _wrong(self, name: str, value: object, expected: str) -> InvalidInputError:
        return InvalidInputError(f"{name} of {self.what} is {value!r}; expected {expected}")
