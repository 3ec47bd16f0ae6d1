"""JSON Web Tokens: only signed, timely tokens of the issuer for this server, and what they say about their actor."""

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from omnigraph import Graph
from omnigraph.core.actors import Actor
from omnigraph.errors import UsageError
from omnigraph.policy.decide import load_policy
from omnigraph.server.access.states import State
from omnigraph.server.auth.configured import authenticator_of
from omnigraph.server.auth.jwt_settings import KEY_TYPES, JwtSettings
from omnigraph.server.auth.jwt_tokens import CACHED_MAX, LEEWAY_SECONDS, TOKEN_BYTES_MAX, JwtVerifier
from omnigraph.server.auth.signing_keys import FETCH_BYTES_MAX, SigningKeys, fetch_once, usable_keys
from omnigraph.server.auth.sources import TokenSources
from omnigraph.server.auth.static_tokens import StaticTokens
from omnigraph.server.auth.verifying import Authenticator
from omnigraph.server.serving.graphs import ServedGraph, Serving
from tests.features.server.issuers import (
    AUDIENCE,
    EC,
    ED,
    ISSUER,
    NOW,
    OTHER_RSA,
    RSA,
    Publisher,
    claims,
    forged,
    public,
    published,
    serving,
    token,
)
from tests.features.server.live import BASE, GRAPH_ID, READ_ALL, running

ALGORITHMS = ("RS256", "ES256", "EdDSA")
ENVIRONMENT = {
    "OMNIGRAPH_SERVER_JWT_ISSUER": ISSUER,
    "OMNIGRAPH_SERVER_JWT_AUDIENCE": AUDIENCE,
    "OMNIGRAPH_SERVER_JWT_ALGORITHMS": "RS256, ES256,EdDSA",
    "OMNIGRAPH_SERVER_JWT_JWKS_URL": "https://issuer.example/keys",
}


@dataclass
class Clocks:
    """The time of the wall and the monotonic time, which a test moves together."""

    passed: float = 0.0

    def wall(self) -> float:
        return NOW + self.passed

    def monotonic(self) -> float:
        return self.passed


def settings(**changed: Any) -> JwtSettings:
    return JwtSettings(
        **{"issuer": ISSUER, "audience": AUDIENCE, "algorithms": ALGORITHMS, "keys_url": "https://x/", **changed}
    )


def verifier(publisher: Publisher, clocks: Clocks | None = None, **changed: Any) -> JwtVerifier:
    clocks, configured = clocks or Clocks(), settings(**changed)
    keys = SigningKeys(configured.keys_url, configured.algorithms, clock=clocks.monotonic, fetch=publisher)
    keys.refresh()
    return JwtVerifier(configured, keys, clocks.wall)


def judged(found: JwtVerifier, given: bytes) -> Actor | None:
    """The verdict as a server gets it: keys are fetched first if they have to be."""
    if found.waits(given):
        found.prepare(given)
    return found.verify(given)


@pytest.mark.parametrize(
    ("key", "algorithm"), [(RSA, "RS256"), (EC, "ES256"), (ED, "EdDSA")], ids=["RS256", "ES256", "EdDSA"]
)
def test_a_signed_token_of_the_issuer_is_accepted(key: Any, algorithm: str) -> None:
    assert judged(verifier(Publisher(public("k1", key))), token(key, algorithm)) == Actor("ann")


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.example/"},
        {"iss": None},
        {"aud": "https://other.example/"},
        {"aud": [AUDIENCE[:-1]]},
        {"aud": None},
        {"sub": None},
        {"sub": 5},
        {"sub": " "},
        {"exp": None},
        {"exp": "soon"},
        {"exp": True},
        {"exp": 1e400},
        {"exp": 10**400},
        {"nbf": "soon"},
        {"nbf": NOW + 61},
        {"groups": 5},
        {"groups": [5]},
        {"groups": {"a": 1}},
        {"team": 1.5},
        {"team": {"a": 1}},
    ],
    ids=lambda changed: str(changed)[:40],
)
def test_a_claim_that_is_missing_or_wrong_makes_a_token_invalid(changed: dict[str, Any]) -> None:
    found = verifier(Publisher(public("k1", RSA)), attribute_claims={"team": "team"})
    signed = token(**changed) if changed.get("sub") != 5 else _signed(sub=5)
    assert judged(found, signed) is None


def _signed(**changed: Any) -> bytes:
    """A token with claims that PyJWT refuses to encode."""
    content = json.dumps(claims(**changed)).encode()
    return jwt.PyJWS().encode(content, RSA, "RS256", headers={"kid": "k1"}).encode()


