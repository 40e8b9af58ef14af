"""Google's OAuth endpoints for installed programs, with a clock that tests move. Every deviation from what Google documents for desktop
clients is refused, as is everything that a client may not send."""

import base64
import hashlib
import json
import re
import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

COLAB = "https://www.googleapis.com/auth/colaboratory"
EMAIL = "https://www.googleapis.com/auth/userinfo.email"
_KNOWN = {"openid", "email", EMAIL, COLAB}
_RENAMED = {"email": EMAIL}
_REDIRECT = re.compile(r"http://127\.0\.0\.1:\d+/")
_CODE_LIFETIME = 600
_TESTING_LIFETIME = 7 * 24 * 3600
_ACCESS_LIFETIME = 3599


@dataclass
class _Code:
    challenge: str
    redirect_uri: str
    scopes: list[str]
    issued: float
    is_used: bool = False
    # What was issued for it, which a second use ends.
    login: "_Login | None" = None


@dataclass
class _Login:
    """What the person granted once, whichever tokens were issued for it."""

    scopes: list[str]
    # A rotated refresh token does not live longer.
    signed_in: float
    is_revoked: bool = False


@dataclass
class _RefreshToken:
    login: _Login
    # Whether it was not rotated.
    is_current: bool = True


@dataclass
class _AccessToken:
    login: _Login
    expires: float


