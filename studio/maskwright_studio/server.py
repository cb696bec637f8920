"""The web application: routes, access by key, and a server on a loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
import shutil
import socket
import tempfile
import webbrowser
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from maskwright_studio.data_process import NotYet
from maskwright_studio.page import PIPELINE, Answer, ended, ensure_shown, html, sentence, shown_state
from maskwright_studio.pages import PAGES
from maskwright_studio.pages.pipeline import prepared
from maskwright_studio.refusal import Refusal
from maskwright_studio.session import SANDBOX, Session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from maskwright_studio.page import Page, RestsOn


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
    """What may be requested without the key: nothing that these say is anybody's data.

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


STATIC = Path(__file__).parent / "static"


def application(session: Session, address: str, key: str) -> Guard:
    """Return the guarded application."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        preparing = asyncio.create_task(prepared(session))
        preparing.add_done_callback(lambda done: done.cancelled() or done.exception())
        yield
        await session.close()

    shells = {"/", *(page.path for page in PAGES)}
    routes = [
        *(Route(path, _shell) for path in sorted(shells)),
        *(Route(f"/view{page.path}", partial(_view, session, page)) for page in PAGES),
        *(Route(f"/part/{page.name}/{name}", partial(_part, session, work, page.needs(name)))
          for page in PAGES for name, work in page.parts.items()),
        *(Route(f"/act/{page.name}/{name}", partial(_act, session, work, page.needs(name)), methods=["POST"])
          for page in PAGES for name, work in page.acts.items()),
        Route("/document/{key}", partial(_document, session)),
    ]  # fmt: skip
    app = Starlette(routes=routes, lifespan=lifespan)
    app.mount("/static", StaticFiles(directory=STATIC))
    door = Door(is_shell=lambda path: path in shells, is_open=lambda path: path.startswith(("/static/", "/document/")))
    return Guard(app, address, key, door)


async def _shell(_: Request) -> Response:
    return HTMLResponse(html("shell.html", pages=PAGES))


async def _view(session: Session, page: Page, request: Request) -> Response:
    if PIPELINE in request.headers:  # a page that is loaded shows nothing yet
        try:
            ensure_shown(session, request.headers, page.needs("show"))
        except Refusal as refusal:
            return _refused_as_stale(refusal)
    pipeline, state = session.pipeline, shown_state(session)
    undo, redo = ("", "") if pipeline is None else (pipeline.undoes, pipeline.redoes)
    is_changed = pipeline is not None and pipeline.changed_outside()
    body = html("changed_outside.html", name=pipeline.path.name) if pipeline is not None and is_changed else ""
    try:
        body += "" if is_changed and page.is_of_file else await page.show(session, request.query_params)
    except Refusal as refusal:
        body += html("refusal.html", refusal=refusal)
    return JSONResponse(
        {
            "title": page.title,
            "html": body,
            "pipeline": "" if pipeline is None else pipeline.path.name,
            "time": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
            "undo": undo,
            "redo": redo,
            "shown": state,
        }
    )


async def _part(session: Session, work: Any, rests_on: RestsOn, request: Request) -> Response:
    try:
        ensure_shown(session, request.headers, rests_on)
    except Refusal as refusal:
        return _refused_as_stale(refusal)
    try:
        return HTMLResponse(await work(session, request.query_params))
    except Refusal as refusal:
        return HTMLResponse(html("refusal.html", refusal=refusal))
    except NotYet as waiting:
        return HTMLResponse(html("reading.html", waiting=waiting))


async def _act(session: Session, work: Any, rests_on: RestsOn, request: Request) -> Response:
    form = await request.json()
    if not isinstance(form, dict):
        return PlainTextResponse("a form is a mapping", 400)
    try:
        ensure_shown(session, request.headers, rests_on)
    except Refusal as refusal:
        return _refused_as_stale(refusal)
    before = session.pipeline
    try:
        answer: Answer = await work(session, form)
    except Refusal as refusal:
        answer = _refused(refusal)
    return JSONResponse(answer.to_json() | {"opened": session.pipeline is not before})


def _refused(refusal: Refusal) -> Answer:
    text = " ".join(filter(None, (ended(refusal.message), refusal.hint)))
    return Answer(say=sentence(text), wrong=True, offers=refusal.offers)


def _refused_as_stale(refusal: Refusal) -> Response:
    """Answer to a page that shows something else than is open: it stays as it is, and says so."""
    return JSONResponse(_refused(refusal).to_json(), 409)


async def _document(session: Session, request: Request) -> Response:
    path, download = session.documents.take(request.path_params["key"]) or (None, False)
    if path is None or not path.is_file():
        return PlainTextResponse("This document was opened already: open it again from its page.", 404)
    headers = {"content-security-policy": SANDBOX, "x-frame-options": "SAMEORIGIN"}
    if download:
        return FileResponse(path, headers=headers, media_type="application/octet-stream", filename=path.name)
    return FileResponse(path, headers=headers, media_type="text/html" if path.suffix == ".html" else "text/plain")


HOST = "127.0.0.1"

REDIRECT = """<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<title>Maskwright</title><meta http-equiv="refresh" content="0;url={address}">
"""


def serve(start: Path, *, browser: bool, say: Callable[[str], None]) -> None:
    """Serve the studio until it is interrupted."""
    os.umask(0o077)
    private = Path(tempfile.mkdtemp(prefix="maskwright-studio-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, private, ignore_errors=True)
        # The port is open before anybody is told of it, and stays the same socket.
        listening = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        listening.bind((HOST, 0))
        key = secrets.token_urlsafe(32)
        address = f"{HOST}:{listening.getsockname()[1]}"
        entrance = f"http://{address}/#key={key}"
        session = stack.enter_context(Session(start, private))
        app = application(session, address, key)
        listening.listen(64)
        say(f"The studio is open at\n  {entrance}\nThe address is the key to it: it is for you alone. Ctrl-C ends it.")
        if browser:
            _open(entrance, private)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, lifespan="on", ws="none", loop="asyncio",
            timeout_graceful_shutdown=2, timeout_keep_alive=30, h11_max_incomplete_event_size=64 * 1024,
        )  # fmt: skip
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _open(entrance: str, private: Path) -> None:
    """Open the entrance by a file that only the user can read: an address would stand in the list of processes."""
    page = private / "open.html"
    page.touch(mode=0o600)
    page.write_text(REDIRECT.format(address=entrance), encoding="utf-8")
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(page.as_uri())