def test_times_are_compared_with_a_leeway_of_a_minute() -> None:
    clocks = Clocks()
    found = verifier(Publisher(public("k1", RSA)), clocks)
    ends_at = token(exp=NOW + 100, nbf=NOW + 60)
    assert judged(found, ends_at) == Actor("ann"), "a clock that is a minute behind"
    clocks.passed = 100 + LEEWAY_SECONDS - 1
    assert judged(found, ends_at) == Actor("ann"), "a clock that is a minute ahead"
    clocks.passed += 1
    assert judged(found, ends_at) is None, "expired, although its verification was cached"
    assert judged(found, token(exp=NOW - 61)) is None
    assert judged(found, token(iat=NOW + 10_000, exp=NOW + 20_000)) == Actor("ann"), "iat decides nothing"


def public_pem() -> bytes:
    return RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def hmac_token(secret: bytes) -> bytes:
    """A token signed by HMAC with a public key as the secret, which PyJWT refuses to make."""
    unsigned = forged({"alg": "HS256", "kid": "k1", "typ": "JWT"}).rpartition(b".")[0]
    signature = hmac.new(secret, unsigned, hashlib.sha256).digest()
    return unsigned + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")


FORGED = {
    "none": forged({"alg": "none", "kid": "k1"}),
    "None": forged({"alg": "None", "kid": "k1"}),
    "no algorithm": forged({"kid": "k1"}),
    "hmac of the public key": hmac_token(public_pem()),
    "hmac of the published key": hmac_token(json.dumps(public("k1", RSA)).encode()),
    "algorithm of another key type": forged({"alg": "ES256", "kid": "k1"}, b"x" * 64),
    "not allowed": token(RSA, "RS512"),
    "key of another": token(OTHER_RSA),
    "key named by an address": forged({"alg": "RS256", "kid": "k1", "jku": "http://127.0.0.1:9/"}, b"x" * 256),
    "key of its own": forged({"alg": "RS256", "kid": "k1", "jwk": public("k1", OTHER_RSA)}, b"x" * 256),
    "critical extension": jwt.encode(claims(), RSA, "RS256", headers={"kid": "k1", "crit": ["x"], "x": 1}).encode(),
    "no key id": token(key_id=None),
    "unknown key id": token(key_id="k2"),
    "key id that is no text": forged({"alg": "RS256", "kid": 5}),
    "no token": b"x",
    "empty parts": b"..",
    "not base64": b"\xc3.\xa4.\xff",
    "too large": token(padding="x" * TOKEN_BYTES_MAX),
    "deep": b".".join([b"eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIn0", b"W1tbW1tb" * 1000, b"x"]),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_token_is_invalid(name: str) -> None:
    assert judged(verifier(Publisher(public("k1", RSA))), FORGED[name]) is None


def test_a_key_is_used_only_with_the_algorithm_that_its_issuer_names() -> None:
    found = verifier(
        Publisher(public("k1", RSA, alg="PS256"), public("k2", EC)), algorithms=("RS256", "PS256", "ES256")
    )
    assert judged(found, token(RSA, "RS256")) is None
    assert judged(found, token(RSA, "PS256")) == Actor("ann")


def test_keys_that_must_not_sign_are_left_out() -> None:
    small = rsa.generate_private_key(65_537, 1024)
    secret = {"kty": "oct", "k": "c2VjcmV0", "kid": "h"}
    private = {**public("p", RSA), "d": "AQAB"}
    listed = [
        secret, private, public("e", RSA, use="enc"), public("a", RSA, alg="HS256"), public("s", small), {"kid": 5}, 7,
        {"kty": "RSA", "kid": "broken"}, {key: value for key, value in public("n", RSA).items() if key != "kid"},
        public("good", RSA, use="sig", alg="RS256"),
    ]  # fmt: skip
    assert list(usable_keys(json.dumps({"keys": listed}).encode(), ALGORITHMS)) == ["good"]
    for wrong, reason in (
        (b"[]", "no list"),
        (b'{"keys": {}}', "no list"),
        (published(secret), "no key"),
        (b"{", "Expecting"),
        (b"\xff", "decode"),
    ):
        with pytest.raises(ValueError, match=reason):
            usable_keys(wrong, ALGORITHMS)


def test_keys_rotate_and_are_fetched_at_most_once_a_minute() -> None:
    publisher, clocks = Publisher(public("k1", RSA)), Clocks()
    found = verifier(publisher, clocks)
    old, new = token(RSA), token(OTHER_RSA, key_id="k2")
    assert judged(found, old) == Actor("ann")
    publisher.content = published(public("k2", OTHER_RSA))
    assert judged(found, new) is None
    assert publisher.fetches == 1, "a minute has not passed"
    clocks.passed = 60
    for made_up in ("x1", "x2", "x3"):
        assert judged(found, token(OTHER_RSA, key_id=made_up)) is None
    assert publisher.fetches == 2, "made-up key ids do not reach the issuer"
    assert judged(found, new) == Actor("ann")
    assert judged(found, old) is None, "its key was withdrawn, although its verification was cached"


def test_a_key_that_is_replaced_under_its_id_takes_the_cached_verifications_with_it() -> None:
    publisher, clocks = Publisher(public("k1", RSA)), Clocks()
    found = verifier(publisher, clocks)
    signed = token(exp=NOW + 10_000)
    assert judged(found, signed) == Actor("ann")
    publisher.content = published(public("k1", OTHER_RSA))
    clocks.passed = 3_600
    assert judged(found, signed) is None, "keys are fetched again when they are old"


def test_the_last_good_keys_stay_while_the_issuer_fails() -> None:
    publisher, clocks = Publisher(public("k1", RSA)), Clocks()
    found = verifier(publisher, clocks)
    for content in (None, b"{", published()):
        publisher.content = content
        clocks.passed += 3_600
        assert judged(found, token(exp=NOW + 100_000)) == Actor("ann")
    assert publisher.fetches == 4


def test_a_server_starts_without_its_issuer_and_is_not_ready_until_it_answers() -> None:
    publisher, clocks = Publisher(public("k1", RSA)), Clocks()
    content, publisher.content = publisher.content, None
    found = verifier(publisher, clocks)
    assert (found.is_ready, judged(found, token())) == (False, None)
    publisher.content = content
    clocks.passed = 60
    assert (judged(found, token()), found.is_ready) == (Actor("ann"), True)


def test_verifications_are_cached_by_digest_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verifier(Publisher(public("k1", ED)))
    signed = token(ED, "EdDSA")
    assert judged(found, signed) == Actor("ann")
    monkeypatch.setattr(jwt, "decode", None)
    assert found.verify(signed) == Actor("ann"), "not verified again"
    assert signed not in repr(found._cache.__dict__).encode()
    assert found._cache._limit == CACHED_MAX


def test_claims_become_the_actor_its_groups_and_its_attributes() -> None:
    found = verifier(
        Publisher(public("k1", RSA)),
        actor_claim="email",
        groups_claim="roles",
        attribute_claims={"team": "dept", "level": "level", "sites": "sites", "absent": "absent"},
    )
    signed = token(email="a@x", roles=["staff", "ops"], dept="red", level=3, sites=["b", "a"], other="x")
    assert judged(found, signed) == Actor("a@x", {"staff", "ops"}, {"team": "red", "level": 3, "sites": {"a", "b"}})
    assert judged(found, token(email="a@x", roles="staff ops")) == Actor("a@x", {"staff", "ops"})
    assert judged(found, token()) is None, "no claim names the actor"


def test_settings_come_from_the_environment() -> None:
    more = {
        "OMNIGRAPH_SERVER_JWT_ACTOR_CLAIM": "email",
        "OMNIGRAPH_SERVER_JWT_GROUPS_CLAIM": "roles",
        "OMNIGRAPH_SERVER_JWT_ATTRIBUTE_CLAIMS": "team, level = clearance",
    }
    found = JwtSettings.from_environment({**ENVIRONMENT, **more, "OTHER": "x"})
    assert found == JwtSettings(
        ISSUER, AUDIENCE, ALGORITHMS, "https://issuer.example/keys", "email", "roles",
        {"team": "team", "level": "clearance"}, AUDIENCE,
    )  # fmt: skip
    assert JwtSettings.from_environment({"OMNIGRAPH_SERVER_JWT_ISSUER": " "}) is None


@pytest.mark.parametrize("algorithm", ["none", "HS256", "HS512", "rs256", "ES256K", "", ","])
def test_algorithms_that_are_not_asymmetric_are_refused(algorithm: str) -> None:
    assert algorithm not in KEY_TYPES
    with pytest.raises(UsageError, match="OMNIGRAPH_SERVER_JWT_ALGORITHMS"):
        JwtSettings.from_environment({**ENVIRONMENT, "OMNIGRAPH_SERVER_JWT_ALGORITHMS": algorithm})


@pytest.mark.parametrize(
    "changed",
    [
        {"OMNIGRAPH_SERVER_JWT_ISSUER": ""},
        {"OMNIGRAPH_SERVER_JWT_AUDIENCE": ""},
        {"OMNIGRAPH_SERVER_JWT_JWKS_URL": "http://issuer.example/keys"},
        {"OMNIGRAPH_SERVER_JWT_JWKS_URL": "file:///etc/passwd"},
        {"OMNIGRAPH_SERVER_JWT_JWKS_URL": "https://user:secret@issuer.example/keys"},
        {"OMNIGRAPH_SERVER_JWT_JWKS_URL": "http://127.0.0.1:1/keys"},
        {
            "OMNIGRAPH_SERVER_JWT_JWKS_URL": "http://127.0.0.1.issuer.example/keys",
            "OMNIGRAPH_SERVER_JWT_JWKS_LOOPBACK_HTTP": "1",
        },
        {"OMNIGRAPH_SERVER_JWT_ATTRIBUTE_CLAIMS": "=x"},
        {"OMNIGRAPH_SERVER_JWT_ATTRIBUTE_CLAIMS": "a,a=b"},
        {"OMNIGRAPH_SERVER_JWT_SECRET": "x"},
    ],
    ids=lambda changed: " ".join(changed) + str(len(str(changed))),
)
def test_settings_that_are_incomplete_or_unsafe_are_refused(changed: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="OMNIGRAPH_SERVER_JWT"):
        JwtSettings.from_environment({**ENVIRONMENT, **changed})


def test_keys_are_fetched_without_redirects_and_within_a_limit() -> None:
    publisher = Publisher(public("k1", RSA))
    with serving(publisher) as address:
        assert fetch_once(f"{address}/keys") == publisher.content
        with pytest.raises(OSError, match="302"):
            fetch_once(f"{address}/moved")
        publisher.content = b" " * (FETCH_BYTES_MAX + 1)
        with pytest.raises(ValueError, match="more than"):
            fetch_once(f"{address}/keys")


POLICY = """
version: 1
groups: { writers: [someone] }
rules:
  - id: writers
    allow: { actors: { group: writers }, actions: [read, change] }
"""


def test_a_server_with_an_issuer_asks_for_its_tokens_and_policies_see_their_groups(
    graph: Graph, tmp_path: Path
) -> None:
    bundle = tmp_path / "policy.yaml"
    bundle.write_text(POLICY)
    publisher = Publisher(public("k1", RSA))
    ends = int(time.time()) + 300
    with serving(publisher) as address:
        environment = {
            **ENVIRONMENT,
            "OMNIGRAPH_SERVER_JWT_JWKS_URL": f"{address}/keys",
            "OMNIGRAPH_SERVER_JWT_JWKS_LOOPBACK_HTTP": "1",
            "OMNIGRAPH_SERVER_BEARER_TOKEN": "static",
        }
        authenticator = authenticator_of(TokenSources.from_environment(environment))
        assert authenticator_of(TokenSources.from_environment(environment), authenticator).jwt is authenticator.jwt
        served = ServedGraph(GRAPH_ID, graph, load_policy(bundle))
        with running(Serving({GRAPH_ID: served}, authenticator, State.POLICY_ENABLED)) as live:

            def status(given: str | None) -> int:
                with live.client(given) as client:
                    response = client.post(f"{BASE}/query", json={"query": READ_ALL})
                    if response.status_code == 401:
                        challenges.append(response.headers["www-authenticate"])
                    return response.status_code

            challenges: list[str] = []
            metadata = "https://graphs.example/.well-known/oauth-protected-resource"
            member = token(groups=["writers"], exp=ends).decode()
            assert status(member) == 200
            assert status(token(exp=ends).decode()) == 403, "a token without the group"
            assert status("static") == 403, "static tokens are asked first, and their actor is in no group"
            assert (status(None), status(token(exp=1).decode())) == (401, 401)
            assert challenges == [
                f'Bearer resource_metadata="{metadata}"',
                f'Bearer resource_metadata="{metadata}", error="invalid_token"',
            ]
            with live.client() as client:
                found = client.get("/.well-known/oauth-protected-resource").json()
                assert (found["resource"], found["authorization_servers"]) == (AUDIENCE, [ISSUER])
                assert client.get("/readyz").json() == {"status": "ready"}
            publisher.content = published(public("k2", OTHER_RSA))
            assert status(token(OTHER_RSA, key_id="k2", groups=["writers"], exp=ends).decode()) == 401
            assert authenticator.jwt is not None
            authenticator.jwt.keys._tried_at = None
            assert status(token(OTHER_RSA, key_id="k2", groups=["writers"], exp=ends).decode()) == 200
            assert status(member) == 401, "its key is gone"


def test_a_server_without_an_issuer_has_no_metadata_and_sends_no_challenge(graph: Graph) -> None:
    serving_state = Serving({}, Authenticator([StaticTokens.of({"ann": "x"})]), State.DEFAULT_DENY)
    with running(serving_state) as live, live.client() as client:
        assert client.get("/.well-known/oauth-protected-resource").status_code == 404
        refused = client.get("/graphs")
        assert (refused.status_code, "www-authenticate" in refused.headers) == (401, False)
