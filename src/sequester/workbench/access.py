"""Who may use the workbench: this machine, this address, and who has the token."""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
"""The only address that is listened at."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What pages may load: nothing from another origin, no script in the page itself, and no frame around it."""
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Access:
    """ASGI middleware that lets only requests through that come from the page itself.

    The token comes in the address that was printed, and from then on as a cookie that scripts cannot read and
    that no other site can send. A page of another site that reaches this port by a name of its own is
    refused by its Host, and one that sends requests by its Origin; WebSockets are checked alike.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._host = f"{HOST}:{port}"
        # A cookie is sent to all ports of a host, so that two workbenches need two names.
        self._cookie = f"sequester-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a refusal."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        answer: ASGIApp | None = self._refusal(scope)
        if answer is None and scope["type"] == "http":
            answer = self._welcome(scope)
        if answer is not None and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (answer or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if headers.get("host") != self._host:
            return PlainTextResponse("This address is not that of the workbench.", 403)
        origin = headers.get("origin")
        is_reading = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        if origin != f"http://{self._host}" and not (origin is None and is_reading):
            return PlainTextResponse("Requests from other pages are refused.", 403)
        if not (self._fits(self._kept(headers)) or self._fits(self._given(scope))):
            return PlainTextResponse(
                "This page needs its token: open the whole address that the terminal shows.", 403
            )
        return None

    def _welcome(self, scope: Scope) -> RedirectResponse | None:
        """Take the token out of the address, where it would stay in the browser's history."""
        if not self._fits(self._given(scope)):
            return None
        answer = RedirectResponse(scope["path"], 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return answer

    def _kept(self, headers: Headers) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return "" if found is None else str(found.value)

    @staticmethod
    def _given(scope: Scope) -> str:
        query: str = scope["query_string"].decode("latin-1")
        return parse_qs(query).get("token", [""])[0]

    def _fits(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self._token.encode())
