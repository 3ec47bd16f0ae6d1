"""Tokens: sources and their merging, reload of the file, and lookups that tell nothing."""

import json
from pathlib import Path

import pytest

from omnigraph.core.actors import Actor
from omnigraph.errors import InputError, UsageError
from omnigraph.server.access.states import Configured, State, state_of
from omnigraph.server.auth.sources import (
    FILE_VARIABLE,
    JSON_VARIABLE,
    TOKEN_VARIABLE,
    TokenSources,
)
from omnigraph.server.auth.static_tokens import StaticTokens
from omnigraph.server.auth.verifying import Authenticator, WatchedTokens, bearer_token
from omnigraph.server.http.refusals import Refusal


def sources(**environment: str) -> TokenSources:
    return TokenSources.from_environment(environment)


def test_the_single_token_is_merged_with_the_file_and_the_file_hides_the_json(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text('{"ann": "a", "bob": "b"}')
    environment = {TOKEN_VARIABLE: "d", JSON_VARIABLE: '{"cy": "c"}'}
    assert sources(**environment).read() == {"default": "d", "cy": "c"}
    assert sources(**environment, **{FILE_VARIABLE: str(file)}).read() == {"default": "d", "ann": "a", "bob": "b"}
    assert sources().read() == {}
    assert sources(**{TOKEN_VARIABLE: "", JSON_VARIABLE: ""}).read() == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "not an object"),
        ('{"ann": 5}', "not an object"),
        ('{"ann": " "}', "is blank"),
        ('{" ": "x"}', "is blank"),
        ('{"ann": "x", "bob": "x"}', "that of another actor"),
        ('{"ann": "x", "ann": "y"}', "two tokens"),
        ('{"default": "y"}', "two tokens"),
        ('{"ann": "single"}', "that of another actor"),
    ],
)
def test_blank_and_repeated_actors_and_tokens_are_refused_without_showing_them(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        sources(**{TOKEN_VARIABLE: "single", JSON_VARIABLE: text}).read()
    assert "single" not in str(caught.value)


def test_sources_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the tokens"):
        sources(**{FILE_VARIABLE: str(tmp_path / "gone")}).read()
    for name in ("AWS_SECRET", "FILES"):
        with pytest.raises(UsageError, match="no such source of tokens"):
            sources(**{FILE_VARIABLE.replace("FILE", name): "x"})


def test_a_token_is_looked_up_by_its_digest() -> None:
    tokens = StaticTokens.of({"ann": "secret", "bob": "other"})
    assert tokens.verify(b"secret") == Actor("ann")
    assert tokens.verify(b"nope") is None
    assert b"secret" not in repr(tokens).encode()


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (None, None),
        (b"Bearer x", b"x"),
        (b"Bearer  x ", b"x"),
        (b"bearer x", None),
        (b"BEARER x", None),
        (b"Basic x", None),
        (b"Bearer", None),
        (b"Bearer ", None),
        (b"Bearer\tx", None),
        (b"Bearer \xffx", None),
    ],
)
def test_only_one_form_of_the_header_is_a_token(header: bytes | None, token: bytes | None) -> None:
    assert bearer_token(header) == token


def test_a_server_without_tokens_asks_for_none_and_ignores_those_it_gets() -> None:
    assert Authenticator().actor_of(b"Bearer x") is None
    closed = Authenticator([StaticTokens.of({"ann": "x"})])
    assert closed.actor_of(b"Bearer x") == Actor("ann")
    with pytest.raises(Refusal, match="missing bearer token"):
        closed.actor_of(None)
    with pytest.raises(Refusal, match="invalid bearer token"):
        closed.actor_of(b"Bearer y")


def test_tokens_follow_their_file_and_a_broken_file_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    now = [0.0]

    def write(text: str) -> None:
        # Replaced, as operators do: another inode is another content, however fast the clock of the disk is.
        (tmp_path / "next").write_text(text)
        (tmp_path / "next").rename(file)
        now[0] += 2

    write(json.dumps({"ann": "one"}))
    watched = WatchedTokens.start(TokenSources(file=file), clock=lambda: now[0])
    assert watched.verify(b"one") == Actor("ann")
    write(json.dumps({"ann": "two"}))
    assert watched.verify(b"one") is None
    assert watched.verify(b"two") == Actor("ann")
    for broken in ("{", '{"ann": ""}'):
        write(broken)
        assert watched.verify(b"two") == Actor("ann")
    file.unlink()
    now[0] += 2
    assert watched.verify(b"two") == Actor("ann")
    write(json.dumps({"bob": "three"}))
    assert watched.verify(b"three") == Actor("bob")


def test_the_file_is_looked_at_once_a_second_at_most(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text('{"ann": "one"}')
    watched = WatchedTokens.start(TokenSources(file=file), clock=lambda: 5.0)
    file.write_text('{"ann": "another"}')
    assert watched.verify(b"one") == Actor("ann")
    watched.reload()
    assert watched.verify(b"another") == Actor("ann")


@pytest.mark.parametrize(
    ("configured", "state"),
    [
        (Configured(False, False, False), None),
        (Configured(False, False, True), State.OPEN),
        (Configured(True, False, False), State.DEFAULT_DENY),
        (Configured(True, False, True), State.DEFAULT_DENY),
        (Configured(True, True, False), State.POLICY_ENABLED),
        (Configured(True, True, True), State.POLICY_ENABLED),
        (Configured(False, True, False), None),
        (Configured(False, True, True), None),
    ],
)
def test_every_configuration_has_a_state_or_is_refused(configured: Configured, state: State | None) -> None:
    if state is not None:
        assert state_of(configured) is state
        return
    with pytest.raises(UsageError):
        state_of(configured)