@dataclass
class GoogleSignIn:
    """One desktop client, one account, and what the person does on the page of consent."""

    account: str = "ada@example.com"
    # Whether the consent screen is in "Testing".
    is_in_testing: bool = True
    # Whether responses name the time of the end.
    names_expiry: bool = False
    # Whether a refresh token is valid once.
    rotates: bool = False
    denies: bool = False
    # Scopes whose checkboxes the person leaves empty.
    unticked: set[str] = field(default_factory=set)
    is_client_deleted: bool = False
    # Seconds of the clock.
    now: float = 0.0

    client_id: str = field(default_factory=lambda: f"{secrets.token_hex(6)}.apps.googleusercontent.com")
    client_secret: str = field(default_factory=lambda: f"GOCSPX-{secrets.token_urlsafe(20)}")
    # Everything that may occur in no output, log or file: codes, tokens, verifiers, the client's secret.
    issued: set[str] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)
    _codes: dict[str, _Code] = field(default_factory=dict)
    _refresh_tokens: dict[str, _RefreshToken] = field(default_factory=dict)
    _access_tokens: dict[str, _AccessToken] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.issued.add(self.client_secret)

    @property
    def client_file(self) -> str:
        """What the console offers for download."""
        client = {
            "client_id": self.client_id,
            "project_id": "e2e",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": "https://oauth2.googleapis.com/token",
            "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
            "client_secret": self.client_secret,
            "redirect_uris": ["http://localhost"],
        }
        return json.dumps({"installed": client})

    @property
    def valid_refresh_tokens(self) -> list[str]:
        return [token for token, state in self._refresh_tokens.items() if self._is_alive(state)]

    def revoke_all(self) -> None:
        """The person removes the access in the settings of the account."""
        for state in self._refresh_tokens.values():
            state.login.is_revoked = True

    def expire_access_tokens(self) -> None:
        """Ends the access tokens that were issued so far, long before their holders expect it."""
        self._access_tokens.clear()

    def bearer(self) -> str:
        """The `Authorization` of a program that the person has given everything."""
        return f"Bearer {self._new_access_token(_Login(sorted(_KNOWN), self.now))}"

    def scopes_of(self, authorization: str | None) -> list[str] | None:
        """What a bearer may do, by Google's names of the scopes; `None` without a valid access token."""
        kind, _, token = (authorization or "").partition(" ")
        state = self._access_tokens.get(token)
        if kind != "Bearer" or state is None or state.login.is_revoked or self.now >= state.expires:
            return None
        return self._named(state.login.scopes).split()

    def application(self) -> Starlette:
        return Starlette(routes=self.routes())

    def routes(self) -> list[Route]:
        return [
            Route("/o/oauth2/v2/auth", self._authorize, methods=["GET"]),
            Route("/token", self._token, methods=["POST"]),
            Route("/revoke", self._revoke, methods=["POST"]),
        ]

    def _is_alive(self, state: _RefreshToken) -> bool:
        has_ended = self.is_in_testing and self.now >= state.login.signed_in + _TESTING_LIFETIME
        return state.is_current and not state.login.is_revoked and not has_ended

    def _new(self, prefix: str) -> str:
        token = prefix + secrets.token_urlsafe(24)
        self.issued.add(token)
        return token

    async def _authorize(self, request: Request) -> Response:
        self.requests.append("authorize")
        pairs = parse_qsl(request.url.query, keep_blank_values=True)
        given = dict(pairs)
        scopes = given.get("scope", "").split()
        problems = {
            "duplicate parameters": len(given) != len(pairs),
            "client_id": given.get("client_id") != self.client_id or self.is_client_deleted,
            "redirect_uri": not _REDIRECT.fullmatch(given.get("redirect_uri", "")),
            "response_type": given.get("response_type") != "code",
            "scope": not scopes or not set(scopes) <= _KNOWN,
            "state": len(given.get("state", "")) < 16,
            "code_challenge": not re.fullmatch(r"[\w-]{43}", given.get("code_challenge", "")),
            "code_challenge_method": given.get("code_challenge_method") != "S256",
            "secret": bool({"client_secret", "code_verifier"} & given.keys()),
        }
        found = [name for name, is_wrong in problems.items() if is_wrong]
        if found:
            # Google shows a page, and redirects nowhere.
            return PlainTextResponse(f"Error 400: invalid_request: {found}", status_code=400)
        answer = {"state": given["state"]}
        granted = [scope for scope in scopes if scope not in self.unticked]
        if self.denies or not granted:
            answer["error"] = "access_denied"
        else:
            code = self._new("4/0A")
            issues_refresh = given.get("access_type") == "offline" and given.get("prompt") == "consent"
            assert issues_refresh, "the second login of an account would get no refresh token"
            self._codes[code] = _Code(given["code_challenge"], given["redirect_uri"], granted, self.now)
            answer |= {"code": code, "scope": self._named(granted), "authuser": "0", "prompt": "consent"}
        return RedirectResponse(f"{given['redirect_uri']}?{urlencode(answer)}", status_code=302)

    def _named(self, scopes: list[str]) -> str:
        """Google's names of the scopes, in an order of its own."""
        return " ".join(sorted((_RENAMED.get(scope, scope) for scope in scopes), reverse=True))

    async def _token(self, request: Request) -> Response:
        given = await self._form(request)
        if given is None or request.headers.get("authorization"):
            return _failure(400, "invalid_request")
        self.requests.append(f"token {given.get('grant_type')}")
        is_client = given.get("client_id") == self.client_id and given.get("client_secret") == self.client_secret
        if not is_client or self.is_client_deleted:
            return _failure(401, "deleted_client" if self.is_client_deleted else "invalid_client")
        match given.get("grant_type"):
            case "authorization_code":
                return self._exchange(given)
            case "refresh_token":
                return self._renew(given)
        return _failure(400, "unsupported_grant_type")

    def _exchange(self, given: dict[str, str]) -> Response:
        self.issued.add(given.get("code_verifier", ""))
        code = self._codes.get(given.get("code", ""))
        if code is None:
            return _failure(400, "invalid_grant", "Malformed auth code.")
        if code.is_used or self.now > code.issued + _CODE_LIFETIME:
            if code.login:
                code.login.is_revoked = True
            return _failure(400, "invalid_grant", "Bad Request")
        if given.get("redirect_uri") != code.redirect_uri:
            return _failure(400, "redirect_uri_mismatch")
        verifier = given.get("code_verifier", "")
        digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        if digest != code.challenge or not re.fullmatch(r"[\w.~-]{43,128}", verifier):
            return _failure(400, "invalid_grant", "Invalid code verifier.")
        code.is_used = True
        code.login = _Login(code.scopes, self.now)
        return self._tokens(code.login, self._new_refresh_token(code.login))

    def _renew(self, given: dict[str, str]) -> Response:
        token = given.get("refresh_token", "")
        state = self._refresh_tokens.get(token)
        if state is None or not self._is_alive(state):
            return _failure(400, "invalid_grant", "Token has been expired or revoked.")
        if not self.rotates:
            return self._tokens(state.login, None)
        state.is_current = False
        return self._tokens(state.login, self._new_refresh_token(state.login))

    def _new_refresh_token(self, login: _Login) -> str:
        token = self._new("1//0")
        self._refresh_tokens[token] = _RefreshToken(login)
        return token

    def _new_access_token(self, login: _Login) -> str:
        token = self._new("ya29.a0")
        self._access_tokens[token] = _AccessToken(login, self.now + _ACCESS_LIFETIME)
        return token

    def _tokens(self, login: _Login, refresh: str | None) -> Response:
        answer: dict[str, object] = {
            "access_token": self._new_access_token(login),
            "expires_in": _ACCESS_LIFETIME,
            "scope": self._named(login.scopes),
            "token_type": "Bearer",
        }
        if refresh:
            answer["refresh_token"] = refresh
        if self.names_expiry:
            answer["refresh_token_expires_in"] = int(login.signed_in + _TESTING_LIFETIME - self.now)
        if "openid" in login.scopes:
            claims = {"iss": "https://accounts.google.com", "aud": self.client_id, "sub": "1"}
            if {"email", EMAIL} & set(login.scopes):
                claims["email"] = self.account
            payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
            answer["id_token"] = f"e30.{payload}.{self._new('')}"
        return JSONResponse(answer, headers={"Cache-Control": "no-store"})

    async def _revoke(self, request: Request) -> Response:
        self.requests.append("revoke")
        given = await self._form(request)
        state = self._refresh_tokens.get((given or {}).get("token", ""))
        if state is None or not self._is_alive(state):
            return _failure(400, "invalid_token", "Token expired or revoked")
        state.login.is_revoked = True
        return JSONResponse({})

    async def _form(self, request: Request) -> dict[str, str] | None:
        """The fields of a body. Nothing may be in the address, which servers log."""
        is_form = request.headers.get("content-type") == "application/x-www-form-urlencoded"
        pairs = parse_qsl((await request.body()).decode(), keep_blank_values=True)
        is_plain = len(dict(pairs)) == len(pairs) and not request.url.query
        return dict(pairs) if is_form and is_plain else None


def _failure(status: int, error: str, description: str | None = None) -> Response:
    body = {"error": error} | ({"error_description": description} if description else {})
    return JSONResponse(body, status_code=status)
