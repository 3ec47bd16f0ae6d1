"""Sources of tokens: environment variables and a file, merged; the file is read again when it changes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from omnigraph.errors import InputError, UsageError
from omnigraph.server.auth.jwt_settings import JwtSettings

TOKEN_VARIABLE: Final = "OMNIGRAPH_SERVER_BEARER_TOKEN"
FILE_VARIABLE: Final = "OMNIGRAPH_SERVER_BEARER_TOKENS_FILE"
JSON_VARIABLE: Final = "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON"
DEFAULT_ACTOR: Final = "default"
"""The actor of the single token."""

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class TokenSources:
    """Sources of tokens. The single token is merged with those of the file, or of the JSON if there is no file."""

    token: str | None = None
    file: Path | None = None
    json_text: str | None = None
    jwt: JwtSettings | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> TokenSources:
        """The sources that the environment names; raises UsageError for one that is not supported."""
        family = FILE_VARIABLE.removesuffix("FILE")
        for name, value in environment.items():
            # A secret store of 0.10, or a misspelt name: a server without its tokens must not start.
            if name.startswith(family) and value and name not in (FILE_VARIABLE, JSON_VARIABLE):
                raise UsageError(
                    f"{name} is set, and this server has no such source of tokens",
                    hint=f"write the tokens to a file and set {FILE_VARIABLE}",
                )
        file = environment.get(FILE_VARIABLE)
        return cls(
            environment.get(TOKEN_VARIABLE) or None,
            Path(file) if file else None,
            None if file else environment.get(JSON_VARIABLE) or None,
            JwtSettings.from_environment(environment),
        )

    def read(self) -> dict[str, str]:
        """Tokens by actor; raises InputError for blank or duplicate ones."""
        pairs: list[tuple[str, str]] = []
        if self.token is not None:
            pairs.append((DEFAULT_ACTOR, self.token))
        if self.file is not None:
            pairs += _parsed(_content(self.file), str(self.file))
        if self.json_text is not None:
            pairs += _parsed(self.json_text, JSON_VARIABLE)
        return _distinct(pairs)

    def stamp(self) -> Stamp | None:
        """Identifies the content of the file without reading it; None without a file, or while it is missing."""
        if self.file is None:
            return None
        try:
            found = self.file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def _content(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"cannot read the tokens in {file}: {reason}", hint=f"check {FILE_VARIABLE}") from error


class _Pairs(list[tuple[str, object]]):
    """The members of an object, repeated ones included."""


def _parsed(text: str, source: str) -> list[tuple[str, str]]:
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs)
    except ValueError as error:
        # The text holds secrets: nothing of it is repeated.
        raise InputError(f"the tokens in {source} are not JSON", hint='write {"actor": "token"}') from error
    if not isinstance(pairs, _Pairs) or not all(_is_pair(pair) for pair in pairs):
        raise InputError(f"the tokens in {source} are not an object of texts", hint='write {"actor": "token"}')
    return [(actor, str(token)) for actor, token in pairs]


def _is_pair(pair: object) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(part, str) for part in pair)


def _distinct(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    tokens: dict[str, str] = {}
    for given_actor, given_token in pairs:
        actor, token = given_actor.strip(), given_token.strip()
        if not actor or not token:
            raise InputError(f"the token of actor {actor!r} is blank" if actor else "an actor of a token is blank")
        if actor in tokens:
            raise InputError(f"actor {actor!r} has two tokens", hint="give every token an actor of its own")
        if token in tokens.values():
            raise InputError(f"the token of actor {actor!r} is that of another actor", hint="make a token for each")
        tokens[actor] = token
    return tokens
