"""Who is answered: the page of this very server in the user's own browser, with the key, and nobody else.

Loopback is shared by all users of a machine and by every page that their browsers show, so each request is looked at:
its ``Host`` (a foreign name that was made to point here is another site's attack), its ``Origin`` and
``Sec-Fetch-Site`` (a page of another site), and the key (another user of the machine). No cookies: they would be sent
to every port of this address.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 4_000_000
"""Bytes of a request: a pipeline or rules as text are far below."""

SCHEME = "Studio "

HEADERS = {
    b"cache-control": b"no-store",
    b"content-security-policy": (
        b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}
"""Of every answer that does not bring its own."""


@dataclass(frozen=True)
class Door:
    """What may be asked for without the key: nothing that these say is anybody's data.

    `is_shell`: of a path: the empty page, which a browser may be led to from anywhere. `is_open`: of a path: its style
    and script, or a document whose address is a key that opens once.
    """

    is_shell: Callable[[str], bool]
    is_open: Callable[[str], bool]


class Guard:
    """Refuses what does not come from the page of this server.

    `address`: ``127.0.0.1:PORT``: the only host that is answered.
    """

    def __init__(self, app: ASGIApp, address: str, key: str, door: Door) -> None:
        self._app = app
        self._host = address.encode()
        self._origin = b"http://" + self._host
        self._key = (SCHEME + key).encode()
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse with 403 and no reason that an attacker could use."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http" or not self._is_welcome(scope):
            await PlainTextResponse("refused", 403)(scope, receive, _with_headers(send))
            return
        await self._app(scope, _bounded(receive), _with_headers(send))

    def _is_welcome(self, scope: Scope) -> bool:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        path, method = scope["path"], scope["method"]
        if method not in {"GET", "POST"} or _all(headers, b"host") != [self._host]:
            return False
        origins, sites = _all(headers, b"origin"), _all(headers, b"sec-fetch-site")
        if any(each != self._origin for each in origins) or (method == "POST" and len(origins) != 1):
            return False
        if method == "GET" and self._door.is_shell(path):
            # A link from a mail or a file leads to the page; it is empty until its script has the key.
            return not sites or _all(headers, b"sec-fetch-dest") == [b"document"]
        if any(each != b"same-origin" for each in sites):
            return False
        if method == "GET" and self._door.is_open(path):
            return True
        given = _all(headers, b"authorization")
        return len(given) == 1 and hmac.compare_digest(given[0], self._key)


def _all(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for each, value in headers if each.lower() == name]


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = list(message.get("headers", ()))
            known = {name.lower() for name, _ in own}
            message = {**message, "headers": [*own, *(each for each in HEADERS.items() if each[0] not in known)]}
        await send(message)

    return sending


def _bounded(receive: Receive) -> Receive:
    taken = 0

    async def receiving() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > LARGEST_BODY:
            return {"type": "http.disconnect"}
        return message

    return receiving
