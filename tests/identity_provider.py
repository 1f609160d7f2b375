"""A small OpenID Connect provider on loopback: discovery, sign-in page, codes with PKCE, tokens, keys.

It is as strict as the standards: a code is good once, for its client, its redirect URI and its verifier.
Where no browser asks it sets a cookie, and refuses whoever brings one.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import Key, RSAKey

from api.auth.identity_provider import PublicKeySignatures
from tests.http_server import QuietHandler, running

Claims = dict[str, Any]
KEY = RSAKey.generate_key(2_048, {"kid": "k1", "use": "sig"})
CLIENT, SECRET = "deadwatch-console", "s3cret of the console"
AUDIENCE = "deadwatch"
SIGN_IN_PAGE = """<!doctype html><html lang="en"><title>Provider</title><link rel="icon" href="data:,">
<h1>Who are you?</h1><form method="post"><input type="hidden" name="query" value="{}">
<button name="who" value="ann">I am Ann</button><button name="who" value="">Cancel</button></form>"""


@dataclass
class Provider:
    """``people`` are the claims of who may sign in; ``changes`` spoil an ID token, ``answer`` everything.

    ``public`` are its keys; ``keys_status`` and ``keys_body`` spoil the answer that has them. Who
    has the lock ``held`` lets it hang; ``waiting`` counts the requests.
    """

    client: str = CLIENT
    secret: str = SECRET
    methods: list[str] = field(default_factory=lambda: ["client_secret_basic", "client_secret_post"])
    people: dict[str, Claims] = field(default_factory=dict)
    changes: Claims = field(default_factory=dict)
    access: str = ""
    issuer: str = ""
    answer: bytes = b""
    codes: dict[str, Claims] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    public: list[Claims] = field(default_factory=lambda: [KEY.as_dict(private=False)])
    keys_status: int = 200
    keys_body: bytes = b""
    keys_asked: int = 0
    held: threading.Lock = field(default_factory=threading.Lock)
    waiting: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def wait(self) -> None:
        if self.held.locked():
            self.waiting.release()
        with self.held:
            pass

    def settings(self, **changes: object) -> Claims:
        client = {"client_id": CLIENT, "client_secret": SECRET}
        return {"issuer": self.issuer, "audience": AUDIENCE, **client, **changes}

    def discovery(self) -> Claims:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "token_endpoint_auth_methods_supported": self.methods,
        }

    def back(self, query: str, who: str) -> str:
        """Where the browser goes when somebody has signed in, or did not want to."""
        asked = dict(parse_qsl(query))
        assert asked["client_id"] == self.client
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        assert {"openid", "profile"} <= set(asked["scope"].split())
        answer = {"state": asked["state"], "iss": self.issuer}
        if who:
            answer["code"] = secrets.token_urlsafe(16)
            self.codes[answer["code"]] = {**asked, "who": who}
        else:
            answer |= {"error": "access_denied", "error_description": "<b>nobody</b> wanted to"}
        return f"{asked['redirect_uri']}?{urlencode(answer)}"

    def exchange(self, form: Claims, authorization: str) -> tuple[int, Claims]:
        """Tokens for a code."""
        if authorization:
            self.asked.append("client_secret_basic")
            shown = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        else:
            self.asked.append("client_secret_post" if "client_secret" in form else "none")
            shown = f"{form.get('client_id')}:{form.get('client_secret', '')}"
        if shown != f"{self.client}:{self.secret}":
            return 401, {"error": "invalid_client"}
        code = self.codes.pop(form.get("code", ""), None)
        if code is None or form["redirect_uri"] != code["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != code["code_challenge"]:
            return 400, {"error": "invalid_grant", "error_description": "the verifier is another's"}
        return 200, self.tokens(code["who"], code["nonce"])

    def tokens(self, who: str, nonce: str) -> Claims:
        now_s = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": self.client,
            "sub": f"u-{who}",
            "iat": now_s,
            "exp": now_s + 300,
            "nonce": nonce,
            **self.people[who],
            **self.changes,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        return {
            "id_token": signed(claims),
            "access_token": self.access or "opaque",
            "token_type": "Bearer",
            "expires_in": 300,
        }

    def access_token(self, who: str, **claims: object) -> str:
        """One that opens the api by itself."""
        usual = {"iss": self.issuer, "aud": AUDIENCE, "sub": f"u-{who}", "exp": int(time.time()) + 300}
        return signed({**usual, **claims})


def signed(claims: Claims, key: Key = KEY, alg: str = "RS256", kid: str | None = "k1") -> str:
    """A JWT with these claims."""
    header = {"alg": alg, "kid": kid} if kid else {"alg": alg}
    return jwt.encode(header, claims, key, registry=PublicKeySignatures([alg]))


class Handler(QuietHandler):
    """Answers as its server's provider says."""

    def do_GET(self) -> None:
        asked, made = urlsplit(self.path), self._made
        made.wait()
        if asked.path == "/.well-known/openid-configuration":
            self._json(200, made.discovery())
        elif asked.path == "/keys":
            made.keys_asked += 1
            keys = made.keys_body or json.dumps({"keys": made.public}).encode()
            self._send_json(made.keys_status, keys)
        else:
            page = SIGN_IN_PAGE.format(asked.query.replace("&", "&amp;")).encode()
            self.send(200, page, content_type="text/html")

    def do_POST(self) -> None:
        form, made = dict(parse_qsl(self.body().decode(), keep_blank_values=True)), self._made
        made.wait()
        if urlsplit(self.path).path != "/token":
            self.send(302, location=made.back(form["query"], form["who"]))
        elif made.answer:
            self._send_json(200, made.answer)
        else:
            self._json(*made.exchange(form, self.headers.get("Authorization", "")))

    @property
    def _made(self) -> Provider:
        assert isinstance(self.server, Server)
        return self.server.provider

    def _json(self, status: int, answer: Claims) -> None:
        brought = {"error": "invalid_request", "error_description": "a cookie, without a browser"}
        status, answer = (400, brought) if "Cookie" in self.headers else (status, answer)
        self._send_json(status, json.dumps(answer).encode())

    def _send_json(self, status: int, body: bytes) -> None:
        self.send(status, body, content_type="application/json", set_cookie="of=another")


class Server(ThreadingHTTPServer):
    """Of one provider."""

    def __init__(self, host: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.provider = Provider(issuer=f"http://{host}:{self.server_port}")


@contextmanager
def provider(host: str = "127.0.0.1") -> Iterator[Provider]:
    """One that runs; by the name ``localhost`` it is another site than 127.0.0.1."""
    with running(Server(host)) as server:
        yield server.provider
