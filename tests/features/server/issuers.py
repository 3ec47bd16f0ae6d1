"""An issuer of tokens: signing keys of several types, their JWKS, and a loopback server that publishes it."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

ISSUER = "https://issuer.example/"
AUDIENCE = "https://graphs.example/kb"
NOW = 1_800_000_000
"""The time at which the tokens of tests are issued."""

RSA = rsa.generate_private_key(65_537, 2048)
OTHER_RSA = rsa.generate_private_key(65_537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


def public(key_id: str, key: Any, **members: Any) -> dict[str, Any]:
    """A key as an issuer publishes it."""
    match key:
        case rsa.RSAPrivateKey():
            text = RSAAlgorithm.to_jwk(key.public_key())
        case ec.EllipticCurvePrivateKey():
            text = ECAlgorithm.to_jwk(key.public_key())
        case _:
            text = OKPAlgorithm.to_jwk(key.public_key())
    return {**json.loads(text), "kid": key_id, **members}


def published(*keys: dict[str, Any]) -> bytes:
    return json.dumps({"keys": keys}).encode()


def claims(**changed: Any) -> dict[str, Any]:
    """Claims of a valid token; None leaves one out."""
    known = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": NOW + 300, **changed}
    return {name: value for name, value in known.items() if value is not None}


def token(key: Any = RSA, algorithm: str = "RS256", key_id: str | None = "k1", **changed: Any) -> bytes:
    headers = {} if key_id is None else {"kid": key_id}
    return jwt.encode(claims(**changed), key, algorithm, headers=headers).encode()


def forged(header: dict[str, Any], signature: bytes = b"") -> bytes:
    """A token with any header and signature, which no library would make."""
    parts = [json.dumps(header).encode(), json.dumps(claims()).encode(), signature]
    return b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)


class Publisher:
    """Keys behind an address, which a test replaces; None is an issuer that cannot be reached."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.content: bytes | None = published(*keys)
        self.fetches = 0

    def __call__(self, url: str) -> bytes:
        self.fetches += 1
        if self.content is None:
            raise OSError("unreachable")
        return self.content


@contextmanager
def serving(publisher: Publisher) -> Iterator[str]:
    """The keys over HTTP on loopback; yields their address. `/moved` redirects to it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/moved":
                self.send_response(302)
                self.send_header("location", "/keys")
                self.end_headers()
                return
            content = publisher(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
